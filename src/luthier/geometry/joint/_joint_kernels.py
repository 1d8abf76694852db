# mypy: ignore-errors
"""Kernels of the search for the best selection that one weight vector can make from many lists.

Symbols: n unknowns; N lists; corner e of a list has the point P_e and the value v_e, corners of a list stand
together, the most valuable first. A *cone* is a table of rows a of length 1, the weights with a·w < 0. The
facets of corner e are the rows (P_j − P_e) / ‖P_j − P_e‖ for the corners j of its list that bound its cone;
`borders` marks these j, one square table per list, computed when first needed (`known`).

`ties` says for each list how near scores must be to be looked at as tied, whatever the rows.

`lists` is (points, values, offsets, ties), `facets` is (borders, table_starts, known), `room` is scratch.
"""

import numpy as np

from luthier.core.jit import kernel

STRICT = 1e-9  # weights of a cone's inside, |w_k| ≤ 1, are at least so far from its sides
NUDGE = 1e-11  # what w_k is worth beside the margin, so that no two bases are equally good
MOST_PIVOTS = 2000
FEW_DIMENSIONS = 8  # in more of them nearly all corners of a list bound each other: that is not looked into
TIE = 1e-10  # scores nearer than this, in units of the largest difference |w_k| ≤ 1 can make, are tied
LOST = -9.0  # "margin" of a programme that rounding made unsolvable


@kernel
def make_room(n, n_rows, n_lists):
    """Return scratch: rows, point, inverse, multipliers, right sides, an entering row, its coefficients, values.

    The last three are where `keep_basis` leaves an inverse, multipliers and right sides to begin with.
    """
    return (
        np.empty((n_rows, n)), np.empty(n + 1), np.empty((n + 1, n + 1)), np.empty(n + 1), np.empty(n + 1),
        np.empty(n + 1), np.empty(n + 1), np.empty(n_lists),
        np.empty((n + 1, n + 1)), np.empty(n + 1), np.empty(n + 1),
    )  # fmt: skip


@kernel
def start_at_corner(n, room):
    """Make the basis of the box's corner with t large."""
    inverse, y, rhs = room[2], room[3], room[4]
    inverse[:] = 0.0
    for k in range(n):
        inverse[k, k], rhs[k] = 1.0, 1.0
        y[k] = NUDGE * (1.0 + (0.6180339887498949 * (k + 1)) % 1.0)
    inverse[n, n], rhs[n], y[n] = 1.0, 4.0 * n, 1.0


@kernel
def keep_basis(room):
    """Keep the present basis: more rows can only take it further."""
    room[8][:], room[9][:], room[10][:] = room[2], room[3], room[4]


@kernel
def start_at_kept(room):
    """Go back to the basis that was kept."""
    room[2][:], room[3][:], room[4][:] = room[8], room[9], room[10]


@kernel
def widest(rows, m, room):
    """Maximise t subject to rows·w + t ≤ 0 over the first m rows and |w_k| ≤ 1; leave (w, t) in room[1].

    Returns t, or LOST.
    """
    start_at_corner(rows.shape[1], room)
    return widen(rows, m, room)


@kernel
def widen(rows, m, room):
    """Do the same by a dual simplex from the basis in `room`, which is that of some of the rows."""
    x, inverse, y, rhs, row, alpha = room[1], room[2], room[3], room[4], room[5], room[6]
    n = rows.shape[1]
    for _ in range(MOST_PIVOTS):
        for k in range(n + 1):
            total = 0.0
            for r in range(n + 1):
                total += inverse[k, r] * rhs[r]
            x[k] = total
        worst, entering, side = 1e-12, -1, -1
        for i in range(m):
            total = x[n]
            for k in range(n):
                total += rows[i, k] * x[k]
            if total > worst:
                worst, entering = total, i
        for k in range(n):
            if abs(x[k]) - 1.0 > worst:
                worst, side = abs(x[k]) - 1.0, k
        if entering < 0 and side < 0:
            return x[n]
        if side >= 0:
            row[:] = 0.0
            row[side] = 1.0 if x[side] > 0.0 else -1.0
        else:
            row[:n] = rows[entering]
            row[n] = 1.0
        leaving, least = -1, np.inf
        for r in range(n + 1):
            total = 0.0
            for k in range(n + 1):
                total += row[k] * inverse[k, r]
            alpha[r] = total
            if total > 1e-11 and y[r] < least * total:
                least, leaving = y[r] / total, r
        if leaving < 0:
            return LOST
        for k in range(n + 1):
            share = inverse[k, leaving] / alpha[leaving]
            for r in range(n + 1):
                inverse[k, r] -= share * alpha[r]
            inverse[k, leaving] = share
        for r in range(n + 1):
            y[r] -= least * alpha[r]
        y[leaving] = least
        rhs[leaving] = 1.0 if side >= 0 else 0.0
    return LOST


