"""The common refinement of many subdivisions of the plane: every cell once, in bounded memory.

On a cell every list selects one row. A cell that is bounded below has one lowest corner (of equally low ones the
leftmost), and that corner names it: the crossing of two lists' edges is the lowest corner of the cell between
the parts that go up from it; a corner of a list's own face is one if two of its three edges go up; a cell that is
open below is named by the place where the window's border first meets it. So walking every edge through the
faces of all other lists finds every cell, each once, with the sums of its rows' values updated by one row per
crossing [waite2015].
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.threads import executor
from luthier.geometry.plane import _plane_kernels as kernels
from luthier.geometry.plane.cells import Cell, cell_of_faces
from luthier.geometry.plane.subdivision import FAR, Subdivisions, Window, border_lines, without_fault

EDGES_AT_ONCE = 32
CELLS_AT_ONCE = 1 << 15
BOTTOM, RIGHT, TOP, LEFT, LEFT_REVERSED, TOP_REVERSED = -1, -2, -3, -4, -8, -7
# Each side of the window, in its upward direction: its line, the lines that end it, its kind. The top owns no cell.
BORDER_WALKS = (
    (BOTTOM, LEFT, RIGHT, 1), (RIGHT, BOTTOM, TOP, 2), (LEFT_REVERSED, BOTTOM, TOP, 4), (TOP_REVERSED, LEFT, RIGHT, 8),
)  # fmt: skip
NEVER_BENT = 1e300

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True, eq=False)
class CellBlock:
    """Some cells of the overlay.

    Attributes
    ----------
    sums : (n, S)
        Sum over lists of the selected rows' values.
    low : (n, 2) float64
        The lowest point of each cell.
    keys : (n, 2) int64
        Names of the cells, for `Overlay.cell`: an edge, and the face it enters at the lowest point (−1: it starts
        there).
    """

    sums: npt.NDArray[Any]
    low: Float64
    keys: Int64

    def __len__(self) -> int:
        return len(self.sums)


@dataclasses.dataclass(frozen=True, eq=False)
class Edges:
    """Edges between two faces of a list, and last the sides of the window: bottom, right, left, top.

    Attributes
    ----------
    lines : (E, 7) int64
        Face on the left and on the right; the lines that end the edge below and above; whether the left face
        has its lowest corner at the lower end. A line is two faces, or (−1 − b, 0).
    ends : (E, 6) float64
        On the grid: x, y and a bound on errors of heights, of the lower and the upper end.
    turns : (E, 2) int64
        Signs of the minors with the ending lines.
    kinds : (E,) int64
        0: inner edge; 1, 2, 4, 8: the window's bottom, right, left, top.
    of_side : (T,) int64
        The edge of each side of a face; −1 − b on the window's border.
    """

    lines: Int64
    ends: Float64
    turns: Int64
    kinds: Int64
    of_side: Int64

    @classmethod
    def make(cls, faces: Subdivisions) -> Edges:
        """Collect the edges of subdivisions."""
        lines = np.zeros((len(faces.sides) // 2 + len(BORDER_WALKS), 7), np.int64)
        of_side = np.empty(len(faces.sides), np.int64)
        inner = lines[: len(lines) - len(BORDER_WALKS)]
        n = without_fault(kernels.collect_edges(faces.heights, faces.face_ptr, faces.sides, inner, of_side))
        kinds = np.zeros(n + len(BORDER_WALKS), np.int64)
        for line, below, above, kind in BORDER_WALKS:
            lines[n, [0, 2, 4]] = line, below, above
            kinds[n] = kind
            n += 1
        lines = flat(lines[:n])
        ends, turns = np.empty((n, 6)), np.empty((n, 2), np.int64)
        kernels.place_ends(faces.heights, faces.border, lines, ends, turns)
        return cls(lines, flat(ends), flat(turns), flat(kinds), flat(of_side))

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def n_inner(self) -> int:
        """How many edges lie between two faces."""
        return len(self.lines) - len(BORDER_WALKS)

    @property
    def n_owners(self) -> int:
        """How many edges, from the first on, may own cells."""
        return len(self.lines) - 1

    @functools.cached_property
    def bends(self) -> Float64:
        """How far along each edge half of its crossings may lie: of edges that go very far, (E,)."""
        length = np.abs(self.ends[:, 3] - self.ends[:, 0]) + np.abs(self.ends[:, 4] - self.ends[:, 1])
        far = length > FAR / 4
        return flat(np.divide(4.0, length, out=np.full(len(length), NEVER_BENT), where=far))


class Overlay:
    """The overlay of the subdivisions of N lists.

    Parameters
    ----------
    offsets : (N+1,) int64
        Rows of each list, at least one.
    points : (M, 3) float64
        c, p, q: row k has the height ``c + x·p + y·q``.
    window : Window
        What of the plane is looked at; by default all.
    """

    def __init__(self, offsets: Int64, points: Float64, window: Window | None = None) -> None:
        self.offsets, self.points = flat(np.asarray(offsets, np.int64)), flat(np.asarray(points, np.float64))
        self.window = window or Window()
        self.faces = Subdivisions.make(self.offsets, self.points, self.window)
        self.edges = Edges.make(self.faces)
        counts = self.faces.counts
        self.busy = flat(np.flatnonzero(counts > 1))  # lists with edges
        self._single = flat(self.faces.offsets[:-1][counts == 1])
        self.lists = flat(self.faces.lists)

    @property
    def n_lists(self) -> int:
        """How many lists there are, N."""
        return len(self.offsets) - 1

    @property
    def rows(self) -> Int64:
        """The rows that are the highest of their list somewhere in the window, ascending."""
        return self.faces.rows

    def cell_at(self, x: float, y: float) -> Cell:
        """Return the cell that holds a point; on a boundary ties go to the lower row."""
        x_low, x_high, y_low, y_high = self.window.limits
        if not (x_low <= x <= x_high and y_low <= y <= y_high):
            raise LuthierError(f"expected a point inside the window {self.window.limits}, found {(x, y)}")
        corner = flat(border_lines(Window(x, np.inf, y, np.inf), self.faces.grid))
        faces = np.empty(self.n_lists, np.int64)
        kernels.faces_at_corner(self.faces.heights, corner, self.faces.offsets, faces)
        return cell_of_faces(self.faces, self.points, faces)

    def cell(self, key: Int64) -> Cell:
        """Return the cell of a key, (2,), that `stream` gave."""
        e, target = int(key[0]), int(key[1])
        edges, room = self.edges, Room(self)
        here = int(self.lists[edges.lines[e, 0]]) if edges.kinds[e] == 0 else -1
        found = kernels.faces_of_cell(
            self.faces.heights, self.faces.border, self.faces.face_ptr, self.faces.sides, self.busy, self.lists,
            edges.lines[e], edges.ends[e], edges.turns[e], edges.kinds[e], here, target,
            room.state, room.hops, room.times, room.order, room.buckets, edges.bends[e],
        )  # fmt: skip
        if not found:
            raise LuthierError(f"there is no cell {tuple(key)}")
        return cell_of_faces(self.faces, self.points, room.state)

    def stream(
        self, values: npt.NDArray[Any], visit: Callable[[CellBlock], Result], *, threads: int = 1
    ) -> Iterator[Result]:
        """Yield ``visit(block)`` for blocks that together hold every cell once, in a fixed order.

        `values` (M, S) are summed over the selected rows of each cell; `visit` runs in the workers.
        """
        own, constant = self._values(values)
        scratch = threading.local()

        def work(first: int) -> list[Result]:
            if not hasattr(scratch, "room"):
                scratch.room = Room(self, own)
            last = min(first + EDGES_AT_ONCE, self.edges.n_owners)
            return [visit(block) for block in self._blocks(own, constant, range(first, last), scratch.room)]

        jobs = iter(range(0, self.edges.n_owners, EDGES_AT_ONCE))
        if threads == 1:
            for first in jobs:
                yield from work(first)
            return
        with executor(threads) as pool:
            waiting: collections.deque[Future[list[Result]]] = collections.deque()
            try:
                for first in jobs:
                    waiting.append(pool.submit(work, first))
                    if len(waiting) > 4 * threads:
                        yield from waiting.popleft().result()
                while waiting:
                    yield from waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _values(self, values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return the values of the faces, and the sum over lists with one face."""
        if values.ndim != 2 or len(values) != len(self.points):
            raise LuthierError(f"expected values of {len(self.points)} rows, found shape {values.shape}")
        dtype = np.int64 if np.issubdtype(values.dtype, np.integer) else np.float64
        own = flat(values[self.faces.rows].astype(dtype))
        return own, flat(own[self._single].sum(axis=0))

    def _blocks(
        self, own: npt.NDArray[Any], constant: npt.NDArray[Any], edges: range, room: Room
    ) -> Iterator[CellBlock]:
        e = edges.start
        while e < edges.stop:
            e, n = kernels.stream(
                self.faces.heights, self.faces.border, self.faces.face_ptr, self.faces.sides, self.busy, self.lists,
                own, constant, self.edges.lines, self.edges.ends, self.edges.turns, self.edges.kinds, self.edges.bends,
                e, edges.stop, room.state, room.hops, room.times, room.order, room.buckets,
                room.sums, room.low, room.keys,
            )  # fmt: skip
            if without_fault(n):
                yield CellBlock(room.sums[:n].copy(), room.low[:n] * self.faces.grid.units, room.keys[:n].copy())


class Room:
    """Where one worker writes."""

    def __init__(self, overlay: Overlay, values: npt.NDArray[Any] | None = None) -> None:
        n_faces = len(overlay.faces.rows)
        self.state = overlay.faces.offsets[:-1].copy()
        self.hops, self.times = np.empty((n_faces, 3), np.int64), np.empty((n_faces, 2))
        self.order, self.buckets = np.empty(n_faces, np.int64), np.empty(n_faces + 1, np.int64)
        if values is not None:
            size = max(CELLS_AT_ONCE, n_faces + 1)
            self.sums = np.empty((size, values.shape[1]), values.dtype)
            self.low, self.keys = np.empty((size, 2)), np.empty((size, 2), np.int64)
