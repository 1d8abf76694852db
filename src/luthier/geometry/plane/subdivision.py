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
from luthier.geometry.plane import _plane_kernels as kernels

GRID_BITS = 49
# On the grid two lines that are not parallel meet nearer than 2¹⁰⁴: a border beyond is as good as none.
FAR = 2.0**110
LISTS_AT_ONCE = 64


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
    """

    heights: Float64
    exponents: tuple[int, int]

    @property
    def units(self) -> Float64:
        """How much x and y of the plane one x and y of the grid are, (2,)."""
        return np.asarray(np.ldexp(1.0, np.array(self.exponents)), np.float64)

    @classmethod
    def lay(cls, offsets: Int64, points: Float64) -> Grid:
        """Lay c, p, q of all rows, (M, 3), on the grid."""
        lengths = np.diff(offsets)
        relative = points - np.repeat(points[offsets[:-1]], lengths, axis=0)
        spread = np.maximum.reduceat(np.abs(relative), offsets[:-1], axis=0)  # (N, 3)
        columns = _exponents(spread.max(axis=0))
        columns[spread.max(axis=0) == 0] = columns.max()
        relative = np.ldexp(relative, -columns)
        own = GRID_BITS - _exponents(np.ldexp(spread, -columns).max(axis=1))
        heights = np.rint(np.ldexp(relative, np.repeat(own, lengths)[:, None]))
        return cls(flat(heights), (int(columns[0] - columns[1]), int(columns[0] - columns[2])))


def _exponents(values: Float64) -> Int64:
    """Return e with |value| ≤ 2^e; 0 for 0."""
    return np.frexp(values)[1].astype(np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Subdivisions:
    """The faces of N lists inside a window; a face belongs to one row.

    Attributes
    ----------
    rows : (F,) int64
        Row of each face, ascending; lists one after another.
    offsets : (N+1,) int64
        Faces of each list.
    heights : (F, 3) float64
        Rows on the grid.
    border : (8, 3) float64
        Lines of the window on the grid: bottom, right, top, left, positive inside; then the same reversed.
    face_ptr, sides : (F+1,), (T,) int64
        Sides of each face, counter-clockwise: faces on the other side, or −1 − b for a border b.
    grid : Grid
    window : Window
    """

    rows: Int64
    offsets: Int64
    heights: Float64
    border: Float64
    face_ptr: Int64
    sides: Int64
    grid: Grid
    window: Window

    @classmethod
    def make(cls, offsets: Int64, points: Float64, window: Window) -> Subdivisions:
        """Divide the window by each list of rows ``(c, p, q)``, (M, 3); O(K · faces) for a list of K rows."""
        offsets, points = flat(np.asarray(offsets, np.int64)), flat(np.asarray(points, np.float64))
        if points.ndim != 2 or points.shape[1] != 3 or len(points) != offsets[-1] or np.any(np.diff(offsets) < 1):
            raise LuthierError(f"expected lists of one row or more with 3 numbers each, found shape {points.shape}")
        if not np.all(np.isfinite(points)):
            raise LuthierError("expected finite scores, found others")
        grid = Grid.lay(offsets, points)
        border = flat(border_lines(window, grid))
        rows, ptrs, sides, counts = [], [np.zeros(1, np.int64)], [], []
        for low in range(0, len(offsets) - 1, LISTS_AT_ONCE):
            high = min(low + LISTS_AT_ONCE, len(offsets) - 1)
            size = int(offsets[high] - offsets[low])
            face_rows, face_ptr = np.empty(size, np.int64), np.zeros(size + 1, np.int64)
            found, count = np.empty(8 * size + 16 * (high - low), np.int64), np.empty(high - low, np.int64)
            n = kernels.subdivide(grid.heights, offsets, low, high, border, face_rows, face_ptr, found, count)
            n = without_fault(n)
            rows.append(face_rows[:n].copy())
            ptrs.append(face_ptr[1 : n + 1] + ptrs[-1][-1])
            sides.append(found[: face_ptr[n]].copy())
            counts.append(count)
        all_rows, all_sides = np.concatenate(rows), np.concatenate(sides)
        face_of_row = np.full(len(points), -1, np.int64)
        face_of_row[all_rows] = np.arange(len(all_rows))
        inner = all_sides >= 0
        all_sides[inner] = face_of_row[all_sides[inner]]
        return cls(
            rows=flat(all_rows),
            offsets=flat(np.concatenate([[0], np.cumsum(np.concatenate(counts))])),
            heights=flat(grid.heights[all_rows]),
            border=border,
            face_ptr=flat(np.concatenate(ptrs)),
            sides=flat(all_sides),
            grid=grid,
            window=window,
        )

    @property
    def counts(self) -> Int64:
        """How many faces each list has, (N,)."""
        return np.diff(self.offsets)

    @property
    def lists(self) -> Int64:
        """The list of each face, (F,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)


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
    if np.any(np.abs(limits[np.isfinite(limits)]) > 2.0**60):
        raise LuthierError(f"expected a window that floats can divide, found {window.limits}. hint: leave sides open")
    x_low, x_high, y_low, y_high = np.clip(limits, -FAR, FAR)
    inside = np.array([[-y_low, 0.0, 1.0], [x_high, -1.0, 0.0], [y_high, 0.0, -1.0], [-x_low, 1.0, 0.0]])
    return np.concatenate([inside, -inside])
