"""Corners of polygons and sums of polygons, exactly.

Every float64 is a rational number, so the sign of an area has a true value. It is computed in float64
with a bound on its rounding, and in whole numbers of any size where the bound does not settle it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError

# Two differences, two products and one more difference, each rounded once: 3 units of the sum of the
# products' sizes are enough ([higham2002] section 3.1), 8 are more.
ROUNDING = 8 * 2.0**-53
FEW, DIRECTIONS = 40, 16
SMALLEST = 1e-280  # below, numbers may have lost digits to underflow

Pair = tuple[float, float]


def turn(a: Pair, b: Pair, c: Pair, d: Pair) -> int:
    """Return the sign of ``(b − a) × (d − c)``: 1 if the second direction lies left of the first, exactly.

    >>> turn((0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1e-300))
    1
    """
    left = (b[0] - a[0]) * (d[1] - c[1])
    right = (b[1] - a[1]) * (d[0] - c[0])
    area, size = left - right, abs(left) + abs(right)
    if abs(area) > ROUNDING * size and size > SMALLEST:
        return 1 if area > 0 else -1
    ratios = [x.as_integer_ratio() for x in (*a, *b, *c, *d)]
    unit = max(below for _, below in ratios)  # all are powers of two: over the largest, all are whole numbers
    ax, ay, bx, by, cx, cy, dx, dy = (above * (unit // below) for above, below in ratios)
    exact = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx)
    return (exact > 0) - (exact < 0)


def planar_hull(points: npt.ArrayLike) -> Int64:
    """Return the corners of the convex hull of points, (K, 2), counter-clockwise from the leftmost.

    If several points are equal, the lowest row counts; points on a side are no corners. Andrew's monotone chain,
    O(K log K).

    >>> planar_hull([[0, 0], [1, 0], [2, 0], [2, 2], [0, 2], [1, 1], [2, 2]]).tolist()
    [0, 2, 3, 4]
    """
    array = np.asarray(points, np.float64)
    if array.ndim != 2 or array.shape[1] != 2 or not np.all(np.isfinite(array)):
        raise LuthierError(f"expected finite points of two coordinates, found shape {array.shape}")
    order = np.lexsort((array[:, 1], array[:, 0]))  # stable: if points are equal, the lowest row comes first
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any(array[order[1:]] != array[order[:-1]], axis=1)
    rows: list[int] = _not_inside(array, order[new]).tolist()
    if len(rows) < 3:
        return np.array(rows, np.int64)
    places: list[Pair] = [(float(x), float(y)) for x, y in array]
    lower, upper = _chain(rows, places), _chain(rows[::-1], places)
    return np.array(lower[:-1] + upper[:-1], np.int64)


def _not_inside(points: Float64, rows: Int64) -> Int64:
    """Return the rows that are not for certain inside the polygon of the farthest points in a few directions.

    A point strictly to the left of all sides of a closed polygon is inside its hull, and no corner.
    """
    if len(rows) < FEW:
        return rows
    spread = np.ptp(points[rows], axis=0)
    scaled = points[rows] / np.where(spread > 0, spread, 1.0)
    turns = np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)
    farthest = rows[np.argmax(scaled @ np.stack([np.cos(turns), np.sin(turns)]), axis=0)]
    inside = np.ones(len(rows), np.bool_)
    x, y = points[rows].T
    for a, b in zip(points[farthest], points[np.roll(farthest, -1)], strict=True):
        if np.any(a != b):
            left, right = (b[0] - a[0]) * (y - a[1]), (b[1] - a[1]) * (x - a[0])
            size = np.abs(left) + np.abs(right)
            inside &= (left - right > ROUNDING * size) & (size > SMALLEST)
    return rows[~inside]


def _chain(rows: Sequence[int], places: Sequence[Pair]) -> list[int]:
    chain: list[int] = []
    for row in rows:
        while len(chain) > 1:
            a, b = places[chain[-2]], places[chain[-1]]
            if turn(a, b, a, places[row]) > 0:
                break
            chain.pop()
        chain.append(row)
    return chain


def half(a: Pair, b: Pair) -> int:
    """Return 0 if the direction from a to b points right (or straight up), 1 if left (or straight down).

    A hull from its leftmost corner has its sides in this order, each half ordered by turns.
    """
    if a == b:
        raise LuthierError("expected two different points, found one twice")
    return 0 if (b[0], b[1]) > (a[0], a[1]) else 1
