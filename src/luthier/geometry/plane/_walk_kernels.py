# mypy: ignore-errors
"""Kernels that walk along edges: which boundaries of other lists an edge crosses, and in which order.

Letters and lines are those of `_line_kernels`. A place on an edge is a number s: the edge is where
``anchor + s·direction`` goes, upward. Floats decide where they can, with error bounds (*doubt*). Beside that, what
comes nearer than `blur` doubts is marked: only there may a cell be without area.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.geometry.plane._line_kernels import LARGEST, UNIT, line_of, meet, minor_sign, side, upward

NEAR = 8  # so many neighbours a crossing is compared with one by one
FAR_BELOW = 2.0**1000  # a side of the window takes part in no comparison
STEEP_DOUBT = 8.0 * UNIT * LARGEST  # how wrong the slope of a difference of rows along an edge may be


class EdgeTable(NamedTuple):
    """All edges; see `overlay.Edges`."""

    lines: np.ndarray
    ends: np.ndarray
    courses: np.ndarray
    turns: np.ndarray
    kinds: np.ndarray
    of_side: np.ndarray
    gaps: np.ndarray
    clusters: np.ndarray
    leaders: np.ndarray


class Scratch(NamedTuple):
    """Where a walk writes.

    ``state[t]`` is the face of list t at the lower end; ``crossed`` the lists that may cross the edge, and last how
    many. ``hops[m]`` is: face before, face after, number of the side between them; ``places[m]`` where on the edge,
    by how much that may be wrong, and the line that is crossed; ``crowded[m]`` whether another boundary may pass by
    there. ``reach`` is how far from the lower and the upper end boundaries lie that pass by it. ``order`` are the
    crossings from below.
    """

    state: np.ndarray
    now: np.ndarray
    hops: np.ndarray
    places: np.ndarray
    crowded: np.ndarray
    reach: np.ndarray
    order: np.ndarray
    buckets: np.ndarray
    crossed: np.ndarray


@kernel
def collect_edges(faces, edges, edge_of_side):
    """Write every edge between two faces once, as its upward direction sees it; return how many, −1 for a fault.

    ``edges[e]`` is: face on the left, on the right, the lines (2 names each) that end it below and above, and
    1 if the left face has its lowest point at the lower end. ``edge_of_side`` names the edge of each side.
    """
    z, face_ptr, sides = faces.z, faces.ptr, faces.sides
    n = 0
    for k in range(len(face_ptr) - 1):
        low, high = face_ptr[k], face_ptr[k + 1]
        for m in range(low, high):
            j = sides[m]
            if j < 0:
                edge_of_side[m] = j
                continue
            if not upward(z[k, 1] - z[j, 1], z[k, 2] - z[j, 2]):
                continue
            if n == len(edges):
                return -1
            before = sides[m - 1 if m > low else high - 1]
            after = sides[m + 1 if m + 1 < high else low]
            edges[n, 0], edges[n, 1] = k, j
            edges[n, 2], edges[n, 3] = (k, before) if before >= 0 else (before, 0)
            edges[n, 4], edges[n, 5] = (k, after) if after >= 0 else (after, 0)
            edges[n, 6] = before >= 0 and not upward(z[k, 1] - z[before, 1], z[k, 2] - z[before, 2])
            edge_of_side[m] = n
            for twin in range(face_ptr[j], face_ptr[j + 1]):
                if sides[twin] == k:
                    edge_of_side[twin] = n
            n += 1
    return n


@kernel
def place_ends(faces, table):
    """Write where edges begin and end, x, y and how wrong heights may be there; their courses; and signs of minors.

    ``turns[e]`` has the signs of minor(e, line below) and minor(e, line above).
    """
    z, border, edges, ends = faces.z, faces.border, table.lines, table.ends
    point, e, g = np.empty(6), np.empty(3), np.empty(3)
    for n in range(len(edges)):
        e[0], e[1], e[2] = line_of(z, border, edges[n, 0], edges[n, 1])
        for end in range(2):
            g[0], g[1], g[2] = line_of(z, border, edges[n, 2 + 2 * end], edges[n, 3 + 2 * end])
            meet(e, g, point)
            table.turns[n, end] = minor_sign(e, g)
            x, y = point[1] / point[0], point[2] / point[0]
            ends[n, 3 * end], ends[n, 3 * end + 1] = x, y
            # Only where a border ends the edge are the products no integers, and more than the last bit is lost.
            lost = 8.0 * UNIT * UNIT * (point[4] + point[5]) / abs(point[0])
            ends[n, 3 * end + 2] = LARGEST * (lost + 10.0 * UNIT * (1.0 + abs(x) + abs(y)))
        plot_course(e, ends[n], table.courses[n])


@kernel
def plot_course(e, end, course):
    """Write an edge's anchor, direction and the doubt of heights there, and what `bucket` needs.

    The anchor is the point of the edge that is nearest to the origin, about which most crossings lie.
    """
    c, p, q = e[0], e[1], e[2]
    steep = max(abs(p), abs(q))
    dx, dy = q / steep, -p / steep
    square = dx * dx + dy * dy
    foot_x, foot_y = (c / steep) * dy / square, -(c / steep) * dx / square
    low = ((end[0] - foot_x) * dx + (end[1] - foot_y) * dy) / square
    high = ((end[3] - foot_x) * dx + (end[4] - foot_y) * dy) / square
    if low >= 0.0:
        course[0], course[1], course[4] = end[0], end[1], end[2]
        low, high = 0.0, high - low
    elif high <= 0.0:
        course[0], course[1], course[4] = end[3], end[4], end[5]
        low, high = low - high, 0.0
    else:
        course[0], course[1] = foot_x, foot_y
        course[4] = LARGEST * 16.0 * UNIT * (1.0 + abs(foot_x) + abs(foot_y))
    course[2], course[3] = dx, dy
    course[5] = low / (4.0 + abs(low))
    width = high / (4.0 + abs(high)) - course[5]
    course[6] = 1.0 / width if width > 0.0 else 0.0


@kernel
def comes_first(z, border, i, j, a0, a1, b0, b1):
    """Tell whether the edge (i, j), going up, leaves a0 for a1 before it leaves b0 for b1."""
    return side(z, border, b0, b1, i, j, a0, a1) > 0


@kernel
def place_on(height, slope, doubt):
    """Return where on an edge a difference of two rows is 0, and how wrong that may be; `height` is at the anchor."""
    if not abs(slope) > 4.0 * STEEP_DOUBT:
        return 0.0, np.inf
    inverse = 1.0 / slope
    place = -height * inverse
    return place, 2.0 * (doubt + abs(place) * STEEP_DOUBT) * abs(inverse)


@kernel
def measure_gaps(faces, gaps):
    """Write what each side of a face is made of, the face's row less the other's; the window's border is far below."""
    z, ptr, sides = faces.z, faces.ptr, faces.sides
    for k in range(len(ptr) - 1):
        for m in range(ptr[k], ptr[k + 1]):
            to = sides[m]
            if to < 0:
                gaps[m, 0], gaps[m, 1], gaps[m, 2] = FAR_BELOW, 0.0, 0.0
            else:
                gaps[m, 0], gaps[m, 1], gaps[m, 2] = z[k, 0] - z[to, 0], z[k, 1] - z[to, 1], z[k, 2] - z[to, 2]


