"""The best selection from many lists by divide and conquer: halves of the lists, merged lazily [galley2011].

The combinations of a set of lists that some weights select come out in order of value: those of its two
halves are paired best sum first, as in lazy K-best enumeration, and each pair is tested by a linear program
over the sides of both cones. What half a set cannot select no larger set can. A pair whose value, with the
best that all other lists can give, is not above the best candidate is never made.

Exact as it stands, and as published; the number of pairs grows fast, so
`luthier.geometry.joint_selection.joint_search` is the better way to the optimum. With a beam each set keeps its best
combinations only: the answer is then a good selection, not a proven one.
"""

from __future__ import annotations

import abc
import dataclasses
import heapq

import numpy as np

from luthier.core.arrays import Float64
from luthier.geometry.joint_selection import _margin_kernels as margin_kernels
from luthier.geometry.joint_selection.corners import Corners
from luthier.geometry.joint_selection.joint_search import ROUNDING, Progress
from luthier.geometry.lp.lp import largest_margin

ROWS_PER_DIMENSION = 6  # cones with more rows lose those that can be spared


@dataclasses.dataclass(frozen=True, eq=False)
class _Combination:
    """A corner of each list of a set: their value, the rows of their cone."""

    value: float
    rows: Float64


class _OutOfLps(Exception):
    """The limit is reached."""


def best_by_halves(corners: Corners, start: Float64 | None = None, *, beam: int = 0, most: int = 0) -> Progress:
    """Return how a search by halves ended.

    Parameters
    ----------
    corners : Corners of N lists in n dimensions
    start : (n,), optional
        Weights whose selection is the first candidate.
    beam : int
        Combinations that each set of lists keeps, 0 for all. What is cut leaves no bound but the sum of the
        highest values.
    most : int
        Programs to solve at most, 0 for no limit.
    """
    search = _Search(corners, start, beam, most)
    stopped = False
    try:
        search.root.get(0)
    except _OutOfLps:
        stopped = True
    value = float(search.best[0])
    bound = value
    if search.cut:
        bound = corners.highest
    elif stopped:
        bound = max(value, search.root.upper)
    weights = search.weights if np.isfinite(value) else None
    return Progress(weights, value, bound, search.lps, search.visited, finished=True)


class _Search:
    """What all sets of one search share: the best candidate, the counts, scratch."""

    def __init__(self, corners: Corners, start: Float64 | None, beam: int, most: int) -> None:
        self.corners, self.beam, self.most = corners, beam, most
        self.best, self.weights = np.array([-np.inf]), np.zeros(corners.points.shape[1])
        self.slack = ROUNDING * max(1.0, abs(corners.highest))
        self.lps = self.visited = 0
        self.cut = False
        self.room = corners.make_workspace(0)
        if start is not None and corners.is_strict(start):
            self.propose(start)
        self.root = _grow(self, 0, corners.n_lists)

    def propose(self, weights: Float64) -> None:
        """Take the selection of weights as a candidate."""
        value = self.corners.value_at(weights)
        if value is not None and value > self.best[0]:
            self.best[0], self.weights = value, weights.copy()

    def test(self, rows: Float64) -> Float64 | None:
        """Return weights strictly inside a cone, or None."""
        if self.most and self.lps >= self.most:
            raise _OutOfLps
        if len(rows) > len(self.room.rows):
            self.room = self.corners.make_workspace(2 * len(rows))
        self.room.rows[: len(rows)] = rows
        self.lps += 1
        margin = margin_kernels.widest(len(rows), self.room)
        if margin == margin_kernels.LOST:
            found = largest_margin(rows)
            return found.weights if found.margin > margin_kernels.STRICT else None
        return self.room.point[:-1].copy() if margin > margin_kernels.STRICT else None

    def spared(self, rows: Float64) -> Float64:
        """Return the rows of a cone without those that can be spared, if there are many."""
        if len(rows) <= ROWS_PER_DIMENSION * rows.shape[1]:
            return rows
        kept = list(range(len(rows)))
        for i in range(len(rows)):
            signs = np.where(np.array(kept) == i, -1.0, 1.0)
            if self.test(np.ascontiguousarray(rows[kept] * signs[:, None])) is None:
                kept.remove(i)
        return np.ascontiguousarray(rows[kept])


