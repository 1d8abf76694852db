# mypy: ignore-errors
"""Kernels that lay rows on the grid, and leave out those that are the highest of their list nowhere in a window.

Letters: a row has the height c + x·p + y·q.
"""

import numpy as np

from luthier.core.jit import fast_kernel, inner_kernel, kernel

LANES = 16  # independent running maxima: a comparison of vectors, where one maximum would be a chain
ROUNDING = 2.0**-48  # of the sizes of c, x·p and y·q: well above what computing a height loses


@kernel
def spreads(points, offsets, spread):
    """Write the largest sizes of c, p and q of each list, (N, 3), relative to its first row."""
    for s in range(len(offsets) - 1):
        first = offsets[s]
        c0, p0, q0 = points[first, 0], points[first, 1], points[first, 2]
        c = p = q = 0.0
        for k in range(first + 1, offsets[s + 1]):
            c = max(c, abs(points[k, 0] - c0))
            p = max(p, abs(points[k, 1] - p0))
            q = max(q, abs(points[k, 2] - q0))
        spread[s, 0], spread[s, 1], spread[s, 2] = c, p, q


@kernel
def lay(points, offsets, factors, heights):
    """Write c, p and q relative to the first row of each list, times two factors (2, N, 3), as whole numbers.

    Both factors are powers of two: one alone may be beyond what floats can hold.
    """
    for s in range(len(offsets) - 1):
        first = offsets[s]
        for j in range(3):
            origin, once, twice = points[first, j], factors[0, s, j], factors[1, s, j]
            for k in range(first, offsets[s + 1]):
                heights[k, j] = np.rint((points[k, j] - origin) * once * twice)


@inner_kernel
def highest(heights, n, top):
    """Return the first of n heights that is the highest; `n` is filled up to a multiple of LANES."""
    top[:] = -np.inf
    for low in range(0, n, LANES):
        for r in range(LANES):
            v = heights[low + r]
            top[r] = v if v > top[r] else top[r]
    height = top.max()
    for k in range(n):
        if heights[k] == height:
            return k
    return 0


@fast_kernel
def lay_floors(c, p, q, n, xs, ys, sizes, room, floors):
    """Write, at every corner of the boxes that xs and ys make, below which height a row leads in no box about it.

    In each box that is the height of the row that leads at its centre, less what rounding may lose.
    """
    heights, top = room
    floors[:] = np.inf
    for i in range(len(ys) - 1):
        for j in range(len(xs) - 1):
            x, y = (xs[j] + xs[j + 1]) / 2.0, (ys[i] + ys[i + 1]) / 2.0
            for k in range(n):
                heights[k] = c[k] + x * p[k] + y * q[k]
            best = highest(heights, n, top)
            for di in range(2):
                for dj in range(2):
                    x, y = xs[j + dj], ys[i + di]
                    lost = ROUNDING * (sizes[0] + abs(x) * sizes[1] + abs(y) * sizes[2])
                    floor = c[best] + x * p[best] + y * q[best] - lost
                    floors[i + di, j + dj] = min(floors[i + di, j + dj], floor)


@fast_kernel
def reach_floors(c, p, q, n, xs, ys, floors, heights, alive):
    """Flag the rows that reach a floor at a corner."""
    alive[:n] = 0
    for i in range(len(ys)):
        y = ys[i]
        for k in range(n):
            heights[k] = c[k] + y * q[k]
        for j in range(len(xs)):
            x, floor = xs[j], floors[i, j]
            for k in range(n):
                alive[k] |= heights[k] + x * p[k] >= floor


@kernel
def leading(z, offsets, xs, ys, few, rows):
    """Write the rows that may be the highest of their list in one of the boxes that xs and ys make; return how many.

    A row that is below another at all four corners of a box is below it in all of the box. Lists of few rows keep all.
    """
    longest = 1
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    size = (longest + LANES - 1) // LANES * LANES
    columns, heights, top = np.empty((3, size)), np.empty(size), np.empty(LANES)
    alive, floors, sizes = np.empty(size, np.uint8), np.empty((len(ys), len(xs))), np.empty(3)
    n_rows = 0
    for s in range(len(offsets) - 1):
        first, n = offsets[s], offsets[s + 1] - offsets[s]
        if n <= few:
            for k in range(n):
                rows[n_rows + k] = first + k
            n_rows += n
            continue
        filled = (n + LANES - 1) // LANES * LANES
        for j in range(3):
            sizes[j] = 0.0
            for k in range(n):
                columns[j, k] = z[first + k, j]
                sizes[j] = max(sizes[j], abs(z[first + k, j]))
            for k in range(n, filled):
                columns[j, k] = columns[j, 0]  # the first row again: it comes before these
        c, p, q = columns[0], columns[1], columns[2]
        lay_floors(c, p, q, filled, xs, ys, sizes, (heights, top), floors)
        reach_floors(c, p, q, filled, xs, ys, floors, heights, alive)
        for k in range(n):
            if alive[k]:
                rows[n_rows] = first + k
                n_rows += 1
    return n_rows
