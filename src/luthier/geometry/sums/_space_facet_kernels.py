# mypy: ignore-errors
"""Kernels for the facets of cones in three dimensions: corners of a convex hull in a plane.

Symbols: a vertex is a corner for each of S lists. Its cone is ``{w : w·d_j < 0}`` over the m edges d_j that
leave those corners; the columns of `rows` (D, m) are the d_j, of lengths `norms`. Edges of one direction
share a *class*, a number; limits of the search, which are no edges, have that of edges with their direction,
or a number below 0. A point inside a cone is kept as x = −w, so that all ``x·d_j`` are positive.
Coordinates of edges are whole multiples of one power of two, so small that products of three of them can
be summed without loss: which of three edges turns left is decided exactly.
"""

import math

import numpy as np

from luthier.core.jit import inner_kernel, kernel

EPS = 2.0**-52
SPLIT = 134217729.0  # 2²⁷ + 1
ANGLES = 6  # directions tried for a first facet


@kernel
def gather(selection, lists, limits, limit_classes, rows, norms, classes, edges):
    """Write the constraints of a vertex, and of the limits; return how many there are."""
    edge_first, edge_class, directions, lengths = lists
    n_dims, n = directions.shape[1], 0
    for s in range(len(selection)):
        for e in range(edge_first[selection[s]], edge_first[selection[s] + 1]):
            for i in range(n_dims):
                rows[i, n] = directions[e, i]
            norms[n], classes[n], edges[n] = lengths[e], edge_class[e], e
            n += 1
    for r in range(len(limits)):
        total = 0.0
        for i in range(n_dims):
            rows[i, n] = limits[r, i]
            total += limits[r, i] * limits[r, i]
        norms[n], classes[n], edges[n] = math.sqrt(total), limit_classes[r], -2 - r
        n += 1
    return n


@kernel
def multiply(rows, m, x, out):
    """Write x·d_j for all j."""
    if rows.shape[0] == 3:  # in one pass
        a, b, c = x[0], x[1], x[2]
        for j in range(m):
            out[j] = a * rows[0, j] + b * rows[1, j] + c * rows[2, j]
        return
    first = x[0]
    for j in range(m):
        out[j] = first * rows[0, j]
    for i in range(1, rows.shape[0]):
        factor = x[i]
        for j in range(m):
            out[j] += factor * rows[i, j]


