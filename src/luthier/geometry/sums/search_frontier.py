"""What a reverse search still has to look at: vertices that are found, and not yet asked for their children.

The order in which they are taken is all that tells the ways of searching apart; the set of vertices found in
the end is the same. Depth-first keeps as many as the way back to the root has turnings; the other orders
keep the border of what they have seen.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64

Arrays = dict[str, npt.NDArray[Any]]

ORDERS = ("depth", "breadth", "best")
FIELDS = ("local", "inner", "depth", "number", "skip", "priority")


class Frontier:
    """Vertices with all that is needed to go on from them, in room that is used again.

    Of each: the corner of every active list, counted from the list's first (`local`); a point inside its
    cone; its depth and number; how many of its children are known already; two numbers that say when
    its turn comes, lower first.
    """

    def __init__(self, order: str, n_lists: int, n_dims: int) -> None:
        self.order = order
        self._room: Arrays = {
            "local": np.empty((64, n_lists), np.uint16),
            "inner": np.empty((64, n_dims)),
            "depth": np.empty(64, np.int64),
            "number": np.empty(64, np.int64),
            "skip": np.empty(64, np.int64),
            "priority": np.empty((64, 2)),
        }
        self._free = list(range(63, -1, -1))
        self._stack: list[int] = []
        self._heap: list[tuple[float, float, int, int]] = []

    def __len__(self) -> int:
        return len(self._stack) + len(self._heap)

    def push(self, vertices: Arrays) -> None:
        """Add vertices, given by `FIELDS`; a stack takes the first of them next."""
        n = len(vertices["number"])
        while len(self._free) < n:
            self._grow()
        slots = [self._free.pop() for _ in range(n)]
        for name in FIELDS:
            self._room[name][slots] = vertices[name]
        if self.order == "depth":
            self._stack += slots[::-1]
            return
        first, second = vertices["priority"].T.tolist()
        for entry in zip(first, second, vertices["number"].tolist(), slots, strict=True):
            heapq.heappush(self._heap, entry)

    def pop(self, n: int) -> Arrays:
        """Take the next n vertices, or all there are, in their order."""
        n = min(n, len(self))
        if self.order == "depth":
            slots = [self._stack.pop() for _ in range(n)]
        else:
            slots = [heapq.heappop(self._heap)[-1] for _ in range(n)]
        self._free += slots
        return {name: self._room[name][slots] for name in FIELDS}

    def arrays(self) -> Arrays:
        """Return all vertices in the order of their turns; pushing them anew gives the same frontier."""
        return self.peek(len(self))

    def peek(self, n: int) -> Arrays:
        """Return the next n vertices, or all there are, in their order; they stay."""
        if self.order == "depth":
            slots = self._stack[: -n - 1 : -1]
        else:
            first = sorted(self._heap) if n >= len(self._heap) else heapq.nsmallest(n, self._heap)
            slots = [entry[-1] for entry in first]
        return {name: self._room[name][slots] for name in FIELDS}

    def _grow(self) -> None:
        n = len(self._room["number"])
        self._room = {name: np.concatenate([array, np.empty_like(array)]) for name, array in self._room.items()}
        self._free = [*range(2 * n - 1, n - 1, -1), *self._free]


def taken(vertices: Arrays, which: Int64 | Bool) -> Arrays:
    """Return some of the vertices."""
    return {name: vertices[name][which] for name in FIELDS}


def priorities(order: str, depths: Int64, angles: Float64, gains: Float64 | None) -> Float64:
    """Return when vertices have their turns, (n, 2): by depth, then angle to the start; or by gain.

    Depth counts the boundaries between a cone and the start, one by one: the closest come first.
    """
    if order == "best" and gains is not None:
        return np.stack([-gains, angles], axis=1)
    return np.stack([depths.astype(np.float64), angles], axis=1)
