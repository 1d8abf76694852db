# mypy: ignore-errors
"""Kernels that look for the highest row of every segment at one place: in float32 first, for certain in float64.

Symbols are those of `_survivor_kernels`.
"""

import numpy as np

from luthier.core.jit import kernel
from luthier.geometry.lines._survivor_kernels import LANES, dot, error_bound, nonzero, project


@kernel
def sight(rows, w, heights):
    """Write w·(h − h_1) of all rows, (M,), in float32."""
    offsets, n_columns = rows.offsets, rows.features.shape[1]
    used = np.empty(n_columns, np.int64)
    n_used, w32 = nonzero(w, used), w.astype(np.float32)
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        columns = rows.copy[n_columns * first : n_columns * last].reshape((n_columns, last - first))
        project(columns, used, n_used, w32, heights[first:last])


@kernel
def highest_rows(rows, heights, moves, w, bounds, units, out):
    """Write the highest row of every segment at w, the first if several are.

    `heights` were sighted elsewhere; w is there plus `moves`, (D,). `bounds` (D,) are the sizes of both together, which
    errors are measured by. What may be the highest for all that is computed in float64.
    """
    offsets, features, n_columns = rows.offsets, rows.features, rows.features.shape[1]
    radius, size = rows.radius, rows.size
    longest = np.int64(1)
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    a32 = np.empty((longest + LANES - 1) // LANES * LANES, np.float32)
    lanes, used, moved = np.empty(LANES, np.float32), np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    n_used, n_moved, moves32 = nonzero(w, used), nonzero(moves, moved), moves.astype(np.float32)
    for s in range(len(offsets) - 1):
        first, k = offsets[s], offsets[s + 1] - offsets[s]
        columns = rows.copy[n_columns * first : n_columns * (first + k)].reshape((n_columns, k))
        a32[:k] = heights[first : first + k]
        for i in range(n_moved):
            step, column = moves32[moved[i]], columns[moved[i]]
            for r in range(k):
                a32[r] += step * column[r]
        wide = (k + LANES - 1) // LANES * LANES
        a32[k:wide] = -np.inf
        _, bound = error_bound(bounds, radius, size, s, units[0], units[1], units[2])
        height = np.float64(highest_of(a32, wide, lanes))
        floor = np.float32(height - 2.0 * bound - units[0] * (abs(height) + bound))  # less what float32 rounds here
        best, top = first, -np.inf
        for low in range(0, wide, LANES):
            if not reaches(a32, low, floor):
                continue
            for r in range(low, min(low + LANES, k)):
                if a32[r] >= floor:
                    score = dot(features, first + r, used, n_used, w)
                    if score > top:
                        best, top = first + r, score
        out[s] = best


@kernel
def highest_of(a, wide, lanes):
    """Return the largest of the first numbers, a multiple of LANES."""
    lanes[:] = -np.inf
    for low in range(0, wide, LANES):
        for r in range(LANES):
            v = a[low + r]
            lanes[r] = v if v > lanes[r] else lanes[r]
    return lanes.max()


@kernel
def reaches(a, low, floor):
    """Tell whether one of LANES numbers is at or above a floor."""
    here = False
    for r in range(LANES):
        here |= a[low + r] >= floor
    return here
