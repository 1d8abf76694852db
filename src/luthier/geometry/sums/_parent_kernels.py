# mypy: ignore-errors
"""Kernels for the one point that stands for a vertex of a Minkowski sum, and for its parent.

Symbols: a vertex is a corner for each of S lists. Its cone is ``{w : w·d_j < 0}`` over the m edges d_j that
leave those corners; the columns of `rows` (D, m) are the d_j, of lengths `norms`. Edges of one direction
share a *class*, a number; limits of the search, which are no edges, have that of edges with their direction,
or a number below 0. A point inside a cone is kept as x = −w, so that all ``x·d_j`` are positive.
Coordinates of edges are whole multiples of one power of two and so small that differences of them are exact.

Where rounding leaves an answer open, the answer is DOUBT, and the caller asks exact arithmetic.
"""

import math

import numpy as np

from luthier.core.jit import inner_kernel, kernel

YES, NO, DOUBT = 1, 0, 2
EPS = 2.0**-52
SURE = 1e-6  # a simplex whose shape and coordinates are above this holds the origin for certain
MOST_STEPS = 300
LANES = 32  # independent running minima: a comparison of vectors, where one minimum would be a chain
NOWHERE = -(2**30)


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


@kernel
def orthogonalize(basis, triangle, q, vector):
    """Add a column to a QR decomposition of q columns, orthogonalised twice; return its share that is new."""
    size = length(vector)
    basis[q] = vector
    for i in range(q):
        triangle[i, q] = 0.0
    for _ in range(2):
        for i in range(q):
            product = 0.0
            for k in range(len(vector)):
                product += basis[i, k] * basis[q, k]
            triangle[i, q] += product
            for k in range(len(vector)):
                basis[q, k] -= product * basis[i, k]
    rest = length(basis[q])
    triangle[q, q] = rest
    if rest > 0.0:
        for k in range(len(vector)):
            basis[q, k] /= rest
    return rest / size if size > 0.0 else 0.0


@kernel
def back_solve(basis, triangle, q, target, solution):
    """Write the least-squares solution of ``Q R y = target`` for q columns."""
    for i in range(q - 1, -1, -1):
        total = 0.0
        for k in range(len(target)):
            total += basis[i, k] * target[k]
        for j in range(i + 1, q):
            total -= triangle[i, j] * solution[j]
        solution[i] = total / triangle[i, i]


@kernel
def flat_nearest(rows, held, q, basis, triangle, room, shares):
    """Write the affine shares of the point nearest to 0 in the plane of q columns; return the plane's quality.

    With the first column p and differences B to it, ``p + B y`` is shortest for ``y = −R⁻¹ Qᵀ p``.
    """
    n_dims, quality = rows.shape[0], 1.0
    target, difference, y = room[0], room[1], room[2]
    for i in range(n_dims):
        target[i] = -rows[i, held[0]]
    for c in range(1, q):
        for i in range(n_dims):
            difference[i] = rows[i, held[c]] - rows[i, held[0]]
        quality = min(quality, orthogonalize(basis, triangle, c - 1, difference))
    if quality <= 1e-14:
        return quality
    back_solve(basis, triangle, q - 1, target, y)
    shares[0] = 1.0
    for c in range(1, q):
        shares[c] = y[c - 1]
        shares[0] -= y[c - 1]
    return quality


@kernel
def drop_behind(held, weights, shares, q):
    """Move from `weights` towards `shares` until the first is 0, drop what is 0; return how many stay."""
    step = 1.0
    for c in range(q):
        if shares[c] <= 0.0 and weights[c] - shares[c] > 0.0:
            step = min(step, weights[c] / (weights[c] - shares[c]))
    kept = 0
    for c in range(q):
        value = weights[c] + step * (shares[c] - weights[c])
        if shares[c] > 0.0 or value > 1e-14:
            held[kept], weights[kept] = held[c], max(value, 0.0)
            kept += 1
    return kept if kept < q else q - 1


@kernel
def combine(rows, held, weights, q, x):
    """Write the combination of q columns."""
    for i in range(rows.shape[0]):
        total = 0.0
        for c in range(q):
            total += weights[c] * rows[i, held[c]]
        x[i] = total


