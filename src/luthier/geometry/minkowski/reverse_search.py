"""All vertices of a Minkowski sum of lists by reverse search, in any dimension [fukuda2004] [avis1996].

A vertex of ``H_1 + … + H_S`` is a row of each list such that one weight vector selects them all; its cone is the
set of these weights. The vertex that the start w0 selects is the *root*. From the one point that stands
for another vertex's cone, argmin ‖w‖² subject to ``w·(h_j − h_i) ≤ −1``, walk straight to w0: the first boundary
crossed leads to the vertex's *parent*. The product ``w0·v`` rises with each such step, so that all vertices hang
in one tree from the root, and the tree can be climbed without a list of what was seen: u is a child of v iff
it is a neighbour whose parent is v. What is found from one vertex downwards does not depend on the rest, so
that any part can be searched elsewhere, or later.

Decisions are made in floating point with bounds on the rounding, and in exact arithmetic where these overlap.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.threads import executor
from luthier.geometry.minkowski.frontier import ORDERS, Ahead, Arrays, Frontier, priorities, taken
from luthier.geometry.minkowski.search_steps import Children, Steps
from luthier.geometry.minkowski.summands import Summands

# How many vertices are asked for their children at once; the same for any number of threads.
TOGETHER = {"depth": 256, "breadth": 256, "best": 32}
KEY_SEED = 20150601

Score = Callable[[Int64], Float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """A block of n vertices, in the order in which they were found.

    Attributes
    ----------
    numbers, parents, depths : (n,) int64
        A vertex's number, counted from 0, the root; its parent's (−1 for the root); steps to the root.
    selections : (n, S) int64
        The corner of each active list.
    change_first : (n+1,) int64
        Vertex i differs from its parent by the changes ``change_first[i]:change_first[i+1]``.
    change_lists, change_rows : (number of changes,) int64
        The list that changes, and the row that it changes to; for the root, all lists.
    points : (n, D) float64
        Weights inside each cone, of length 1 in the grid's units.
    margins : (n,) float64
        By how much they select the rows at least, each list in the units of its grid.
    gains : (n,) float64, None where there is no score
    keys : (n,) uint64
        The same for the same vertex in any search of the same lists; other vertices have others, almost surely.
    """

    numbers: Int64
    parents: Int64
    depths: Int64
    selections: Int64
    change_first: Int64
    change_lists: Int64
    change_rows: Int64
    points: Float64
    margins: Float64
    gains: Float64 | None
    keys: npt.NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.numbers)


class ReverseSearch:
    """A search that yields blocks of vertices, and can be stopped and resumed.

    Parameters
    ----------
    summands : Summands
    start : (D,)
        w0. If it lies on a boundary it is moved a little, once for the whole search.
    limits : (R, D), optional
        Search only among weights with ``limits·w < 0``, a set that must hold the start. A cone that this set
        cuts counts with the part that is inside; the walk to the start never leaves a convex set.
    order : {"depth", "breadth", "best"}
        Depth-first; the cones nearest to the start first; those with the highest score first.
    score : function of rows (n, N) to gains (n,), optional
    threads : int
        Results do not depend on it.
    shortcut : bool
        Use what is special about three dimensions, where there are three.
    """

    def __init__(
        self,
        summands: Summands,
        start: npt.ArrayLike,
        *,
        limits: npt.ArrayLike | None = None,
        order: str = "depth",
        score: Score | None = None,
        threads: int = 1,
        shortcut: bool = True,
    ) -> None:
        if order not in ORDERS:
            raise LuthierError(f"expected an order of {', '.join(ORDERS)}, found {order!r}")
        if order == "best" and score is None:
            raise LuthierError("the order 'best' needs a score to be guided by")
        self.summands, self.order, self.score, self.threads = summands, order, score, threads
        self.steps = Steps(summands, start, limits=limits, shortcut=shortcut)
        self.frontier = Frontier(order, len(summands.active), summands.n_dims)
        self.n_found = 0
        self._next_number = 0
        self._keys = np.random.default_rng(KEY_SEED).integers(
            0, 2**64, size=len(summands.corner_rows), dtype=np.uint64, endpoint=False
        )

    @property
    def complete(self) -> bool:
        """Whether every vertex is found."""
        return self.n_found > 0 and not len(self.frontier)

    def run(
        self, limit: int | None = None, stop: threading.Event | None = None, *, ahead: Ahead | None = None
    ) -> Iterator[Found]:
        """Yield blocks until every vertex is found, or `limit` of them in all, or `stop` is set.

        The search may be resumed at any block's end. With `ahead`, others find the children; the blocks are the
        same.
        """
        if not self.n_found and (limit is None or limit > 0):
            yield self._root()
        with executor(self.threads) as workers:
            while len(self.frontier) and (limit is None or self.n_found < limit) and not (stop and stop.is_set()):
                room = None if limit is None else limit - self.n_found
                if ahead is not None and not ahead.fill(self.frontier, self._together(room), stop):
                    return
                block = self._step(room, workers if self.threads > 1 else None, ahead)
                if len(block):
                    yield block

    def state(self) -> Arrays:
        """Return all that is needed to go on, as arrays."""
        counts = np.array([self.n_found, self._next_number], np.int64)
        return {"counts": counts, "goal": self.steps.goal, **self.frontier.arrays()}

    def restore(self, state: Arrays) -> None:
        """Go on from what `state` or `split` returned for the same lists, start and limits."""
        self._check(state)
        self.n_found, self._next_number = (int(count) for count in state["counts"])
        self.frontier = Frontier(self.order, len(self.summands.active), self.summands.n_dims)
        self.frontier.push({name: state[name] for name in state if name not in ("counts", "goal")})

    def _check(self, state: Arrays) -> None:
        """Complain of a state that is not one of this search: kernels index by its numbers."""
        n, s = len(state["number"]), self.summands
        shapes = {
            "counts": (2,),
            "goal": (s.n_dims,),
            "local": (n, len(s.active)),
            "inner": (n, s.n_dims),
            "depth": (n,),
            "number": (n,),
            "skip": (n,),
            "priority": (n, 2),
        }
        kinds = {"local": np.uint16, "inner": np.float64, "goal": np.float64, "priority": np.float64}
        for name, shape in shapes.items():
            if state[name].shape != shape or state[name].dtype != kinds.get(name, np.int64):
                raise LuthierError(f"expected {name} of shape {shape}, found {state[name].dtype} {state[name].shape}")
        if not np.array_equal(state["goal"], self.steps.goal):
            raise LuthierError("expected the state of a search of the same lists from the same start, found another")
        found, following = (int(count) for count in state["counts"])
        fine = 0 <= found <= following and n <= following
        fine &= bool(np.all((state["number"] >= 0) & (state["number"] < following)))
        fine &= bool(np.all(state["depth"] >= 0) and np.all(state["skip"] >= 0))
        fine &= bool(np.all(state["local"] < np.diff(s.corner_first)))
        fine &= bool(np.isfinite(state["inner"]).all()) and not np.isnan(state["priority"]).any()
        if not fine:
            raise LuthierError("expected vertices of these lists, found numbers out of range")

    def split(self, parts: int) -> list[Arrays]:
        """Return states of searches that find what is left, each vertex in one of them."""
        whole = self.state()
        which = np.arange(len(self.frontier)) % parts
        rest = {name: array for name, array in whole.items() if name not in ("counts", "goal")}
        return [
            {"counts": whole["counts"], "goal": whole["goal"], **taken(rest, which == part)} for part in range(parts)
        ]

    def _root(self) -> Found:
        selection, inner, margin = self.steps.root()
        rows = self.summands.rows(selection[None])
        everything = np.arange(rows.shape[1])
        return self._record(
            Children(np.zeros(1, np.int64), selection[None], inner[None], margin[None], np.array([len(everything)])),
            (everything, rows[0]),
            parents=np.array([-1]),
            depths=np.zeros(1, np.int64),
        )

    def _together(self, room: int | None) -> int:
        return TOGETHER[self.order] if room is None else min(TOGETHER[self.order], room)

    def _step(self, room: int | None, workers: Executor | None, ahead: Ahead | None) -> Found:
        """Ask the next vertices for their children, of which there is `room` for some."""
        asked = self.frontier.pop(self._together(room))
        selections = asked["local"].astype(np.int64) + self.summands.corner_first[:-1]
        if ahead is not None:
            children, changes = ahead.children(asked["local"], selections)
        else:
            children, changes = self.steps.children(selections, asked["inner"], workers, self.threads)
        before = np.bincount(children.owners, minlength=len(selections))
        rank = np.arange(len(children.owners)) - np.repeat(np.cumsum(before) - before, before)
        kept = rank >= asked["skip"][children.owners]  # the others were found before this search was stopped
        if room is not None and kept.sum() > room:
            kept &= np.cumsum(kept) <= room
            last = int(children.owners[np.flatnonzero(kept)[-1]])
            done = np.bincount(children.owners[kept], minlength=len(selections))
            again = np.arange(len(selections)) >= last
            asked["skip"] = asked["skip"] + done
            self.frontier.push(taken(asked, again))
        children, changes = children.take(kept, changes)
        lists = self.summands.active[self.summands.edge_list[changes]]
        rows = self.summands.corner_rows[self.summands.edge_to[changes]]
        return self._record(
            children,
            (lists, rows),
            parents=asked["number"][children.owners],
            depths=asked["depth"][children.owners] + 1,
        )

    def _record(self, children: Children, changes: tuple[Int64, Int64], *, parents: Int64, depths: Int64) -> Found:
        """Number new vertices, score them, and put them on the frontier."""
        n, s = len(children.owners), children.selections
        gains = self.score(self.summands.rows(s)) if self.score is not None and n else None
        numbers = np.arange(self._next_number, self._next_number + n)
        self._next_number += n
        self.n_found += n
        sizes = np.linalg.norm(children.inner, axis=1)
        sizes[sizes == 0.0] = 1.0  # no list has two rows: all weights are in the one cone
        points = -children.inner / sizes[:, None]
        cosines = points @ self.steps.goal / np.linalg.norm(self.steps.goal)
        self.frontier.push(
            {
                "local": (s - self.summands.corner_first[:-1]).astype(np.uint16),
                "inner": children.inner,
                "depth": depths,
                "number": numbers,
                "skip": np.zeros(n, np.int64),
                "priority": priorities(self.order, depths, np.arccos(np.clip(cosines, -1.0, 1.0)), gains),
            }
        )
        return Found(
            numbers=numbers,
            parents=parents,
            depths=depths,
            selections=s,
            change_first=np.concatenate([[0], np.cumsum(children.counts)]),
            change_lists=changes[0],
            change_rows=changes[1],
            points=self.summands.from_grid(points),
            margins=children.margins / sizes,
            gains=gains,
            keys=self.keys(s),
        )

    def keys(self, selections: Int64) -> npt.NDArray[np.uint64]:
        """Return a number for each vertex, (n, S) → (n,), that other vertices do not have, almost surely."""
        return np.asarray(np.bitwise_xor.reduce(self._keys[selections], axis=1), np.uint64)


def all_vertices(offsets: Int64, features: Float64, start: npt.ArrayLike, **options: Any) -> Int64:
    """Return the rows of every vertex of a sum of lists, (V, N), in the order of a `ReverseSearch`.

    >>> square, triangle = [[0, 0], [2, 0], [2, 1], [0, 1]], [[0, 0], [1, 0.5], [0, 1]]
    >>> len(all_vertices(np.array([0, 4, 7]), np.array(square + triangle), [1.0, 0.1]))
    6
    """
    summands = Summands.of(offsets, features)
    search = ReverseSearch(summands, start, **options)
    return np.concatenate([summands.rows(block.selections) for block in search.run()])