@kernel
def put_row(points, j, e, rows, m):
    """Write (P_j − P_e) / ‖P_j − P_e‖ as row m."""
    total = 0.0
    for k in range(points.shape[1]):
        rows[m, k] = points[j, k] - points[e, k]
        total += rows[m, k] * rows[m, k]
    total = np.sqrt(total)
    for k in range(points.shape[1]):
        rows[m, k] /= total


@kernel
def corner_margins(lists, room, out):
    """Write the margin of each corner's own cone, or LOST; a list of one corner leaves all weights to it."""
    points, _, offsets, _ = lists
    for s in range(len(offsets) - 1):
        low, high = offsets[s], offsets[s + 1]
        for e in range(low, high):
            m = 0
            for j in range(low, high):
                if j != e:
                    put_row(points, j, e, room[0], m)
                    m += 1
            out[e] = widest(room[0], m, room)


@kernel
def spare_rows(rows, names, m, room):
    """Drop those of the first m rows that the others imply, their names with them; return how many are left.

    A row that is dropped is gone for those after it: of rows in one direction one stays.
    """
    i = 0
    while i < m:
        rows[i] = -rows[i]
        other = widest(rows, m, room)
        rows[i] = -rows[i]
        if other > STRICT or other == LOST:
            i += 1
        else:
            m -= 1
            rows[i], names[i] = rows[m], names[m]
    return m


@kernel
def find_borders(lists, facets, s, e, room):
    """Mark which corners j of list s bound the cone of corner e: those that can beat e alone."""
    points, _, offsets, _ = lists
    borders, table_starts, known = facets
    rows, low, high = room[0], offsets[s], offsets[s + 1]
    first = table_starts[s] + (e - low) * (high - low)
    known[e] = True
    if points.shape[1] > FEW_DIMENSIONS:
        borders[first : first + high - low] = True
        return 0
    borders[first : first + high - low] = False
    names, m = np.empty(high - low, np.int64), 0
    for j in range(low, high):
        if j != e:
            put_row(points, j, e, rows, m)
            names[m] = j
            m += 1
    solved = m
    m = spare_rows(rows, names, m, room)
    for i in range(m):
        borders[first + names[i] - low] = True
    return solved


@kernel
def add_facets(lists, facets, s, e, m, room):
    """Put the facets of corner e behind the first m rows of room[0]; return how many rows there are then."""
    points, _, offsets, _ = lists
    borders, table_starts, _ = facets
    low, high = offsets[s], offsets[s + 1]
    first = table_starts[s] + (e - low) * (high - low)
    for j in range(low, high):
        if j != e and borders[first + j - low]:
            put_row(points, j, e, room[0], m)
            m += 1
    return m


@kernel
def test_corner(lists, facets, cone, s, e, room):
    """Return the margin of the part of a cone in which list s selects corner e, and the programmes solved.

    The basis that was kept must be the cone's.
    """
    solved = 1
    if not facets[2][e]:
        solved += find_borders(lists, facets, s, e, room)
    room[0][: len(cone)] = cone
    m = add_facets(lists, facets, s, e, len(cone), room)
    start_at_kept(room)
    return widen(room[0], m, room), solved


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
    points, values, offsets, ties = lists
    low, high = offsets[s], offsets[s + 1]
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
    if high - low > 1 and second >= top - ties[s]:
        for e in range(low, high):
            if e != first and is_tied(points, first, e, weights):
                least, several = min(least, values[e]), True
    return least, several


@kernel
def values_at(lists, first, last, weights, out):
    """Write the least value of the corners tied for the first place in each list; return sum and number of ties.

    Lists that are decided, with one corner from `first` to `last`, have its value and no tie.
    """
    values = lists[1]
    total, n_tied = 0.0, 0
    for s in range(len(first)):
        if last[s] - first[s] == 1:
            out[s] = values[first[s]]
        else:
            out[s], several = lowest_of_tied(lists, s, weights)
            n_tied += several
        total += out[s]
    return total, n_tied


