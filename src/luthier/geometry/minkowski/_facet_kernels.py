# mypy: ignore-errors
"""Kernels that find the facets of a vertex's cone by rays, in any dimension. Symbols as in `_algebra_kernels`.

A facet too many does no harm (what lies behind it is tested, and is no vertex), one too few would. A constraint that is
a combination of others beyond all rounding is none; one that seems to be is kept, with the names of these others, so
that exact arithmetic may drop it.
"""

import math

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

MOST_STEPS = 300
NOTHING = 1e-14  # a rest this short, of a unit vector, is rounding
MOST_CONES, SURELY = 64, 1e-9  # cones that are remembered; shares below are never certain


@kernel
def rest_outside(units, facets, n, target, rest, room, gains):
    """Write what is left of a vector after its projection onto the cone of n columns; return its
    length and how many columns it was projected onto.

    Non-negative least squares [lawson1974]; a length of −1 where it comes to no end. The rest r has
    ``r·d ≤ 0`` for all columns d and ``r·target = ‖r‖²``: a direction that separates them.
    """
    n_dims, q = len(target), 0
    for i in range(n_dims):
        rest[i] = target[i]
    held, weights, shares, column = room.held, room.weights, room.shares, room.vectors[3]
    basis, triangle = room.basis, room.triangle
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
                for c in range(q):
                    weights[c] = shares[c]
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
def doubt_of_shares(inverse):
    """Return more than the shares of a unit vector in D unit columns may be wrong, given the inverse of these."""
    n_dims, square = len(inverse), 0.0
    for i in range(n_dims):
        for k in range(n_dims):
            square += inverse[i, k] * inverse[i, k]
    return max(SURELY, 64 * n_dims * EPS * square)


@kernel
def is_inside_one(cones, doubts, n_cones, target):
    """Return whether a unit vector is well inside the cone of D facets that once implied another; the last first.

    That cone moves to the end: a neighbour of the vector is likely to be in it, too.
    """
    n_dims, last = len(target), n_cones - 1
    for c in range(last, -1, -1):
        inside = True
        for i in range(n_dims):
            share = 0.0
            for k in range(n_dims):
                share += cones[c, i, k] * target[k]
            if share <= doubts[c]:
                inside = False
                break
        if inside:
            doubts[c], doubts[last] = doubts[last], doubts[c]
            for i in range(n_dims):
                for k in range(n_dims):
                    cones[c, i, k], cones[last, i, k] = cones[last, i, k], cones[c, i, k]
            return True
    return False


