# mypy: ignore-errors
"""Kernels that find which rows of a cone are needed: its facets, each proven by a linear programme."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.geometry.lp._lp_kernels import (
    LANES,
    OPTIMAL,
    STOPPED,
    make_hot,
    make_scratch,
    make_state,
    product,
    simplex,
    start_at_corner,
    worst_row,
)

KEPT_BASES = 16
OPEN, FACET, REDUNDANT = 0, 1, 2


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
def lay_row(row, scale, place, blocks, limits):
    """Put a row, scaled, at its place among blocks, with the limit 0."""
    for k in range(len(row)):
        blocks[place // LANES, k, place % LANES] = row[k] * scale
    limits[place // LANES, place % LANES] = 0.0


@kernel
def shoot(scaled, zeros, candidates, direction, scratch, rows, flags, found, limits, n_found):
    """Make the row met first from the interior point a facet; return how many are known, −1 if it was one."""
    v, block, lane = worst_row(scaled, zeros, len(scaled), direction, scratch[2], scratch[3], scratch[4])
    if v <= 0.0:
        return -1
    hit = candidates[block * LANES + lane]
    if flags[hit] == FACET:
        return -1
    flags[hit] = FACET
    lay_row(rows[hit], 1.0, n_found, found, limits)
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


@kernel
def find_facets(rows, candidates, interior, seeds, tolerance, flags):
    """Flag each candidate FACET of the cone {w : rows·w ≤ 0}, REDUNDANT, or OPEN where rounding forbids a claim.

    Clarkson's way: a candidate is redundant if the facets found so far imply it, an LP over these alone; if
    they do not, the LP's point lies outside the cone, and the first row met on the way to it from the
    interior point is a facet: the one with the largest a_i·u / (−a_i·interior) for the direction u.
    """
    m, d = len(candidates), rows.shape[1]
    n_all = (m + LANES - 1) // LANES
    scaled, zeros = np.zeros((n_all, d, LANES)), np.full((n_all, LANES), np.inf)
    found, limits = np.zeros((n_all, d, LANES)), np.full((n_all, LANES), np.inf)
    for i in range(m):
        lay_row(rows[candidates[i]], -1.0 / product(rows[candidates[i]], interior), i, scaled, zeros)
    box, direction, n_found = np.ones(d), np.empty(d), 0
    state, hot, scratch, counts = make_state(d), make_hot(d), make_scratch(d), np.zeros(2, np.int64)
    basis, inverse, rhs, y, x = state
    bases, sides, n_bases = np.empty((KEPT_BASES, d, d)), np.empty((KEPT_BASES, d)), 0
    for q in range(len(seeds)):
        more = shoot(scaled, zeros, candidates, seeds[q], scratch, rows, flags, found, limits, n_found)
        n_found = max(n_found, more)
    for i in candidates:
        while flags[i] == OPEN:
            if implied(rows[i], bases, sides, min(n_bases, KEPT_BASES), tolerance):
                flags[i] = REDUNDANT
                break
            start_at_corner(box, rows[i], basis, inverse, rhs, y)
            n_blocks = (n_found + LANES - 1) // LANES
            status = simplex((found, limits, box), n_blocks, rows[i], state, hot, scratch, tolerance, counts)
            if status == STOPPED or (status == OPTIMAL and product(rows[i], x) <= tolerance):
                flags[i] = REDUNDANT
                bases[n_bases % KEPT_BASES], sides[n_bases % KEPT_BASES] = inverse, rhs
                n_bases += 1
            elif status != OPTIMAL:
                break
            else:
                for k in range(d):
                    direction[k] = x[k] - interior[k]
                more = shoot(scaled, zeros, candidates, direction, scratch, rows, flags, found, limits, n_found)
                if more < 0:
                    break
                n_found = more
