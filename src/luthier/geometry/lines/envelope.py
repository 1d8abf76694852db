"""Upper envelopes of lines, exactly: which row of each segment is highest, everywhere on a line.

Rows h of M, in segments, become lines along ``w + t·d``: row k has the height ``a_k + t·b_k`` with
``a_k = w·h_k`` and ``b_k = d·h_k`` [och2003] [macherey2008]. The envelope of a segment says which row is
the highest at every t; on every open interval it is the row that a search for the maximum finds there
(ties go to the lowest row).

Most lines are far below. The fast way looks at all of them in float32 and drops those that lie under
five others for certain; what is left is computed in float64 and stacked. What is *certain* follows from
the arithmetic. Let u = 2⁻²⁴, v = 2⁻⁵³, and for a segment r_j the largest |h_kj − h_1j| and s_j the largest
|h_kj|. The copy holds h_kj − h_1j in float32. A projected sum has at most D terms, each with a rounded
coefficient, a rounded entry, a rounded product and at most D − 1 rounded additions in any order; its
error is at most γ(D+3)·Σ|c_j|r_j, γ(n) = nu / (1 − nu) ([higham2002] section 3.1). Its height at t adds two
roundings, the floor it is compared with one more: together γ(D+7)·(Σ|w_j|r_j + |t|·Σ|d_j|r_j). The float64
lines themselves differ from the true ones by γ(D) in units of v, times Σ|c_j|s_j, for the row and for the
first row; the floor adds six more such roundings. Numbers too small for float32 add at most 2⁻⁹⁹ each,
as long as none is larger than 2⁵⁰. Hence the bound below, in which every constant is rounded up. The five lines
are seen in float32 too and err by as much: the margin is twice the bound.

Heights that were seen at one place serve at another: of each weight that moved, the column times the move is added.
Each of these adds a rounded coefficient, product and sum: γ(D+3n+7) after n of them. The sums on the way may be
larger than the last one; so in the bound the size of w_j gives way to that of w_j at first and all its moves, summed.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float32, Float64, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.geometry.lines import _envelope_kernels as height_kernels
from luthier.geometry.lines import _envelope_kernels as kernels
from luthier.geometry.lines import _envelope_kernels as sweep_kernels
from luthier.geometry.lines import _survivor_kernels as survivor_kernels

UNIT32, UNIT64, TINY, LARGEST = 2.0**-24, 2.0**-53, 2.0**-90, 2.0**50
# The outer two probes look this far, in units of the largest possible ratio of a to b.
REACH = 4.0
FEW_ROWS = 32  # shorter segments are sorted whole: to look at all lines in vectors costs more
NOTHING: Float32 = frozen(np.zeros(0, np.float32))
EVENTS_PER_SEGMENT = 24  # room made at first; it doubles where that is too little


@dataclasses.dataclass(frozen=True, eq=False)
class Envelope:
    """Which row of N segments is the highest along a line.

    Attributes
    ----------
    first : (N,) int64
        The highest row of each segment as t → −∞.
    breakpoints : (P,) float64
        Positions at which the highest row of some segment changes; ascending within a segment,
        segments one after another.
    before, after : (P,) int64
        The highest row of that segment just before and after.
    bends : (P,) float64
        By how much the slope rises there; positive.
    """

    first: Int64
    breakpoints: Float64
    before: Int64
    after: Int64
    bends: Float64

    def running_sums(self, values: npt.NDArray[Any], order: Int64) -> npt.NDArray[Any]:
        """Return the sum over segments of the highest row's values, (M, S), on every interval: (P+1, S).

        `order` visits the breakpoints by ascending position; row i is the sum after i of them.
        """
        changes = np.empty((len(order), values.shape[1]), dtype=values.dtype)
        sums = np.empty((len(order) + 1, values.shape[1]), dtype=values.dtype)
        sweep_kernels.running_sums(self.first, self.before, self.after, flat(order), flat(values), changes, sums)
        return sums


@dataclasses.dataclass(frozen=True, eq=False)
class Projections:
    """Heights of all rows at some weights, in float32: good enough to see which rows are out of question.

    Attributes
    ----------
    weights : (D,) float64
    heights : (M,) float32
        Relative to the first row of each segment.
    sizes : (D,) float64
        How large a weight was at first, and all its moves since, added up.
    moves : int
        How often a column was added since.
    """

    weights: Float64
    heights: Float32
    sizes: Float64
    moves: int = 0


class Envelopes:
    """The rows of N segments, made ready for envelopes along many lines.

    Parameters
    ----------
    offsets : (N+1,) int64
        Segment i has the rows ``offsets[i]:offsets[i+1]``, at least one.
    features : (M, D) float64
        Kept, not copied; half as much memory is used for a float32 copy.
    """

    def __init__(self, offsets: Int64, features: Float64) -> None:
        self.offsets, self.features = flat(np.asarray(offsets, np.int64)), flat(np.asarray(features, np.float64))
        lengths = _checked_lengths(self.offsets, len(self.features))
        self._longest = int(lengths.max(initial=1))
        n_columns = self.features.shape[1]
        copy = np.empty(self.features.size, dtype=np.float32)
        radius, size = np.empty((len(lengths), n_columns)), np.empty((len(lengths), n_columns))
        exact = np.empty((len(lengths), n_columns), dtype=np.bool_)
        survivor_kernels.centre(self.features, self.offsets, copy, radius, size, exact)
        self._rows = survivor_kernels.Rows(
            self.offsets, self.features, frozen(copy), frozen(radius), frozen(size), frozen(exact)
        )
        largest = float(size.max(initial=0.0))
        if not np.isfinite(largest):
            raise LuthierError("features must be finite numbers")
        self._few = FEW_ROWS
        self._fits = largest <= LARGEST / 2 and self._longest >= self._few

    def along(self, start: Float64, directions: Float64, sighting: Projections | None = None) -> list[Envelope]:
        """Return the envelope along ``start + t·direction`` for each direction, (D,) and (Q, D).

        Time is O(M·D) for each direction with a small constant; where numbers are too large for
        float32, O(M·(D + log K)). What was sighted at the start is not looked at again.
        """
        start, directions = flat(np.asarray(start, np.float64)), flat(np.asarray(directions, np.float64))
        largest = max(np.abs(start).max(initial=0.0), np.abs(directions).max(initial=0.0))
        if not self._fits or largest > LARGEST:
            return self.along_sorted(start, directions)
        near = sighting if sighting is not None and np.array_equal(sighting.weights, start) else None
        units = self._units(0 if near is None else near.moves)
        bounds, sighted = (start, NOTHING) if near is None else (near.sizes, near.heights)
        events = _room_for(len(directions), len(self.offsets) - 1, self._longest)
        segment = kernels.fast_envelopes(self._rows, start, bounds, directions, units, self._few, sighted, 0, events)
        while segment < len(self.offsets) - 1:
            events = _with_more_room(events)
            segment = kernels.fast_envelopes(
                self._rows, start, bounds, directions, units, self._few, sighted, segment, events
            )
        return _envelopes(events)

    def projections_at(self, weights: Float64) -> Projections | None:
        """Return the heights of all rows at weights, (D,), roughly; None where numbers are too large for float32."""
        weights = flat(np.array(weights, np.float64))
        if not self._fits or np.abs(weights).max(initial=0.0) > LARGEST:
            return None
        heights = np.empty(len(self.features), np.float32)
        height_kernels.projections_at(self._rows, weights, heights)
        return Projections(frozen(weights), frozen(heights), frozen(np.abs(weights)))

    def highest(self, weights: Float64, near: Projections) -> Int64 | None:
        """Return the highest row of each segment at weights, (D,) → (N,); ties go to the first.

        It is exact, whatever was sighted: rows that may be the highest for all that is known are summed in float64, in
        the order of the columns. Time is O(M) for each weight that differs from those. None where one is too large.
        """
        found = self._highest(weights, near, np.zeros(0, np.float32))
        return None if found is None else found[0]

    def highest_and_moved(self, weights: Float64, near: Projections) -> tuple[Int64, Projections] | None:
        """Return what `highest` does, and the heights at these weights, in one pass."""
        return self._highest(weights, near, np.empty(len(self.features), np.float32))

    def _highest(self, weights: Float64, near: Projections, moved: Float32) -> tuple[Int64, Projections] | None:
        weights = flat(np.array(weights, np.float64))
        moves = weights - near.weights
        sizes = near.sizes + np.abs(moves)
        if sizes.max(initial=0.0) > LARGEST:
            return None
        rows, n_moves = np.empty(len(self.offsets) - 1, np.int64), near.moves + int(np.count_nonzero(moves))
        units = self._units(n_moves)
        height_kernels.highest_rows(self._rows, near.heights, moves, weights, sizes, units, rows, moved)
        return rows, Projections(frozen(weights), frozen(moved), frozen(sizes), n_moves)

    def _units(self, n_moves: int) -> Float64:
        """What the bounds on errors are made of, after so many columns were added."""
        n = self.features.shape[1]
        return np.array([(n + 3 * n_moves + 8) * UNIT32 * (65 / 64), (4 * n + 16) * UNIT64, n * TINY, REACH, LARGEST])

    def along_sorted(self, start: Float64, directions: Float64) -> list[Envelope]:
        """Return the same as `along`, by sorting all lines of a segment by slope."""
        vectors = np.concatenate([start[None], directions])
        lines = np.empty((len(vectors), len(self.features)))
        sweep_kernels.all_lines(self.features, flat(vectors), lines)
        return envelopes_of_lines(self.offsets, lines[0], lines[1:])


def envelopes_of_lines(offsets: Int64, intercepts: Float64, slopes: Float64) -> list[Envelope]:
    """Return the envelopes of given lines, (M,) and (Q, M), in O(M log K) for each of Q.

    >>> line, = envelopes_of_lines(np.array([0, 3]), np.array([0.0, 1.0, 0.0]), np.array([[-1.0, 0.0, 1.0]]))
    >>> line.first.tolist(), line.breakpoints.tolist(), line.after.tolist()
    ([0], [-1.0, 1.0], [1, 2])
    """
    offsets, intercepts, slopes = flat(offsets), flat(intercepts), flat(slopes)
    lengths = _checked_lengths(offsets, len(intercepts))
    events = _room_for(len(slopes), len(lengths), int(lengths.max(initial=1)))
    segment = kernels.sorted_envelopes(intercepts, slopes, offsets, 0, events)
    while segment < len(lengths):
        events = _with_more_room(events)
        segment = kernels.sorted_envelopes(intercepts, slopes, offsets, segment, events)
    return _envelopes(events)


def _room_for(n_directions: int, n_segments: int, longest: int) -> kernels.Events:
    """Return room for the breakpoints of Q directions, as many as there usually are."""
    shape = (n_directions, n_segments * EVENTS_PER_SEGMENT + longest)
    return kernels.Events(
        np.empty(shape),
        np.empty(shape, np.int64),
        np.empty(shape, np.int64),
        np.empty(shape),
        np.zeros(n_directions, np.int64),
        np.empty((n_directions, n_segments), np.int64),
    )


def _with_more_room(events: kernels.Events) -> kernels.Events:
    times, before, after, bends = (np.concatenate([old, np.empty_like(old)], axis=1) for old in events[:4])
    return kernels.Events(times, before, after, bends, events.counts, events.firsts)


def _envelopes(events: kernels.Events) -> list[Envelope]:
    return [
        Envelope(
            first=frozen(events.firsts[q]),
            breakpoints=frozen(events.times[q, :count]),
            before=frozen(events.before[q, :count]),
            after=frozen(events.after[q, :count]),
            bends=frozen(events.bends[q, :count]),
        )
        for q, count in enumerate(events.counts)
    ]


def _checked_lengths(offsets: Int64, n_rows: int) -> Int64:
    lengths = np.diff(offsets)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != n_rows or np.any(lengths < 1):
        raise LuthierError(f"expected segments of one row or more that cover {n_rows} rows, found others")
    return lengths
