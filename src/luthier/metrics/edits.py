"""What the error rates share: edits against the best reference, divided by a reference length."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core._bit_kernels import WORD_BITS
from luthier.core.arrays import Float64, Int64, frozen
from luthier.corpus.texts import Tokens
from luthier.metrics import _edit_kernels, _ter_kernels
from luthier.metrics.base import Metric, Rate, Stats, ratio
from luthier.metrics.batch import Batch, sides


@dataclasses.dataclass(frozen=True)
class ErrorRate(Metric):
    """A metric that is 100 · Σ edits / Σ reference length; lower is better.

    Without any reference words the rate is 100 if there are edits, and 0 if there are none.
    """

    @property
    def stat_names(self) -> tuple[str, ...]:
        """Edits and reference length."""
        return ("edits", "ref_len")

    @property
    def rate(self) -> Rate:
        """Edits per word of the references."""
        return Rate("edits", "ref_len")

    @property
    def higher_is_better(self) -> bool:
        """No: these are errors."""
        return False

    def score(self, stats: Stats) -> Float64:
        """Return the error rate of (sums of) statistics."""
        stats = self.check_stats(stats)
        edits, length = stats[..., 0], stats[..., 1]
        return 100.0 * np.where(length > 0, ratio(edits, length), edits > 0)


def word_edits(batch: Batch, hyps: Tokens, refs: Tokens) -> Int64:
    """Return edits and reference length of each hypothesis, by edit distance, (M, 2).

    If there are several references, the one with the fewest edits counts; if several have as few, the longest of
    these counts, which gives the lowest rate.

    Parameters
    ----------
    batch
        Which hypotheses and references belong to which sentence.
    hyps, refs : Tokens
        Of the batch, in one vocabulary.

    Notes
    -----
    n · ⌈m / 64⌉ steps for texts of n and m tokens, some 15 instructions each.
    """
    longest = int(refs.lengths.max(initial=1))
    n_blocks = -(-longest // WORD_BITS)
    out: Int64 = np.empty((len(hyps), 2), dtype=np.int64)
    _edit_kernels.edit_distances(
        *sides(batch, hyps, refs),
        _first_equals(batch.offsets, hyps),
        np.zeros(_vocabulary_size(hyps, refs), dtype=np.int64),
        np.zeros((longest + 1, n_blocks), dtype=np.uint64),
        np.empty((2, n_blocks), dtype=np.uint64),
        out,
    )
    return out


def bag_edits(batch: Batch, hyps: Tokens, refs: Tokens) -> Int64:
    """Return edits and reference length as `word_edits` does, with the order of words ignored, (M, 2).

    The edits are max(n, m) − the words that both bags hold.
    """
    out: Int64 = np.empty((len(hyps), 2), dtype=np.int64)
    _edit_kernels.bag_distances(
        *sides(batch, hyps, refs),
        _first_equals(batch.offsets, hyps),
        np.zeros(_vocabulary_size(hyps, refs), dtype=np.int64),
        out,
    )
    return out


def translation_edits(batch: Batch, hyps: Tokens, refs: Tokens) -> Int64:
    """Return the fewest edits, block moves included, of each hypothesis to any of its references, (M,).

    Parameters
    ----------
    batch
        Which hypotheses and references belong to which sentence.
    hyps, refs : Tokens
        Of the batch, in one vocabulary.

    Notes
    -----
    About one microsecond for a hypothesis of a dozen words. Pairs so different that tercom's beam matters
    take several times as long per word, and 4 (n + 3)(m + 1) bytes for texts of n and m words.
    """
    longest_ref = int(refs.lengths.max(initial=1))
    longest = max(int(hyps.lengths.max(initial=0)), longest_ref)
    n_blocks = -(-longest_ref // WORD_BITS)
    out: Int64 = np.empty(len(hyps), dtype=np.int64)
    room = _ter_kernels.Workspace(
        heads=np.full(_vocabulary_size(hyps, refs), -1, dtype=np.int64),
        masks=np.zeros((longest_ref + 1, n_blocks), dtype=np.uint64),
        bits=np.empty((_ter_kernels.BIT_ROWS, (longest + 1) * n_blocks), dtype=np.uint64),
        table=np.empty(_table_room(batch, hyps, refs), dtype=np.int32),
        work=np.empty((_ter_kernels.WORK_ROWS, longest + 1), dtype=np.int64),
        moves=np.empty((_ter_kernels.MOST_MOVES, 3), dtype=np.int64),
    )
    _ter_kernels.ter_edits(*sides(batch, hyps, refs), _first_equals(batch.offsets, hyps), room, out)
    return out


def _first_equals(offsets: Int64, rows: Tokens) -> Int64:
    """Return for every row the first row of its segment with the same tokens, (M,)."""
    most = int(np.diff(offsets).max(initial=0))
    table = np.empty(1 << (2 * most + 1).bit_length(), dtype=np.int64)
    out: Int64 = np.empty(len(rows), dtype=np.int64)
    hashes = np.empty(len(rows), dtype=np.uint64)
    _edit_kernels.find_equals(offsets, rows.offsets, rows.ids, hashes, table, out)
    return frozen(out)


def _vocabulary_size(hyps: Tokens, refs: Tokens) -> int:
    return 1 + max(int(hyps.ids.max(initial=-1)), int(refs.ids.max(initial=-1)))


def _table_room(batch: Batch, hyps: Tokens, refs: Tokens) -> int:
    """Return the cells of the largest distance table that may be needed, two scratch rows included."""
    rows = _longest_of_segments(batch.offsets, hyps.lengths) + 3
    columns = _longest_of_segments(batch.ref_offsets, refs.lengths) + 1
    return int((rows * columns).max(initial=0))


def _longest_of_segments(offsets: Int64, lengths: Int64) -> Int64:
    longest: Int64 = np.zeros(len(offsets) - 1, dtype=np.int64)
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        longest[filled] = np.maximum.reduceat(lengths, offsets[filled])
    return longest
