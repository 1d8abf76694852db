# mypy: ignore-errors
"""Kernels that find the facets of a vertex's cone in three dimensions: the corners of a convex hull in a plane.

The turn of three edges is decided exactly. Symbols as in `_algebra_kernels`.
"""

import math

import numpy as np

from luthier.core._exact_kernels import sign_of_sum, two_product
from luthier.core.jit import kernel
from luthier.geometry.minkowski._algebra_kernels import EPS, gather, length, make_edges, multiply
from luthier.geometry.minkowski._facet_kernels import keep_downhill

ANGLES = 6  # directions tried for a first facet


@kernel
def exact_turn(rows, a, b, c):
    """Return the sign of det(d_a, d_b, d_c), D = 3, from a sum that loses nothing [shewchuk1997]."""
    parts, n = np.zeros(24), 0
    for i in range(3):
        for flip in range(2):
            j, k = (i + 1 + flip) % 3, (i + 2 - flip) % 3
            sign = 1.0 - 2.0 * flip
            high, low = two_product(rows[j, b], rows[k, c])
            for factor in (high, low):
                p, rest = two_product(sign * rows[i, a], factor)
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
def minor_sign(rows, a, b, k):
    """Return the sign of component k of d_a × d_b, exactly."""
    i, j = (k + 1) % 3, (k + 2) % 3
    terms = np.empty(4)
    terms[0], terms[1] = two_product(rows[i, a], rows[j, b])
    terms[2], terms[3] = two_product(-rows[j, a], rows[i, b])
    return sign_of_sum(terms, 4)


@kernel
def lies_beyond(rows, here, there, j):
    """Tell whether d_j is beyond d_there, seen from d_here, where the three lie in one plane on one side of 0."""
    for k in range(3):
        turn = minor_sign(rows, here, there, k)
        if turn != 0:
            return minor_sign(rows, there, j, k) == turn
    return False


@kernel
def plane_coordinates(at, m, x, first, second, doubts):
    """Write where the rays of the d_j pierce the plane ``x·y = 1``, in two coordinates with x right-handed.

    ``doubts[j]`` is more than both may be wrong.
    """
    rows, norms, products = at.rows, at.norms, at.products
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
        lost = 16 * EPS * norms[j] / products[j]  # of the product with x, and of what is divided by it
        doubts[j] = lost * (1.0 + size * (abs(first[j]) + abs(second[j])))


@kernel
def sure_corner(first, second, doubts, m, classes):
    """Return a point that is alone the farthest in some direction, with all of its class; −1 for none."""
    for attempt in range(ANGLES):
        a, b = math.cos(0.37 + attempt), math.sin(0.37 + attempt)
        best = 0
        for j in range(m):
            if a * first[j] + b * second[j] > a * first[best] + b * second[best]:
                best = j
        reach, alone = a * first[best] + b * second[best] - doubts[best], True
        for j in range(m):
            alone &= classes[j] == classes[best] or a * first[j] + b * second[j] + doubts[j] < reach
        if alone:
            return best
    return -1


@kernel
def next_corner(at, m, here):
    """Return the point after `here` on the hull, counter-clockwise: nothing lies to the right of the way."""
    rows, norms, classes, there = at.rows, at.norms, at.classes, -1
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
                turn = -1.0 if lies_beyond(rows, here, there, j) else 1.0
        if turn < 0.0:
            there = j
            n0 = rows[1, here] * rows[2, j] - rows[2, here] * rows[1, j]
            n1 = rows[2, here] * rows[0, j] - rows[0, here] * rows[2, j]
            n2 = rows[0, here] * rows[1, j] - rows[1, here] * rows[0, j]
    return there


@kernel
def facets_in_space(at, m, x, pierced, found):
    """Write one constraint of each facet of a cone, D = 3; return how many, −1 where that is not sure.

    Facets are the corners of the convex hull of the d_j seen in a plane, found by wrapping; which
    of three goes first is decided exactly. `pierced` is room for coordinates.
    """
    first, second, doubts = pierced
    plane_coordinates(at, m, x, first, second, doubts)
    start = sure_corner(first, second, doubts, m, at.classes)
    if start < 0:
        return -1
    n, here = 0, start
    while n < m:
        found[n] = here
        n += 1
        here = next_corner(at, m, here)
        if here < 0 or at.classes[here] == at.classes[start]:
            return n
    return -1


@kernel
def downhill_in_space(selections, inner, lists, limits, goal, most, counts, out):
    """Write an edge of each facet of V vertices behind which `goal` does not lie, by ascending class, D = 3.

    `inner` (V, 3) are points x inside, `most` bounds the constraints of a vertex; ``counts[v]`` facets of
    vertex v follow one another in `out`; −1 says that rounding leaves the facets open. Returns before
    which vertex there was no more room.
    """
    at, found = make_edges(3, most), np.empty(most, np.int64)
    pierced, total = (np.empty(most), np.empty(most), np.empty(most)), 0
    for v in range(len(selections)):
        m = gather(selections[v], lists, limits, at)
        if total + m > len(out):
            return v
        multiply(at.rows, m, inner[v], at.products)
        sure, bound = True, 7 * EPS * length(inner[v])
        for j in range(m):
            sure &= at.products[j] > bound * at.norms[j]
        counts[v] = -1
        n = facets_in_space(at, m, inner[v], pierced, found) if sure else -1
        if n >= 0:
            counts[v] = keep_downhill(at, found, n, goal, lists.edge_class, out, total)
            total += counts[v]
    return len(selections)
