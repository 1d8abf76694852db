# mypy: ignore-errors
"""Kernels of the reverse search: the point that stands for a vertex, its parent, and the facets of its cone.

Symbols: a vertex is a corner for each of S lists. Its cone is ``{w : w·d_j < 0}`` over the m edges d_j that
leave those corners; the columns of `rows` (D, m) are the d_j, of lengths `norms`. Edges of one direction
share a *class*, a number; limits of the search, which are no edges, have that of edges with their direction,
or a number below 0. A point inside a cone is kept as x = −w, so that all ``x·d_j`` are positive.
Coordinates of edges are whole multiples of one power of two, so small that differences of them are exact and
products of three of them can be summed without loss.

Where rounding leaves open whether a point is inside or which wall comes first, the answer is DOUBT, and the
caller asks exact arithmetic. A facet too many does no harm (what lies behind it is tested, and is no vertex), one
too few would: where rounding leaves that question open, the answer is that there is a facet. In any dimension
facets are found by rays; in three they are the corners of a convex hull in a plane, where the turn of three edges
is decided exactly.
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
NOTHING = 1e-13  # a rest this short, of a unit vector, is rounding
MOST_CONES, SURELY = 64, 1e-9
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


@kernel
def rest_outside(units, facets, n, target, rest, held, weights, shares, room, basis, triangle, gains):
    """Write what is left of a vector after its projection onto the cone of n columns; return its
    length and how many columns it was projected onto.

    Non-negative least squares [lawson1974]; a length of −1 where it comes to no end. The rest r has
    ``r·d ≤ 0`` for all columns d and ``r·target = ‖r‖²``: a direction that separates them.
    """
    n_dims, q = len(target), 0
    rest[:] = target
    column = room[3]
    for _ in range(MOST_STEPS):
        best, where = 1e-14, -1
        for f in range(n):
            total = 0.0
            for i in range(n_dims):
                total += rest[i] * units[i, facets[f]]
            gains[f] = total
            if total > best:
                best, where = total, f
        if where < 0 or length(rest) <= NOTHING or q == n_dims:
            return length(rest), q
        for c in range(q):
            if held[c] == facets[where]:
                return length(rest), q
        held[q], weights[q] = facets[where], 0.0
        q += 1
        while q > 0:
            new = 1.0
            for c in range(q):
                for i in range(n_dims):
                    column[i] = units[i, held[c]]
                new = min(new, orthogonalize(basis, triangle, c, column))
            if new <= 1e-14:
                return length(rest), q
            back_solve(basis, triangle, q, target, shares)
            inside = True
            for c in range(q):
                inside &= shares[c] > 0.0
            if inside:
                weights[:q] = shares[:q]
                break
            q = drop_behind(held, weights, shares, q)
        for i in range(n_dims):
            rest[i] = target[i]
            for c in range(q):
                rest[i] -= weights[c] * units[i, held[c]]
    return -1.0, q


@kernel
def shoot(units, m, same, depths, ray, gains, found, is_found, n):
    """Add the constraints that a walk from inside along `ray` meets first; return how many facets there are."""
    multiply(units, m, ray, gains)
    least, size = math.inf, length(ray)
    for j in range(m):
        if gains[j] > 1e-13 * size and depths[j] < least * gains[j]:
            least = depths[j] / gains[j]
    for j in range(m):
        if same[j] == j and not is_found[j] and gains[j] > 1e-13 * size:
            if depths[j] <= least * (1.0 + 1e-9) * gains[j]:
                found[n], is_found[j] = j, True
                n += 1
    return n


@kernel
def invert(basis, triangle, inverse):
    """Write the inverse of the square matrix Q R, whose columns are D vectors."""
    n_dims = basis.shape[1]
    for i in range(n_dims - 1, -1, -1):
        for k in range(n_dims):
            total = basis[i, k]
            for j in range(i + 1, n_dims):
                total -= triangle[i, j] * inverse[j, k]
            inverse[i, k] = total / triangle[i, i]


@kernel
def is_inside_one(cones, n_cones, target):
    """Return whether a unit vector is well inside the cone of D facets that once implied another; the last first.

    That cone moves to the end: a neighbour of the vector is likely to be in it, too.
    """
    n_dims = len(target)
    for c in range(n_cones - 1, -1, -1):
        inside = True
        for i in range(n_dims):
            share = 0.0
            for k in range(n_dims):
                share += cones[c, i, k] * target[k]
            if share <= SURELY:
                inside = False
                break
        if inside:
            for i in range(n_dims):
                for k in range(n_dims):
                    cones[c, i, k], cones[n_cones - 1, i, k] = cones[n_cones - 1, i, k], cones[c, i, k]
            return True
    return False


@kernel
def facets_by_rays(rows, norms, m, same, products, found):
    """Write one constraint of each facet of a cone, any D; return how many.

    Clarkson's way [clarkson1994]: a constraint is weighed against the facets found so far only; one that they do not
    imply gives a ray along which a facet lies that is new.
    """
    n_dims = rows.shape[0]
    units, depths, gains, is_found = np.empty((n_dims, m)), np.empty(m), np.empty(m), np.zeros(m, np.bool_)
    target, rest, held = np.empty(n_dims), np.empty(n_dims), np.empty(n_dims + 2, np.int64)
    weights, shares, room = np.empty(n_dims + 2), np.empty(n_dims + 2), np.empty((4, n_dims))
    basis, triangle = np.empty((n_dims + 2, n_dims)), np.empty((n_dims + 2, n_dims + 2))
    for j in range(m):
        depths[j] = products[j] / norms[j]
        for i in range(n_dims):
            units[i, j] = rows[i, j] / norms[j]
    n, n_cones, cones = 0, 0, np.empty((MOST_CONES, n_dims, n_dims))
    for axis in range(2 * n_dims):
        rest[:] = 0.1
        rest[axis // 2] = 1.0 if axis % 2 else -1.0
        n = shoot(units, m, same, depths, rest, gains, found, is_found, n)
    for j in range(m):
        while same[j] == j and not is_found[j]:
            target[:] = units[:, j]
            if is_inside_one(cones, n_cones, target):
                break
            far, q = rest_outside(units, found, n, target, rest, held, weights, shares, room, basis, triangle, gains)
            if 0.0 <= far <= NOTHING:
                if q == n_dims and n_cones < len(cones):
                    invert(basis, triangle, cones[n_cones])
                    n_cones += 1
                break
            before = n
            if far > 0.0:
                n = shoot(units, m, same, depths, rest, gains, found, is_found, n)
            if n == before:
                found[n], is_found[j] = j, True
                n += 1
    return n


@kernel
def mark_first_of_class(classes, m, last_seen, turn, same):
    """Write for every constraint the first one of its class; `last_seen` (classes, 2) remembers by `turn`."""
    for j in range(m):
        same[j] = j
        if classes[j] >= 0:
            if last_seen[classes[j], 0] == turn:
                same[j] = last_seen[classes[j], 1]
            else:
                last_seen[classes[j], 0], last_seen[classes[j], 1] = turn, j


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
def downhill_by_rays(selections, inner, lists, limits, limit_classes, goal, most, n_classes, counts, out):
    """Write an edge of each facet of V vertices behind which `goal` does not lie, by ascending class.

    `inner` (V, D) are points x inside, `most` bounds the constraints of a vertex; ``counts[v]`` facets of
    vertex v follow one another in `out`. Returns before which vertex there was no more room.
    """
    n_dims, total = inner.shape[1], 0
    rows, norms, products = np.empty((n_dims, most)), np.empty(most), np.empty(most)
    classes, edges, found = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    same, last_seen = np.empty(most, np.int64), np.full((n_classes, 2), -1)
    for v in range(len(selections)):
        m = gather(selections[v], lists, limits, limit_classes, rows, norms, classes, edges)
        if total + m > len(out):
            return v
        multiply(rows, m, inner[v], products)
        sure, bound, n = True, (n_dims + 4) * EPS * length(inner[v]), 0
        for j in range(m):
            sure &= products[j] > bound * norms[j]
        mark_first_of_class(classes, m, last_seen, v, same)
        if sure:
            n = facets_by_rays(rows, norms, m, same, products, found)
        else:  # too thin for rounded numbers: every direction may be a facet
            for j in range(m):
                if same[j] == j:
                    found[n] = j
                    n += 1
        counts[v] = keep_downhill(rows, classes, edges, found, n, goal, lists[1], out, total)
        total += counts[v]
    return len(selections)


@kernel
def needless_edges(edge_first, directions, lengths, most, rests, supports):
    """Write how far each edge stands out from the cone of the other edges of its corner, as a sine.

    ``supports[e]`` are the edges (−1: none) that it is nearly a combination of.
    """
    n_dims = directions.shape[1]
    units, others = np.empty((n_dims, most)), np.empty(most, np.int64)
    target, rest, gains = np.empty(n_dims), np.empty(n_dims), np.empty(most)
    held, weights, shares = np.empty(n_dims + 2, np.int64), np.empty(n_dims + 2), np.empty(n_dims + 2)
    room, basis = np.empty((4, n_dims)), np.empty((n_dims + 2, n_dims))
    triangle = np.empty((n_dims + 2, n_dims + 2))
    supports[:] = -1
    for corner in range(len(edge_first) - 1):
        low, high = edge_first[corner], edge_first[corner + 1]
        for e in range(low, high):
            for i in range(n_dims):
                units[i, e - low] = directions[e, i] / lengths[e]
        for e in range(low, high):
            n = 0
            for other in range(low, high):
                if other != e:
                    others[n] = other - low
                    n += 1
            target[:] = units[:, e - low]
            rests[e], q = rest_outside(
                units, others, n, target, rest, held, weights, shares, room, basis, triangle, gains
            )
            for c in range(q):
                supports[e, c] = low + held[c]


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