@kernel
def lead_boxes(faces, table, boxes, first):
    """Write which face of each list leads at the centre of each box; −1 − face unless it leads by enough in all of it.

    A box has its centre, its half sides and how much is enough. The search for a face begins with that of the box
    before, of the first box with the first face of each list.
    """
    ptr, sides, busy, gaps, leaders = faces.ptr, faces.sides, faces.busy, table.gaps, table.leaders
    for b in range(len(boxes)):
        x, y, half_x, half_y, enough = boxes[b, 0], boxes[b, 1], boxes[b, 2], boxes[b, 3], boxes[b, 4]
        for a in range(len(busy)):
            cur = first[busy[a]]
            if b > 0:
                cur = leaders[b - 1, a] if leaders[b - 1, a] >= 0 else -1 - leaders[b - 1, a]
            moves = 0
            while True:
                higher, clear = -1, True
                for m in range(ptr[cur], ptr[cur + 1]):
                    height = gaps[m, 0] + x * gaps[m, 1] + y * gaps[m, 2]
                    if height < 0.0:
                        higher = sides[m]
                        break
                    clear &= height - abs(gaps[m, 1]) * half_x - abs(gaps[m, 2]) * half_y > enough
                if higher < 0 or moves == len(ptr):  # rounding may lead round in a circle
                    break
                cur, moves = higher, moves + 1
            leaders[b, a] = cur if clear and higher < 0 else -1 - cur


