# mypy: ignore-errors
"""Kernels that find which rows of a cone are needed: its facets, each proven by a linear program."""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.geometry.lp._lp_kernels import (
    LANES,
    OPTIMAL,
    STOPPED,
    Problem,
    product,
    simplex,
    start_at_corner,
    worst_row,
)

KEPT_BASES = 16
OPEN, FACET, REDUNDANT = 0, 1, 2


class Cone(NamedTuple):
    """Rows (m, d) of a cone {w : rows·w ≤ 0}, those that may be facets, and what is known of each row (m,)."""

    rows: np.ndarray
    candidates: np.ndarray
    flags: np.ndarray


@kernel
def empty_problem(n_blocks, d):
    """Return a problem whose rows all bound nothing."""
    return Problem(np.zeros((n_blocks, d, LANES)), np.full((n_blocks, LANES), np.inf), np.ones(d))


@kernel
def parallel_groups(rows, order, keys, tolerance, leaders):
    """Write for each row, of length 1 or 0, the lowest row of the same direction; −1 for a row of zeros.

    `order` visits the rows by ascending `keys`, a projection of the rows in which like rows are neighbours.
    """
    m, d = rows.shape
    for i in range(m):
        here = order[i]
        leaders[here] = here
        back = i - 1
        while back >= 0 and keys[here] - keys[order[back]] <= tolerance * d:
            other = order[back]
            gap = 0.0
            for k in range(d):
                gap = max(gap, abs(rows[here, k] - rows[other, k]))
            if gap <= tolerance:
                leaders[here] = leaders[other]
                break
            back -= 1
    lowest = np.arange(m)
    for i in range(m):
        lowest[leaders[i]] = min(lowest[leaders[i]], i)
    for i in range(m):
        leaders[i] = lowest[leaders[i]] if product(rows[i], rows[i]) > 0.0 else -1


@kernel
def lay_row(rows, i, scale, problem, place):
    """Put row i, scaled, at its place in a problem, with the limit 0."""
    for k in range(rows.shape[1]):
        problem.blocks[place // LANES, k, place % LANES] = rows[i, k] * scale
    problem.limits[place // LANES, place % LANES] = 0.0


@kernel
def shoot(cone, scaled, direction, scratch, found, n_found):
    """Make the row met first from the interior point a facet; return how many are known, −1 if it was one."""
    v, block, lane = worst_row(scaled.blocks, scaled.limits, len(scaled.blocks), direction, scratch)
    if v <= 0.0:
        return -1
    hit = cone.candidates[block * LANES + lane]
    if cone.flags[hit] == FACET:
        return -1
    cone.flags[hit] = FACET
    lay_row(cone.rows, hit, 1.0, found, n_found)
    return n_found + 1


@inner_kernel
def implied(c, bases, sides, n_bases, tolerance):
    """Return whether c is a sum of the rows of some basis kept, none negative: they bound c·x by the tolerance."""
    d = len(c)
    for q in range(n_bases):
        bound = 0.0
        for r in range(d):
            y = 0.0
            for k in range(d):
                y += c[k] * bases[q, k, r]
            if y < -1e-13:
                bound = np.inf
                break
            bound += y * sides[q, r]
        if bound <= tolerance:
            return True
    return False


@inner_kernel
def keep_basis(state, bases, sides, place):
    """Keep the present basis, for `implied`."""
    for r in range(len(state.rhs)):
        sides[place, r] = state.rhs[r]
        for k in range(len(state.rhs)):
            bases[place, k, r] = state.inverse[k, r]


@kernel
def find_facets(cone, interior, seeds, tolerance, state, hot, scratch):
    """Flag each candidate FACET of the cone, REDUNDANT, or leave it OPEN where rounding forbids a claim.

    Clarkson's way: a candidate is redundant if the facets found so far imply it, an LP over these alone; if
    they do not, the LP's point lies outside the cone, and the first row met on the way to it from the
    interior point is a facet: the one with the largest a_i·u / (−a_i·interior) for the direction u.
    """
    rows, candidates, flags = cone.rows, cone.candidates, cone.flags
    m, d = len(candidates), rows.shape[1]
    n_all = (m + LANES - 1) // LANES
    scaled, found = empty_problem(n_all, d), empty_problem(n_all, d)
    for i in range(m):
        lay_row(rows, candidates[i], -1.0 / product(rows[candidates[i]], interior), scaled, i)
    direction, n_found, pivots = np.empty(d), 0, np.zeros(2, np.int64)
    bases, sides, n_bases = np.empty((KEPT_BASES, d, d)), np.empty((KEPT_BASES, d)), 0
    for q in range(len(seeds)):
        n_found = max(n_found, shoot(cone, scaled, seeds[q], scratch, found, n_found))
    for i in candidates:
        while flags[i] == OPEN:
            if implied(rows[i], bases, sides, min(n_bases, KEPT_BASES), tolerance):
                flags[i] = REDUNDANT
                break
            start_at_corner(found.box, rows[i], state)
            n_blocks = (n_found + LANES - 1) // LANES
            status = simplex(found, n_blocks, rows[i], state, hot, scratch, tolerance, pivots)
            if status == STOPPED or (status == OPTIMAL and product(rows[i], state.x) <= tolerance):
                flags[i] = REDUNDANT
                keep_basis(state, bases, sides, n_bases % KEPT_BASES)
                n_bases += 1
            elif status != OPTIMAL:
                break
            else:
                for k in range(d):
                    direction[k] = state.x[k] - interior[k]
                more = shoot(cone, scaled, direction, scratch, found, n_found)
                if more < 0:
                    break
                n_found = more
