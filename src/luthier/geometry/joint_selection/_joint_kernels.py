# mypy: ignore-errors
"""Kernels of the search for the best selection that one weight vector can make from many lists.

Symbols: n unknowns; N lists; corner e of a list has the point P_e and the value v_e, corners of a list stand
together, the most valuable first. A *cone* is a table of rows a of length 1, the weights with a·w < 0. The
facets of corner e are the rows (P_j − P_e) / ‖P_j − P_e‖ for the corners j of its list that bound its cone;
`borders` marks these j, one square table per list, computed when first needed (`known`).

`_margin_kernels` has the linear programs.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel
from luthier.geometry.joint_selection._margin_kernels import (
    LOST,
    STRICT,
    copy_row,
    copy_rows,
    keep_basis,
    put_row,
    spare_rows,
    start_at_kept,
    widen,
    widest,
)

FEW_DIMENSIONS = 8  # in more of them nearly all corners of a list bound each other: that is not looked into
TIE = 1e-10  # scores nearer than this, in units of the largest difference |w_k| ≤ 1 can make, are tied


class Lists(NamedTuple):
    """Corners of N lists: points (E, n), values (E,), offsets (N+1,).

    `ties` (N,) says how near scores of a list must be to be looked at as tied, whatever the rows.
    """

    points: np.ndarray
    values: np.ndarray
    offsets: np.ndarray
    ties: np.ndarray


class Facets(NamedTuple):
    """Which corners bound each other: a square table per list in `borders`, whose rows are filled when `known`."""

    borders: np.ndarray
    table_starts: np.ndarray
    known: np.ndarray


class Reach(NamedTuple):
    """The corners of each list that a cone does not exclude, from `first` (N,) to before `last` (N,)."""

    first: np.ndarray
    last: np.ndarray


class Best(NamedTuple):
    """The best selection so far: its value (1,) and its weights (n,)."""

    value: np.ndarray
    weights: np.ndarray


@kernel
def corner_margins(lists, room, out):
    """Write the margin of each corner's own cone, or LOST; a list of one corner leaves all weights to it."""
    for s in range(len(lists.offsets) - 1):
        low, high = lists.offsets[s], lists.offsets[s + 1]
        for e in range(low, high):
            m = 0
            for j in range(low, high):
                if j != e:
                    put_row(lists.points, j, e, room.rows, m)
                    m += 1
            out[e] = widest(m, room)


@kernel
def find_borders(lists, facets, s, e, room):
    """Mark which corners j of list s bound the cone of corner e: those that can beat e alone."""
    low, high = lists.offsets[s], lists.offsets[s + 1]
    first = facets.table_starts[s] + (e - low) * (high - low)
    facets.known[e] = True
    few = lists.points.shape[1] <= FEW_DIMENSIONS
    facets.borders[first : first + high - low] = not few
    if not few:
        return 0
    names, m = np.empty(high - low, np.int64), 0
    for j in range(low, high):
        if j != e:
            put_row(lists.points, j, e, room.rows, m)
            names[m] = j
            m += 1
    solved = m
    m = spare_rows(names, m, room)
    for i in range(m):
        facets.borders[first + names[i] - low] = True
    return solved


@kernel
def add_facets(lists, facets, s, e, m, room):
    """Put the facets of corner e behind the first m rows; return how many rows there are then."""
    low, high = lists.offsets[s], lists.offsets[s + 1]
    first = facets.table_starts[s] + (e - low) * (high - low)
    for j in range(low, high):
        if j != e and facets.borders[first + j - low]:
            put_row(lists.points, j, e, room.rows, m)
            m += 1
    return m


@kernel
def test_corner(lists, facets, cone, s, e, room):
    """Return the margin of the part of a cone in which list s selects corner e, and the programmes solved.

    The basis that was kept must be the cone's.
    """
    solved = 1
    if not facets.known[e]:
        solved += find_borders(lists, facets, s, e, room)
    copy_rows(cone, len(cone), room.rows)
    m = add_facets(lists, facets, s, e, len(cone), room)
    start_at_kept(room)
    return widen(m, room), solved


@kernel
def is_tied(points, one, other, weights):
    """Return whether weights put one row above another by no more than a tie, in units of their own difference."""
    gap, size = 0.0, 0.0
    for k in range(points.shape[1]):
        step = points[one, k] - points[other, k]
        gap += step * weights[k]
        size += abs(step)
    return gap <= TIE * size


@kernel
def lowest_of_tied(lists, s, weights):
    """Return the least value of the corners tied for the first place in list s, and whether there are several."""
    points, values = lists.points, lists.values
    low, high = lists.offsets[s], lists.offsets[s + 1]
    top, second, first = -np.inf, -np.inf, low
    for e in range(low, high):
        score = 0.0
        for k in range(points.shape[1]):
            score += points[e, k] * weights[k]
        if score > top:
            top, second, first = score, top, e
        elif score > second:
            second = score
    least, several = values[first], False
    if high - low > 1 and second >= top - lists.ties[s]:
        for e in range(low, high):
            if e != first and is_tied(points, first, e, weights):
                least, several = min(least, values[e]), True
    return least, several


