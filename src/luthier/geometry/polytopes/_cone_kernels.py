# mypy: ignore-errors
"""Kernels for the nearest point under many linear constraints: a dual active-set method [goldfarb1983].

Constraints are ``(y_k − base)·w ≤ −margin_k`` for the columns y_k of `points` (D, K). The method starts at
the unconstrained minimum, takes the most violated constraint in, and lets go those whose multipliers fall
to 0; the constraints that hold with equality are kept as an orthonormal basis Q and a triangle R. Each
step looks at all columns once, so that thousands of constraints cost D additions each.
"""

import math

import numpy as np

from luthier.core.jit import fast_kernel, kernel

FOUND, EXCLUDED, LOST = 1, 0, -1
DEPENDENT = 1e-9  # a unit vector this close to the span of others belongs to it
ROUNDING = 1e-13  # what products of vectors of length 1 may be wrong by, generously


@fast_kernel
def products(points, weights, margins, out):
    """Write w·y_k + margin_k for every column."""
    for k in range(points.shape[1]):
        out[k] = margins[k]
    for j in range(points.shape[0]):
        weight = weights[j]
        for k in range(points.shape[1]):
            out[k] += weight * points[j, k]


@kernel
def highest(values, skipped):
    """Return where the highest value is that is not skipped; ties go to the first; −1 if all are."""
    best, where = -math.inf, -1
    for k in range(len(values)):
        if values[k] > best and not skipped[k]:
            best, where = values[k], k
    return where


@kernel
def append_column(basis, triangle, size, vector):
    """Orthogonalise a unit vector against the first `size` rows of the basis, twice; return what is left.

    The new row is written where it would stand, and its column of the triangle.
    """
    n = basis.shape[1]
    for j in range(n):
        basis[size, j] = vector[j]
    for i in range(size):
        triangle[i, size] = 0.0
    for _ in range(2):
        for i in range(size):
            product = 0.0
            for j in range(n):
                product += basis[i, j] * basis[size, j]
            triangle[i, size] += product
            for j in range(n):
                basis[size, j] -= product * basis[i, j]
    length = 0.0
    for j in range(n):
        length += basis[size, j] * basis[size, j]
    length = math.sqrt(length)
    triangle[size, size] = length
    if length > 0.0:
        for j in range(n):
            basis[size, j] /= length
    return length


@kernel
def solve_upper(triangle, size, values):
    """Solve R x = values in place."""
    for i in range(size - 1, -1, -1):
        total = values[i]
        for j in range(i + 1, size):
            total -= triangle[i, j] * values[j]
        values[i] = total / triangle[i, i]


@kernel
def settle(basis, triangle, size, limits, start, point, multipliers):
    """Write the nearest point to `start` at which the held constraints are equalities, and its multipliers.

    With the held rows ``Nᵀ = Rᵀ Qᵀ`` the point is ``start + Q (v − Qᵀ start)`` where ``Rᵀ v = limits``; the
    multipliers u, ``start − point = N u``, solve ``R u = Qᵀ start − v``.
    """
    n = len(start)
    for i in range(size):
        total = limits[i]
        for m in range(i):
            total -= triangle[m, i] * multipliers[m]
        multipliers[i] = total / triangle[i, i]
    for j in range(n):
        point[j] = start[j]
    for i in range(size):
        reach = 0.0
        for j in range(n):
            reach += basis[i, j] * start[j]
        multipliers[i] = reach - multipliers[i]
        for j in range(n):
            point[j] -= multipliers[i] * basis[i, j]
    solve_upper(triangle, size, multipliers)


@kernel
def let_go(basis, triangle, size, which, normals, limits, held, multipliers):
    """Forget one held constraint and rebuild the basis behind it; return the new size."""
    for i in range(which, size - 1):
        limits[i], held[i], multipliers[i] = limits[i + 1], held[i + 1], multipliers[i + 1]
        for j in range(normals.shape[1]):
            normals[i, j] = normals[i + 1, j]
    for i in range(which, size - 1):
        append_column(basis, triangle, i, normals[i])
    return size - 1


@kernel
def take_in(basis, triangle, size, fixed, normals, limits, held, multipliers, point, steps):
    """Move until the constraint that stands at place `size` holds; return (status, new size).

    `point` moves against the part of its normal that is free of the held ones, z; a held multiplier u_i
    falls by r_i, ``R r = Qᵀ n``. What falls to 0 first is let go, the first `fixed` never.
    """
    n = normals.shape[1]
    multipliers[size] = 0.0
    while True:
        free = append_column(basis, triangle, size, normals[size])
        for i in range(size):
            steps[i] = triangle[i, size]
        solve_upper(triangle, size, steps)
        shortest, which = math.inf, -1
        for i in range(fixed, size):
            if steps[i] > ROUNDING and multipliers[i] < shortest * steps[i]:
                shortest, which = multipliers[i] / steps[i], i
        full = math.inf
        if free > DEPENDENT and size < n:
            above = -limits[size]
            for j in range(n):
                above += normals[size, j] * point[j]
            full = max(above, 0.0) / (free * free)
        step = min(full, shortest)
        if step == math.inf:
            return EXCLUDED, size
        if full < math.inf:
            for j in range(n):
                point[j] -= step * free * basis[size, j]
        for i in range(size):
            multipliers[i] -= step * steps[i]
        multipliers[size] += step
        if full <= shortest:
            return FOUND, size + 1
        last = size
        size = let_go(basis, triangle, size, which, normals, limits, held, multipliers)
        limits[size], held[size], multipliers[size] = limits[last], held[last], multipliers[last]
        for j in range(n):
            normals[size, j] = normals[last, j]


