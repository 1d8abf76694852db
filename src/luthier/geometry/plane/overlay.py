"""The common refinement of many subdivisions of the plane: every cell once, in bounded memory.

On a cell every list selects one row. A cell that is bounded below has one lowest corner (the leftmost, if two are
equally low), and that corner names it: the crossing of two lists' edges is the lowest corner of the cell between
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
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.threads import executor
from luthier.geometry.plane import _face_kernels as face_kernels
from luthier.geometry.plane import _stream_kernels as kernels
from luthier.geometry.plane import _walk_kernels as walk_kernels
from luthier.geometry.plane.cells import Cell, cell_of_faces
from luthier.geometry.plane.subdivision import Subdivisions, Window, border_lines, without_fault

EDGES_AT_ONCE = 32
CELLS_AT_ONCE = 1 << 15
BOTTOM, RIGHT, TOP, LEFT, LEFT_REVERSED, TOP_REVERSED = -1, -2, -3, -4, -8, -7
# Each side of the window, in its upward direction: its line, the lines that end it, its kind. The top owns no cell.
BORDER_WALKS = (
    (BOTTOM, LEFT, RIGHT, 1),
    (RIGHT, BOTTOM, TOP, 2),
    (LEFT_REVERSED, BOTTOM, TOP, 4),
    (TOP_REVERSED, LEFT, RIGHT, 8),
)
# A cell in doubt leads its neighbours by less than noise at its centroid, so by less than three times that anywhere.
BLUR = 2.0
ENDS_AT_ONCE = 16  # ends of edges in a cluster: fewer are no faster
MOST_LEADERS = 1 << 24  # faces that clusters name
# A list leads in a cluster by twice what passes by its ends: the boxes and the heights there are rounded.
ENOUGH = 2.0

Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True, eq=False)
class CellBlock:
    """Some cells of the overlay.

    Attributes
    ----------
    sums : (n, S)
        Sum over lists of the selected rows' values.
    low : (n, 2) float64
        The lowest point of each cell; (0, 2) where a workspace has no room for them.
    keys : (n, 2) int64
        Names of the cells, for `Overlay.cell`: an edge, and the face it enters at the lowest point (−1: it starts
        there).
    sized : (n,) bool
        Whether the cell has an area: more than ties, or noise in the heights, can make.
    """

    sums: npt.NDArray[Any]
    low: Float64
    keys: Int64
    sized: Bool

    def __len__(self) -> int:
        return len(self.sums)

    def copy(self) -> CellBlock:
        """Return the block in memory of its own."""
        return CellBlock(self.sums.copy(), self.low.copy(), self.keys.copy(), self.sized.copy())

    @property
    def with_area(self) -> CellBlock:
        """The cells of the block that have an area."""
        if self.sized.all():
            return self
        kept = np.flatnonzero(self.sized)
        take = functools.partial(np.take, indices=kept, axis=0)
        low = take(self.low) if len(self.low) else self.low
        return CellBlock(take(self.sums), low, take(self.keys), take(self.sized))


@dataclasses.dataclass(frozen=True, eq=False)
class Edges:
    """Edges between two faces of a list, and last the sides of the window: bottom, right, left, top.

    ``arrays`` has, for kernels,

    lines : (E, 7) int64
        Face on the left and on the right; the lines that end the edge below and above; whether the left face
        has its lowest corner at the lower end. A line is two faces, or (−1 − b, 0).
    ends : (E, 6) float64
        On the grid: x, y and a bound on errors of heights, of the lower and the upper end.
    courses : (E, 7) float64
        A point of the edge, its direction, a bound on errors of heights there; and how places are shared out.
    turns : (E, 2) int64
        Signs of the minors with the ending lines.
    kinds : (E,) int64
        0: inner edge; 1, 2, 4, 8: the window's bottom, right, left, top.
    of_side : (T,) int64
        The edge of each side of a face; −1 − b on the window's border.
    gaps : (T, 3) float64
        The row of each side's face less that of the face beyond.
    clusters : (E, 2) int64
        The cluster of the lower and the upper end: ends that lie near each other.
    leaders : (C, B) int32
        For each cluster the face of each list (of those with several) in its midst; −1 − face where a boundary may
        pass by one of its ends.
    """

    arrays: walk_kernels.EdgeTable

    @classmethod
    def make(cls, faces: Subdivisions, blur: float) -> Edges:
        """Collect the edges of subdivisions; what is nearer than `blur` doubts passes by."""
        n_sides = len(faces.arrays.sides)
        lines = np.zeros((n_sides // 2 + len(BORDER_WALKS), 7), np.int64)
        of_side = np.empty(n_sides, np.int64)
        n = without_fault(walk_kernels.collect_edges(faces.arrays, lines[: n_sides // 2], of_side))
        kinds = np.zeros(n + len(BORDER_WALKS), np.int64)
        for line, below, above, kind in BORDER_WALKS:
            lines[n, [0, 2, 4]] = line, below, above
            kinds[n] = kind
            n += 1
        n_busy = len(faces.arrays.busy)
        size = max(ENDS_AT_ONCE, -(-2 * n * n_busy // MOST_LEADERS))
        arrays = walk_kernels.EdgeTable(
            lines=flat(lines[:n]),
            ends=np.empty((n, 6)),
            courses=np.empty((n, 7)),
            turns=np.empty((n, 2), np.int64),
            kinds=flat(kinds),
            of_side=flat(of_side),
            gaps=np.empty((n_sides, 3)),
            clusters=np.empty((n, 2), np.int64),
            leaders=np.empty((-(-2 * n // size), n_busy), np.int32),
        )
        walk_kernels.place_ends(faces.arrays, arrays)
        walk_kernels.measure_gaps(faces.arrays, arrays.gaps)
        boxes = _clustered(arrays.ends, size, arrays.clusters)
        boxes[:, 4] *= ENOUGH * blur
        walk_kernels.lead_boxes(faces.arrays, arrays, boxes, flat(faces.offsets[:-1]))
        return cls(arrays)

    def __len__(self) -> int:
        return len(self.arrays.lines)

    @property
    def n_inner(self) -> int:
        """How many edges lie between two faces."""
        return len(self) - len(BORDER_WALKS)

    @property
    def n_owners(self) -> int:
        """How many edges, from the first on, may own cells."""
        return len(self) - 1


def _clustered(ends: Float64, size: int, clusters: Int64) -> Float64:
    """Write clusters of so many ends, (E, 6); return their boxes: centre, half sides, largest doubt, (C, 5)."""
    points = ends.reshape(-1, 3)
    n, n_clusters = len(points), -(-len(points) // size)
    strips = int(np.sqrt(n_clusters)) or 1
    strip = np.empty(n, np.int64)
    strip[np.argsort(points[:, 0], kind="stable")] = np.arange(n) * strips // n
    order = np.lexsort((points[:, 1], strip))
    clusters.reshape(-1)[order] = np.arange(n) // size
    firsts = np.arange(0, n, size)
    low, high = (extreme.reduceat(points[order], firsts) for extreme in (np.minimum, np.maximum))
    return np.column_stack([low[:, :2] + (high - low)[:, :2] / 2, (high - low)[:, :2] / 2, high[:, 2]])


class FaceValues(NamedTuple):
    """Values of faces, (F, S); their sums over lists that have one face, (S,), and over each cluster's, (C, S)."""

    each: npt.NDArray[Any]
    single: npt.NDArray[Any]
    clusters: npt.NDArray[Any]


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
    noise : (N, 3) float64, optional
        How wrong c, p and q of the difference of two rows of each list may be: cells smaller than that makes them
        count as without area. By default they are exact.
    threads : int
        That find the faces of the lists.
    """

    def __init__(
        self,
        offsets: Int64,
        points: Float64,
        window: Window | None = None,
        *,
        noise: Float64 | None = None,
        threads: int = 1,
    ) -> None:
        self.offsets, self.points = flat(np.asarray(offsets, np.int64)), flat(np.asarray(points, np.float64))
        self.window = window or Window()
        self.faces = Subdivisions.make(self.offsets, self.points, self.window, noise, threads=threads)
        self.blur = BLUR * float(self.faces.arrays.noise.max())
        self.edges = Edges.make(self.faces, self.blur)
        self._single = flat(self.faces.offsets[:-1][self.faces.counts == 1])

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
        face_kernels.faces_at_corner(self.faces.arrays.z, corner, self.faces.offsets, faces)
        return cell_of_faces(self.faces, self.points, faces)

    def cell(self, key: Int64) -> Cell:
        """Return the cell of a key, (2,), that `stream` gave."""
        return next(self.cells(key[None]))

    def cells(self, keys: Int64) -> Iterator[Cell]:
        """Yield the cells of keys, (n, 2), one after another: a cell has a row of every list, and they may be many."""
        scratch = room_for_walks(self)
        for edge, face in keys.tolist():
            if not kernels.faces_of_cell(self.faces.arrays, self.edges.arrays, edge, face, self.blur, scratch):
                raise LuthierError(f"there is no cell {(edge, face)}")
            yield cell_of_faces(self.faces, self.points, scratch.state)

    def stream(
        self, values: npt.NDArray[Any], visit: Callable[[CellBlock], Result], *, threads: int = 1
    ) -> Iterator[Result]:
        """Yield ``visit(block)`` for blocks that together hold every cell once, in a fixed order.

        `values` (M, S) are summed over the selected rows of each cell; `visit` runs in the workers.
        """
        own = self.face_values(values)
        scratch = threading.local()

        def work(first: int) -> list[Result]:
            if not hasattr(scratch, "room"):
                scratch.room = Workspace(self, own)
            last = min(first + EDGES_AT_ONCE, self.edges.n_owners)
            return [visit(block.copy()) for block in self.blocks(own, range(first, last), scratch.room)]

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

    def count(self, *, threads: int = 1) -> int:
        """Return how many cells have an area."""
        nothing = np.zeros((len(self.points), 0), np.int64)
        return sum(self.stream(nothing, lambda block: int(block.sized.sum()), threads=threads))

    def blocks(self, values: FaceValues, edges: range, room: Workspace) -> Iterator[CellBlock]:
        """Yield the cells of a range of edges, in the order of `stream`; the next block takes the place of each."""
        e = edges.start
        while e < edges.stop:
            e, n = kernels.stream(
                self.faces.arrays,
                self.edges.arrays,
                self.blur,
                values,
                values.single.dtype == np.int64,
                (e, edges.stop),
                room.scratch,
                room.cell,
                room.rows,
            )
            if without_fault(n):
                sums, low, keys, sized = (part[:n] for part in room.rows)
                low *= self.faces.grid.units
                yield CellBlock(sums, low, keys, sized)

    def face_values(self, values: npt.NDArray[Any], counts: Int64 | None = None) -> FaceValues:
        """Return what is summed over cells, of values (M, S) of all rows.

        With `counts`, (G, N), of G resamples at once: S values of the first, in which each list counts as often as it
        says, then those of the second …
        """
        if values.ndim != 2 or len(values) != len(self.points):
            raise LuthierError(f"expected values of {len(self.points)} rows, found shape {values.shape}")
        dtype = np.int64 if np.issubdtype(values.dtype, np.integer) else np.float64
        own = flat(values[self.faces.rows].astype(dtype))
        if counts is not None:
            often = counts.T[self.faces.arrays.owner].astype(dtype)  # (F, G)
            own = flat((often[:, :, None] * own[:, None, :]).reshape(len(own), -1))
        single, leaders = flat(own[self._single].sum(axis=0, dtype=dtype)), self.edges.arrays.leaders
        if dtype == np.int64 and np.abs(own).max(initial=0) < 1 << 31:  # half the memory that sums read
            own = flat(own.astype(np.int32))
        clusters = np.empty((len(leaders) if dtype == np.int64 else 0, own.shape[1]), dtype)
        kernels.sum_clusters(own, single, self.faces.arrays.busy, leaders[: len(clusters)], clusters)
        return FaceValues(own, single, flat(clusters))


def room_for_walks(overlay: Overlay) -> walk_kernels.Scratch:
    """Return where one worker writes what it meets on an edge."""
    n = len(overlay.faces.rows)
    state = overlay.faces.offsets[:-1].copy()
    return walk_kernels.Scratch(
        state,
        state.copy(),
        np.empty((n, 3), np.int64),
        np.empty((n, 5)),
        np.empty(n, np.bool_),
        np.empty(2),
        np.empty(n, np.int64),
        np.empty(n + 1, np.int64),
        np.empty(len(overlay.faces.arrays.busy) + 1, np.int64),
    )


class Workspace:
    """Where one worker writes cells, and unless told otherwise their lowest points."""

    def __init__(self, overlay: Overlay, values: FaceValues, *, low: bool = True) -> None:
        self.scratch, self.cell = room_for_walks(overlay), face_kernels.make_workspace(2 * overlay.faces.most_lines)
        size = max(CELLS_AT_ONCE, len(overlay.faces.rows) + 1)
        self.rows = kernels.CellRows(
            np.empty((size, len(values.single)), values.single.dtype),
            np.empty((size if low else 0, 2)),
            np.empty((size, 2), np.int64),
            np.empty(size, np.bool_),
        )
