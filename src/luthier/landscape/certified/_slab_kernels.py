# mypy: ignore-errors
"""Kernels that cut a box into slabs along each of its axes, and say what the rows that can win in a slab can reach."""

import math

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.landscape.certified._box_kernels import height_at


@inner_kernel
def slabs_of_row(rest, part, n_slabs):
    """Return the first slab and the one behind the last in which rest + part·u is not below 0, u from −1 to 1.

    Both are moved outwards by more than the quotient can be wrong.
    """
    if part == 0.0 or rest - abs(part) >= 0.0:
        return 0, n_slabs
    place = min(max((1.0 - rest / part) / 2, 0.0), 1.0) * n_slabs
    if part > 0.0:
        return max(0, min(n_slabs - 1, math.floor(place - 1e-6))), n_slabs
    return 0, max(1, min(n_slabs, math.ceil(place + 1e-6)))


@kernel
def limit_slabs(heights, slack, found, values, centre, radius, axes, limits):
    """Write the value of the best choice of open rows in each slab, (axes, slabs), decided lists left out.

    In a slab a row is compared with the winner at the centre of the box alone.
    """
    n_axes, n_slabs = limits.shape
    limits[:] = 0.0
    best = np.empty((n_axes, n_slabs))
    part = np.empty(n_axes)
    for s in range(len(found.lists)):
        start, stop = found.starts[s], found.starts[s + 1]
        room = slack[found.lists[s]]
        top, winner = -np.inf, found.rows[start]
        for i in range(start, stop):
            height = height_at(heights, found.rows[i], centre)
            if height > top:
                top, winner = height, found.rows[i]
        best[:] = -np.inf
        for i in range(start, stop):
            row = found.rows[i]
            lead = height_at(heights, row, centre) - top + room
            for a in range(n_axes):
                part[a] = (heights[row, axes[a]] - heights[winner, axes[a]]) * radius[axes[a]]
                lead += abs(part[a])
            for a in range(n_axes):
                first, behind = slabs_of_row(lead - abs(part[a]), part[a], n_slabs)
                for b in range(first, behind):
                    if values[i] > best[a, b]:
                        best[a, b] = values[i]
        for a in range(n_axes):
            for b in range(n_slabs):
                limits[a, b] += best[a, b]
