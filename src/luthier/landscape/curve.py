"""The gain along a line, exactly: its intervals, and how far a step goes."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64, frozen
from luthier.geometry.lines.envelope import Envelope, Envelopes, Projections, envelopes_of_lines
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.metrics.base import Metric


@dataclasses.dataclass(frozen=True, eq=False)
class LineCurve:
    """The gain along a line, exactly: constant on each of P + 1 open intervals.

    Attributes
    ----------
    breakpoints : (P,)
        Ascending, all different.
    gains : (P+1,)
        Interval i lies between breakpoints i − 1 and i.
    bends : (P,)
        By how much the best score of the list that changes gains slope at a breakpoint; the least of
        them where several change.
    """

    breakpoints: Float64
    gains: Float64
    bends: Float64

    def gain_at(self, t: float) -> float:
        """Return the gain at a position that is no breakpoint."""
        return float(self.gains[np.searchsorted(self.breakpoints, t)])

    def gains_at(self, steps: Float64) -> Float64:
        """Return the gain at each position, (T,) → (T,); at a breakpoint, that of the interval before it."""
        found: Float64 = self.gains[np.searchsorted(self.breakpoints, steps)]
        return found


def intervals_of(curve: LineCurve, limits: tuple[float, float]) -> tuple[Float64, Float64]:
    """Return left and right ends of the intervals, cut to the limits, (P+1,) each; perhaps infinite."""
    low, high = limits
    left = np.maximum(np.concatenate([[-np.inf], curve.breakpoints]), low)
    right = np.minimum(np.concatenate([curve.breakpoints, [np.inf]]), high)
    return left, right


def reach_of(start: Float64, direction: Float64) -> float:
    """Return the step that moves the weights by their own length."""
    length = float(np.linalg.norm(start)) or 1.0
    return length / float(np.linalg.norm(direction))


# From envelopes to a curve: breakpoints swept in order, with running sums of the statistics.

SCORED_AT_ONCE = 1 << 13


def curve_of(envelope: Envelope, stats: npt.NDArray[Any], metric: Metric) -> LineCurve:
    """Return the gain on every interval of a line; rows of the envelope are rows of `stats`, (M, S)."""
    times, bends, sums = sums_along(envelope, stats)
    return LineCurve(frozen(times), frozen(_gains(sums, metric)), frozen(bends))


def sums_along(envelope: Envelope, stats: npt.NDArray[Any]) -> tuple[Float64, Float64, npt.NDArray[Any]]:
    """Return breakpoints, (P,), bends, (P,), and the summed statistics of every interval of a line, (P+1, S)."""
    order = np.argsort(envelope.breakpoints)
    times, bends = envelope.breakpoints[order], envelope.bends[order]
    sums = envelope.running_sums(stats, order)  # (P + 1, S)
    new = np.ones(len(times) + 1, dtype=np.bool_)  # whether an interval has a width
    np.not_equal(times[1:], times[:-1], out=new[1:-1])
    if not new.all():
        starts = np.flatnonzero(new[:-1])
        times, bends, sums = times[starts], np.minimum.reduceat(bends, starts), sums[_ends(new)]
    return times, bends, sums


def _gains(sums: npt.NDArray[Any], metric: Metric) -> Float64:
    blocks = range(0, len(sums), SCORED_AT_ONCE)
    return metric.gain(np.concatenate([metric.score(sums[b : b + SCORED_AT_ONCE]) for b in blocks]))


def _ends(new: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the last event of each run of equal breakpoints, as rows of running sums (row 0: none)."""
    return np.append(0, np.flatnonzero(new[1:]) + 1)


# The gain along lines through the weights of K-best lists, by their upper envelopes.
#
# Along ``w + t·d`` the selected hypotheses change at the breakpoints of the lists' upper envelopes only
# [och2003] [macherey2008]. Merged and swept once, with running sums of the statistics, they give the gain
# of every interval between two of them.

DIRECTIONS_AT_ONCE = 32


