"""How boxes of weights are bounded: which rows can win, what they can reach together, where in the box that is.

Several boxes are looked at in one go, for what a step costs in Python is more than what it costs in its kernel.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from luthier.core.arrays import UNIT, Bool, Float32, Float64, Int64, gamma
from luthier.core.errors import LuthierError
from luthier.landscape.certified import _box_kernels as kernels
from luthier.landscape.certified import _cut_kernels as cut_kernels
from luthier.landscape.certified._box_kernels import Bundle, Open, Sums
from luthier.landscape.certified._cut_kernels import EMPTY, LEFT, NO_CUT, Cut, Lines, Steps
from luthier.landscape.certified.rows import Rows, bundled, middle_of, open_of
from luthier.landscape.certified.space import Space
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.majorant import Majorants

TANGENTS = 3  # majorants tried for a box, each touching at the best choice under the one before
CUTS, FEW_CUTS = 5, 2  # tangent planes of the coupled lists; where second moments follow
MOMENTS = 3  # rounds of second moments, where cuts do not suffice
LEAST_AXES = 6  # weights that move, from which on these pay
HOPE = 3.0  # they stop where more is missing than so many times what they gained
PACE = 4.0  # the first step towards new moments is 1/PACE of the way
MOST_ROWS = 20_000  # open rows of a box up to which cuts pay
MOST_OF_LIST = 200  # rows of a list that take part in cuts: the work is quadratic in them
MOST_EXACT, MOST_CHOICES = 12, 4096  # open lists, and choices of their rows, up to which all choices are tried
SHRINKS = 4  # how often a box that cuts make smaller is looked at again at once
WORTH = 0.6  # a box is looked at again if no more than this share of its volume is left


# a box; of one that holds it, the rows that can win, the bound, and moments
Task = tuple[Float64, Float64, Open, float, Float32]


@dataclasses.dataclass(eq=False, slots=True)
class Box:
    """A box of weights that was looked at.

    Attributes
    ----------
    low, high : (P,)
        What is left of it.
    open : Open
        Rows that can win in it.
    bound : float
        No weights in it have a higher gain.
    axis : int
        Where it should be split.
    point : (P,)
        Its centre.
    sums : (S,)
        Statistics of what wins there, but for ties.
    moments : (P+1, P+1) float32
        Of 1 and the coordinates, from −1 to 1: where all lists together promise most; halves begin with them.
    """

    low: Float64
    high: Float64
    open: Open
    bound: float
    axis: int
    point: Float64
    sums: Float64
    moments: Float32


@dataclasses.dataclass(frozen=True, eq=False)
class _Seen:
    """What is known of B boxes: where they are, (B, P); rows that can win; the lowest lines over their sums; bounds.

    Lows, highs, bounds and axes are changed as more is known.
    """

    lows: Float64
    highs: Float64
    centres: Float64
    radii: Float64
    open: Bundle
    sums: Sums
    lines: Majorants
    heights: Float64
    bounds: Float64
    axes: Int64
    moments: Float64

    def boxes(self, which: Int64, limits: Float64) -> Iterator[Box]:
        """Yield some of them, (W,), none with a bound above its limit."""
        moments = self.moments[which].astype(np.float32)
        for at, limit, reached in zip(which.tolist(), limits.tolist(), moments, strict=True):
            bound, axis = min(float(self.bounds[at]), limit), int(self.axes[at])
            low, high, rows = self.lows[at], self.highs[at], open_of(self.open, at)
            yield Box(low, high, rows, bound, axis, self.centres[at], self.sums.centre[at], reached)


def first_moments(n_axes: int) -> Float32:
    """Return moments to begin with, (P+1, P+1): no axis says anything of another."""
    return np.asarray(np.eye(n_axes + 1, dtype=np.float32))


class Boxes:
    """Bounds boxes of one space for one problem; pure, so that threads may share it."""

    def __init__(self, problem: ListProblem, space: Space) -> None:
        metric = problem.metric
        probe = np.ones(problem.stats.shape[1])
        if metric.majorant(probe, probe, probe) is None:
            raise LuthierError(
                f"the metric {metric.name!r} declares no majorant, so nothing can be proven of it. "
                "hint: BLEU, chrF, error rates, columns and their sums have one"
            )
        self.problem, self.space = problem, space
        self.rows = Rows.of(problem, space)
        self.sign = 1.0 if metric.higher_is_better else -1.0
        stats = self.rows.stats
        self.sizes = np.maximum.reduceat(np.abs(stats), self.rows.offsets[:-1], axis=0).sum(axis=0)
        # sums of whole numbers are exact
        whole = np.all(np.mod(stats, 1.0) == 0, axis=0) & (self.sizes < 2.0**52)
        self.noise = np.where(whole, 0.0, 2 * gamma(self.rows.n_lists + 2) * self.sizes)

    def look(self, tasks: Sequence[Task], target: float) -> list[Box | None]:
        """Return what is left of boxes once all that stays at or below the target is taken away; None of one outside.

        A box whose bound is not above the target needs no further look. What is found of a box does not depend on
        which others it is looked at with.
        """
        found: list[Box | None] = [None] * len(tasks)
        lows, highs = np.array([task[0] for task in tasks]), np.array([task[1] for task in tasks])
        limits, moments = np.array([task[3] for task in tasks]), np.array([task[4] for task in tasks], np.float64)
        given, parents = bundled([task[2] for task in tasks])
        which, seen = np.arange(len(tasks)), None
        for turn in range(SHRINKS):
            inside = ~self.space.excludes(lows, highs)
            if seen is not None:  # nothing is left of some, but what was taken away reaches up to the target
                gone = np.minimum(limits[which[~inside]], target)
                for at, box in zip(which[~inside], seen.boxes(parents[~inside], gone), strict=True):
                    found[at] = box
            which, lows, highs, parents = which[inside], lows[inside], highs[inside], parents[inside]
            moments = moments[inside]
            if not len(which):
                break
            seen = self._bounded(lows, highs, given, parents, moments, target)
            again = self._cut(seen, target) & (turn + 1 < SHRINKS)
            for at, box in zip(which[~again], seen.boxes(np.flatnonzero(~again), limits[which[~again]]), strict=True):
                found[at] = box
            which, lows, highs, moments = which[again], seen.lows[again], seen.highs[again], seen.moments[again]
            given, parents = seen.open, np.flatnonzero(again)
        return found

    def _bounded(
        self, lows: Float64, highs: Float64, given: Bundle, parents: Int64, moments: Float64, target: float
    ) -> _Seen:
        """Return boxes with their bounds by majorants, and by all choices where these are few."""
        centres, radii = middle_of(lows, highs)
        opened, sums = self.rows.survivors(given, parents, centres, radii)
        lines, heights, bounds = self._reach(opened, sums, target)
        for at in np.flatnonzero((bounds > target) & (np.diff(opened.ends) <= MOST_EXACT)):
            bounds[at] = min(bounds[at], self._exact(open_of(opened, int(at))))
        axes = np.argmax(radii * self.rows.spread, axis=1)
        return _Seen(lows.copy(), highs.copy(), centres, radii, opened, sums, lines, heights, bounds, axes, moments)

    def _exact(self, found: Open) -> float:
        """Return the highest gain of any choice of open rows, if these are few and their sums are exact, else ∞."""
        counts = np.diff(found.starts)
        if self.noise.any() or math.prod(counts.tolist()) > MOST_CHOICES:
            return math.inf
        sums = found.fixed[None]
        for s in range(len(counts)):
            rows = found.rows[found.starts[s] : found.starts[s + 1]]
            sums = (sums[:, None] + self.rows.stats[rows]).reshape(-1, sums.shape[1])
        return float(self.problem.gain_of_sums(sums).max())

    def _reach(self, opened: Bundle, sums: Sums, target: float) -> tuple[Majorants, Float64, Float64]:
        """Return the lowest limits of all choices among open rows, by majorants that touch at ever better choices.

        These are the lines, their heights at the best choices, and the scores that these allow, (B,) each.
        """
        lows, highs, points = sums.low - self.noise, sums.high + self.noise, sums.centre.copy()
        which = np.arange(len(points))
        lines, heights, bounds = None, np.empty(len(points)), np.full(len(points), np.inf)
        for turn in range(TANGENTS):
            tried = self.problem.metric.majorants(points[which], lows[which], highs[which], sign=self.sign)
            totals, reached = np.empty(len(which)), np.empty((len(which), points.shape[1]))
            kernels.best_choices(self.rows.stats, opened, which, tried.slopes, totals, reached)
            found = tried.constants + totals + self._rounding(tried)
            limits = np.where(np.isfinite(found), tried.limits(found), np.inf)
            better = limits < bounds[which]
            if lines is None:
                lines, heights, bounds = tried, found, limits
            elif better.any():
                lines.put(which[better], tried, better)
                heights[which[better]], bounds[which[better]] = found[better], limits[better]
            going = bounds[which] > target
            which = which[going]
            if not len(which):
                break
            points[which] += (1.0 if turn == 0 else max(2.0 / (turn + 2.0), 0.2)) * (reached[going] - points[which])
        assert lines is not None
        return lines, heights, bounds

    def _rounding(self, lines: Majorants) -> Float64:
        """Return what heights of best choices may be wrong by, (B,): sums of S products of each of N lists."""
        # no matrix product: its last bits may depend on how many boxes there are
        sizes = np.abs(lines.constants) + (np.abs(lines.slopes) * (self.sizes + self.noise)).sum(axis=1)
        return np.asarray(2 * gamma(self.rows.n_lists + 2 * lines.slopes.shape[1] + 8) * sizes)

    def _cut(self, seen: _Seen, target: float) -> Bool:
        """Cut boxes that are above the target; return which became so small that another look pays, (B,)."""
        again = np.zeros(len(seen.bounds), np.bool_)
        levels, counts = seen.lines.levels(target), np.diff(seen.open.starts[seen.open.ends])
        able = np.isfinite(levels) & np.isfinite(seen.heights) & (counts > 0) & (counts <= MOST_ROWS)
        which = np.flatnonzero(able & (seen.bounds > target))
        if not len(which):
            return again
        out = self._cuts(seen, which, levels[which], int(counts[which].max()))
        peaks = out.fixed + out.peak + 4 * UNIT * (np.abs(out.fixed) + np.abs(out.peak))
        whole = np.full(len(seen.bounds), np.inf)
        whole[which] = peaks
        limits = seen.lines.limits(whole)[which]
        bounds = np.where(out.state == NO_CUT, seen.bounds[which], np.minimum(seen.bounds[which], limits))
        seen.bounds[which] = np.where((out.state == EMPTY) & (bounds > target), target, bounds)
        left = (out.state == LEFT) & (bounds > target)
        some = which[left]
        moves = out.impact[left].max(axis=1) > 0
        seen.axes[some[moves]] = np.argmax(out.impact[left][moves], axis=1)
        lows, highs = _narrowed(seen.lows[some], seen.highs[some], out.left[left], out.right[left])
        before = seen.highs[some] - seen.lows[some]
        shares = np.divide(highs - lows, before, out=np.ones_like(before), where=before > 0)
        seen.lows[some], seen.highs[some] = lows, highs
        again[some] = np.prod(shares, axis=1) <= WORTH
        return again

    def _cuts(self, seen: _Seen, which: Int64, levels: Float64, most_rows: int) -> Cut:
        """Return what cuts make of some boxes."""
        count, n_axes = len(which), seen.lows.shape[1]
        slopes = seen.lines.slopes[which]
        bases = seen.lines.constants[which] + (slopes * seen.open.fixed[which]).sum(axis=1)
        bases += 2 * self._rounding(seen.lines)[which]
        steps = Steps(
            np.empty(most_rows + 1, np.int64),
            np.empty(most_rows),
            np.empty((most_rows, n_axes + 1)),
            np.empty(most_rows),
            np.empty(most_rows),
        )
        out = Cut(
            np.empty(count, np.int8),
            np.zeros(count),
            np.zeros(count),
            np.empty((count, n_axes)),
            np.empty((count, n_axes)),
            np.empty((count, n_axes)),
            seen.moments[which],
        )
        lines = Lines(slopes, bases, levels)
        rounds = MOMENTS if self.space.n_moving >= LEAST_AXES else 0
        limits = (MOST_OF_LIST, FEW_CUTS if rounds else CUTS, (rounds, HOPE, PACE))
        cut_kernels.cut_boxes(self.rows.table, seen.open, which, lines, seen.centres, seen.radii, limits, steps, out)
        seen.moments[which] = out.moments
        return out


def _narrowed(lows: Float64, highs: Float64, left: Float64, right: Float64) -> tuple[Float64, Float64]:
    """Return boxes between places from −1 to 1 along their axes, rounded outwards; (B, P) each."""
    centres, radii = middle_of(lows, highs)
    room = 8 * UNIT * (np.abs(centres) + radii)
    starts = np.where(left > -1.0, centres + radii * left - room, lows)
    ends = np.where(right < 1.0, centres + radii * right + room, highs)
    return np.maximum(starts, lows), np.minimum(ends, highs)
