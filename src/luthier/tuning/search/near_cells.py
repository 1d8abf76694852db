"""Cells of planes through given weights whose gain is high enough, the nearest first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, flat
from luthier.geometry.plane.overlay import CellBlock, Overlay
from luthier.geometry.plane.subdivision import Window
from luthier.landscape.gains import TRIES
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.search.cone_coordinates import ConeCoordinates

FAR = 1e150  # corners of cells without end
# Directions that leave less than this of their length beside the others do not span a plane.
PARALLEL = 1e-9


@dataclasses.dataclass(frozen=True, eq=False)
class NearCell:
    """A cell of a plane: its gain, the selected row of each list, and coordinates well inside."""

    gain: float
    selection: Int64
    inside: Float64


def plane_through(origin: Float64, vectors: Float64) -> Float64 | None:
    """Return two directions at right angles to the origin and each other, (2, n); None if there is not even one.

    A plane at right angles meets every direction that is less than 90° from the origin. `vectors` (m, n) come
    in order of preference. Directions are as long as the origin, so that positions are tangents of angles. In
    two dimensions there is one direction, and the other is 0.
    """
    basis = [origin / np.linalg.norm(origin)]
    for vector in vectors:
        rest = np.array(vector, np.float64)
        for _ in range(2):  # twice is enough for full precision
            for direction in basis:
                rest = rest - (rest @ direction) * direction
        if np.linalg.norm(rest) > PARALLEL * np.linalg.norm(vector):
            basis.append(rest / np.linalg.norm(rest))
        if len(basis) == 3:
            break
    axes = np.zeros((2, len(origin)))
    axes[: len(basis) - 1] = float(np.linalg.norm(origin)) * np.array(basis)[1:]
    return axes if len(basis) > 1 else None


def near_cells(
    problem: ListProblem, coordinates: ConeCoordinates, axes: Float64, *, above: float, reach: float, count: int
) -> tuple[int, list[NearCell], list[NearCell]]:
    """Return how many cells a plane through the start has, the few best, and up to `count` good ones, nearest first.

    Where boundaries meet in one point, rounding can make a cell that no weights select: a re-rank tells.

    Parameters
    ----------
    axes : (2, n)
        Directions of the plane, in coordinates.
    above : float
        The gain that is good enough. A cell is as near as its lowest corner.
    reach : float
        Half the width of the window, in lengths of the axes; infinite for the whole plane.
    """
    origin = coordinates.directions(coordinates.start)
    points = _heights(coordinates, np.concatenate([origin[None], axes]))
    n_walls = len(coordinates.walls)
    offsets = np.concatenate([problem.offsets, problem.offsets[-1] + 2 * np.arange(1, n_walls + 1)])
    overlay = Overlay(offsets, points, Window(-reach, reach, -reach, reach))
    n_stats = problem.stats.shape[1]

    def visit(block: CellBlock) -> tuple[int, _Marked, _Marked]:
        gains = np.array(problem.gain_of_sums(block.sums[:, :n_stats]))
        gains[block.sums[:, n_stats] > 0] = -np.inf  # beyond a wall
        cells = _Marked(block.keys, gains, np.hypot(*np.clip(block.low, -FAR, FAR).T))
        good = cells.take(np.flatnonzero(gains >= above))
        return len(block), good.highest(TRIES), good.nearest(count)

    counts, best, near = zip(*overlay.stream(_values(problem, n_walls), visit), strict=True)

    def opened(cells: _Marked) -> list[NearCell]:
        found = []
        for key, gain in zip(cells.keys, cells.gains.tolist(), strict=True):
            cell = overlay.cell(key)
            inside = origin + cell.position @ axes
            found.append(NearCell(gain, cell.selection[: problem.pool.n_sentences], inside))
        return found

    highest, nearest = _Marked.joined(best).highest(TRIES), _Marked.joined(near).nearest(count)
    return sum(counts), opened(highest), opened(nearest)


@dataclasses.dataclass(frozen=True, eq=False)
class _Marked:
    """Keys of cells, (n, 2), with their gains and distances, (n,)."""

    keys: Int64
    gains: Float64
    away: Float64

    @classmethod
    def joined(cls, parts: Sequence[_Marked]) -> _Marked:
        """Return all cells of some parts."""
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in dataclasses.fields(cls)))

    def take(self, rows: Int64) -> _Marked:
        """Return some of them."""
        return _Marked(self.keys[rows], self.gains[rows], self.away[rows])

    def highest(self, count: int) -> _Marked:
        """Return those with the highest gains, of equals the nearest."""
        return self.take(np.lexsort((self.keys[:, 1], self.keys[:, 0], self.away, -self.gains))[:count])

    def nearest(self, count: int) -> _Marked:
        """Return the nearest, of equals the highest."""
        return self.take(np.lexsort((self.keys[:, 1], self.keys[:, 0], -self.gains, self.away))[:count])


def _heights(coordinates: ConeCoordinates, plane: Float64) -> Float64:
    """Return c, p, q of every row, and for each wall a list of two rows of which the second is higher beyond."""
    walls = np.zeros((2 * len(coordinates.walls), 3))
    walls[1::2] = np.einsum("bn,mn->bm", coordinates.walls, plane)
    return flat(np.concatenate([np.einsum("kn,mn->km", coordinates.points, plane), walls]))


def _values(problem: ListProblem, n_walls: int) -> npt.NDArray[Any]:
    """Return the statistics, and one more sum: how many walls are passed."""
    n, n_stats = problem.stats.shape
    values = np.zeros((n + 2 * n_walls, n_stats + 1), problem.stats.dtype)
    values[:n, :n_stats] = problem.stats
    values[n + 1 :: 2, n_stats] = 1
    return values