class ListLines:
    """Lists made ready for line searches; `ListProblem.lines` makes it once."""

    def __init__(self, pool: Pool, stats: npt.NDArray[Any], metric: Metric) -> None:
        self._pool, self._offsets, self._features = pool, pool.offsets, pool.features
        self._stats, self._metric = stats, metric
        self._counted: Bool | None = None
        self._sparse = len(self._features.indices) > 0
        self._envelopes = None if self._sparse else Envelopes(pool.offsets, self._features.dense)

    def counting(self, stats: npt.NDArray[Any], counts: Int64) -> ListLines:
        """Return the same lists with other statistics, (M, S), and how often each counts, (N,); nothing is copied."""
        other = copy.copy(self)
        other._stats, other._counted = stats, counts > 0
        return other

    def projections_at(self, weights: Float64) -> Projections | None:
        """Return what makes selections and curves near some weights fast; None where nothing does."""
        return None if self._envelopes is None else self._envelopes.projections_at(weights)

    def select_near(self, weights: Float64, near: Projections | None) -> tuple[Int64, Projections | None]:
        """Return the selected row of each list, (D,) → (N,), as `rerank` does, and the heights there.

        It is faster near what was sighted.
        """
        if self._envelopes is not None and near is not None:
            if np.array_equal(near.weights, weights):
                rows = self._envelopes.highest(weights, near)
                found = None if rows is None else (rows, near)
            else:
                found = self._envelopes.highest_and_moved(weights, near)
            if found is not None:
                return found
        return rerank(self._pool, weights), None

    def envelopes(self, start: Float64, directions: Float64, near: Projections | None = None) -> list[Envelope]:
        """Return the envelopes of all lists along each direction, (D,) and (Q, D)."""
        if self._envelopes is not None:
            return self._envelopes.along(start, directions, near)
        scores = self._features.scores
        return envelopes_of_lines(self._offsets, scores(start), scores(directions))

    def curves(self, start: Float64, directions: Float64, near: Projections | None = None) -> Iterator[LineCurve]:
        """Yield the gain along ``start + t·direction`` for each direction."""
        for first in range(0, len(directions), DIRECTIONS_AT_ONCE):
            for envelope in self.envelopes(start, directions[first : first + DIRECTIONS_AT_ONCE], near):
                yield curve_of(self._of_counted(envelope), self._stats, self._metric)

    def _of_counted(self, envelope: Envelope) -> Envelope:
        """Return an envelope without the breakpoints of lists that do not count."""
        if self._counted is None or self._counted.all():
            return envelope
        kept = self._counted[np.searchsorted(self._offsets, envelope.after, side="right") - 1]
        return Envelope(
            first=envelope.first,
            breakpoints=frozen(envelope.breakpoints[kept]),
            before=frozen(envelope.before[kept]),
            after=frozen(envelope.after[kept]),
            bends=frozen(envelope.bends[kept]),
        )


NORMAL_TAIL = 9.0  # beyond so many deviations a normal distribution has less than a double can tell from 0
AT_ONCE = 1 << 20


def mean_gains(curve: LineCurve, positions: Float64, noise: float) -> Float64:
    """Return the mean gain under Gaussian noise of deviation `noise` about each position, (n,).

    With breakpoints b and gains g it is ``g₀ + Σ (gᵢ₊₁ − gᵢ) Φ((t − bᵢ)/noise)``.

    >>> curve = LineCurve(np.array([0.0]), np.array([1.0, 3.0]), np.ones(1))
    >>> mean_gains(curve, np.array([-9.0, 0.0, 9.0]), 1.0).tolist()
    [1.0, 2.0, 3.0]
    """
    from scipy import special  # loaded by those who ask for noise only

    if noise <= 0.0:
        return curve.gains[np.searchsorted(curve.breakpoints, positions)]
    means = np.empty(len(positions))
    near = np.searchsorted(
        curve.breakpoints, [positions - NORMAL_TAIL * noise, positions + NORMAL_TAIL * noise]
    )  # (2, n)
    step = max(1, AT_ONCE // max(1, len(curve.breakpoints)))
    for first in range(0, len(positions), step):
        part = slice(first, first + step)
        low, high = int(near[0, part].min()), int(near[1, part].max())
        jumps = np.diff(curve.gains[low : high + 1])
        shares = special.ndtr((positions[part, None] - curve.breakpoints[low:high]) / noise)
        means[part] = curve.gains[low] + np.einsum("nb,b->n", shares, jumps)
    return means


def worst_gains(curve: LineCurve, positions: Float64, radius: float) -> Float64:
    """Return the least gain within `radius` of each position, (n,).

    >>> curve = LineCurve(np.array([0.0, 5.0]), np.array([1.0, 3.0, 2.0]), np.ones(2))
    >>> worst_gains(curve, np.array([0.5, 2.5, 9.0]), 1.0).tolist()
    [1.0, 3.0, 2.0]
    """
    low = np.searchsorted(curve.breakpoints, positions - radius)
    high = np.searchsorted(curve.breakpoints, positions + radius)
    return np.array([curve.gains[a : b + 1].min() for a, b in zip(low.tolist(), high.tolist(), strict=True)])
