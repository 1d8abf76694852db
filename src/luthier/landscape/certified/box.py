"""How a box of weights is bounded: which rows can win, what they can reach together, where in the box that is."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.landscape.certified import _box_kernels as kernels
from luthier.landscape.certified import _cut_kernels as cut_kernels
from luthier.landscape.certified._box_kernels import Open, Sums
from luthier.landscape.certified._cut_kernels import Steps
from luthier.landscape.certified.rows import Rows, middle_of
from luthier.landscape.certified.space import Space, moving
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.noise import UNIT, gamma
from luthier.metrics.majorants.majorant import Majorant

TANGENTS = 3  # majorants tried for a box, each touching at the best choice under the one before
CUTS = 5  # tangent planes of the coupled lists
MOST_ROWS = 20_000  # open rows of a box up to which cuts pay
MOST_OF_LIST = 200  # rows of a list that take part in cuts: the work is quadratic in them
MOST_EXACT, MOST_CHOICES = 12, 4096  # open lists, and choices of their rows, up to which all choices are tried
SHRINKS = 4  # how often a box that cuts make smaller is looked at again at once
WORTH = 0.6  # a box is looked at again if no more than this share of its volume is left


@dataclasses.dataclass(frozen=True, eq=False)
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
    """

    low: Float64
    high: Float64
    open: Open
    bound: float
    axis: int
    point: Float64
    sums: Float64


@dataclasses.dataclass(frozen=True, eq=False)
class _Reached:
    """The best line over the sums of a box, and what the open rows are worth under it."""

    majorant: Majorant
    height: float
    bound: float
    values: Float64


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

    def look(self, low: Float64, high: Float64, given: Open, target: float) -> Box | None:
        """Return what is left of a box once all that stays at or below the target is taken away; None if it is empty.

        A box whose bound is not above the target needs no further look.
        """
        for _ in range(SHRINKS):
            if self.space.excludes(low, high):
                return None
            centre, radius = middle_of(low, high)
            found, sums = self.rows.survivors(given, centre, radius)
            axis = int(np.argmax(radius * self.rows.spread))
            reached = self._reach(found, sums, target)
            bound = reached.bound if reached.bound <= target else min(reached.bound, self._exact(found))
            box = Box(low, high, found, bound, axis, centre, sums.centre)
            if bound <= target or not 0 < len(found.rows) <= MOST_ROWS:
                return box
            cut = self._cut(box, reached, centre, radius, target)
            if cut is None or cut.bound <= target:
                return dataclasses.replace(box, bound=target) if cut is None else cut
            box = cut
            before, after = high - low, box.high - box.low
            free = moving(low, high)
            if np.prod(after[free] / before[free]) > WORTH:
                return box
            low, high, given = box.low, box.high, found
        return box

    def _exact(self, found: Open) -> float:
        """Return the highest gain of any choice of open rows, if there are few and their sums are exact, else ∞."""
        counts = np.diff(found.starts)
        if self.noise.any() or len(counts) > MOST_EXACT or math.prod(counts.tolist()) > MOST_CHOICES:
            return math.inf
        sums = found.fixed[None]
        for s in range(len(counts)):
            rows = found.rows[found.starts[s] : found.starts[s + 1]]
            sums = (sums[:, None] + self.rows.stats[rows]).reshape(-1, sums.shape[1])
        return float(self.problem.gain_of_sums(sums).max())

    def _reach(self, found: Open, sums: Sums, target: float) -> _Reached:
        """Return the lowest limit of all choices among open rows, by majorants that touch at ever better choices."""
        low, high, point = sums.low - self.noise, sums.high + self.noise, sums.centre.copy()
        values, reached = np.empty(len(found.rows)), np.empty(len(point))
        best = None
        for turn in range(TANGENTS):
            line = self.problem.metric.majorant(point, low, high, sign=self.sign)
            assert line is not None
            height = line.constant + kernels.best_choice(self.rows.stats, found, line.slopes, values, reached)
            height += self._rounding(line)
            bound = line.limit(height) if math.isfinite(height) else math.inf
            if best is None or bound < best.bound:
                best = _Reached(line, height, bound, values.copy())
            if best.bound <= target:
                break
            point += (1.0 if turn == 0 else max(2.0 / (turn + 2.0), 0.2)) * (reached - point)
        assert best is not None
        return best

    def _rounding(self, line: Majorant) -> float:
        """Return what the height of the best choice may be wrong by: a sum of S products of each of N lists."""
        size = abs(line.constant) + float(np.abs(line.slopes) @ (self.sizes + self.noise))
        return 2 * gamma(self.rows.n_lists + 2 * len(line.slopes) + 8) * size

    def _cut(self, box: Box, reached: _Reached, centre: Float64, radius: Float64, target: float) -> Box | None:
        """Return what cuts leave of a box, and its bound by them; None if nothing is left."""
        level = reached.majorant.level(target)
        if not (math.isfinite(level) and math.isfinite(reached.height)):
            return box
        axes = np.flatnonzero(moving(box.low, box.high))
        steps = _empty_steps(box.open, len(axes))
        worst, n_lists = cut_kernels.order_steps(
            self.rows.heights, self.rows.slack, box.open, reached.values, centre, radius, axes, MOST_OF_LIST, steps
        )
        if not n_lists:
            return box
        fixed = reached.majorant.constant + float(reached.majorant.slopes @ box.open.fixed)
        fixed += worst + 2 * self._rounding(reached.majorant)
        constants, gradients = np.empty(CUTS + 1), np.empty((CUTS + 1, len(axes)))
        count, peak = cut_kernels.find_cuts(steps, n_lists, CUTS, level - fixed, constants, gradients)
        bound = min(box.bound, reached.majorant.limit(fixed + peak + 4 * UNIT * (abs(fixed) + abs(peak))))
        if bound <= target:
            return dataclasses.replace(box, bound=bound)
        left, right = np.empty(len(axes)), np.empty(len(axes))
        room = 4 * UNIT * (abs(fixed) + abs(level))
        if not cut_kernels.shrink_box(constants, gradients, count, level - fixed - room, left, right):
            return None
        impact = np.empty(len(axes))
        cut_kernels.weigh_axes(steps, n_lists, impact)
        axis = int(axes[np.argmax(impact)]) if impact.max() > 0 else box.axis
        low, high = _narrowed(box.low, box.high, axes, left, right)
        return dataclasses.replace(box, low=low, high=high, bound=bound, axis=axis)


def _empty_steps(found: Open, n_axes: int) -> Steps:
    n = len(found.rows)
    return Steps(
        np.empty(len(found.lists) + 1, np.int64), np.empty(n), np.empty((n, n_axes + 1)), np.empty(n), np.empty(n)
    )  # fmt: skip


def _narrowed(low: Float64, high: Float64, axes: np.ndarray, left: Float64, right: Float64) -> tuple[Float64, Float64]:
    """Return a box between places from −1 to 1 along its axes, rounded outwards."""
    centre, radius = middle_of(low, high)
    new_low, new_high = low.copy(), high.copy()
    room = 8 * UNIT * (np.abs(centre[axes]) + radius[axes])
    starts = np.where(left > -1.0, centre[axes] + radius[axes] * left - room, low[axes])
    ends = np.where(right < 1.0, centre[axes] + radius[axes] * right + room, high[axes])
    new_low[axes], new_high[axes] = np.maximum(starts, low[axes]), np.minimum(ends, high[axes])
    return new_low, new_high
