"""Which cells a re-rank of the original lists is certain to find, at their inner points, in spite of rounding.

A cell is *representable* if at its position the first row of every list leads the second by more than the scores
computed there, in full dimension, can be wrong together. Let r be the distance of the position from the cell's
sides and g the slope of the difference of the first row and another: inside a circle of radius r the first stays
ahead, so its lead in the middle is at least r·g. That settles nearly all cells at once; the rest are looked at row
by row. Rows that differ in full dimension but not in the plane are never certain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.geometry.plane import _certainty_kernels as kernels
from luthier.geometry.plane.cells import Cell
from luthier.geometry.plane.overlay import Overlay
from luthier.geometry.plane.subdivision import ROUNDED

# Faces whose gentlest slope is below this share of the median are looked at row by row wherever they are selected.
GENTLE = 1e-3
NAME_BITS = 36  # sums of names of 2¹⁶ lists are still exact in float64


@dataclasses.dataclass(frozen=True)
class Rounding:
    """How wrong the difference of two scores may be at (x, y): ``still + |x|·per_x + |y|·per_y``."""

    still: float
    per_x: float
    per_y: float

    def at(self, positions: Float64) -> Float64:
        """Return the bound at positions, (..., 2) → (...)."""
        x, y = np.abs(positions[..., 0]), np.abs(positions[..., 1])
        return np.asarray(self.still + x * self.per_x + y * self.per_y)


class Certainty:
    """Judges the cells of an overlay.

    Parameters
    ----------
    overlay : Overlay
    rounding : Rounding
    differ : (n,), (n,) int64 → (n,) bool
        Whether the rows a and b differ in full dimension.
    """

    def __init__(self, overlay: Overlay, rounding: Rounding, differ: Callable[[Int64, Int64], Bool]) -> None:
        self.overlay, self.rounding = overlay, rounding
        limits = np.abs(np.array(overlay.window.limits))
        reach = flat(np.array([limits[:2].max(), limits[2:].max()]))
        largest = float(rounding.at(reach)) if np.all(np.isfinite(reach)) else np.inf
        slopes, twins, n = np.empty(len(overlay.rows)), np.empty((1 << 10, 2), np.int64), 1 << 10
        while n >= len(twins):
            twins = np.empty((2 * n, 2), np.int64)
            n = kernels.gentlest_slopes(
                overlay.points, overlay.offsets, overlay.rows, overlay.faces.arrays.owner, reach, largest, slopes, twins
            )
        faces, others = twins[:n].T
        self._open = np.zeros(len(slopes), np.bool_)
        self._open[faces[differ(overlay.rows[faces], others)]] = True
        settled = slopes[np.isfinite(slopes) & ~self._open]
        self._slope = GENTLE * float(np.median(settled)) if len(settled) else np.inf
        gentle = self._open | (slopes < self._slope)
        self.columns = np.zeros((len(overlay.points), 2), np.int64)
        self.columns[:, 0] = np.random.default_rng(0).integers(0, 1 << NAME_BITS, len(overlay.points))
        self.columns[overlay.rows[gentle], 1] = 1
        names = self.columns[:, 0].copy()
        names[overlay.rows[self._open]] = -1
        self._names, self._all_rows = flat(names), flat(np.arange(len(overlay.points)))
        self._laid = Rounding(*(ROUNDED * overlay.faces.grid.steps.max(axis=0)).tolist())

    def judge(self, positions: Float64, radii: Float64, sums: Int64) -> Bool:
        """Return which cells are representable; `sums` (n, 2) are those of `columns` over their rows."""
        bounds = self.rounding.at(positions)
        # The circle lies in a cell of the heights as they were laid on the grid.
        certain: Bool = (radii * self._slope > bounds + self._laid.at(positions)) & (sums[:, 1] == 0)
        doubtful = np.flatnonzero(~certain)
        overlay = self.overlay
        kernels.settle(
            overlay.points,
            kernels.Lists(overlay.rows, overlay.faces.offsets),
            kernels.Lists(self._all_rows, overlay.offsets),
            kernels.Cells(flat(positions), flat(bounds), flat(sums[:, 0].astype(np.int64))),
            self._names,
            flat(doubtful),
            certain,
        )
        return certain

    def judge_cell(self, cell: Cell) -> bool:
        """Return whether one cell is representable."""
        sums = self.columns[cell.selection].sum(axis=0)[None]
        return bool(self.judge(cell.position[None], np.array([cell.radius]), sums)[0])