@kernel
def facets_by_rays(at, m, same, found, others):
    """Write one constraint of each facet of a cone, any D; return how many.

    Clarkson's way [clarkson1994]: a constraint is weighed against the facets found so far only; one that they do not
    imply gives a ray along which a facet lies that is new. ``others[j]`` are the constraints before j that it is a
    combination of but for rounding (−1: none).
    """
    rows, norms, products = at.rows, at.norms, at.products
    n_dims = rows.shape[0]
    units, depths, gains, is_found = np.empty((n_dims, m)), np.empty(m), np.empty(m), np.zeros(m, np.bool_)
    target, rest, room = np.empty(n_dims), np.empty(n_dims), make_workspace(n_dims)
    for j in range(m):
        depths[j] = products[j] / norms[j]
        for i in range(n_dims):
            units[i, j] = rows[i, j] / norms[j]
    n, n_cones, cones, doubts = 0, 0, np.empty((MOST_CONES + 1, n_dims, n_dims)), np.empty(MOST_CONES + 1)
    others[:m] = -1
    for axis in range(2 * n_dims):
        rest[:] = 0.1
        rest[axis // 2] = 1.0 if axis % 2 else -1.0
        n = shoot(units, m, same, depths, rest, gains, found, is_found, n)
    for j in range(m):
        while same[j] == j and not is_found[j]:
            for i in range(n_dims):
                target[i] = units[i, j]
            if is_inside_one(cones, doubts, n_cones, target):
                break
            far, q = rest_outside(units, found, n, target, rest, room, gains)
            if 0.0 <= far <= NOTHING:
                if q == n_dims:
                    invert(room.basis, room.triangle, cones[n_cones])
                    doubts[n_cones] = doubt_of_shares(cones[n_cones])
                    if is_inside_one(cones[n_cones:], doubts[n_cones:], 1, target):
                        n_cones = min(n_cones + 1, MOST_CONES)
                        break
                for i in range(q):
                    others[j, i] = room.held[i]
            before = n
            if far > NOTHING:
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
def keep_downhill(at, found, n, goal, edge_class, out, first):
    """Write the edges of those facets behind which `goal` does not lie, by ascending class; return how many."""
    rows, classes, edges, kept = at.rows, at.classes, at.edges, 0
    bound = (len(goal) + 4) * EPS * length(goal)
    for f in range(n):
        j, ahead = found[f], 0.0
        for i in range(len(goal)):
            ahead += goal[i] * rows[i, j]
        if edges[j] >= 0 and ahead < bound * at.norms[j]:
            place = first + kept
            while place > first and edge_class[out[place - 1]] > classes[j]:
                out[place] = out[place - 1]
                place -= 1
            out[place] = edges[j]
            kept += 1
    return kept


@kernel
def name_others(at, found, n, others, kept, supports):
    """Write for kept edges the constraints that each seems to be a combination of, limit r as −2 − r; else −1."""
    supports[: len(kept)] = -1
    for f in range(n):
        j = found[f]
        if others[j, 0] < 0:
            continue
        for k in range(len(kept)):
            if kept[k] == at.edges[j]:
                for c in range(others.shape[1]):
                    supports[k, c] = at.edges[others[j, c]] if others[j, c] >= 0 else -1


@kernel
def downhill_by_rays(selections, inner, lists, limits, goal, most, n_classes, counts, out, supports):
    """Write an edge of each facet of V vertices behind which `goal` does not lie, by ascending class.

    `inner` (V, D) are points x inside, `most` bounds the constraints of a vertex; ``counts[v]`` facets of
    vertex v follow one another in `out`; ``supports`` (as long, D) names for each the constraints that imply it but for
    rounding. Returns before which vertex there was no more room.
    """
    n_dims, total = inner.shape[1], 0
    at, found, others = make_edges(n_dims, most), np.empty(most, np.int64), np.empty((most, n_dims), np.int64)
    same, last_seen = np.empty(most, np.int64), np.full((n_classes, 2), -1)
    for v in range(len(selections)):
        m = gather(selections[v], lists, limits, at)
        if total + m > len(out):
            return v
        multiply(at.rows, m, inner[v], at.products)
        sure, bound, n = True, (n_dims + 4) * EPS * length(inner[v]), 0
        for j in range(m):
            sure &= at.products[j] > bound * at.norms[j]
        mark_first_of_class(at.classes, m, last_seen, v, same)
        if sure:
            n = facets_by_rays(at, m, same, found, others)
        else:  # too thin for rounded numbers: every direction may be a facet
            others[:m] = -1
            for j in range(m):
                if same[j] == j:
                    found[n] = j
                    n += 1
        counts[v] = keep_downhill(at, found, n, goal, lists.edge_class, out, total)
        name_others(at, found, n, others, out[total : total + counts[v]], supports[total:])
        total += counts[v]
    return len(selections)


@kernel
def needless_edges(lists, most, rests, supports):
    """Write how far each edge stands out from the cone of the other edges of its corner, as a sine.

    ``supports[e]`` are the edges (−1: none) that it is nearly a combination of.
    """
    edge_first, directions, lengths = lists.edge_first, lists.directions, lists.lengths
    n_dims = directions.shape[1]
    units, others = np.empty((n_dims, most)), np.empty(most, np.int64)
    target, rest, gains = np.empty(n_dims), np.empty(n_dims), np.empty(most)
    room = make_workspace(n_dims)
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
            for i in range(n_dims):
                target[i] = units[i, e - low]
            rests[e], q = rest_outside(units, others, n, target, rest, room, gains)
            for c in range(q):
                supports[e, c] = low + room.held[c]