@inner_kernel
def length(x):
    """Return ‖x‖."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * x[i]
    return math.sqrt(total)


@inner_kernel
def exact_product(a, b):
    """Return a·b as a rounded product and what rounding took."""
    p = a * b
    t = SPLIT * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLIT * b
    b_high = t - (t - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel
def exact_turn(rows, a, b, c):
    """Return the sign of det(d_a, d_b, d_c), D = 3, from a sum that loses nothing [shewchuk1997]."""
    parts, n = np.zeros(24), 0
    for i in range(3):
        for flip in range(2):
            j, k = (i + 1 + flip) % 3, (i + 2 - flip) % 3
            sign = 1.0 - 2.0 * flip
            high, low = exact_product(rows[j, b], rows[k, c])
            for factor in (high, low):
                p, rest = exact_product(sign * rows[i, a], factor)
                for term in (rest, p):
                    for e in range(n):  # two-sum: the total and its rounding, exactly
                        total = term + parts[e]
                        share = total - term
                        parts[e] = (term - (total - share)) + (parts[e] - share)
                        term = total
                    parts[n] = term
                    n += 1
    for e in range(n - 1, -1, -1):
        if parts[e] != 0.0:
            return 1.0 if parts[e] > 0.0 else -1.0
    return 0.0


@kernel
def plane_coordinates(rows, m, x, products, first, second):
    """Write where the rays of the d_j pierce the plane ``x·y = 1``, in two coordinates with x right-handed."""
    size = length(x)
    a, b, c = x[0] / size, x[1] / size, x[2] / size
    least = 0 if abs(a) <= abs(b) and abs(a) <= abs(c) else (1 if abs(b) <= abs(c) else 2)
    u = np.zeros(3)
    u[least] = 1.0
    inner = u[0] * a + u[1] * b + u[2] * c
    u[0] -= inner * a
    u[1] -= inner * b
    u[2] -= inner * c
    u /= length(u)
    v = np.array([b * u[2] - c * u[1], c * u[0] - a * u[2], a * u[1] - b * u[0]])
    for j in range(m):
        first[j] = (u[0] * rows[0, j] + u[1] * rows[1, j] + u[2] * rows[2, j]) / products[j]
        second[j] = (v[0] * rows[0, j] + v[1] * rows[1, j] + v[2] * rows[2, j]) / products[j]


@kernel
def sure_corner(first, second, m, classes):
    """Return a point that is alone the farthest in some direction, with all of its class; −1 for none."""
    for attempt in range(ANGLES):
        a, b = math.cos(0.37 + attempt), math.sin(0.37 + attempt)
        best, size = 0, 0.0
        for j in range(m):
            size = max(size, abs(first[j]) + abs(second[j]))
            if a * first[j] + b * second[j] > a * first[best] + b * second[best]:
                best = j
        reach, alone = a * first[best] + b * second[best] - 1e-9 * size, True
        for j in range(m):
            alone &= classes[j] == classes[best] or a * first[j] + b * second[j] < reach
        if alone:
            return best
    return -1


@kernel
def next_corner(rows, norms, m, classes, first, second, here):
    """Return the point after `here` on the hull, counter-clockwise: nothing lies to the right of the way."""
    there = -1
    n0, n1, n2 = 0.0, 0.0, 0.0
    for j in range(m):
        if classes[j] == classes[here] or (there >= 0 and classes[j] == classes[there]):
            continue
        turn = -1.0
        if there >= 0:
            det = n0 * rows[0, j] + n1 * rows[1, j] + n2 * rows[2, j]
            if abs(det) <= 16 * EPS * norms[here] * norms[there] * norms[j]:
                det = exact_turn(rows, here, there, j)
            turn = det
            if det == 0.0:
                a, b = first[j] - first[here], second[j] - second[here]
                c, d = first[there] - first[here], second[there] - second[here]
                turn = -1.0 if a * a + b * b > c * c + d * d else 1.0
        if turn < 0.0:
            there = j
            n0 = rows[1, here] * rows[2, j] - rows[2, here] * rows[1, j]
            n1 = rows[2, here] * rows[0, j] - rows[0, here] * rows[2, j]
            n2 = rows[0, here] * rows[1, j] - rows[1, here] * rows[0, j]
    return there


@kernel
def facets_in_space(rows, norms, m, classes, x, products, first, second, found):
    """Write one constraint of each facet of a cone, D = 3; return how many, −1 where that is not sure.

    Facets are the corners of the convex hull of the d_j seen in a plane, found by wrapping; which
    of three goes first is decided exactly.
    """
    plane_coordinates(rows, m, x, products, first, second)
    start = sure_corner(first, second, m, classes)
    if start < 0:
        return -1
    n, here = 0, start
    while n < m:
        found[n] = here
        n += 1
        here = next_corner(rows, norms, m, classes, first, second, here)
        if here < 0 or classes[here] == classes[start]:
            return n
    return -1


@kernel
def keep_downhill(rows, classes, edges, found, n, goal, edge_class, out, first):
    """Write the edges of those facets behind which `goal` does not lie, by ascending class; return how many."""
    kept = 0
    for f in range(n):
        j, ahead = found[f], 0.0
        for i in range(len(goal)):
            ahead += goal[i] * rows[i, j]
        if edges[j] >= 0 and ahead < 0.0:
            place = first + kept
            while place > first and edge_class[out[place - 1]] > classes[j]:
                out[place] = out[place - 1]
                place -= 1
            out[place] = edges[j]
            kept += 1
    return kept


@kernel
def downhill_in_space(selections, inner, lists, limits, limit_classes, goal, most, counts, out):
    """Write an edge of each facet of V vertices behind which `goal` does not lie, by ascending class, D = 3.

    `inner` (V, 3) are points x inside, `most` bounds the constraints of a vertex; ``counts[v]`` facets of
    vertex v follow one another in `out`; −1 says that rounding leaves the facets open. Returns before
    which vertex there was no more room.
    """
    rows, norms, products = np.empty((3, most)), np.empty(most), np.empty(most)
    classes, edges, found = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    first, second, total = np.empty(most), np.empty(most), 0
    for v in range(len(selections)):
        m = gather(selections[v], lists, limits, limit_classes, rows, norms, classes, edges)
        if total + m > len(out):
            return v
        multiply(rows, m, inner[v], products)
        sure, bound = True, 7 * EPS * length(inner[v])
        for j in range(m):
            sure &= products[j] > bound * norms[j]
        counts[v] = -1
        n = facets_in_space(rows, norms, m, classes, inner[v], products, first, second, found) if sure else -1
        if n >= 0:
            counts[v] = keep_downhill(rows, classes, edges, found, n, goal, lists[1], out, total)
            total += counts[v]
    return len(selections)
