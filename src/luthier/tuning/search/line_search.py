"""Exact line search: the gain everywhere on a line through the weights, and the best place to go.

Along ``w + t·d`` the selected hypotheses change at the breakpoints of the lists' upper envelopes only
[och2003] [macherey2008]. Merged and swept once, with running sums of the statistics, they give the gain
of every interval between two of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, frozen
from luthier.core.params import param, validate
from luthier.geometry.lines.envelope import Envelope, Envelopes, envelopes_of_lines
from luthier.kbest.spread import spread_in_lists
from luthier.landscape.problem import Problem
from luthier.metrics.pools import score_selections
from luthier.tuning.base import State

SMOOTHINGS = ("none", "mean", "worst")
POINTS = ("midpoint", "margin")
DIRECTIONS_AT_ONCE = 32
SCORED_AT_ONCE = 1 << 13
# Places of a line that are kept and, if need be, re-ranked: the best few.
TRIES = 8
# A promise is kept if re-ranking gives the gain up to the rounding of sums that are no integers.
ROUNDING = 1e-9


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


@dataclasses.dataclass(frozen=True)
class Choice:
    """How an interval, and a place in it, is chosen."""

    smoothing: str = param("none", choices=SMOOTHINGS, help="judge an interval by its neighbours too")
    window: int = param(3, low=0, high=1000, help="neighbours on each side")
    point: str = param("midpoint", choices=POINTS, help="place in the interval")
    tolerance: float = param(1e-7, low=0.0, high=1.0, help="least width of an interval, in lengths of w")

    def __post_init__(self) -> None:
        validate(self)


@dataclasses.dataclass(frozen=True, eq=False)
class Places:
    """Places on a line, the best first: position, gain promised there, and what they were ordered by."""

    positions: Float64
    gains: Float64
    keys: Float64
    widths: Float64


class Lines:
    """A problem made ready for line searches; `Problem.lines` makes it once."""

    def __init__(self, problem: Problem) -> None:
        self._offsets, self._features = problem.offsets, problem.pool.features
        self._stats, self._metric = problem.stats, problem.metric
        self._sparse = len(self._features.indices) > 0
        self._envelopes = None if self._sparse else Envelopes(problem.offsets, self._features.dense)
        self.spread = frozen(spread_in_lists(problem.pool))

    def envelopes(self, start: Float64, directions: Float64) -> list[Envelope]:
        """Return the envelopes of all lists along each direction, (D,) and (Q, D)."""
        if self._envelopes is not None:
            return self._envelopes.along(start, directions)
        scores = self._features.scores
        return envelopes_of_lines(self._offsets, scores(start), scores(directions))

    def curves(self, start: Float64, directions: Float64) -> Iterator[LineCurve]:
        """Yield the gain along ``start + t·direction`` for each direction."""
        for first in range(0, len(directions), DIRECTIONS_AT_ONCE):
            for envelope in self.envelopes(start, directions[first : first + DIRECTIONS_AT_ONCE]):
                yield self._curve(envelope)

    def _curve(self, envelope: Envelope) -> LineCurve:
        order = np.argsort(envelope.breakpoints)
        times, bends = envelope.breakpoints[order], envelope.bends[order]
        sums = envelope.running_sums(self._stats, order)  # (P + 1, S)
        new = np.ones(len(times) + 1, dtype=np.bool_)  # whether an interval has a width
        np.not_equal(times[1:], times[:-1], out=new[1:-1])
        if not new.all():
            starts = np.flatnonzero(new[:-1])
            times, bends, sums = times[starts], np.minimum.reduceat(bends, starts), sums[_ends(new)]
        return LineCurve(frozen(times), frozen(self._gains(sums)), frozen(bends))

    def _gains(self, sums: npt.NDArray[Any]) -> Float64:
        blocks = range(0, len(sums), SCORED_AT_ONCE)
        scores = [self._metric.score(sums[b : b + SCORED_AT_ONCE]) for b in blocks]
        return self._metric.gain(np.concatenate(scores))


def _ends(new: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the last event of each run of equal breakpoints, as rows of running sums (row 0: none)."""
    return np.append(0, np.flatnonzero(new[1:]) + 1)


