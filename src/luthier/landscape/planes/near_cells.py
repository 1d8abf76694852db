"""Cells of planes through given weights whose gain is high enough, the nearest first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.geometry.plane.overlay import CellBlock
from luthier.geometry.plane.subdivision import Window
from luthier.landscape.cones.cone_coordinates import ConeCoordinates
from luthier.landscape.gains import TRIES
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.noise import gamma
from luthier.landscape.planes.plane_lists import PlaneLists
from luthier.landscape.planes.scored_cells import ScoredCell, ScoredCells

FAR = 1e150  # corners of cells without end
# Directions that leave less than this of their length beside the others do not span a plane.
PARALLEL = 1e-9


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
) -> tuple[int, list[ScoredCell], list[ScoredCell]]:
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

    Positions of the cells are coordinates, (n,).
    """
    origin = coordinates.directions(coordinates.start)
    plane = np.concatenate([origin[None], axes])
    points = np.einsum("kn,mn->km", coordinates.points, plane)
    sizes = np.einsum("kn,mn->km", np.abs(coordinates.points), np.abs(plane))
    noise = 2 * gamma(len(origin) + 2) * np.maximum.reduceat(sizes, problem.offsets[:-1], axis=0)
    # what rounding made of 0: a boundary that it turned a little crosses parallel ones far away
    points = flat(np.where(np.abs(points) <= np.repeat(noise, np.diff(problem.offsets), axis=0), 0.0, points))
    window = Window(-reach, reach, -reach, reach)
    lists = PlaneLists(problem.offsets, points, problem.stats, window, noise=noise)
    lists = lists.with_walls(np.einsum("bn,mn->bm", coordinates.walls, plane))

    def visit(block: CellBlock) -> tuple[int, _Away, _Away]:
        sized = block.with_area
        gains = lists.gains(problem, sized.sums)
        cells = _Away(ScoredCells(sized.keys, gains), np.hypot(*np.clip(sized.low, -FAR, FAR).T))
        good = cells.take(np.flatnonzero(gains >= above))
        return len(sized), good.highest(TRIES), good.nearest(count)

    counts, best, near = zip(*lists.overlay.stream(lists.values, visit), strict=True)

    def opened(found: _Away) -> list[ScoredCell]:
        cells = []
        for key, gain in zip(found.cells.keys, found.cells.gains.tolist(), strict=True):
            cell = lists.overlay.cell(key)
            inside = origin + cell.position @ axes
            cells.append(ScoredCell(gain, inside, selection=cell.selection[: problem.pool.n_sentences]))
        return cells

    highest, nearest = _Away.joined(best).highest(TRIES), _Away.joined(near).nearest(count)
    return sum(counts), opened(highest), opened(nearest)


@dataclasses.dataclass(frozen=True, eq=False)
class _Away:
    """Cells, and how far each is away, (n,)."""

    cells: ScoredCells
    away: Float64

    @classmethod
    def joined(cls, parts: Sequence[_Away]) -> _Away:
        """Return all cells of some parts."""
        return cls(ScoredCells.join(*(part.cells for part in parts)), np.concatenate([part.away for part in parts]))

    def take(self, rows: Int64) -> _Away:
        """Return some of them."""
        return _Away(self.cells.take(rows), self.away[rows])

    def highest(self, count: int) -> _Away:
        """Return those with the highest gains; if gains are equal, the nearest."""
        keys = self.cells.keys
        return self.take(np.lexsort((keys[:, 1], keys[:, 0], self.away, -self.cells.gains))[:count])

    def nearest(self, count: int) -> _Away:
        """Return the nearest; if they are equally near, the highest."""
        keys = self.cells.keys
        return self.take(np.lexsort((keys[:, 1], keys[:, 0], -self.cells.gains, self.away))[:count])
