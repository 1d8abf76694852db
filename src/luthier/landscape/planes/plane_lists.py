"""Lists seen from within a window of a plane, with limits on weights as further lists."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, flat
from luthier.geometry.plane.overlay import Overlay
from luthier.geometry.plane.subdivision import Window
from luthier.landscape.list_problem import ListProblem

WALL_NOISE = 2.0**-49  # of what walls are made of: sums of few products


@dataclasses.dataclass(frozen=True, eq=False)
class PlaneLists:
    """Rows of lists over a plane, and what each adds to a cell's sums.

    A *wall* is a limit on weights: beyond it nothing counts. It joins as a list of two rows, of which the second is
    higher beyond the wall and adds 1 to a last column of `values`, the number of walls that are passed.

    Attributes
    ----------
    offsets : (N+1,) int64
    points : (R, 3) float64
        Heights of the rows: c + x·p + y·q.
    values : (R, S) or, with walls, (R, S+1)
        Statistics, and the walls passed.
    window : Window
    n_walls : int
    noise : (N, 3) float64, optional
        How wrong c, p and q of a difference of two rows of each list may be.
    """

    offsets: Int64
    points: Float64
    values: npt.NDArray[Any]
    window: Window
    n_walls: int = 0
    noise: Float64 | None = None

    @functools.cached_property
    def overlay(self) -> Overlay:
        """Every cell of the window."""
        return Overlay(self.offsets, self.points, self.window, noise=self.noise)

    def with_walls(self, walls: Float64) -> PlaneLists:
        """Return the lists with walls ``c + x·p + y·q > 0``, (B, 3)."""
        if not len(walls):
            return self
        rows = np.zeros((2 * len(walls), 3))
        rows[1::2] = walls
        n, n_stats = self.values.shape
        values = np.zeros((n + len(rows), n_stats + 1), self.values.dtype)
        values[:n, :n_stats] = self.values
        values[n + 1 :: 2, n_stats] = 1
        offsets = np.concatenate([self.offsets, self.offsets[-1] + 2 * np.arange(1, len(walls) + 1)])
        points = flat(np.concatenate([self.points, rows]))
        noise = None if self.noise is None else np.concatenate([self.noise, WALL_NOISE * np.abs(walls)])
        return PlaneLists(offsets, points, values, self.window, len(walls), noise)

    def gains(self, problem: ListProblem, sums: npt.NDArray[Any]) -> Float64:
        """Return the gains of cells by their sums, (n, S) or (n, S+1) → (n,); −inf beyond a wall."""
        if not self.n_walls:
            return problem.gain_of_sums(sums)
        return np.where(sums[:, -1] == 0, problem.gain_of_sums(sums[:, :-1]), -np.inf)
