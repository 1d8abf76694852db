# mypy: ignore-errors
"""Kernels that tell how far the first row of a list is ahead of the second, in floats with all their rounding."""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel


class Lists(NamedTuple):
    """Chosen rows of lists: ``rows[offsets[s]:offsets[s + 1]]`` are those of list s."""

    rows: np.ndarray
    offsets: np.ndarray


class Cells(NamedTuple):
    """Of each cell a position, by how much its rows must lead there, and the sum of their names."""

    positions: np.ndarray
    bounds: np.ndarray
    wanted: np.ndarray


@kernel
def gentlest_slopes(points, offsets, face_rows, face_lists, reach, bound, slopes, twins):
    """Write for every face the least steep difference to another row that may come close to it in the window.

    Row l comes close to row k if |c| − |p|·reach_x − |q|·reach_y ≤ bound, (c, p, q) their difference; its slope is
    √(p² + q²). Rows with the same three numbers are left out: ``twins`` gets the pairs; returns how many there
    are, which may be more than there is room for.
    """
    n = 0
    for f in range(len(face_rows)):
        k, s = face_rows[f], face_lists[f]
        least = np.inf
        for l_row in range(offsets[s], offsets[s + 1]):
            if l_row == k:
                continue
            c, p, q = points[k, 0] - points[l_row, 0], points[k, 1] - points[l_row, 1], points[k, 2] - points[l_row, 2]
            if c == 0.0 and p == 0.0 and q == 0.0:
                if n < len(twins):
                    twins[n, 0], twins[n, 1] = f, l_row
                n += 1
                continue
            square = p * p + q * q
            if square < least:
                far = (abs(p) * reach[0] if p != 0.0 else 0.0) + (abs(q) * reach[1] if q != 0.0 else 0.0)
                if abs(c) - far <= bound:
                    least = square
        slopes[f] = least**0.5
    return n


@kernel
def leads(points, lists, x, y, names, out):
    """Return the least lead of the first row over the second, over lists of chosen rows, at a point.

    Rows with the same three numbers count as one. ``out[0]`` gets the
    sum of the first rows' names.
    """
    rows, offsets = lists
    least, total = np.inf, names[0] - names[0]
    for s in range(len(offsets) - 1):
        first, best, second = rows[offsets[s]], -np.inf, -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            k = rows[i]
            height = points[k, 0] + x * points[k, 1] + y * points[k, 2]
            if height > best:
                second, best, first = best, height, k
            elif height > second:
                same = (
                    points[k, 0] == points[first, 0]
                    and points[k, 1] == points[first, 1]
                    and points[k, 2] == points[first, 2]
                )
                if not same:
                    second = height
        least = min(least, best - second)
        total += names[first]
    out[0] = total
    return least


@kernel
def settle(points, on_envelopes, everything, cells, names, doubtful, out):
    """Write which doubtful cells have a lead above the bound at their position, with the rows they should have.

    The rows on envelopes are looked at first, all rows only if those leave it open.
    """
    positions, bounds, wanted = cells
    total = np.zeros(1, names.dtype)
    for i in range(len(doubtful)):
        cell = doubtful[i]
        x, y = positions[cell, 0], positions[cell, 1]
        out[cell] = False
        if leads(points, on_envelopes, x, y, names, total) > bounds[cell] and total[0] == wanted[cell]:
            least = leads(points, everything, x, y, names, total)
            out[cell] = least > bounds[cell] and total[0] == wanted[cell]