class _Set(abc.ABC):
    """A set of lists: its combinations in order of value, made as they are asked for."""

    def __init__(self, search: _Search, highest: float) -> None:
        self.search, self.highest = search, highest
        self.found: list[_Combination] = []
        self.parent: _Pair | None = None

    @property
    def upper(self) -> float:
        """No combination has a higher value."""
        return self.found[0].value if self.found else self.highest

    @abc.abstractmethod
    def get(self, k: int) -> _Combination | None:
        """Return combination k, or None if there are not so many that matter."""

    def rest(self) -> float:
        """Return the most that the lists outside this set can give."""
        total, here = 0.0, self
        while here.parent is not None:
            parent = here.parent
            total += (parent.right if here is parent.left else parent.left).upper
            here = parent
        return total


class _One(_Set):
    """One list."""

    def __init__(self, search: _Search, s: int) -> None:
        corners = search.corners
        super().__init__(search, float(corners.values[corners.offsets[s]]))
        self.members: list[int] = list(range(int(corners.offsets[s]), int(corners.offsets[s + 1])))

    def get(self, k: int) -> _Combination | None:
        """Return the k-th corner of those that weights within the walls select."""
        search = self.search
        while len(self.found) <= k and self.members:
            e = self.members[0]
            rows = search.corners.cone(np.array([e]))
            inside = search.test(rows)
            self.members.pop(0)
            if inside is not None:
                search.propose(inside)
                self.found.append(_Combination(float(search.corners.values[e]), search.spared(rows)))
        return self.found[k] if k < len(self.found) else None


class _Pair(_Set):
    """Two halves: the queue holds pairs of their combinations, the best sum first."""

    def __init__(self, search: _Search, left: _Set, right: _Set) -> None:
        super().__init__(search, left.highest + right.highest)
        self.left, self.right = left, right
        left.parent = right.parent = self
        self.queue: list[tuple[float, int, int]] = []
        self.begun = False

    @property
    def upper(self) -> float:
        """No combination has a higher value."""
        return self.found[0].value if self.found else self.left.upper + self.right.upper

    def get(self, k: int) -> _Combination | None:
        """Return combination k; `None` also for those that cannot beat the best candidate."""
        if not self.begun:
            self.begun = True
            self.put(0, 0)
        while len(self.found) <= k and self.queue:
            if self.search.beam and len(self.found) >= self.search.beam:
                self.search.cut = True
                return None
            self.advance()
        return self.found[k] if k < len(self.found) else None

    def put(self, i: int, j: int) -> None:
        """Queue the pair of combination i of the left and j of the right half, if there is one."""
        one = self.left.get(i)
        other = self.right.get(j) if one is not None else None
        if one is not None and other is not None:
            heapq.heappush(self.queue, (-one.value - other.value, i, j))

    def advance(self) -> None:
        """Take the best pair out of the queue, test it, and queue the next ones."""
        search = self.search
        negative, i, j = heapq.heappop(self.queue)
        if -negative + self.rest() <= search.best[0] + search.slack:
            self.queue.clear()
            return
        search.visited += 1
        one, other = self.left.found[i], self.right.found[j]
        rows = np.concatenate([one.rows, other.rows])
        inside = search.test(rows)
        if inside is not None:
            search.propose(inside)
            self.found.append(_Combination(-negative, search.spared(rows)))
        self.put(i, j + 1)
        if j == 0:
            self.put(i + 1, 0)


def _grow(search: _Search, first: int, last: int) -> _Set:
    """Return the set of lists `first` to `last`, halved down to single lists."""
    if last - first == 1:
        return _One(search, first)
    middle = (first + last) // 2
    return _Pair(search, _grow(search, first, middle), _grow(search, middle, last))
