"""Counted rules put together: source sides in the order of the text, features computed, words renumbered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int32, Int64
from luthier.core.segments import offsets_from_counts, rows_of_segments, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.grammar.extraction.patterns import Patterns
from luthier.grammar.extraction.tally import Tally
from luthier.grammar.grammar import Grammar, make_grammar, no_trie
from luthier.grammar.model import Model

# The numbers of a rule: logarithms with cdec's names, raw probabilities, and counts.


class Counts(NamedTuple):
    """What the features of R rules are made of, each (R,).

    Attributes
    ----------
    samples : c(f)
        Occurrences of the pattern that were looked at.
    pairs : c(f, e)
        Those of them that gave this rule.
    having : Σ_e c(f, e)
        Those that gave any rule with this source side.
    lex_e_given_f, lex_f_given_e
        Lexical costs.
    """

    samples: Int64
    pairs: Int64
    having: Int64
    lex_e_given_f: Float64
    lex_f_given_e: Float64


def compute_features(names: Sequence[str], counts: Counts) -> Float64:
    """Return the named features of every rule, (R, len(names)).

    −log10 c(f,e)/c(f), log10(1 + c(f)), log10(1 + c(f,e)), the lexical costs, whether f or (f, e) was seen once; the
    probabilities behind the costs, 10^−cost; and the counts themselves.
    """
    samples, pairs, having, lex_e, lex_f = counts
    makers: dict[str, Callable[[], npt.NDArray[Any]]] = {
        "EgivenFCoherent": lambda: -np.log10(pairs / samples) + 0.0,  # no −0
        "SampleCountF": lambda: np.log10(1.0 + samples),
        "CountEF": lambda: np.log10(1.0 + pairs),
        "MaxLexFgivenE": lambda: lex_f,
        "MaxLexEgivenF": lambda: lex_e,
        "IsSingletonF": lambda: having == 1,
        "IsSingletonFE": lambda: pairs == 1,
        "P_EgivenFCoherent": lambda: pairs / samples,
        "P_MaxLexEgivenF": lambda: 10.0**-lex_e,
        "P_MaxLexFgivenE": lambda: 10.0**-lex_f,
        "C_F": lambda: samples,
        "C_FE": lambda: pairs,
    }
    out = np.empty((len(pairs), len(names)))
    for k, name in enumerate(names):
        out[:, k] = makers[name]()
    return out


N_VARIANTS = 4  # a gap at the left end or not, at the right end or not


class Block(NamedTuple):
    """The rules of a block of patterns, the pattern (a node) of each, and what their features are made of."""

    tally: Tally
    nodes: Int32
    counts: Counts


class Part(NamedTuple):
    """The rules of some sentences as columns; words are numbered as in the model, gaps below 0.

    Lists have their counts instead of offsets, so that parts are joined by putting them one behind another.
    """

    side_counts: Int64
    side_symbols: Int32
    rule_counts: Int64
    target_counts: Int64
    target_symbols: Int32
    values: Float64
    link_counts: Int64
    links: npt.NDArray[Any]
    sentence_counts: Int64
    sentence_sides: Int64


def make_part(patterns: Patterns, blocks: Sequence[Block], names: tuple[str, ...]) -> Part:
    """Return the rules of all blocks, the commonest of each source side first."""
    nodes, variant, pairs = (
        np.concatenate([np.zeros(0, np.int64), *parts])
        for parts in (
            [block.nodes for block in blocks],
            [block.tally.variant for block in blocks],
            [block.counts.pairs for block in blocks],
        )
    )
    key = nodes * N_VARIANTS + variant
    order = np.lexsort((-pairs, key))
    sides, rule_counts = np.unique(key, return_counts=True)
    values = np.concatenate([np.empty((0, len(names))), *(compute_features(names, block.counts) for block in blocks)])
    return Part(
        *_sides(patterns, sides),
        rule_counts,
        *_rows(blocks, "symbol_offsets", "symbols", order),
        values[order],
        *_rows(blocks, "link_offsets", "links", order),
        *_sides_of_sentences(patterns, sides // N_VARIANTS),
    )


def join_parts(parts: Sequence[Part], model: Model, names: tuple[str, ...]) -> Grammar:
    """Return the grammar of all parts; if there are several, each is one sentence with source sides of its own."""
    shifts = np.cumsum([0, *(len(part.side_counts) for part in parts)])
    joined = Part(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    per_part = [len(part.sentence_sides) for part in parts]
    source_words, side_symbols = _used_words(model.source_words, joined.side_symbols)
    target_words, target_symbols = _used_words(model.target_words, joined.target_symbols)
    n_rules = len(joined.target_counts)
    grammar = Grammar(
        source_words,
        target_words,
        offsets_from_counts(joined.side_counts),
        side_symbols,
        offsets_from_counts(joined.rule_counts),
        offsets_from_counts(joined.target_counts),
        target_symbols,
        names,
        np.arange(n_rules + 1) * len(names),
        np.tile(np.arange(len(names), dtype=np.int32), n_rules),
        joined.values.reshape(-1),
        offsets_from_counts(joined.link_counts),
        np.column_stack([joined.links >> 8, joined.links & 0xFF]).astype(np.uint8),
        offsets_from_counts(joined.sentence_counts),
        (joined.sentence_sides + np.repeat(shifts[:-1], per_part)).astype(np.int32),
        no_trie(),
    )
    if len(parts) == 1:
        return make_grammar(grammar)
    return make_grammar(grammar, np.repeat(np.arange(len(parts), dtype=np.int32), np.diff(shifts)), len(parts))


def _rows(blocks: Sequence[Block], offsets: str, values: str, order: Int64) -> tuple[Int64, npt.NDArray[Any]]:
    """Return the rows of all blocks' columns of lists, in a new order, as counts and values."""
    kind = getattr(blocks[0].tally, values).dtype if blocks else np.int32
    counts = np.concatenate([np.zeros(0, np.int64), *(np.diff(getattr(block.tally, offsets)) for block in blocks)])
    flat = np.concatenate([np.zeros(0, kind), *(getattr(block.tally, values) for block in blocks)])
    return counts[order], flat[rows_of_segments(offsets_from_counts(counts), order)]


