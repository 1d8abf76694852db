"""How often words are linked: the counts behind t(e|f) and t(f|e)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from luthier.core.arrays import Float64, Int32, Int64, flat
from luthier.core.segments import offsets_from_counts
from luthier.grammar import _index_kernels as kernels


class Lexicon(NamedTuple):
    """Counts of linked words; number 0 is NULL, with which every word without a link goes.

    Attributes
    ----------
    offsets : (V_f + 1,) int64
        Entries ``offsets[f]:offsets[f+1]`` are those of source word f; NULL has none here.
    targets, counts : (E,) int32
        The target words, ascending, and how often the two are linked.
    source_null : (V_f,) int32
        How often a source word has no link.
    target_null : (V_e,) int32
        The same for target words.
    source_total, target_total : int64
        Links of a word, those with NULL included; of NULL, the words without a link of the other side.
    """

    offsets: Int64
    targets: Int32
    counts: Int32
    source_null: Int32
    target_null: Int32
    source_total: Int64
    target_total: Int64


def count_links(links: tuple[Int32, Int32], alone: tuple[Int32, Int32], sizes: tuple[int, int]) -> Lexicon:
    """Return the counts of linked pairs of words and of words without a link; `sizes` are of the vocabularies."""
    f, e = links
    n_f, n_e = sizes
    keys, counts = np.unique(f.astype(np.int64) * n_e + e, return_counts=True)
    source_null = np.bincount(alone[0], minlength=n_f)
    target_null = np.bincount(alone[1], minlength=n_e)
    source_total = np.bincount(f, minlength=n_f) + source_null
    target_total = np.bincount(e, minlength=n_e) + target_null
    source_total[0], target_total[0] = target_null.sum(), source_null.sum()
    rows = np.bincount(keys // n_e, minlength=n_f)
    return Lexicon(
        offsets_from_counts(rows),
        (keys % n_e).astype(np.int32),
        counts.astype(np.int32),
        source_null.astype(np.int32),
        target_null.astype(np.int32),
        source_total.astype(np.int64),
        target_total.astype(np.int64),
    )


def lexical_costs(
    lexicon: Lexicon, source: tuple[Int64, Int32], rule_pattern: Int64, target: tuple[Int64, Int32]
) -> tuple[Float64, Float64]:
    """Return MaxLexEgivenF and MaxLexFgivenE of every rule.

    Σ_e −log10 max_f t(e|f) and Σ_f −log10 max_e t(f|e), NULL among the words in the maximum; 99 where it is 0.

    Parameters
    ----------
    source, target
        Offsets and words of the patterns' source words, and of the rules' target sides (gaps below 0).
    rule_pattern : (R,)
        The pattern of each rule.
    """
    forward, backward = np.empty(len(rule_pattern)), np.empty(len(rule_pattern))
    columns: list[Any] = [flat(column) for column in lexicon]
    kernels.lexical_costs(
        Lexicon(*columns),
        flat(source[0]),
        flat(source[1]),
        flat(rule_pattern),
        flat(target[0]),
        flat(target[1]),
        forward,
        backward,
    )
    return forward, backward