def smoothed(gains: Float64, smoothing: str, window: int) -> Float64:
    """Return the mean or the worst of each interval's neighbours, `window` on each side [cer2008].

    >>> smoothed(np.array([0.0, 3.0, 0.0, 0.0]), "mean", 1).tolist()
    [1.5, 1.0, 1.0, 0.0]
    """
    if smoothing == "none" or not window:
        return gains
    fill = 0.0 if smoothing == "mean" else np.inf
    padded = np.concatenate([np.full(window, fill), gains, np.full(window, fill)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * window + 1)
    if smoothing == "worst":
        worst: Float64 = windows.min(axis=1)
        return worst
    inside = np.lib.stride_tricks.sliding_window_view(np.pad(np.ones(len(gains)), window), 2 * window + 1)
    means: Float64 = windows.sum(axis=1) / inside.sum(axis=1)
    return means


def intervals_of(curve: LineCurve, limits: tuple[float, float]) -> tuple[Float64, Float64]:
    """Return left and right ends of the intervals, cut to the limits, (P+1,) each; perhaps infinite."""
    low, high = limits
    left = np.maximum(np.concatenate([[-np.inf], curve.breakpoints]), low)
    right = np.minimum(np.concatenate([curve.breakpoints, [np.inf]]), high)
    return left, right


def best_places(curve: LineCurve, choice: Choice, *, limits: tuple[float, float], reach: float, above: float) -> Places:
    """Return the places of a line whose gain is above a value: one in each interval, the best few.

    The highest smoothed gain is the best, of equal ones the highest gain, then the widest interval, then
    the nearest to 0.
    In an interval open to one side the place is `reach` beyond its end; intervals narrower than the
    tolerance, in units of `reach` (or of their distance, if that is more), are left out.
    """
    keys = smoothed(curve.gains, choice.smoothing, choice.window)
    left, right = intervals_of(curve, limits)
    able = np.flatnonzero((curve.gains > above) & (left < right))
    left, right, keys, gains = left[able], right[able], keys[able], curve.gains[able]
    share = np.full(len(able), 0.5)
    if choice.point == "margin":
        bends = np.concatenate([[np.inf], curve.bends, [np.inf]])
        start_bend, end_bend = bends[able], bends[able + 1]
        with np.errstate(invalid="ignore"):
            share = np.where(np.isinf(start_bend) | np.isinf(end_bend), 0.5, end_bend / (start_bend + end_bend))
    with np.errstate(invalid="ignore"):
        positions = np.where(np.isinf(left), right - reach, left + share * (right - left))
    positions = np.where(np.isinf(right), np.where(np.isinf(left), 0.0, left + reach), positions)
    wide = (right - left) > choice.tolerance * np.maximum(reach, np.abs(positions))
    positions, gains, keys, widths = positions[wide], gains[wide], keys[wide], (right - left)[wide]
    if len(keys) > TRIES:  # sort the best only
        best = np.flatnonzero(keys >= np.partition(keys, -TRIES)[-TRIES])
        positions, gains, keys, widths = positions[best], gains[best], keys[best], widths[best]
    order = np.lexsort((np.abs(positions), -widths, -gains, -keys))[:TRIES]
    return Places(positions[order], gains[order], keys[order], widths[order])


def reach_of(start: Float64, direction: Float64) -> float:
    """Return the step that moves the weights by their own length."""
    length = float(np.linalg.norm(start)) or 1.0
    return length / float(np.linalg.norm(direction))


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """A curve with the line it belongs to: direction q of those searched, (D,), by its name."""

    curve: LineCurve
    direction: Float64
    name: str

    def places(self, problem: Problem, here: State, choice: Choice) -> list[tuple[tuple[float, ...], State]]:
        """Return the best few places that promise more than the present gain, with keys to sort them by."""
        reach = reach_of(here.weights, self.direction)
        limits = problem.bounds.steps_along(here.weights, self.direction)
        best = best_places(self.curve, choice, limits=limits, reach=reach, above=here.gain)
        points = problem.bounds.clip(here.weights + best.positions[:, None] * self.direction)
        promised = [State(*pair, self.name) for pair in zip(points, best.gains.tolist(), strict=True)]
        keys = np.column_stack([-best.keys, -best.gains, -best.widths / reach, np.abs(best.positions) / reach])
        return list(zip(map(tuple, keys.tolist()), promised, strict=True))


def gain_at_weights(problem: Problem, weights: Float64) -> float:
    """Return what `Problem.gain` returns; one vector by itself is re-ranked faster than among eight."""
    score = score_selections(problem.stats, problem.select(weights), problem.metric)
    return float(problem.metric.gain(score))


def kept_promise(problem: Problem, here: State, promised: Sequence[State]) -> State | None:
    """Return the first of promised states that re-ranks to its gain; else the best that is an improvement.

    Rounding of ``w + t·d`` can move a place beyond a breakpoint that is very near.
    """
    best: State | None = None
    for state in promised[:TRIES]:
        gain = gain_at_weights(problem, state.weights)
        true = dataclasses.replace(state, gain=gain)
        if gain > here.gain and gain >= state.gain - ROUNDING * max(1.0, abs(gain)):
            return true
        if gain > (here if best is None else best).gain:
            best = true
    return best


def search_all(
    problem: Problem, here: State, directions: Float64, names: Sequence[str], choice: Choice
) -> State | None:
    """Return the best place of all Q lines through the weights, if it is better; (Q, D)."""
    found = []
    for q, curve in enumerate(problem.lines.curves(here.weights, directions)):
        found += Line(curve, directions[q], names[q]).places(problem, here, choice)
    found.sort(key=lambda place: place[0])
    return kept_promise(problem, here, [place[1] for place in found])


def search_in_turn(
    problem: Problem, here: State, directions: Float64, names: Sequence[str], choice: Choice
) -> Iterator[State]:
    """Go along each of Q directions in turn, (Q, D); yield the weights after each that improved.

    Lines are searched some at a time, more and more as long as none improves: the weights are the same
    for all of them. What is found does not depend on it.
    """
    first, ahead = 0, 1
    while first < len(directions):
        better = None
        curves = problem.lines.curves(here.weights, directions[first : first + ahead])
        for curve in curves:
            found = Line(curve, directions[first], names[first]).places(problem, here, choice)
            better = kept_promise(problem, here, [place[1] for place in found])
            first += 1
            if better is not None:
                here = better
                yield here
                break
        ahead = 1 if better is not None else 2 * ahead
