"""Slabs of a box: what can be reached in each, which ends of the box that leaves, and where a split helps most."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.landscape.certified import _slab_kernels as kernels
from luthier.landscape.certified._box_kernels import Open
from luthier.landscape.certified.rows import Rows

SLABS = 8
SMALLER = 0.3  # what the larger of two falls of the bound counts beside the smaller one


@dataclasses.dataclass(frozen=True, eq=False)
class Slabs:
    """Heights under the majorant that no choice exceeds in each slab of a box, (A, B), for its axes, (A,)."""

    axes: Int64
    heights: Float64

    @classmethod
    def of(cls, rows: Rows, found: Open, values: Float64, centre: Float64, radius: Float64, fixed: float) -> Slabs:
        """Return the slabs of a box; `fixed` is added to all of them."""
        axes = np.flatnonzero(radius > 0)
        limits = np.empty((len(axes), SLABS))
        kernels.limit_slabs(rows.heights, rows.slack, found, values, centre, radius, axes, limits)
        return cls(axes, limits + fixed)

    @property
    def peak(self) -> float:
        """The height that nothing in the box exceeds."""
        return float(self.heights.max(axis=1).min())

    def ends(self, level: float) -> tuple[Float64, Float64] | None:
        """Return the ends, from −1 to 1 along each axis, of the slabs above a level; None if an axis has none."""
        above = self.heights > level
        if not np.all(above.any(axis=1)):
            return None
        first, last = above.argmax(axis=1), SLABS - above[:, ::-1].argmax(axis=1)
        return -1 + 2 * first / SLABS, -1 + 2 * last / SLABS

    def split(self) -> int | None:
        """Return the axis whose halves fall most below the peak; None if none of them falls."""
        half = SLABS // 2
        falls = np.maximum(0.0, self.peak - np.stack([part.max(axis=1) for part in np.split(self.heights, [half], 1)]))
        worth = falls.min(axis=0) + SMALLER * falls.max(axis=0)
        return int(self.axes[np.argmax(worth)]) if worth.max() > 0 else None