@kernel
def lists_to_walk(busy, here, below, above, scratch):
    """Write a face of each list at the lower end, or near it, and the lists that may cross; return how many.

    One face that leads at both ends leads between them.
    """
    state, crossed, n = scratch.state, scratch.crossed, 0
    for a in range(len(busy)):
        face = below[a]
        state[busy[a]] = face if face >= 0 else -1 - face
        crossed[n] = a
        n += (face < 0 or face != above[a]) and busy[a] != here
    crossed[len(busy)] = n
    return n


@kernel
def walk(faces, table, e, here, blur, scratch):
    """Write the crossings of edge e with the subdivisions of other lists; return how many, −1 for a fault.

    Lists are looked at one after another; `here` is left out. Of each, first the face at the lower end is found, from
    side to side, unless it is known, then the side through which the edge leaves a face, as long as it leaves one
    before its upper end. All of it is one loop: a kernel called in it with arrays costs half as much again.
    """
    z, border, ptr, sides, gaps = faces.z, faces.border, faces.ptr, faces.sides, table.gaps
    state, hops, places, crowded = scratch.state, scratch.hops, scratch.places, scratch.crowded
    edge, end, course, turn0, turn1 = (
        table.lines[e],
        table.ends[e],
        table.courses[e],
        table.turns[e, 0],
        table.turns[e, 1],
    )
    i, j, x0, y0, doubt0, x1, y1, doubt1 = edge[0], edge[1], end[0], end[1], end[2], end[3], end[4], end[5]
    anchor_x, anchor_y, along_x, along_y, doubt_there = course[0], course[1], course[2], course[3], course[4]
    blur0, blur1, near_low, near_high, n = blur * doubt0, blur * doubt1, -np.inf, np.inf, 0
    below, above = table.leaders[table.clusters[e, 0]], table.leaders[table.clusters[e, 1]]
    for a in scratch.crossed[: lists_to_walk(faces.busy, here, below, above, scratch)]:
        t = faces.busy[a]
        cur, clear, moves = state[t], below[a] >= 0, 0
        placed, last = clear, above[a] if clear else np.int64(-1)
        while cur != last:
            best, best_place, best_doubt, close, higher = -1, 0.0, 0.0, False, -1
            for m in range(ptr[cur], ptr[cur + 1]):
                dc, dp, dq = gaps[m, 0], gaps[m, 1], gaps[m, 2]
                alpha, omega = dc + x0 * dp + y0 * dq, dc + x1 * dp + y1 * dq
                if omega > blur1 and (clear or alpha > blur0 or (placed and alpha < -blur0)):
                    continue
                to = sides[m]
                if not placed and not alpha > doubt0:
                    if alpha < -doubt0 or turn0 * side(z, border, cur, to, i, j, edge[2], edge[3]) < 0:
                        higher = to
                        break
                leaves = omega < -doubt1
                if not leaves and not omega > doubt1:
                    leaves = turn1 * side(z, border, cur, to, i, j, edge[4], edge[5]) < 0
                height, slope = dc + anchor_x * dp + anchor_y * dq, along_x * dp + along_y * dq
                place, doubt = place_on(height, slope, doubt_there)
                if not clear and abs(alpha) <= blur0:
                    near_low = max(near_low, place + blur * doubt)
                if abs(omega) <= blur1:
                    near_high = min(near_high, place - blur * doubt)
                sooner = leaves and (best < 0 or place + doubt < best_place - best_doubt)
                if leaves and best >= 0:
                    close |= abs(place - best_place) <= blur * (doubt + best_doubt)
                    if not sooner and not place - doubt > best_place + best_doubt:
                        sooner = comes_first(z, border, i, j, cur, to, cur, sides[best])
                if sooner:
                    best, best_place, best_doubt = m, place, doubt
            if higher >= 0 and moves < len(ptr):
                cur, moves = higher, moves + 1
                continue
            if moves == len(ptr) or n == len(hops):
                return -1
            if not placed:
                state[t], placed = cur, True
            if best < 0:
                break
            hops[n, 0], hops[n, 1], hops[n, 2] = cur, sides[best], best
            places[n, 0], places[n, 1], crowded[n] = best_place, best_doubt, close
            places[n, 2], places[n, 3], places[n, 4] = gaps[best, 0], gaps[best, 1], gaps[best, 2]
            cur, n = sides[best], n + 1
    scratch.reach[0], scratch.reach[1] = near_low, near_high
    return n


