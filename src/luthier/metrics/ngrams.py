"""Clipped n-gram matches of hypotheses with references, and the reference lengths beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core._hash_kernels import table_shift
from luthier.core.arrays import Float64, Int64
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Tokens
from luthier.metrics import _ngram_kernels as kernels
from luthier.metrics import _ngram_kernels as length_kernels
from luthier.metrics.batch import Batch, Sentences, sides

REFERENCE_LENGTHS = ("closest", "shortest", "mean")


def pair_blocks(batch: Batch, most: int = 1 << 16) -> Iterator[tuple[Sentences, int]]:
    """Yield stretches of sentences with about `most` pairs of hypothesis and reference, and how many."""
    before = offsets_from_counts(np.diff(batch.offsets) * batch.ref_counts)  # (N+1,)
    first = 0
    while first < batch.n_sentences:
        last = max(int(np.searchsorted(before, before[first] + most, side="right")) - 1, first + 1)
        yield (
            Sentences(batch.offsets[first : last + 1], batch.ref_offsets[first : last + 1]),
            int(before[last] - before[first]),
        )
        first = last


def add_matches(
    sentences: Batch | Sentences,
    hyps: Tokens,
    refs: Tokens,
    *,
    order: int,
    merged: bool,
    out: Int64,
    left: int = 0,
) -> None:
    """Add the clipped matches of orders 1 … `order` to the columns of `out` from `left` on.

    Parameters
    ----------
    sentences
        Which hypotheses and references belong to which sentence; a whole batch, or part of one.
    hyps, refs : Tokens
        Of the whole batch, in one vocabulary.
    merged : bool
        Clip by the largest count in any reference; `out` then has a row per hypothesis. Otherwise it
        has a row per hypothesis and reference of these sentences, those of a hypothesis one behind another.
    out : (M or more, left + order or more) int64

    Notes
    -----
    Time is linear in the tokens, about 10 ns each; memory beyond `out` is that of the vocabulary and of
    the references of one sentence.
    """
    tokens = refs.offsets[sentences.ref_offsets]  # (N+1,)
    longest = int(np.diff(tokens).max(initial=0))
    width = 1 if merged else int(np.diff(sentences.ref_offsets).max(initial=1))
    size = 1 << (64 - int(table_shift(longest * (order - 1))))
    n_words = 1 + max(int(hyps.ids.max(initial=0)), int(refs.ids.max(initial=0)))
    room = kernels.Workspace(
        words=np.full(n_words, -1, np.int32),
        keys=np.empty(size, np.int64),
        links=np.zeros(size + longest, np.int64),
        counts=np.empty((size + longest, width), np.int64),
        used=np.zeros(size + longest, np.int64),
    )
    kernels.match_all(*sides(sentences, hyps, refs), order, merged, left, room, out)


def write_totals(tokens: Tokens, *, order: int, out: Int64, left: int = 0) -> None:
    """Write how many n-grams of orders 1 … `order` each sequence has, to columns of `out` from `left` on.

    >>> out = np.zeros((2, 4), dtype=np.int64)
    >>> write_totals(Tokens(np.array([0, 3, 3]), np.array([7, 8, 9])), order=4, out=out)
    >>> out.tolist()
    [[3, 2, 1, 0], [0, 0, 0, 0]]
    """
    kernels.write_totals(tokens.offsets, order, left, out)


def reference_lengths(batch: Batch, hyps: Tokens, refs: Tokens, how: str) -> npt.NDArray[Any]:
    """Return the reference length that counts for each hypothesis, (M,): float64 for ``mean``, else int64.

    ``closest`` is IBM's definition and sacrebleu's (of two equally close the shorter), ``shortest`` NIST's.
    """
    out: Float64 = np.empty(batch.n_hypotheses)
    length_kernels.effective_lengths(
        hyps.offsets, batch.offsets, refs.offsets, batch.ref_offsets, REFERENCE_LENGTHS.index(how), out
    )
    return out if how == "mean" else out.astype(np.int64)