def _sides(patterns: Patterns, sides: Int64) -> tuple[Int64, Int32]:
    """Return the source sides: patterns, with gaps at their ends as the variant says; gaps numbered from the left."""
    nodes, variant = sides // N_VARIANTS, sides % N_VARIANTS
    inner_offsets, inner = patterns.symbols_of(nodes)
    left, right = variant >> 1, variant & 1
    counts = np.diff(inner_offsets) + left + right
    offsets = offsets_from_counts(counts)
    symbols = np.zeros(int(offsets[-1]), dtype=np.int32)
    row = segment_of_rows(inner_offsets)
    symbols[np.arange(len(inner)) - inner_offsets[row] + offsets[row] + left[row]] = inner
    gap = symbols == 0
    before = np.concatenate([[0], np.cumsum(gap)])
    symbols[gap] = -(before[1:] - before[offsets[segment_of_rows(offsets)]])[gap]
    return counts, symbols


def _used_words(words: Texts, symbols: Int32) -> tuple[Texts, Int32]:
    """Return the words that stand in `symbols`, and the symbols by their new numbers; gaps stay."""
    used = np.unique(symbols[symbols > 0])
    new = np.zeros(len(words), dtype=np.int32)
    new[used] = np.arange(len(used), dtype=np.int32)
    return words.take(used), np.where(symbols < 0, symbols, new[symbols]).astype(np.int32)


def _sides_of_sentences(patterns: Patterns, side_nodes: Int64) -> tuple[Int64, Int64]:
    """Return the source sides of each sentence, all variants of the patterns it has, as counts and numbers."""
    by_node = np.searchsorted(side_nodes, np.arange(patterns.size + 1))
    found = patterns.found.astype(np.int64)
    before = np.concatenate([[0], np.cumsum(np.diff(by_node)[found])])
    return np.diff(before[patterns.offsets]), rows_of_segments(by_node, found)
