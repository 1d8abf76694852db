"""The best cells of a window round given weights, limits on weights included."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.geometry.plane.inscribed import largest_circle
from luthier.geometry.plane.overlay import CellBlock
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.landscape.gains import TRIES
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.nearby import Nearby
from luthier.landscape.planes.noise import height_noise
from luthier.landscape.planes.plane_lists import PlaneLists
from luthier.landscape.planes.scored_cells import ScoredCell, ScoredCells

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
        for key, gain in zip(found.keys, found.gains.tolist(), strict=True):
            cell = lists.overlay.cell(key)
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
