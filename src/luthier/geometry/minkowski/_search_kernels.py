# mypy: ignore-errors
"""Kernels of the reverse search: the point that represents a vertex, and its parent.

Where rounding leaves open whether a point is inside or which wall comes first, the answer is DOUBT, and the
caller asks exact arithmetic. Symbols as in `_algebra_kernels`.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel
from luthier.geometry.minkowski._algebra_kernels import (
    EPS,
    back_solve,
    drop_behind,
    gather,
    length,
    make_edges,
    make_workspace,
    multiply,
    orthogonalize,
)

YES, NO, DOUBT = 1, 0, 2
SURE = 1e-6  # a simplex whose shape and coordinates are above this holds the origin for certain
MOST_STEPS = 300
LANES = 32  # independent running minima: a comparison of vectors, where one minimum would be a chain
NOWHERE = -(2**30)


class Ends(NamedTuple):
    """For every edge its list and the corner it leads to; for every class the opposite one."""

    lists: np.ndarray
    to: np.ndarray
    opposite: np.ndarray


class Facets(NamedTuple):
    """Facets of vertices: which vertex each belongs to, and one of its edges."""

    owners: np.ndarray
    edges: np.ndarray


class Answers(NamedTuple):
    """Of vertices: whether their cones hold a point, such a point, its margin, and which edges it lies between."""

    answers: np.ndarray
    points: np.ndarray
    margins: np.ndarray
    supports: np.ndarray


class ChildAnswers(NamedTuple):
    """The same of children, with the number of edges that change, and these."""

    answers: np.ndarray
    points: np.ndarray
    margins: np.ndarray
    supports: np.ndarray
    counts: np.ndarray
    changes: np.ndarray


@kernel
def flat_nearest(rows, q, room):
    """Write the affine shares of the point nearest to 0 in the plane of q columns; return the plane's quality.

    With the first column p and differences B to it, ``p + B y`` is shortest for ``y = −R⁻¹ Qᵀ p``.
    """
    n_dims, quality = rows.shape[0], 1.0
    held, shares, basis, triangle = room.held, room.shares, room.basis, room.triangle
    target, difference, y = room.vectors[0], room.vectors[1], room.vectors[2]
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
def combine(rows, held, weights, q, x):
    """Write the combination of q columns."""
    for i in range(rows.shape[0]):
        total = 0.0
        for c in range(q):
            total += weights[c] * rows[i, held[c]]
        x[i] = total


@kernel
def where_least(values, m, lanes):
    """Return where the least of m values is; ties go to the first."""
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
def canonical(at, m, x, room):
    """Write the point of conv(d_1 … d_m) nearest to the origin, x; say whether ``x·d_j > 0`` for all j, and return
    how many columns it lies between, which `held` names.

    −x / ‖x‖² is the shortest w with ``w·d_j ≤ −1``. Wolfe's method [wolfe1976]: the nearest point of the plane of a few
    columns; columns with a share below 0 leave, the column farthest behind the point joins. The
    way depends on the columns alone, so that one vertex has one point. NO is said only where a simplex of
    good shape holds the origin well inside.
    """
    rows, norms, products = at.rows, at.norms, at.products
    held, weights, shares = room.held, room.weights, room.shares
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
            quality = flat_nearest(rows, q, room)
            if quality <= 1e-14:
                q -= 1
                break
            inside, least = True, 1.0
            for c in range(q):
                inside &= shares[c] > 0.0
                least = min(least, shares[c])
            if inside:
                for c in range(q):
                    weights[c] = shares[c]
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
def first_wall(at, m, x, goal, towards):
    """Return (answer, class): which wall a walk from −x to `goal` meets first; `NOWHERE` for none.

    The walk meets wall j where ``x·d_j / goal·d_j`` is least, over those with ``goal·d_j > 0``. Those whose sign is in
    doubt may come first, too.
    """
    rows, norms, products, classes = at.rows, at.norms, at.products, at.classes
    n_dims = rows.shape[0]
    multiply(rows, m, goal, towards)
    unit_x, unit_goal = (n_dims + 4) * EPS * length(x), (n_dims + 4) * EPS * length(goal)
    least, where = math.inf, -1
    for j in range(m):
        if towards[j] > unit_goal * norms[j] and products[j] < least * towards[j]:
            least, where = products[j] / towards[j], j
    high = math.inf
    if where >= 0:
        high = (products[where] + unit_x * norms[where]) / (towards[where] - unit_goal * norms[where]) * (1.0 + 4 * EPS)
    for j in range(m):
        if towards[j] > -unit_goal * norms[j] and (where < 0 or classes[j] != classes[where]):
            if where < 0 or products[j] - unit_x * norms[j] <= high * (towards[j] + unit_goal * norms[j]):
                return DOUBT, NOWHERE
    return YES, classes[where] if where >= 0 else NOWHERE


@kernel
def points_inside(selections, lists, limits, most, out):
    """Write for V vertices whether their cones hold a point, such a point x, the least ``x·d_j``, and its support."""
    n_dims = out.points.shape[1]
    at, room = make_edges(n_dims, most), make_workspace(n_dims)
    for v in range(len(selections)):
        m = gather(selections[v], lists, limits, at)
        out.points[v], out.margins[v] = 0.0, math.inf
        if m == 0:
            out.answers[v] = YES
            continue
        out.answers[v], q = canonical(at, m, out.points[v], room)
        name_support(room.held, q, at.edges, out.supports[v])
        out.margins[v] = least_product(at, m)


@kernel
def least_product(at, m):
    """Return the least ``x·d_j`` over edges, limits left out."""
    least = math.inf
    for j in range(m):
        if at.edges[j] >= 0:
            least = min(least, at.products[j])
    return least


@kernel
def test_children(facets, selections, lists, ends, limits, goal, most, out):
    """Say for F facets whether the vertex behind each is a child of the facet's owner.

    Facet f is named by one of its edges and belongs to ``selections[facets.owners[f]]``. Behind it all lists with an
    edge of its class change at once; those edges are written, ``out.counts[f]`` of them. Returns before which
    facet there was no more room for changes.
    """
    n_dims, total = out.points.shape[1], 0
    at, room, towards, behind = make_edges(n_dims, most), make_workspace(n_dims), np.empty(most), selections[0].copy()
    for f in range(len(facets.owners)):
        if total + len(behind) > len(out.changes):
            return f
        here, kind, n = selections[facets.owners[f]], lists.edge_class[facets.edges[f]], 0
        for s in range(len(here)):
            behind[s] = here[s]
        for s in range(len(here)):
            for e in range(lists.edge_first[here[s]], lists.edge_first[here[s] + 1]):
                if lists.edge_class[e] == kind:
                    behind[ends.lists[e]] = ends.to[e]
                    out.changes[total + n] = e
                    n += 1
        m = gather(behind, lists, limits, at)
        answer, q = canonical(at, m, out.points[f], room)
        name_support(room.held, q, at.edges, out.supports[f])
        if answer == YES:
            sure, wall = first_wall(at, m, out.points[f], goal, towards)
            answer = DOUBT if sure == DOUBT else (YES if wall == ends.opposite[kind] else NO)
        out.margins[f] = least_product(at, m)
        out.answers[f], out.counts[f] = answer, 0 if answer == NO else n
        total += out.counts[f]
    return len(facets.owners)


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