@kernel
def where_least(values, m, lanes):
    """Return where the least of m values is, the first of equals."""
    lanes[:] = math.inf
    whole = m - m % LANES
    for low in range(0, whole, LANES):
        for r in range(LANES):
            lanes[r] = values[low + r] if values[low + r] < lanes[r] else lanes[r]
    least = math.inf
    for r in range(LANES):
        least = min(least, lanes[r])
    for j in range(whole, m):
        least = min(least, values[j])
    for low in range(0, whole, LANES):
        here = False
        for r in range(LANES):
            here |= values[low + r] == least
        if here:
            for j in range(low, low + LANES):
                if values[j] == least:
                    return j
    for j in range(whole, m):
        if values[j] == least:
            return j
    return 0


@kernel
def canonical(rows, norms, m, x, products, held, weights, shares, room, basis, triangle):
    """Write the point of conv(d_1 … d_m) nearest to the origin, x; say whether ``x·d_j > 0`` for all j, and return
    how many columns it lies between, which `held` names.

    −x / ‖x‖² is the shortest w with ``w·d_j ≤ −1``. Wolfe's method [wolfe1976]: the nearest point of the plane of a few
    columns; columns with a share below 0 leave, the column farthest behind the point joins. The
    way depends on the columns alone, so that one vertex has one point. NO is said only where a simplex of
    good shape holds the origin well inside.
    """
    n_dims = rows.shape[0]
    lanes = np.empty(LANES)
    held[0], weights[0], q = where_least(norms, m, lanes), 1.0, 1
    combine(rows, held, weights, q, x)
    for _ in range(MOST_STEPS):
        multiply(rows, m, x, products)
        lowest = where_least(products, m, lanes)
        square = length(x) ** 2
        stuck = q > n_dims or products[lowest] >= square * (1.0 - 1e-10)
        for c in range(q):
            stuck |= held[c] == lowest
        if stuck:
            break
        held[q], weights[q] = lowest, 0.0
        q += 1
        while True:
            quality = flat_nearest(rows, held, q, basis, triangle, room, shares)
            if quality <= 1e-14:
                q -= 1
                break
            inside, least = True, 1.0
            for c in range(q):
                inside &= shares[c] > 0.0
                least = min(least, shares[c])
            if inside:
                weights[:q] = shares[:q]
                if q > n_dims and least > SURE and quality > SURE:
                    return NO, q
                break
            q = drop_behind(held, weights, shares, q)
        combine(rows, held, weights, q, x)
    bound = (n_dims + 4) * EPS * length(x)
    multiply(rows, m, x, products)
    for j in range(m):
        if products[j] <= bound * norms[j]:
            return DOUBT, q
    return YES, q


@kernel
def name_support(held, q, edges, support):
    """Write the edges of held columns, limit r as −2 − r; the rest is −1."""
    support[:] = -1
    for c in range(min(q, len(support))):
        support[c] = edges[held[c]]


@kernel
def first_wall(rows, norms, m, classes, x, products, goal, towards):
    """Return (answer, class): which wall a walk from −x to `goal` meets first; `NOWHERE` for none.

    The walk meets wall j where ``x·d_j / goal·d_j`` is least, over those with ``goal·d_j > 0``.
    """
    n_dims = rows.shape[0]
    multiply(rows, m, goal, towards)
    unit_x, unit_goal = (n_dims + 4) * EPS * length(x), (n_dims + 4) * EPS * length(goal)
    least, where = math.inf, -1
    for j in range(m):
        if towards[j] > unit_goal * norms[j] and products[j] < least * towards[j]:
            least, where = products[j] / towards[j], j
    if where < 0:
        return YES, NOWHERE
    high = (products[where] + unit_x * norms[where]) / (towards[where] - unit_goal * norms[where]) * (1.0 + 4 * EPS)
    for j in range(m):
        if towards[j] > unit_goal * norms[j] and classes[j] != classes[where]:
            if products[j] - unit_x * norms[j] <= high * (towards[j] + unit_goal * norms[j]):
                return DOUBT, classes[where]
    return YES, classes[where]


