# mypy: ignore-errors
"""Kernels that pass by all cells: each edge walked once, the cells whose lowest point it owns written down.

Letters and lines are those of `_line_kernels`.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel
from luthier.geometry.plane._face_kernels import has_room, leads_at
from luthier.geometry.plane._line_kernels import difference_of_products, line_of, upward
from luthier.geometry.plane._walk_kernels import mark_crowded, order_hops, walk

PARALLEL = 2.0**-10
BESIDE = 3  # so many crossings to both sides of a lowest point are its neighbours


class CellRows(NamedTuple):
    """Where cells are written: sums of values, lowest points (or none), names, whether they have an area."""

    sums: np.ndarray
    low: np.ndarray
    keys: np.ndarray
    sized: np.ndarray


@kernel
def list_of_edge(faces, table, e):
    """Return the list of an edge, −1 for a side of the window."""
    return faces.owner[table.lines[e, 0]] if table.kinds[e] == 0 else -1


@kernel
def walk_in_order(faces, table, e, here, blur, scratch):
    """Write the crossings of edge e and their order; return how many, −1 for a fault."""
    n = walk(faces, table, e, here, blur, scratch)
    order_hops(faces, table.lines[e], table.courses[e], scratch, n)
    return n


@kernel
def add_lines(faces, k, lines, n):
    """Append the sides of face k to lines; return how many there are now."""
    for m in range(faces.ptr[k], faces.ptr[k + 1]):
        if faces.sides[m] >= 0:
            lines[n, 0], lines[n, 1] = k, faces.sides[m]
            n += 1
    return n


@kernel
def add_violated(faces, gaps, chosen, blur, inside, lines, n):
    """Append the sides of chosen faces beyond which a point lies, or by which it leads by noise only; return how many.

    Nearly all lead by more than `blur` and rounding can make, whatever the list.
    """
    z, ptr, sides, noise, x, y = faces.z, faces.ptr, faces.sides, faces.noise, inside[0], inside[1]
    enough = (1.0 + blur) * (1.0 + abs(x) + abs(y))
    for s in range(len(chosen)):
        k = chosen[s]
        for m in range(ptr[k], ptr[k + 1]):
            if not gaps[m, 0] + gaps[m, 1] * x + gaps[m, 2] * y > enough and sides[m] >= 0:
                lines[n, 0], lines[n, 1] = k, sides[m]
                n += not leads_at(z, faces.border, lines[n:], 1, x, y, noise, faces.owner)
    return n


@kernel
def cell_has_room(faces, table, chosen, here, scratch, place, n_hops, blur, room):
    """Tell whether the cell of chosen faces has an area beyond what noise can make.

    The lists that the edge meets next to the cell's lowest point come first: where there is no room, these nearly
    always leave none. Else a point in what they leave may be inside of all lists. Where it is not, the lines
    that it is beyond join, until a point is, or no room is left. `room` is twice what the lines of all lists take.
    """
    n, inside = 0, np.empty(2)
    if here >= 0:
        n = add_lines(faces, chosen[here], room.lines, n)
    for m in range(max(0, place - BESIDE), min(n_hops, place + BESIDE + 1)):
        k = chosen[faces.owner[scratch.hops[scratch.order[m], 0]]]
        if 2 * (n + faces.ptr[k + 1] - faces.ptr[k]) > len(room.lines):  # a list may be met more than once
            break
        n = add_lines(faces, k, room.lines, n)
    while has_room(faces.z, faces.border, room.lines, n, faces.noise, faces.owner, room, inside):
        known, n = n, add_violated(faces, table.gaps, chosen, blur, inside, room.lines, n)
        if n == known:
            return True
    return False


@kernel
def crossing(c, p, q, c2, p2, q2):
    """Return where two lines cross; without loss if they are nearly parallel."""
    left, right = p * q2, q * p2
    if abs(left - right) > PARALLEL * (abs(left) + abs(right)):
        return (q * c2 - c * q2) / (left - right), (c * p2 - p * c2) / (left - right)
    minor = difference_of_products(p, q2, q, p2)
    return difference_of_products(q, c2, c, q2) / minor, difference_of_products(c, p2, p, c2) / minor


@kernel
def sweep(faces, values, table, e, here, scratch, n, totals, rows, first):
    """Write the cells whose lowest point edge e owns, from row `first` on; return how many.

    The crossing with an edge of another list is the lowest point of one cell: the one between the parts of both
    that go up. Inner edges (kind 0) count the crossings with later lists, the border's bottom (1) all, its right
    (2) and left (4) side those that come in from there. ``totals`` holds the sum over the other lists. A cell has an
    area unless another boundary may pass by its lowest point; of those `settle` tells.
    """
    edge, kind = table.lines[e], table.kinds[e]
    hops, places, order, crowded = scratch.hops, scratch.places, scratch.order, scratch.crowded
    sums, low, keys, sized = rows.sums[first:], rows.low[first:], rows.keys[first:], rows.sized[first:]
    placed = len(rows.low) > 0
    c, p, q = line_of(faces.z, faces.border, edge[0], edge[1])
    apart = kind != 0 or not faces.tied[here]
    count = 0
    if (kind == 0 and edge[6] > 0) or kind == 1:
        for v in range(len(totals)):
            sums[count, v] = totals[v] + (values[edge[0], v] if kind == 0 else 0)
        if placed:
            low[count, 0], low[count, 1] = table.ends[e, 0], table.ends[e, 1]
        keys[count, 1], sized[count] = -1, apart and scratch.reach[0] == -np.inf
        count = 1
    for m in range(n):
        k = order[m]
        old, new = hops[k, 0], hops[k, 1]
        for v in range(len(totals)):
            totals[v] += values[new, v] - values[old, v]
        # The line between them, with `old` on its left, leaves to the left of this edge; it may go down there.
        c2, p2, q2 = places[k, 2], places[k, 3], places[k, 4]
        up_left = upward(p2, q2)
        if kind == 0:
            if old < edge[0]:  # of an earlier list
                continue
            own = edge[0] if up_left else edge[1]
            for v in range(len(totals)):
                sums[count, v] = totals[v] + values[own, v]
        else:
            if (kind == 2 and not up_left) or (kind == 4 and up_left):
                continue
            for v in range(len(totals)):
                sums[count, v] = totals[v]
        if placed:
            low[count, 0], low[count, 1] = crossing(c, p, q, c2, p2, q2)
        keys[count, 1], sized[count] = new, apart and not crowded[k]
        count += 1
    return count


@kernel
def settle(faces, table, e, here, scratch, n, blur, room, keys, sized):
    """Write of the rows that edge e owns whether cells in doubt have an area."""
    z, owner, edge, kind, now = faces.z, faces.owner, table.lines[e], table.kinds[e], scratch.now
    if np.all(sized):
        return
    for a in range(len(now)):
        now[a] = scratch.state[a]
    row, last = 0, len(sized)
    if keys[row, 1] < 0:
        if kind == 0:
            now[here] = edge[0]
        sized[row] = sized[row] or cell_has_room(faces, table, now, here, scratch, 0, n, blur, room)
        row += 1
    for m in range(n):
        k = scratch.order[m]
        old, new = scratch.hops[k, 0], scratch.hops[k, 1]
        now[owner[old]] = new
        if row < last and keys[row, 1] == new:  # an edge enters a face once
            if not sized[row]:
                if kind == 0:
                    now[here] = edge[0] if upward(z[old, 1] - z[new, 1], z[old, 2] - z[new, 2]) else edge[1]
                sized[row] = cell_has_room(faces, table, now, here, scratch, m, n, blur, room)
            row += 1


@kernel
def sum_faces(values, constant, busy, state, here, totals):
    """Write a constant and the values of the faces of all lists but one."""
    for v in range(len(totals)):
        totals[v] = constant[v]
    for s in busy:
        if s != here:
            for v in range(len(totals)):
                totals[v] += values[state[s], v]


@kernel
def sum_clusters(values, constant, busy, leaders, sums):
    """Write a constant and the values of the leading faces of all lists, for each cluster of ends."""
    for c in range(len(leaders)):
        for v in range(sums.shape[1]):
            sums[c, v] = sums[c - 1, v] if c > 0 else constant[v]
        for a in range(len(busy)):
            face = leaders[c, a] if leaders[c, a] >= 0 else -1 - leaders[c, a]
            if c == 0:
                for v in range(sums.shape[1]):
                    sums[c, v] += values[face, v]
                continue
            before = leaders[c - 1, a] if leaders[c - 1, a] >= 0 else -1 - leaders[c - 1, a]
            if face != before:
                for v in range(sums.shape[1]):
                    sums[c, v] += values[face, v] - values[before, v]


@kernel
def sum_lower_end(faces, values, table, e, here, clusters, scratch, totals):
    """Write the values of the faces of all lists but one at the lower end of an edge, by what its cluster has."""
    busy, state, crossed, c = faces.busy, scratch.state, scratch.crossed, table.clusters[e, 0]
    for v in range(len(totals)):
        totals[v] = clusters[c, v] - values[state[here], v] if here >= 0 else clusters[c, v]
    for a in crossed[: crossed[len(busy)]]:
        face = -1 - table.leaders[c, a]
        if face >= 0 and face != state[busy[a]]:
            for v in range(len(totals)):
                totals[v] += values[state[busy[a]], v] - values[face, v]


@kernel
def stream(faces, table, blur, values, whole, edges, scratch, room, rows):
    """Write the cells that edges, first … last − 1, own, until room runs short; return the next and how many cells.

    `whole` values are summed over the faces at the lower end of an edge by what its cluster has. Less than 0 cells are
    a fault.
    """
    totals = np.empty(values.each.shape[1], rows.sums.dtype)
    count = 0
    e, stop = edges
    while e < stop:
        here = list_of_edge(faces, table, e)
        n = walk_in_order(faces, table, e, here, blur, scratch)
        if n < 0:
            return e, -1
        if count + n + 1 > len(rows.sums):
            break
        mark_crowded(scratch, n, blur)
        if whole:
            sum_lower_end(faces, values.each, table, e, here, values.clusters, scratch, totals)
        else:
            sum_faces(values.each, values.single, faces.busy, scratch.state, here, totals)
        new = sweep(faces, values.each, table, e, here, scratch, n, totals, rows, count)
        rows.keys[count : count + new, 0] = e
        last = count + new
        settle(faces, table, e, here, scratch, n, blur, room, rows.keys[count:last], rows.sized[count:last])
        count = last
        e += 1
    return e, count


@kernel
def faces_of_cell(faces, table, e, target, blur, scratch):
    """Write into `state` the faces of the cell that edge e owns where it enters `target`; return if it does."""
    here, kind, edge, state = list_of_edge(faces, table, e), table.kinds[e], table.lines[e], scratch.state
    n = walk_in_order(faces, table, e, here, blur, scratch)
    if n < 0:
        return False
    if target < 0:
        if kind == 0:
            state[here] = edge[0]
        return True
    for m in range(n):
        old, new = scratch.hops[scratch.order[m], 0], scratch.hops[scratch.order[m], 1]
        state[faces.owner[old]] = new
        if new == target:
            if kind == 0:
                goes_up = upward(faces.z[old, 1] - faces.z[new, 1], faces.z[old, 2] - faces.z[new, 2])
                state[here] = edge[0] if goes_up else edge[1]
            return True
    return False


@kernel
def cross(faces, table, blur, start, scratch, counts, others, others_left):
    """Write the crossings of edges start …, in their order, until room runs short; return next edge and how many.

    ``counts[e]`` is how many edge e has; of each: the other edge, and whether its upward part leaves to the
    left. Less than 0 are a fault.
    """
    count, z, hops = 0, faces.z, scratch.hops
    e = start
    while e < len(table.lines):
        n = walk_in_order(faces, table, e, list_of_edge(faces, table, e), blur, scratch)
        if n < 0:
            return e, -1
        if count + n > len(others):
            break
        for m in range(n):
            k = scratch.order[m]
            old, new = hops[k, 0], hops[k, 1]
            others[count] = table.of_side[hops[k, 2]]
            others_left[count] = upward(z[old, 1] - z[new, 1], z[old, 2] - z[new, 2])
            count += 1
        counts[e] = n
        e += 1
    return e, count
