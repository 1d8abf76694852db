"""The plane divided by each list: where which row is the highest, exactly.

Row k of a list has the height ``c_k + x·p_k + y·q_k``; the highest one at every point divides the plane into convex
faces. Heights are first laid on a grid so fine (2⁻⁵⁰ of the largest difference in the list) that it moves them
less than the rounding of a sum of features does; on it all decisions are exact, and ties go to the lower row.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_of_rows
from luthier.core.threads import map_in_order
from luthier.geometry.plane import _face_kernels as kernels
from luthier.geometry.plane import _grid_kernels as grid_kernels

GRID_BITS = 49
# On the grid two lines that are not parallel meet nearer than 2¹⁰⁴: a border beyond is as good as none.
FAR = 2.0**110
# Two rows are rounded to the grid, each by half a unit; taking the first row from both has lost less than the rest.
ROUNDED = 1.25
LISTS_AT_ONCE = 64
BOXES = 6  # on each side of a window, to look for rows that lead nowhere in it
FEW_ROWS = 16  # lists of so many are not searched for such rows
MOST_BITS = 900  # between scores and their changes along x or y: what lies farther apart, floats cannot hold


@dataclasses.dataclass(frozen=True)
class Window:
    """A rectangle of the plane, or all of it."""

    x_low: float = -np.inf
    x_high: float = np.inf
    y_low: float = -np.inf
    y_high: float = np.inf

    def __post_init__(self) -> None:
        if not (self.x_low < self.x_high and self.y_low < self.y_high):
            raise LuthierError(f"expected a window with low < high, found {self.limits}")

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """x low and high, y low and high."""
        return self.x_low, self.x_high, self.y_low, self.y_high

    @property
    def bounded(self) -> bool:
        """Whether all four sides are finite."""
        return bool(np.all(np.isfinite(self.limits)))


@dataclasses.dataclass(frozen=True, eq=False)
class Grid:
    """Heights on a grid of integers, and the units they are in.

    Attributes
    ----------
    heights : (M, 3) float64
        Integers below 2⁵⁰; of each list relative to its first row, in the list's own unit.
    exponents : 2 ints
        x on the grid is x·2^exponents[0] in the plane, y likewise.
    steps : (N, 3) float64
        How much of c, p and q one unit of each list's grid is.
    """

    heights: Float64
    exponents: tuple[int, int]
    steps: Float64

    @property
    def units(self) -> Float64:
        """How much x and y of the plane one x and y of the grid are, (2,)."""
        return np.asarray(np.ldexp(1.0, np.array(self.exponents)), np.float64)

    @classmethod
    def lay(cls, offsets: Int64, points: Float64) -> Grid:
        """Lay c, p, q of all rows, (M, 3), on the grid."""
        offsets, points = flat(offsets), flat(points)
        spread = np.empty((len(offsets) - 1, 3))
        grid_kernels.spreads(points, offsets, spread)
        # Of each list alone: how large one list is beside another changes no boundary.
        largest = np.ldexp(spread, -_exponents(spread.max(axis=1))[:, None]).max(axis=0)
        columns = _exponents(largest)
        columns[largest == 0] = columns.max()
        if np.ptp(columns) > MOST_BITS:
            raise LuthierError(
                f"expected axes that change scores by comparable amounts, found that scores, x and y differ by "
                f"a factor of 2^{np.ptp(columns)}. hint: scale the features, or the directions of the axes"
            )
        own = GRID_BITS - _exponents(np.ldexp(spread, -columns).max(axis=1))
        powers = own[:, None] - columns  # (N, 3)
        factors = np.stack([np.ldexp(1.0, powers // 2), np.ldexp(1.0, powers - powers // 2)])
        heights = np.empty_like(points)
        grid_kernels.lay(points, offsets, flat(factors), heights)
        return cls(flat(heights), (int(columns[0] - columns[1]), int(columns[0] - columns[2])), np.ldexp(1.0, -powers))

    def leading_rows(self, offsets: Int64, window: Window, *, threads: int = 1) -> Int64:
        """Return rows, ascending, among which are all that are the highest of their list somewhere in a window."""
        if not window.bounded or len(self.heights) == len(offsets) - 1:
            return np.arange(len(self.heights))
        x_low, x_high, y_low, y_high = np.array(window.limits) / np.repeat(self.units, 2)
        share = np.linspace(0.0, 1.0, BOXES + 1)
        xs, ys = x_low + share * (x_high - x_low), y_low + share * (y_high - y_low)
        xs[-1], ys[-1] = x_high, y_high

        def look(lists: range) -> Int64:
            own = flat(offsets[lists.start : lists.stop + 1])
            rows = np.empty(int(own[-1] - own[0]), np.int64)
            return rows[: grid_kernels.leading(self.heights, own, xs, ys, FEW_ROWS, rows)]

        return np.concatenate(list(map_in_order(look, _ranges(len(offsets) - 1), threads)))

    def noise(self, noise: Float64 | None) -> Float64:
        """Return how wrong c, p and q of a difference of two rows of a list may be, in units of its grid, (N, 3).

        `noise` (N, 3) is how wrong they were before; laying them on the grid has rounded both rows.
        """
        return flat(ROUNDED + (np.zeros(self.steps.shape) if noise is None else noise / self.steps))


def _ranges(n_lists: int) -> list[range]:
    """Return all lists, some at a time."""
    return [range(low, min(low + LISTS_AT_ONCE, n_lists)) for low in range(0, n_lists, LISTS_AT_ONCE)]


def _exponents(values: Float64) -> Int64:
    """Return e with |value| ≤ 2^e; 0 for 0."""
    return np.frexp(values)[1].astype(np.int64)


def _take_windows(found: kernels.Found, first: int) -> int:
    """Write the faces of lists of one row, from row `first` on, as `subdivide` would; return how many there are."""
    n = len(found.rows)
    found.rows[:], found.ptr[:], found.counts[:], found.tied[:] = first + np.arange(n), 4 * np.arange(n + 1), 1, False
    found.sides[: 4 * n] = np.tile([-1, -2, -3, -4], n)
    return n


@dataclasses.dataclass(frozen=True, eq=False)
class Subdivisions:
    """The faces of N lists inside a window; a face belongs to one row.

    Attributes
    ----------
    rows : (F,) int64
        Row of each face, ascending; lists one after another.
    offsets : (N+1,) int64
        Faces of each list.
    arrays : Faces
        For kernels. ``z`` (F, 3): the rows on the grid; ``border`` (8, 3): lines of the window on it, bottom, right,
        top, left, positive inside, then the same reversed; ``ptr``, ``sides``: sides of each face, counter-clockwise:
        faces on the other side, or −1 − b for a border b; ``tied`` (N,): lists with faces of no area but by noise.
    grid : Grid
    window : Window
    """

    rows: Int64
    offsets: Int64
    arrays: kernels.Faces
    grid: Grid
    window: Window

    @classmethod
    def make(
        cls, offsets: Int64, points: Float64, window: Window, noise: Float64 | None = None, *, threads: int = 1
    ) -> Subdivisions:
        """Divide the window by each list of rows ``(c, p, q)``, (M, 3); O(K · faces) for a list of K rows.

        `noise` (N, 3) is how wrong c, p and q of a difference of two rows may be. Threads share the lists.
        """
        offsets, points = flat(np.asarray(offsets, np.int64)), flat(np.asarray(points, np.float64))
        if points.ndim != 2 or points.shape[1] != 3 or len(points) != offsets[-1] or np.any(np.diff(offsets) < 1):
            raise LuthierError(f"expected lists of one row or more with 3 numbers each, found shape {points.shape}")
        if not np.all(np.isfinite(points)):
            raise LuthierError("expected finite scores, found others")
        grid = Grid.lay(offsets, points)
        border = flat(border_lines(window, grid))
        leading = grid.leading_rows(offsets, window, threads=threads)
        offsets, heights = flat(np.searchsorted(leading, offsets)), flat(grid.heights[leading])
        units, owner = grid.noise(noise), flat(segment_of_rows(offsets))
        given = heights, offsets, border, units, owner
        parts = map_in_order(lambda lists: _divided(lists, *given), _ranges(len(offsets) - 1), threads)
        rows, ptrs, sides, counts, tied = zip(*parts, strict=True)
        firsts = np.cumsum([0, *(len(part) for part in sides)])[:-1]
        starts = [np.zeros(1, np.int64), *(part + first for part, first in zip(ptrs, firsts, strict=True))]
        all_rows, all_sides = np.concatenate(rows), np.concatenate(sides)
        face_of_row = np.full(len(leading), -1, np.int64)
        face_of_row[all_rows] = np.arange(len(all_rows))
        inner = all_sides >= 0
        all_sides[inner] = face_of_row[all_sides[inner]]
        each = np.concatenate(counts)
        arrays = kernels.Faces(
            z=flat(heights[all_rows]),
            border=border,
            ptr=flat(np.concatenate(starts)),
            sides=flat(all_sides),
            owner=flat(np.repeat(np.arange(len(each)), each)),
            busy=flat(np.flatnonzero(each > 1)),
            tied=flat(np.concatenate(tied)),
            noise=units,
        )
        return cls(flat(leading[all_rows]), flat(np.concatenate([[0], np.cumsum(each)])), arrays, grid, window)

    @property
    def counts(self) -> Int64:
        """How many faces each list has, (N,)."""
        return np.diff(self.offsets)

    @property
    def most_lines(self) -> int:
        """How many lines a cell may have: of each list, its face with the most sides may count."""
        return int(np.maximum.reduceat(np.diff(self.arrays.ptr), self.offsets[:-1]).sum())

    def room_for_cell(self) -> kernels.Polygon:
        """Return where the polygon of any cell may be written."""
        size = self.most_lines + 8
        return kernels.Polygon(
            np.empty((size, 2), np.int64), np.empty((size, 3)), np.empty((size, 6)), np.empty(size, np.int64)
        )


def _divided(
    lists: range, heights: Float64, offsets: Int64, border: Float64, units: Float64, owner: Int64
) -> kernels.Found:
    """Return the faces of some lists; their ends are counted from the first of them."""
    low, high = lists.start, lists.stop
    size = int(offsets[high] - offsets[low])
    found = kernels.Found(
        np.empty(size, np.int64),
        np.zeros(size + 1, np.int64),
        np.empty(8 * size + 16 * (high - low), np.int64),
        np.empty(high - low, np.int64),
        np.empty(high - low, np.bool_),
    )
    if size == high - low:  # lists of one row: the face of each is the window
        n = _take_windows(found, int(offsets[low]))
    else:
        n = without_fault(kernels.subdivide(heights, offsets, low, high, border, units, owner, found))
    sides = found.sides[: found.ptr[n]].copy()
    return kernels.Found(found.rows[:n].copy(), found.ptr[1 : n + 1], sides, found.counts, found.tied)


def without_fault(n: int) -> int:
    """Return what a kernel counted; it counts less than 0 where two of its decisions contradict each other."""
    if n < 0:
        raise LuthierError(
            "boundaries contradict each other: this is a fault of luthier. hint: please report the input"
        )
    return n


def border_lines(window: Window, grid: Grid) -> Float64:
    """Return the window's lines on the grid, (8, 3)."""
    limits = np.array(window.limits) / np.repeat(grid.units, 2)
    x_low, x_high, y_low, y_high = np.clip(limits, -FAR, FAR)
    if not (x_low < x_high and y_low < y_high) or np.any((limits != 0.0) & (np.abs(limits) < 1.0 / FAR)):
        x, y = grid.units
        raise LuthierError(
            f"the window {window.limits} is out of all proportion: the lists change their selections where x is about "
            f"{x:.1e} and y about {y:.1e}. hint: take another `window`, or none"
        )
    inside = np.array([[-y_low, 0.0, 1.0], [x_high, -1.0, 0.0], [y_high, 0.0, -1.0], [-x_low, 1.0, 0.0]])
    return np.concatenate([inside, -inside])
