"""All cells of an overlay in memory: their shapes, inner points, sizes, margins, and who lies beside whom."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, GrowingArray, Int32, Int64, flat, frozen
from luthier.core.segments import offsets_from_counts
from luthier.geometry.plane import _arrangement_kernels as kernels
from luthier.geometry.plane import _stream_kernels as stream_kernels
from luthier.geometry.plane.certainty import Certainty
from luthier.geometry.plane.overlay import CellBlock, Overlay, room_for_walks
from luthier.geometry.plane.subdivision import FAR, without_fault

CELLS_AT_ONCE = 1 << 16
CORNERS = 64  # room made at first for one cell; it doubles where that is too little


@dataclasses.dataclass(frozen=True, eq=False)
class Crossings:
    """Where every edge meets the edges of other lists, in order.

    Attributes
    ----------
    ptr : (E+1,) int64
    others, twins : (X,) int32
        The other edge, and which of its crossings this is (0 for the window's sides).
    lefts : (X,) bool
        Whether the other edge's upward part leaves to the left.
    """

    ptr: Int64
    others: Int32
    twins: Int32
    lefts: Bool

    @classmethod
    def find(cls, overlay: Overlay) -> Crossings:
        """Walk every edge once."""
        edges, scratch = overlay.edges, room_for_walks(overlay)
        counts = np.zeros(len(edges), np.int64)
        size = max(1 << 18, len(overlay.faces.rows) + 1)
        chunk = np.empty(size, np.int32), np.empty(size, np.bool_)
        grown = GrowingArray(np.int32), GrowingArray(np.bool_)
        e = 0
        while e < len(edges):
            e, n = stream_kernels.cross(overlay.faces.arrays, edges.arrays, overlay.blur, e, scratch, counts, *chunk)
            for whole, part in zip(grown, chunk, strict=True):
                whole.append(part[: without_fault(n)])
        ptr = flat(np.concatenate([[0], np.cumsum(counts)]))
        others, lefts = (flat(whole.finish()) for whole in grown)
        twins = np.zeros(len(others), np.int32)
        missing = kernels.link(ptr, others, edges.n_inner, twins)
        assert missing == 0, "every crossing is seen from both of its edges"
        return cls(ptr, others, flat(twins), lefts)


@dataclasses.dataclass(frozen=True, eq=False)
class Arrangement:
    """Every cell of an overlay, in the order of `Overlay.stream`.

    Attributes
    ----------
    position : (n, 2) float64
        A point inside: the centroid, of a finite part where the cell has no end.
    low : (n, 2) float64
        The lowest corner.
    area, radius : (n,) float64
        Size, and how far the position is from the nearest side; 0 for cells that only ties make.
    margin : (n,) float64
        At the position: the least difference in score to a row that takes over beyond a side.
    representable : (n,) bool
        Whether a re-rank at the position is certain to select this cell's rows (`luthier.geometry.plane.certainty`);
        without a judge, whether the cell has any size.
    sized : (n,) bool
        Whether the cell has an area: more than ties, or noise in the heights, can make.
    sums : (n, S)
        Sum over lists of the selected rows' values.
    keys : (n, 2) int64
    neighbour : (n,) int64
        A cell that touches this one and begins lower; −1 for the first of all.
    change_list, change_row : (n,) int64
        The one list that selects another row than in the neighbour, and its row here.
    """

    position: Float64
    low: Float64
    area: Float64
    radius: Float64
    margin: Float64
    representable: Bool
    sized: Bool
    sums: npt.NDArray[Any]
    keys: Int64
    neighbour: Int64
    change_list: Int64
    change_row: Int64
    _walker: _Walker

    def __len__(self) -> int:
        return len(self.area)

    @classmethod
    def make(
        cls, overlay: Overlay, values: npt.NDArray[Any], *, judge: Certainty | None = None, threads: int = 1
    ) -> Arrangement:
        """Lay out all cells; about 300 bytes of memory for each."""
        n_values = values.shape[1]
        if judge is not None:
            values = np.concatenate([values, judge.columns], axis=1)
        cells = _streamed(overlay, values, threads)
        sums, keys = cells.sums, cells.keys
        walker = _Walker(overlay, Crossings.find(overlay), len(cells))
        position, area, radius, margin = walker.measure()
        endless = np.flatnonzero(np.isinf(area))  # few: the cells round the outside of a plane without borders
        for cell, found in zip(endless.tolist(), overlay.cells(keys[endless]), strict=True):
            position[cell], radius[cell], margin[cell] = found.position, found.radius, found.margin
        area[np.isinf(area) & ~cells.sized] = 0.0  # endless, but without width
        representable = radius > 0.0
        if judge is not None:
            representable = judge.judge(position, radius, sums[:, n_values:].astype(np.int64))
        return cls(
            position=frozen(position),
            low=frozen(cells.low),
            area=frozen(area),
            radius=frozen(radius),
            margin=frozen(margin),
            representable=frozen(representable & cells.sized),
            sized=frozen(cells.sized),
            sums=frozen(sums[:, :n_values]),
            keys=frozen(keys),
            **walker.neighbours(),
            _walker=walker,
        )

    def polygons(self, cells: Int64) -> tuple[Int64, Float64]:
        """Return the corners of cells, counter-clockwise: offsets (c+1,) and corners (…, 2)."""
        return self._walker.polygons(flat(np.asarray(cells, np.int64)))

    def selection(self, cell: int) -> Int64:
        """Return the selected row of each list on a cell, (N,), from the first cell's by its changes."""
        return self._walker.selection(self, cell)


def _streamed(overlay: Overlay, values: npt.NDArray[Any], threads: int) -> CellBlock:
    """Return all cells as one block."""
    blocks = list(overlay.stream(values, lambda block: block, threads=threads))
    fields = [f.name for f in dataclasses.fields(CellBlock)]
    return CellBlock(*(np.concatenate([getattr(block, name) for block in blocks]) for name in fields))


class _Walker:
    """Goes round cells."""

    def __init__(self, overlay: Overlay, crossings: Crossings, n_cells: int) -> None:
        faces, edges, n_inner = overlay.faces.arrays, overlay.edges.arrays, overlay.edges.n_inner
        self.overlay, self.n_pieces = overlay, len(crossings.others) + len(overlay.edges)
        at_border, onward = np.empty((len(edges.lines), 2), np.int64), np.empty((len(edges.lines), 4), np.int64)
        kernels.meet_border(crossings.ptr, crossings.others, edges.lines, n_inner, at_border)
        kernels.follow_faces(faces.ptr, edges.of_side, edges.lines, onward)
        left, right = edges.lines[:n_inner, :2].T
        sides = -1 - edges.lines[n_inner:, 0]
        self.steps = kernels.Steps(
            crossings.ptr,
            crossings.others,
            crossings.lefts,
            crossings.twins,
            edges.ends,
            flat(np.concatenate([faces.z[left] - faces.z[right], faces.border[sides]])),
            at_border,
            onward,
            n_inner,
        )
        starts, across = np.empty((n_cells, 2), np.int32), np.empty((n_cells, 3), np.int32)
        found = kernels.first_steps(self.steps, edges.lines, edges.kinds, faces.owner, starts, across)
        assert found == n_cells, "cells are counted the same way twice"
        self.starts, self.across = flat(starts), flat(across)
        self.found = kernels.Measures(
            centres=np.empty((n_cells, 2)),
            areas=np.empty(n_cells),
            radii=np.empty(n_cells),
            margins=np.empty(n_cells),
            sizes=np.empty(n_cells, np.int64),
            left_cells=np.full(self.n_pieces, -1, np.int32),
            right_cells=np.full(self.n_pieces, -1, np.int32),
        )

    def measure(self) -> tuple[Float64, Float64, Float64, Float64]:
        """Return position, area, radius and margin of every cell."""
        n, grid = len(self.starts), self.overlay.faces.grid
        points, room, cell = flat(self.overlay.points[self.overlay.rows]), CORNERS, 0
        while cell < n:
            high = min(n, cell + CELLS_AT_ONCE)
            reached = kernels.measure(
                self.steps,
                self.starts,
                cell,
                high,
                self.overlay.edges.arrays.lines,
                points,
                grid.units,
                grid.units * (FAR / 4),
                (np.empty((room, 2)), np.empty((room, 2), np.int64)),
                self.found,
            )
            if reached < high:
                without_fault(-1 if room > 2 * self.n_pieces else 0)  # no round is longer
                room *= 2
            cell = reached
        return self.found.centres, self.found.areas, self.found.radii, self.found.margins

    def polygons(self, cells: Int64) -> tuple[Int64, Float64]:
        """Return the corners of cells, once they are measured: where each begins, (c+1,), and all, (…, 2)."""
        sizes = self.found.sizes[cells]
        offsets = offsets_from_counts(sizes)
        corners, pieces = np.empty((int(offsets[-1]), 2)), np.empty((int(sizes.max(initial=1)), 2), np.int64)
        kernels.collect_corners(self.steps, self.starts, cells, flat(offsets), pieces, corners)
        endless = np.abs(corners) > FAR / 4
        return offsets, np.where(endless, np.copysign(np.inf, corners), corners * self.overlay.faces.grid.units)

    def neighbours(self) -> dict[str, Int64]:
        """Return for each cell the one below it, and what changes on the way."""
        edge, node, side = self.across.T.astype(np.int64)
        known = edge >= 0
        piece = self.steps.ptr[edge] + edge + node
        below = np.where(side > 0, self.found.right_cells[piece], self.found.left_cells[piece])
        lines, owner = self.overlay.edges.arrays.lines, self.overlay.faces.arrays.owner
        face = np.where(side > 0, lines[edge, 0], lines[edge, 1])
        face[~known] = 0
        return {
            "neighbour": frozen(np.where(known, below, -1).astype(np.int64)),
            "change_list": frozen(np.where(known, owner[face], -1)),
            "change_row": frozen(np.where(known, self.overlay.rows[face], -1)),
        }

    def selection(self, table: Arrangement, cell: int) -> Int64:
        """Follow the changes down to the first cell."""
        chosen: dict[int, int] = {}
        while table.neighbour[cell] >= 0:
            chosen.setdefault(int(table.change_list[cell]), int(table.change_row[cell]))
            cell = int(table.neighbour[cell])
        selection = self.overlay.cell(table.keys[cell]).selection.copy()
        selection[list(chosen)] = list(chosen.values())
        return selection
