"""Cells with their gains: many of them by name, and single ones that have been opened."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredCells:
    """Some cells of a plane: their names, for `Overlay.cell`, and their gains, (n, 2) and (n,)."""

    keys: Int64
    gains: Float64

    def __len__(self) -> int:
        return len(self.gains)

    def take(self, index: Any) -> ScoredCells:
        """Return some of them."""
        return ScoredCells(self.keys[index], self.gains[index])

    def best(self, n: int) -> ScoredCells:
        """Return the n best, the best first; cells of equal gain are ordered by name."""
        few = self
        if len(self) > n:  # sort the best only
            few = self.take(self.gains >= np.partition(self.gains, len(self) - n)[len(self) - n])
        return few.take(np.lexsort((few.keys[:, 1], few.keys[:, 0], -few.gains))[:n])

    @classmethod
    def none(cls) -> ScoredCells:
        """Return no cells."""
        return cls(np.zeros((0, 2), np.int64), np.zeros(0))

    @classmethod
    def join(cls, *parts: ScoredCells) -> ScoredCells:
        """Return the cells of several."""
        return cls(np.concatenate([p.keys for p in parts]), np.concatenate([p.gains for p in parts]))


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredCell:
    """One cell with its gain.

    Attributes
    ----------
    gain : float
    position : (q,) float64
        A place well inside, in the coordinates of the space that was looked at.
    radius : float
        How far the nearest boundary is from there; 0 if nobody measured it.
    cut : bool
        Whether the border of the window, which is no bound of a weight, cuts it.
    selection : (N,) int64
        The row of each list; empty if nobody asked.
    """

    gain: float
    position: Float64
    radius: float = 0.0
    cut: bool = False
    selection: Int64 = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))