@kernel
def values_at(lists, reach, weights, out):
    """Write the least value of the corners tied for the first place in each list; return sum and number of ties.

    Lists that are decided, with one corner within reach, have its value and no tie.
    """
    total, n_tied = 0.0, 0
    for s in range(len(out)):
        if reach.last[s] - reach.first[s] == 1:
            out[s] = lists.values[reach.first[s]]
        else:
            out[s], several = lowest_of_tied(lists, s, weights)
            n_tied += several
        total += out[s]
    return total, n_tied


@kernel
def raise_low(lists, reach, weights, low, best, room):
    """Raise the values known to be in reach by those at some weights of the cone, and the best of all."""
    total, n_tied = values_at(lists, reach, weights, room.values)
    for s in range(len(low)):
        low[s] = max(low[s], room.values[s])
    if n_tied == 0 and total > best.value[0]:
        best.value[0] = total
        for k in range(len(weights)):
            best.weights[k] = weights[k]


@kernel
def start_with_cone(cone, room):
    """Solve for the widest of a cone, and keep its basis for the parts of it."""
    copy_rows(cone, len(cone), room.rows)
    widest(len(cone), room)
    keep_basis(room)


@kernel
def look_ahead(lists, facets, cone, reach, witnesses, n_witnesses, best, slack, room):
    """Find the most valuable corner of each list within reach of a cone; `reach.first` moves there.

    `witnesses` (w, n), weights inside the cone, are as many as `n_witnesses`; those found are added while
    there is room. Returns the sum of the values within reach, an upper bound for the cone, cut short when it
    falls to the best value + slack; the number of witnesses; the programmes solved; how many of them were lost.
    """
    values, first, n = lists.values, reach.first, cone.shape[1]
    low = np.full(len(first), -np.inf)
    for i in range(n_witnesses):
        raise_low(lists, reach, witnesses[i], low, best, room)
    bound = 0.0
    for s in range(len(first)):
        bound += values[first[s]]
    start_with_cone(cone, room)
    solved, lost = 1, 0
    for s in range(len(first)):
        while values[first[s]] > low[s]:
            if bound <= best.value[0] + slack:
                return bound, n_witnesses, solved, lost
            margin, count = test_corner(lists, facets, cone, s, first[s], room)
            solved += count
            if margin > STRICT:
                raise_low(lists, reach, room.point[:n], low, best, room)
                low[s] = max(low[s], values[first[s]])
                if n_witnesses < len(witnesses):
                    for k in range(n):
                        witnesses[n_witnesses, k] = room.point[k]
                    n_witnesses += 1
            elif margin == LOST:
                lost += 1
                low[s] = values[first[s]]  # not excluded
            elif first[s] + 1 >= reach.last[s]:
                return -np.inf, n_witnesses, solved, lost
            else:
                bound -= values[first[s]] - values[first[s] + 1]
                first[s] += 1
    return bound, n_witnesses, solved, lost


@kernel
def choose_list(lists, reach, witnesses, room):
    """Return the list to divide a cone by: where the best witness falls farthest behind what is within reach.

    If it falls behind nowhere, a list in which it is tied; −1 if there is none either.
    """
    values, out = lists.values, room.values
    best, at = -np.inf, 0
    for i in range(len(witnesses)):
        total, _ = values_at(lists, reach, witnesses[i], out)
        if total > best:
            best, at = total, i
    values_at(lists, reach, witnesses[at], out)
    chosen, drop = -1, 0.0
    for s in range(len(out)):
        if values[reach.first[s]] - out[s] > drop:
            chosen, drop = s, values[reach.first[s]] - out[s]
    if chosen < 0:
        for s in range(len(out)):
            if reach.last[s] - reach.first[s] > 1 and lowest_of_tied(lists, s, witnesses[at])[1]:
                return s
    return chosen


@kernel
def keep_inside(lists, s, e, witnesses, inside):
    """Put the witnesses at which corner e of list s is ahead behind the first of `inside`; return how many there are.

    There are no more than find room.
    """
    count = 1
    for i in range(len(witnesses)):
        ahead = count < len(inside)
        for j in range(lists.offsets[s], lists.offsets[s + 1]):
            if ahead and j != e and is_tied(lists.points, e, j, witnesses[i]):
                ahead = False
        if ahead:
            copy_row(witnesses, i, inside, count)
            count += 1
    return count


@kernel
def part_of_cone(lists, facets, cone, s, e, most, witnesses, inside, room):
    """Return margin, rows, witnesses and programmes of the part of a cone in which list s selects corner e.

    Its rows are left in the room, without those that can be spared if they are more than `most`; weights
    inside it in `inside`, the widest first.
    """
    start_with_cone(cone, room)
    margin, solved = test_corner(lists, facets, cone, s, e, room)
    solved += 1
    if margin <= STRICT:
        return margin, 0, 0, solved
    for k in range(cone.shape[1]):
        inside[0, k] = room.point[k]
    count = keep_inside(lists, s, e, witnesses, inside)
    copy_rows(cone, len(cone), room.rows)
    m = add_facets(lists, facets, s, e, len(cone), room)
    if m > most:
        solved += m
        m = spare_rows(np.empty(m, np.int64), m, room)
    return margin, m, count, solved
