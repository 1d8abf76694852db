"""The selection of the highest value that one weight vector can make from many lists, with a proof.

The exact global optimum of a sum over lists [galley2011], by best-first search over cones of weights. A cone
is where some lists are decided. Its bound is what every list could still give: the sum over lists of the
most valuable corner within reach, one linear program for each corner asked about, which also yields
weights inside the cone whose selection is a candidate. A cone whose bound is not above the best
candidate is dropped with everything in it; the one with the highest bound among the others is divided by the
list in which its best candidate falls farthest behind. When no cone is left the best candidate is the optimum.

A selection counts if it is strict by more than 10⁻⁹: the distance, for |w_k| ≤ 1, to the nearest tie.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.geometry.joint_selection import _joint_kernels as kernels
from luthier.geometry.joint_selection import _margin_kernels as margin_kernels
from luthier.geometry.joint_selection.corners import Corners
from luthier.geometry.lp.lp import largest_margin

ROUNDING = 1e-9  # sums nearer than this, relative to the largest, are equal
WITNESSES = 16  # weights inside a cone that are remembered with it
ROWS_PER_DIMENSION = 32  # cones with more rows lose those that can be spared, in few dimensions
NO_LIMIT = 1 << 60


@dataclasses.dataclass(frozen=True, eq=False)
class Progress:
    """How far a search has come.

    Attributes
    ----------
    weights : (n,) float64 or None
        Weights of the best selection so far; None before there is one.
    value : float
        Its value.
    bound : float
        No selection has a higher value.
    lps : int
        Linear programs solved.
    visited : int
        Cones, or combinations, looked at.
    finished : bool
        Whether the search has ended; then `bound` above `value` means that it is not proven.
    """

    weights: Float64 | None
    value: float
    bound: float
    lps: int
    visited: int
    finished: bool


@dataclasses.dataclass(frozen=True, eq=False)
class _Cone:
    """Rows of a cone, the most valuable corner of each list that is not excluded, weights inside.

    `part` is the list by which it is being divided, and the corner whose turn it is.
    """

    rows: Float64
    first: Int64
    decided: Bool
    witnesses: Float64
    tight: bool
    part: tuple[int, int] | None = None


def best_selection(
    corners: Corners, start: Float64 | None = None, *, most: int = 0, every: int = 1 << 16
) -> Iterator[Progress]:
    """Search for the selection of the highest value; yield when it improves, and after `every` programs.

    Parameters
    ----------
    corners : Corners of N lists in n dimensions
    start : (n,), optional
        Weights whose selection is the first candidate; the better, the shorter the search.
    most : int
        Programs to solve at most, 0 for no limit.
    """
    yield from _Search(corners, start).run(most, every)


class _Search:
    """One search: its queue, its best candidate and its counts."""

    def __init__(self, corners: Corners, start: Float64 | None) -> None:
        self.corners, n = corners, corners.points.shape[1]
        self.best = kernels.Best(np.array([-np.inf]), np.zeros(n))
        self.lps = self.visited = 0
        self.slack = ROUNDING * max(1.0, abs(corners.highest), float(np.abs(corners.values).sum() / n))
        few = n <= kernels.FEW_DIMENSIONS
        self.most_rows = ROWS_PER_DIMENSION * n + len(corners.walls) if few else NO_LIMIT
        self.longest = int(np.diff(corners.offsets).max())
        self.room = corners.make_workspace(0)
        if start is not None and corners.is_strict(start):
            self.best.value[0] = corners.values[corners.select(start)].sum()
            self.best.weights[:] = start
        self.numbers = itertools.count()
        self.queue: list[tuple[float, int, _Cone]] = []

    def run(self, most: int, every: int) -> Iterator[Progress]:
        """Yield the progress until no cone is left."""
        self.push_root()
        shown, told = self.best.value[0], every
        while self.queue:
            bound = -self.queue[0][0]
            if bound <= self.best.value[0] + self.slack or (most and self.lps >= most):
                break
            self.visit(-bound, heapq.heappop(self.queue)[2])
            if self.best.value[0] > shown or self.lps >= told:
                shown, told = self.best.value[0], self.lps + every
                yield self.progress(finished=False)
        yield self.progress(finished=True)

    def progress(self, *, finished: bool) -> Progress:
        """Return how things stand; the bound is that of the best cone left, if it is above the best candidate."""
        bound = -self.queue[0][0] if self.queue else -np.inf
        value = float(self.best.value[0])
        found = np.isfinite(value)
        return Progress(
            self.best.weights.copy() if found else None,
            value,
            value if found and bound <= value + self.slack else bound,
            self.lps,
            self.visited,
            finished,
        )

    def push_root(self) -> None:
        """Begin with all weights inside the walls, if there are any."""
        corners = self.corners
        n = corners.points.shape[1]
        inside = np.ones(n)
        if len(corners.walls):
            margin = largest_margin(corners.walls)
            self.lps += 1
            if margin.margin <= margin_kernels.STRICT:
                return
            inside = margin.weights
        first, decided = corners.offsets[:-1].copy(), np.diff(corners.offsets) == 1
        rows, inside = np.array(corners.walls), np.array(inside[None])  # as those of shards: kernels compile once
        self.push(corners.highest, _Cone(rows, first, decided, inside, tight=False))

    def push(self, bound: float, cone: _Cone) -> None:
        """Put a cone into the queue, unless it cannot hold anything better."""
        if bound > self.best.value[0] + self.slack:
            heapq.heappush(self.queue, (-bound, next(self.numbers), cone))

    def reach(self, cone: _Cone) -> kernels.Reach:
        """Return the corners that a cone does not exclude: lists that are decided have one."""
        return kernels.Reach(cone.first.copy(), np.where(cone.decided, cone.first + 1, self.corners.offsets[1:]))

    def visit(self, negative_bound: float, cone: _Cone) -> None:
        """Look ahead from a cone and put it back, or divide it."""
        self.make_workspace(cone)
        bound = -negative_bound
        if cone.part is not None:
            self.divide(bound, cone, *cone.part)
            return
        self.visited += 1
        if not cone.tight:
            bound, cone = self.look_ahead(cone)
            if self.queue and bound < -self.queue[0][0] - self.slack:
                self.push(bound, cone)
                return
        if bound <= self.best.value[0] + self.slack:
            return
        chosen = kernels.choose_list(self.corners.lists, self.reach(cone), cone.witnesses, self.room)
        if chosen >= 0:
            self.push(bound, dataclasses.replace(cone, part=(int(chosen), int(cone.first[chosen]))))

    def make_workspace(self, cone: _Cone) -> None:
        """Have scratch for programs of a cone's rows and one list's."""
        if len(cone.rows) + self.longest > len(self.room.rows):
            self.room = self.corners.make_workspace(2 * len(cone.rows))

    def look_ahead(self, cone: _Cone) -> tuple[float, _Cone]:
        """Return the bound of a cone, and the cone without the corners that are out of its reach."""
        reach, known = self.reach(cone), len(cone.witnesses)
        witnesses = np.empty((max(WITNESSES, known), len(self.best.weights)))
        witnesses[:known] = cone.witnesses
        bound, known, solved, _ = kernels.look_ahead(
            self.corners.lists,
            self.corners.facets,
            cone.rows,
            reach,
            witnesses,
            known,
            self.best,
            self.slack,
            self.room,
        )
        self.lps += solved
        return bound, _Cone(cone.rows, reach.first, cone.decided, witnesses[:known].copy(), tight=True)

    def divide(self, bound: float, cone: _Cone, s: int, e: int) -> None:
        """Queue the part of a cone in which list s selects corner e, and what is left: the parts of less worth."""
        values, inside = self.corners.values, np.empty((WITNESSES, len(self.best.weights)))
        margin, n_rows, count, solved = kernels.part_of_cone(
            self.corners.lists, self.corners.facets, cone.rows, s, e, self.most_rows, cone.witnesses, inside, self.room
        )
        self.lps += solved
        rows, witnesses = self.room.rows[:n_rows].copy(), inside[:count].copy()
        if margin == margin_kernels.LOST:
            rows = np.concatenate([cone.rows, self.corners.cone(np.array([e]))[len(self.corners.walls) :]])
            found = largest_margin(rows)
            margin, witnesses = found.margin, np.array(found.weights[None])
        if margin > margin_kernels.STRICT:
            first, decided = cone.first.copy(), cone.decided.copy()
            first[s], decided[s] = e, True
            self.push(bound, _Cone(rows, first, decided, witnesses, tight=False))
        if e + 1 < self.corners.offsets[s + 1]:
            self.push(bound - values[e] + values[e + 1], dataclasses.replace(cone, part=(s, e + 1)))