@kernel
def raise_low(lists, first, last, weights, low, best, best_weights, room):
    """Raise the values known to be in reach by those at some weights of the cone, and the best of all."""
    total, n_tied = values_at(lists, first, last, weights, room[7])
    for s in range(len(low)):
        low[s] = max(low[s], room[7][s])
    if n_tied == 0 and total > best[0]:
        best[0] = total
        best_weights[:] = weights


@kernel
def look_ahead(lists, facets, cone, first, last, witnesses, n_witnesses, best, best_weights, slack, room):
    """Find the most valuable corner of each list within reach of a cone; `first` moves there.

    `witnesses` (w, n), weights inside the cone, are as many as `n_witnesses`; those found are added while
    there is room. Returns the sum of the values within reach, an upper bound for the cone, cut short when it
    falls to best[0] + slack; the number of witnesses; the programmes solved; how many of them were lost.
    """
    values = lists[1]
    low = np.full(len(first), -np.inf)
    for i in range(n_witnesses):
        raise_low(lists, first, last, witnesses[i], low, best, best_weights, room)
    bound = 0.0
    for s in range(len(first)):
        bound += values[first[s]]
    widest(cone, len(cone), room)
    keep_basis(room)
    solved, lost = 1, 0
    for s in range(len(first)):
        while values[first[s]] > low[s]:
            if bound <= best[0] + slack:
                return bound, n_witnesses, solved, lost
            margin, count = test_corner(lists, facets, cone, s, first[s], room)
            solved += count
            if margin > STRICT:
                weights = room[1][: cone.shape[1]].copy()
                raise_low(lists, first, last, weights, low, best, best_weights, room)
                low[s] = max(low[s], values[first[s]])
                if n_witnesses < len(witnesses):
                    witnesses[n_witnesses] = weights
                    n_witnesses += 1
            elif margin == LOST:
                lost += 1
                low[s] = values[first[s]]  # not excluded
            elif first[s] + 1 >= last[s]:
                return -np.inf, n_witnesses, solved, lost
            else:
                bound -= values[first[s]] - values[first[s] + 1]
                first[s] += 1
    return bound, n_witnesses, solved, lost


@kernel
def choose_list(lists, first, last, witnesses, n_witnesses, room):
    """Return the list to divide a cone by: where the best witness falls farthest behind what is within reach.

    If it falls behind nowhere, a list in which it is tied; −1 if there is none either.
    """
    values, out = lists[1], room[7]
    best, at = -np.inf, 0
    for i in range(n_witnesses):
        total, _ = values_at(lists, first, last, witnesses[i], out)
        if total > best:
            best, at = total, i
    values_at(lists, first, last, witnesses[at], out)
    chosen, drop = -1, 0.0
    for s in range(len(first)):
        if values[first[s]] - out[s] > drop:
            chosen, drop = s, values[first[s]] - out[s]
    if chosen < 0:
        for s in range(len(first)):
            if last[s] - first[s] > 1 and lowest_of_tied(lists, s, witnesses[at])[1]:
                return s
    return chosen


@kernel
def part_of_cone(lists, facets, cone, s, e, most, witnesses, n_witnesses, inside, rows, room):
    """Return margin, rows, witnesses and programmes of the part of a cone in which list s selects corner e.

    Its rows are left in `rows`, without those that can be spared if they are more than `most`; weights
    inside it in `inside`, the widest first.
    """
    points, _, offsets, _ = lists
    n = cone.shape[1]
    widest(cone, len(cone), room)
    keep_basis(room)
    margin, solved = test_corner(lists, facets, cone, s, e, room)
    solved += 1
    if margin <= STRICT:
        return margin, 0, 0, solved
    inside[0] = room[1][:n]
    count = 1
    for i in range(n_witnesses):
        ahead = count < len(inside)
        for j in range(offsets[s], offsets[s + 1]):
            if ahead and j != e and is_tied(points, e, j, witnesses[i]):
                ahead = False
        if ahead:
            inside[count] = witnesses[i]
            count += 1
    m = len(cone)
    room[0][:m] = cone
    m = add_facets(lists, facets, s, e, m, room)
    if m > most:
        solved += m
        m = spare_rows(room[0], np.empty(m, np.int64), m, room)
    rows[:m] = room[0][:m]
    return margin, m, count, solved
