"""The best cells of a window round given weights, limits on weights included."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64, flat, gamma
from luthier.geometry.plane.overlay import CellBlock
from luthier.geometry.plane.polygons import largest_circle
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.landscape.cones.cone_coordinates import ConeCoordinates
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.nearby import Nearby
from luthier.landscape.planes.plane import PlaneLists, height_noise
from luthier.landscape.problem import TRIES

# Cells with their gains: many of them by name, and single ones that have been opened.


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


# Cells of planes through given weights whose gain is high enough, the nearest first.

FARTHEST = 1e150  # corners of cells without end
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
        cells = _Away(ScoredCells(sized.keys, gains), np.hypot(*np.clip(sized.low, -FARTHEST, FARTHEST).T))
        good = cells.take(np.flatnonzero(gains >= above))
        return len(sized), good.highest(TRIES), good.nearest(count)

    counts, best, near = zip(*lists.overlay.stream(lists.values, visit), strict=True)

    def opened(found: _Away) -> list[ScoredCell]:
        cells = []
        for cell, gain in zip(lists.overlay.cells(found.cells.keys), found.cells.gains.tolist(), strict=True):
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


# A corner this near to the window's border, in windows, lies on it.
ON_BORDER = 1e-9
# A circle smaller than this, in windows, is none: no weights in floating point lie in it.
VOID = 1e-12
# If none of the best few cells has an area, so many times as many are looked at.
MORE = 16
# Half a side of the first window looked at when one of a given number of cells is sought, and how far it goes.
FIRST_WINDOW, SMALLEST_WINDOW, LARGEST_WINDOW = 0.125, 2.0**-20, 2.0**10


def best_cells(problem: ListProblem, near: Nearby, plane: Subspace, size: float, *, above: float) -> list[ScoredCell]:
    """Return the best few cells of the window ``|x| ≤ size, |y| ≤ size`` whose gain is above a value.

    If gains are equal, the cell with the larger circle comes first. Bounds cut cells as boundaries do. Positions are
    the centres of the largest circles.
    """
    window = _window(problem, plane, size)
    if window is None:
        return []
    lists = _lists(near, plane, window).with_walls(_walls(problem, plane, window))
    count = TRIES
    while True:

        def best_of_block(block: CellBlock, count: int = count) -> ScoredCells:
            sized = block.with_area
            cells = ScoredCells(sized.keys, lists.gains(problem, sized.sums))
            return cells.take(np.flatnonzero(cells.gains > above)).best(count)

        found = ScoredCells.join(*lists.overlay.stream(lists.values, best_of_block)).best(count)
        cells: list[ScoredCell] = []
        for cell, gain in zip(lists.overlay.cells(found.keys), found.gains.tolist(), strict=True):
            polygon = cell.polygon
            centre, radius = largest_circle(polygon, cell.sides)
            if radius > VOID * size and len(cells) < TRIES:
                cut = bool(np.any(np.abs(polygon) > size * (1.0 - ON_BORDER)))
                cells.append(ScoredCell(gain, centre, radius, cut))
        # Were the best so small that no weights in floating point lie in them, look at more.
        if cells or len(found) < count:
            return sorted(cells, key=lambda cell: (-cell.gain, -cell.radius))
        count *= MORE


def fitting_window(problem: ListProblem, weights: Float64, planes: Sequence[Float64], cells: int) -> float:
    """Return half a side of windows that have about `cells` cells, in units: the geometric mean of all planes, (2, D).

    The answer is the largest power of two with so many or fewer, up to where twice the window has no more.
    """

    def mean_count(size: float) -> float:
        near = Nearby.of(problem, weights, float(np.sqrt(2.0)) * size)
        # Where a list ties all over the window but for rounding, no cell has an area.
        counts = [max(cells_of_window(near, vectors, size), 1) for vectors in planes]
        return float(np.exp(np.mean(np.log(counts)))) if counts else 1.0

    size, count = FIRST_WINDOW, mean_count(FIRST_WINDOW)
    while count < cells and size < LARGEST_WINDOW and (more := mean_count(2.0 * size)) > count:
        size, count = 2.0 * size, more
    while count > cells and size > SMALLEST_WINDOW:
        size /= 2.0
        count = mean_count(size)
    return size


def cells_of_window(near: Nearby, vectors: Float64, size: float) -> int:
    """Return how many cells with an area the plane along two vectors, (2, D), has in |x| ≤ size, |y| ≤ size."""
    plane = near.subspace(vectors)
    return 1 if plane is None else _lists(near, plane, Window(-size, size, -size, size)).overlay.count()


def _lists(near: Nearby, plane: Subspace, window: Window) -> PlaneLists:
    noise = height_noise(near.features, near.offsets, plane.matrix)
    return PlaneLists(near.offsets, near.features.scores(plane.matrix).T, near.stats, window, noise=noise)


def _window(problem: ListProblem, plane: Subspace, size: float) -> Window | None:
    """Return the window, cut by the bounds of weights that move along one axis only; None if nothing is left."""
    limits = []
    for own, other in (plane.directions, plane.directions[::-1]):
        alone = np.where(other == 0.0, own, 0.0)
        low, high = problem.bounds.steps_along(plane.start, alone)
        limits += [max(low, -size), min(high, size)]
    x_low, x_high, y_low, y_high = limits
    return Window(x_low, x_high, y_low, y_high) if x_low < x_high and y_low < y_high else None


def _walls(problem: ListProblem, plane: Subspace, window: Window) -> Float64:
    """Return bounds that cut the window askew, (B, 3): positive beyond."""
    x, y = np.meshgrid(window.limits[:2], window.limits[2:])
    corners = plane.weights(np.column_stack([x.ravel(), y.ravel()]))  # (4, D)
    askew = np.all(plane.directions != 0.0, axis=0)
    beyond = []
    for bound, sign in ((problem.bounds.low, -1.0), (problem.bounds.high, 1.0)):
        for d in np.flatnonzero(askew & np.any(sign * (corners - bound) > 0.0, axis=0)):
            beyond.append(sign * np.array([plane.start[d] - bound[d], *plane.directions[:, d]]))
    return np.array(beyond).reshape(-1, 3)
