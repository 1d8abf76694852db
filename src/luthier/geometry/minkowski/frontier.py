"""Children of vertices found by other processes, ahead of the vertices' turn in a reverse search.

What the children of a vertex are does not depend on the search. So units of work ask vertices that have their turn
soon, and their children, as far as a unit goes; the search itself, which numbers the vertices, stays in one place,
takes the answers in its own order, and finds what it would have found alone, in the same blocks.
"""

from __future__ import annotations

import dataclasses
import functools
import heapq
import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.tasks import Engine, Shared, run_units
from luthier.geometry.minkowski.search_steps import Children, Steps
from luthier.geometry.minkowski.summands import Summands

# What a reverse search still has to look at: vertices that are found, and not yet asked for their children.
#
# The order in which they are taken is all that tells the ways of searching apart; the set of vertices found in
# the end is the same. Depth-first keeps as many as the way back to the root has turnings; the other orders
# keep the border of what they have seen.

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


TOGETHER = 256
FIRST_SIZE, MOST_SIZE = 32, 4096  # vertices that a unit asks: more as long as it takes less than that
UNIT_SECONDS = 0.5
UNITS_EACH = 2  # units of a round, for each that can run at a time
MOST_KNOWN = 1 << 17  # answers that wait for their turn; beyond, only what is needed now is asked


@dataclasses.dataclass(frozen=True, eq=False)
class SearchSetting:
    """What all units share: the lists, where the search starts, and what bounds it."""

    summands: Summands
    start: Float64
    limits: Float64 | None = None

    @functools.cached_property
    def steps(self) -> Steps:
        """The rule of the search."""
        return Steps(self.summands, self.start, limits=self.limits, shortcut=True)


@dataclasses.dataclass(frozen=True, eq=False)
class VerticesRequest:
    """Some vertices by corners, (n, S), and points inside, (n, D); how many may be asked in all; in which order.

    With `deep`, children have their turn before the vertices that wait; otherwise after them.
    """

    local: npt.NDArray[np.uint16]
    inner: Float64
    most: int
    deep: bool


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Children of n vertices, (n, S) corners: how many each has, changes of each as edges, points inside, margins."""

    local: npt.NDArray[np.uint16]
    children: Int64
    counts: Int64
    edges: Int64
    inner: Float64
    margins: Float64
    seconds: float


def ask_vertices(setting: SearchSetting, asked: VerticesRequest) -> Answers:
    """Return the children of vertices, and of their children, until so many have been asked or none is left."""
    began, first = time.perf_counter(), setting.summands.corner_first[:-1]
    local, inner, left, done = asked.local, asked.inner, asked.most, []
    while len(local) and left > 0:
        n = min(len(local), left, TOGETHER)
        children, edges = setting.steps.children(local[:n].astype(np.int64) + first, inner[:n], None, 1)
        done.append((local[:n], np.bincount(children.owners, minlength=n), children, edges))
        waiting, turn = (local[n:], inner[n:]), slice(None, None, -1 if asked.deep else 1)
        local = np.concatenate([waiting[0], (children.selections - first).astype(np.uint16)][turn])
        inner = np.concatenate([waiting[1], children.inner][turn])
        left -= n
    return Answers(
        np.concatenate([item[0] for item in done]),
        np.concatenate([item[1] for item in done]),
        np.concatenate([item[2].counts for item in done]),
        np.concatenate([item[3] for item in done]),
        np.concatenate([item[2].inner for item in done]),
        np.concatenate([item[2].margins for item in done]),
        time.perf_counter() - began,
    )


class Ahead:
    """What is known of vertices before their turn."""

    def __init__(self, summands: Summands, given: Shared, engine: Engine, order: str) -> None:
        self._summands, self._given, self._engine, self._order = summands, given, engine, order
        self._known: dict[bytes, tuple[Answers, int, int, int, int]] = {}
        self._size = FIRST_SIZE
        self.asked = 0

    def fill(self, frontier: Frontier, n: int, stop: threading.Event | None) -> bool:
        """Have the next n vertices asked, and others with them; return whether their children are known now."""
        if not self._missing(frontier.peek(n)):
            return True
        count = UNITS_EACH * getattr(self._engine, "count", 1)
        ahead = count * self._size if len(self._known) < MOST_KNOWN else 0
        vertices = frontier.peek(max(n, ahead))
        which = np.array(self._missing(vertices), dtype=np.int64)
        pieces = [piece for piece in np.array_split(which, count) if len(piece)]
        units = {i: self._unit(vertices, piece, further=ahead > 0) for i, piece in enumerate(pieces)}
        found = run_units(ask_vertices, self._given, units, engine=self._engine, stop=stop)
        for answers in found.values():
            self._remember(answers)
        if found and max(answers.seconds for answers in found.values()) < UNIT_SECONDS:
            self._size = min(2 * self._size, MOST_SIZE)
        return len(found) == len(units)

    def _missing(self, vertices: Arrays) -> list[int]:
        return [i for i, local in enumerate(vertices["local"]) if local.tobytes() not in self._known]

    def _unit(self, vertices: Arrays, which: Int64, *, further: bool) -> VerticesRequest:
        """Return a unit; where the best come first, it is not known which children will have their turn soon."""
        most = max(len(which), self._size) if further and self._order != "best" else len(which)
        return VerticesRequest(vertices["local"][which], vertices["inner"][which], most, self._order == "depth")

    def _remember(self, answers: Answers) -> None:
        self.asked += len(answers.local)
        children = np.concatenate([[0], np.cumsum(answers.children)]).tolist()
        edges = np.concatenate([[0], np.cumsum(answers.counts)])[children].tolist()
        for i, local in enumerate(answers.local):
            self._known[local.tobytes()] = (answers, children[i], children[i + 1], edges[i], edges[i + 1])

    def children(self, local: npt.NDArray[np.uint16], selections: Int64) -> tuple[Children, Int64]:
        """Return the children of vertices that are known, as `Steps.children` does; they are forgotten then."""
        found = [self._known.pop(vertex.tobytes()) for vertex in local]
        owners = np.repeat(np.arange(len(found)), [b - a for _, a, b, _, _ in found])
        counts = np.concatenate([answers.counts[a:b] for answers, a, b, _, _ in found])
        edges = np.concatenate([answers.edges[a:b] for answers, _, _, a, b in found])
        inner = np.concatenate([answers.inner[a:b] for answers, a, b, _, _ in found])
        margins = np.concatenate([answers.margins[a:b] for answers, a, b, _, _ in found])
        behind = selections[owners]
        behind[np.repeat(np.arange(len(owners)), counts), self._summands.edge_list[edges]] = self._summands.edge_to[
            edges
        ]
        return Children(owners, behind, inner, margins, counts), edges
