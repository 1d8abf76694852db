# mypy: ignore-errors
"""Kernels that find how wide a cone of weights is: small linear programs over rows of length 1.

Symbols: n unknowns w; a cone is a table of rows a of length 1, the weights with a·w < 0; t its margin.
Arrays are copied by loops: Numba compiles ``a[:] = b`` together with the words of an error message, for seconds.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

STRICT = 1e-9  # weights of a cone's inside, |w_k| ≤ 1, are at least so far from its sides
NUDGE = 1e-11  # what w_k is worth beside the margin, so that no two bases are equally good
MOST_PIVOTS = 2000
LOST = -9.0  # "margin" of a programme that rounding made unsolvable


class Workspace(NamedTuple):
    """Scratch of programmes: the rows of a cone, the point (w, t), and the basis as in `lp/_lp_kernels.py`.

    `alpha` are the coefficients of the entering row; `values` (N,) are those of the lists. The last three are
    where `keep_basis` leaves a basis to begin with.
    """

    rows: np.ndarray
    point: np.ndarray
    inverse: np.ndarray
    y: np.ndarray
    rhs: np.ndarray
    entering: np.ndarray
    alpha: np.ndarray
    values: np.ndarray
    kept_inverse: np.ndarray
    kept_y: np.ndarray
    kept_rhs: np.ndarray


@kernel
def start_at_corner(room):
    """Make the basis of the box's corner with t large."""
    inverse, y, rhs = room.inverse, room.y, room.rhs
    n = len(y) - 1
    inverse[:] = 0.0
    for k in range(n):
        inverse[k, k], rhs[k] = 1.0, 1.0
        y[k] = NUDGE * (1.0 + (0.6180339887498949 * (k + 1)) % 1.0)
    inverse[n, n], rhs[n], y[n] = 1.0, 4.0 * n, 1.0


@inner_kernel
def copy_row(source, i, target, j):
    """Write row i of one table as row j of another, whose first columns it fills."""
    for k in range(source.shape[1]):
        target[j, k] = source[i, k]


@inner_kernel
def copy_rows(source, m, target):
    """Write the first m rows of one table into another."""
    for i in range(m):
        copy_row(source, i, target, i)


@kernel
def keep_basis(room):
    """Keep the present basis: more rows can only take it further."""
    copy_rows(room.inverse, len(room.y), room.kept_inverse)
    for k in range(len(room.y)):
        room.kept_y[k], room.kept_rhs[k] = room.y[k], room.rhs[k]


@kernel
def start_at_kept(room):
    """Go back to the basis that was kept."""
    copy_rows(room.kept_inverse, len(room.y), room.inverse)
    for k in range(len(room.y)):
        room.y[k], room.rhs[k] = room.kept_y[k], room.kept_rhs[k]


@kernel
def widest(m, room):
    """Maximise t subject to a·w + t ≤ 0 for the first m rows a and |w_k| ≤ 1; leave (w, t) in the room's point.

    Returns t, or LOST.
    """
    start_at_corner(room)
    return widen(m, room)


@kernel
def widen(m, room):
    """Do the same by a dual simplex from the basis in `room`, which is that of some of the rows."""
    rows, x, row, alpha = room.rows, room.point, room.entering, room.alpha
    inverse, y, rhs = room.inverse, room.y, room.rhs
    n = rows.shape[1]
    for _ in range(MOST_PIVOTS):
        for k in range(n + 1):
            total = 0.0
            for r in range(n + 1):
                total += inverse[k, r] * rhs[r]
            x[k] = total
        worst, entering, side = 1e-12, -1, -1
        for i in range(m):
            total = x[n]
            for k in range(n):
                total += rows[i, k] * x[k]
            if total > worst:
                worst, entering = total, i
        for k in range(n):
            if abs(x[k]) - 1.0 > worst:
                worst, side = abs(x[k]) - 1.0, k
        if entering < 0 and side < 0:
            return x[n]
        if side >= 0:
            row[:] = 0.0
            row[side] = 1.0 if x[side] > 0.0 else -1.0
        else:
            for k in range(n):
                row[k] = rows[entering, k]
            row[n] = 1.0
        leaving, least = -1, np.inf
        for r in range(n + 1):
            total = 0.0
            for k in range(n + 1):
                total += row[k] * inverse[k, r]
            alpha[r] = total
            if total > 1e-11 and y[r] < least * total:
                least, leaving = y[r] / total, r
        if leaving < 0:
            return LOST
        for k in range(n + 1):
            share = inverse[k, leaving] / alpha[leaving]
            for r in range(n + 1):
                inverse[k, r] -= share * alpha[r]
            inverse[k, leaving] = share
        for r in range(n + 1):
            y[r] -= least * alpha[r]
        y[leaving] = least
        rhs[leaving] = 1.0 if side >= 0 else 0.0
    return LOST


@kernel
def put_row(points, j, e, rows, m):
    """Write (P_j − P_e) / ‖P_j − P_e‖ as row m."""
    total = 0.0
    for k in range(points.shape[1]):
        rows[m, k] = points[j, k] - points[e, k]
        total += rows[m, k] * rows[m, k]
    total = np.sqrt(total)
    for k in range(points.shape[1]):
        rows[m, k] /= total


@inner_kernel
def turn_row(rows, i):
    """Turn a row round."""
    for k in range(rows.shape[1]):
        rows[i, k] = -rows[i, k]


@kernel
def spare_rows(names, m, room):
    """Drop those of the first m rows that the others imply, their names with them; return how many are left.

    A row that is dropped is gone for those after it: if rows have one direction, one of them stays.
    """
    i = 0
    while i < m:
        turn_row(room.rows, i)
        other = widest(m, room)
        turn_row(room.rows, i)
        if other > STRICT or other == LOST:
            i += 1
        else:
            m -= 1
            copy_row(room.rows, m, room.rows, i)
            names[i] = names[m]
    return m