@kernel
def nearest_point(points, base, margins, skipped, fixed, start, room, most, support):
    """Write the point nearest to `start` under all constraints into the last row of `room`; return the status.

    `fixed` (F, D) are orthonormal directions that the point must be orthogonal to. `room` is scratch of
    shape (3D+7, D+1). FOUND: the point satisfies all to rounding. EXCLUDED: constraints contradict
    each other, which are written to `support` (D+1,), the rest of it −1. LOST: `most` steps were not enough.
    """
    n, n_points = points.shape
    basis, triangle, normals = room[: n + 1, :n], room[n + 1 : 2 * n + 2], room[2 * n + 2 : 3 * n + 3, :n]
    multipliers, steps, limits, point = room[3 * n + 3], room[3 * n + 4], room[3 * n + 5], room[3 * n + 6, :n]
    held = np.empty(n + 1, dtype=np.int64)
    values = np.empty(n_points)
    size = len(fixed)
    for i in range(size):
        limits[i], held[i], multipliers[i] = 0.0, -1, 0.0
        for j in range(n):
            normals[i, j] = fixed[i, j]
        append_column(basis, triangle, i, normals[i])
    for _ in range(most):
        settle(basis, triangle, size, limits, start, point, multipliers)
        for i in range(len(fixed), size):
            multipliers[i] = max(multipliers[i], 0.0)
        products(points, point, margins, values)
        k = highest(values, skipped)
        if k < 0:
            return FOUND
        level, length, reach, begun = 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            level += base[j] * point[j]
            length += (points[j, k] - base[j]) ** 2
            reach += point[j] * point[j]
            begun += start[j] * start[j]
        length = math.sqrt(length)
        known = False
        for i in range(len(fixed), size):
            known = known or held[i] == k
        if known or values[k] - level <= ROUNDING * length * math.sqrt(max(reach, begun)):
            return FOUND
        if length == 0.0:
            support[:] = -1
            return EXCLUDED
        for j in range(n):
            normals[size, j] = (points[j, k] - base[j]) / length
        limits[size], held[size] = -margins[k] / length, k
        status, size = take_in(
            basis, triangle, size, len(fixed), normals, limits, held, multipliers, point, steps
        )  # fmt: skip
        if status == EXCLUDED:
            support[:] = -1
            for i in range(len(fixed), size + 1):
                support[i - len(fixed)] = held[i]
            return EXCLUDED
    return LOST


@kernel
def extreme_points(points, margins, room, most, state, supports, lengths):
    """Decide for every column whose state is 2 whether some direction makes it strictly highest.

    Each begins with its own vector as the direction. States become FOUND, EXCLUDED or LOST. ``supports[i]`` (D+1,)
    are the columns between which column i seems to lie, ``lengths[i]`` is how long the direction found is: the
    longer, the nearer to a tie.
    """
    n, n_points = points.shape
    skipped = np.zeros(n_points, dtype=np.bool_)
    fixed, base, start = np.empty((0, n)), np.empty(n), np.empty(n)
    for i in range(n_points):
        if state[i] != 2:
            continue
        length = 0.0
        for j in range(n):
            base[j] = points[j, i]
            length += base[j] * base[j]
        length = math.sqrt(length)
        for j in range(n):
            start[j] = base[j] / length if length > 0.0 else 0.0
        skipped[i] = True
        state[i] = nearest_point(points, base, margins, skipped, fixed, start, room, most, supports[i])
        skipped[i] = False
        if state[i] == FOUND:
            lengths[i] = 0.0
            for j in range(n):
                lengths[i] += room[3 * n + 6, j] ** 2
            lengths[i] = math.sqrt(lengths[i])


@kernel
def adjacent_points(points, first, second, margins, room, most, state):
    """Decide for pairs of extreme columns whether some direction makes the two highest, strictly.

    The direction is held orthogonal to the difference of the two, and begins with their middle.
    """
    n, n_points = points.shape
    skipped = np.zeros(n_points, dtype=np.bool_)
    fixed, base, start, support = np.empty((1, n)), np.empty(n), np.empty(n), np.empty(n + 1, np.int64)
    for e in range(len(first)):
        i, k = first[e], second[e]
        length, middle = 0.0, 0.0
        for j in range(n):
            base[j] = points[j, i]
            fixed[0, j] = points[j, k] - points[j, i]
            start[j] = 0.5 * (points[j, k] + points[j, i])
            length += fixed[0, j] * fixed[0, j]
            middle += start[j] * start[j]
        length, middle = math.sqrt(length), math.sqrt(middle)
        for j in range(n):
            fixed[0, j] /= length
            start[j] = start[j] / middle if middle > 0.0 else 0.0
        skipped[i] = skipped[k] = True
        state[e] = nearest_point(points, base, margins, skipped, fixed, start, room, most, support)
        skipped[i] = skipped[k] = False