@kernel
def points_inside(selections, lists, limits, limit_classes, most, answers, points, margins, supports):
    """Write for V vertices whether their cones hold a point, such a point x, the least ``x·d_j``, and its support."""
    n_dims = points.shape[1]
    rows, norms, products = np.empty((n_dims, most)), np.empty(most), np.empty(most)
    classes, edges = np.empty(most, np.int64), np.empty(most, np.int64)
    held, weights, shares = np.empty(n_dims + 2, np.int64), np.empty(n_dims + 2), np.empty(n_dims + 2)
    room, basis = np.empty((3, n_dims + 1)), np.empty((n_dims + 2, n_dims))
    triangle = np.empty((n_dims + 2, n_dims + 2))
    for v in range(len(selections)):
        m = gather(selections[v], lists, limits, limit_classes, rows, norms, classes, edges)
        points[v], margins[v] = 0.0, math.inf
        if m == 0:
            answers[v] = YES
            continue
        answers[v], q = canonical(
            rows, norms, m, points[v], products, held, weights, shares, room[:, :n_dims], basis, triangle
        )
        name_support(held, q, edges, supports[v])
        for j in range(m):
            if edges[j] >= 0:
                margins[v] = min(margins[v], products[j])


@kernel
def test_children(
    selections, owners, facets, ends, lists, limits, limit_classes, goal, most,
    answers, points, margins, supports, counts, changes,
):  # fmt: skip
    """Say for F facets whether the vertex behind each is a child of the facet's owner.

    Facet f is named by one of its edges and belongs to ``selections[owners[f]]``; `ends` are for every edge
    its list, the corner it leads to, and for every class the opposite one. Behind it all lists with an
    edge of its class change at once; those edges are written, ``counts[f]`` of them. Returns before which
    facet there was no more room for changes.
    """
    edge_list, edge_to, opposite = ends
    n_dims, total = points.shape[1], 0
    rows, norms, products, towards = np.empty((n_dims, most)), np.empty(most), np.empty(most), np.empty(most)
    classes, edges, behind = np.empty(most, np.int64), np.empty(most, np.int64), selections[0].copy()
    held, weights, shares = np.empty(n_dims + 2, np.int64), np.empty(n_dims + 2), np.empty(n_dims + 2)
    room, basis = np.empty((3, n_dims)), np.empty((n_dims + 2, n_dims))
    triangle = np.empty((n_dims + 2, n_dims + 2))
    for f in range(len(owners)):
        if total + len(behind) > len(changes):
            return f
        here, kind, n = selections[owners[f]], lists[1][facets[f]], 0
        behind[:] = here
        for s in range(len(here)):
            for e in range(lists[0][here[s]], lists[0][here[s] + 1]):
                if lists[1][e] == kind:
                    behind[edge_list[e]] = edge_to[e]
                    changes[total + n] = e
                    n += 1
        m = gather(behind, lists, limits, limit_classes, rows, norms, classes, edges)
        answer, q = canonical(rows, norms, m, points[f], products, held, weights, shares, room, basis, triangle)
        name_support(held, q, edges, supports[f])
        if answer == YES:
            sure, wall = first_wall(rows, norms, m, classes, points[f], products, goal, towards)
            answer = DOUBT if sure == DOUBT else (YES if wall == opposite[kind] else NO)
        margins[f] = math.inf
        for j in range(m):
            if edges[j] >= 0:
                margins[f] = min(margins[f], products[j])
        answers[f], counts[f] = answer, 0 if answer == NO else n
        total += counts[f]
    return len(owners)


@kernel
def nearest_rows(corners, corner_first, vectors, out, margins):
    """Write which corner of each list each vector selects, and by how much at least it wins there."""
    for v in range(len(vectors)):
        margins[v] = math.inf
        for s in range(len(corner_first) - 1):
            best, second, where = -math.inf, -math.inf, -1
            for c in range(corner_first[s], corner_first[s + 1]):
                total = 0.0
                for i in range(corners.shape[1]):
                    total += vectors[v, i] * corners[c, i]
                if total > best:
                    best, second, where = total, best, c
                elif total > second:
                    second = total
            out[v, s] = where
            margins[v] = min(margins[v], best - second)