@kernel
def order_hops(faces, edge, course, scratch, n):
    """Write in which order an edge, going up, meets its crossings: into buckets first, then by comparing."""
    places, order, buckets = scratch.places, scratch.order, scratch.buckets
    buckets[: n + 1] = 0
    for m in range(n):
        buckets[bucket(places[m, 0], course, n) + 1] += 1
    for m in range(n):
        buckets[m + 1] += buckets[m]
    for m in range(n):
        b = bucket(places[m, 0], course, n)
        order[buckets[b]] = m
        buckets[b] += 1
    for m in range(1, n):
        new, k = order[m], m - 1
        place, doubt = places[new, 0], places[new, 1]
        while k >= 0 and k >= m - NEAR:
            old = order[k]
            if places[old, 0] + places[old, 1] < place - doubt:
                break
            if not places[old, 0] - places[old, 1] > place + doubt and not precedes(faces, edge, scratch, new, old):
                break
            order[k + 1] = old
            k -= 1
        if k >= 0 and k < m - NEAR:  # many meet in one place: halve what is left instead of going through it
            low, high = 0, k + 1
            while low < high:
                middle = (low + high) // 2
                if precedes(faces, edge, scratch, new, order[middle]):
                    high = middle
                else:
                    low = middle + 1
            for move in range(k, low - 1, -1):
                order[move + 1] = order[move]
            k = low - 1
        order[k + 1] = new


@kernel
def precedes(faces, edge, scratch, new, old):
    """Tell whether an edge, going up, meets one crossing before another."""
    places, hops = scratch.places, scratch.hops
    if places[old, 0] + places[old, 1] < places[new, 0] - places[new, 1]:
        return False
    if places[old, 0] - places[old, 1] > places[new, 0] + places[new, 1]:
        return True
    return comes_first(
        faces.z, faces.border, edge[0], edge[1], hops[new, 0], hops[new, 1], hops[old, 0], hops[old, 1]
    )  # fmt: skip


@inner_kernel
def bucket(place, course, n):
    """Return the bucket of a place: of an edge that goes far, most are for what is near its anchor."""
    share = (place / (4.0 + abs(place)) - course[5]) * course[6]
    return min(n - 1, max(0, np.int64(share * n)))


@kernel
def mark_crowded(scratch, n, blur):
    """Mark the crossings that come near to another one, or to what passes by an end of the edge."""
    places, crowded, order = scratch.places, scratch.crowded, scratch.order
    reach, near = scratch.reach[0], False
    for m in range(n):
        place, doubt = places[order[m], 0], blur * places[order[m], 1]
        near |= place - doubt <= reach
        reach = max(reach, place + doubt)
    if not near and reach < scratch.reach[1]:
        return  # as nearly always
    low, high = scratch.reach[0], scratch.reach[1]
    for m in range(n):
        k, back = order[m], order[n - 1 - m]
        crowded[k] |= places[k, 0] - blur * places[k, 1] <= low
        low = max(low, places[k, 0] + blur * places[k, 1])
        crowded[back] |= places[back, 0] + blur * places[back, 1] >= high
        high = min(high, places[back, 0] - blur * places[back, 1])
