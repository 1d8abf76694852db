# mypy: ignore-errors
"""Kernels of planar subdivisions and their overlay: exact predicates, faces by clipping, walks along edges.

Symbols: z (R, 3) integers kept in float64, |z| < 2⁵¹: row k has the height z_k0 + x·z_k1 + y·z_k2. A *line* (i, j)
is the vector z_i − z_j, positive where i is the higher; lines of the window's border have the name
(−1 − b, 0), b = 0 … 3 for bottom, right, top, left, positive inside, and b + 4 for the same reversed. Seen along
its direction (q, −p) a line (c, p, q) has its positive side on the left; *upward* is a direction with dy > 0, or
dy = 0 and dx > 0.

All decisions are signs of two determinants: minor(f, g) = p_f q_g − q_f p_g, and det[e; f; g]; the line e at the
point where f and g meet has the sign det[e; f; g] · minor(f, g). A determinant that is 0 is decided as if every
row had been raised by ε_k, ε_0 ≫ ε_1 ≫ …, so ties go to the lower row, in all places in the same way
[edelsbrunner1990]. Floats decide first, with an error bound; exact sums of products where they cannot
[shewchuk1997].
"""

import numpy as np

from luthier.core._exact_kernels import sign_of_sum, two_product, two_sum
from luthier.core.jit import inner_kernel, kernel

UNIT = 2.0**-53
LARGEST = 2.0**51  # no difference of two rows has a larger component
DOUBT = 8.0 * UNIT  # the error of a determinant of exact entries is below this, times the sum of absolute products


@kernel
def add_minor(f, g, factor, terms, n):
    """Append factor·minor(f, g) as numbers whose exact sum it is; return how many there are now."""
    for high, low in (two_product(f[1], g[2]), two_product(-f[2], g[1])):
        terms[n], terms[n + 1] = two_product(high, factor)
        terms[n + 2], terms[n + 3] = two_product(low, factor)
        n += 4
    return n


@kernel
def line_of(z, border, i, j):
    """Return the vector of a line."""
    if i < 0:
        b = -1 - i
        return border[b, 0], border[b, 1], border[b, 2]
    return z[i, 0] - z[j, 0], z[i, 1] - z[j, 1], z[i, 2] - z[j, 2]


@kernel
def minor_sign(f, g):
    """Return the exact sign of minor(f, g)."""
    left, right = f[1] * g[2], f[2] * g[1]
    if abs(left - right) > DOUBT * (abs(left) + abs(right)):
        return 1 if left > right else -1
    terms = np.empty(8)
    return sign_of_sum(terms, add_minor(f, g, 1.0, terms, 0))


@kernel
def perturbed_sign(n_rows, lines, vectors):
    """Return the sign of a determinant that is 0, after every row is raised by its own small amount.

    The determinant is linear in the first column: row k has the coefficient Σ ± minor of the other two lines,
    over the lines that it is part of. The lowest row whose coefficient is not 0 decides; borders come last.
    """
    names, signs, owners = np.empty(6, np.int64), np.empty(6), np.empty(6, np.int64)
    n = 0
    for e in range(3):
        i, j = lines[e, 0], lines[e, 1]
        if i < 0:
            b = -1 - i
            names[n], signs[n], owners[n] = n_rows + b % 4, 1.0 if b < 4 else -1.0, e
            n += 1
        else:
            names[n], signs[n], owners[n] = i, 1.0, e
            names[n + 1], signs[n + 1], owners[n + 1] = j, -1.0, e
            n += 2
    terms = np.empty(48)
    last = np.int64(-1)
    while True:
        name = np.int64(n_rows + 8)
        for a in range(n):
            if last < names[a] < name:
                name = names[a]
        if name == n_rows + 8:
            return 0
        size = 0
        for a in range(n):
            if names[a] == name:
                f, g = vectors[(owners[a] + 1) % 3], vectors[(owners[a] + 2) % 3]
                size = add_minor(f, g, signs[a], terms, size)
        sign = sign_of_sum(terms, size)
        if sign != 0:
            return sign
        last = name


@kernel
def exact_side(z, border, e0, e1, f0, f1, g0, g1):
    """Return the sign of det[e; f; g], exactly, ties decided by perturbation."""
    vectors = np.empty((3, 3))
    vectors[0, 0], vectors[0, 1], vectors[0, 2] = line_of(z, border, e0, e1)
    vectors[1, 0], vectors[1, 1], vectors[1, 2] = line_of(z, border, f0, f1)
    vectors[2, 0], vectors[2, 1], vectors[2, 2] = line_of(z, border, g0, g1)
    terms = np.empty(24)
    n = 0
    for e in range(3):
        n = add_minor(vectors[(e + 1) % 3], vectors[(e + 2) % 3], vectors[e, 0], terms, n)
    sign = sign_of_sum(terms, n)
    if sign != 0:
        return sign
    lines = np.array([[e0, e1], [f0, f1], [g0, g1]])
    return perturbed_sign(len(z), lines, vectors)


@kernel
def side(z, border, e0, e1, f0, f1, g0, g1):
    """Return the sign of det[e; f; g]: by floats if they suffice."""
    ce, pe, qe = line_of(z, border, e0, e1)
    cf, pf, qf = line_of(z, border, f0, f1)
    cg, pg, qg = line_of(z, border, g0, g1)
    a, b = pf * qg, qf * pg
    det, size = ce * (a - b), abs(ce) * (abs(a) + abs(b))
    a, b = qf * cg, cf * qg
    det, size = det + pe * (a - b), size + abs(pe) * (abs(a) + abs(b))
    a, b = cf * pg, pf * cg
    det, size = det + qe * (a - b), size + abs(qe) * (abs(a) + abs(b))
    if abs(det) > DOUBT * size:
        return 1 if det > 0.0 else -1
    return exact_side(z, border, e0, e1, f0, f1, g0, g1)


@kernel
def difference_of_products(a, b, c, d):
    """Return a·b − c·d, rounded once if all are integers below 2⁵¹: lines that nearly coincide leave nothing else."""
    left, lost_left = two_product(a, b)
    right, lost_right = two_product(c, d)
    apart, lost = two_sum(left, -right)
    return apart + (lost + (lost_left - lost_right))


@kernel
def meet(f, g, out):
    """Write the point where two lines meet, (m, m·x, m·y) with m = minor(f, g), and sums of absolute products."""
    out[0] = difference_of_products(f[1], g[2], f[2], g[1])
    out[1] = difference_of_products(f[2], g[0], f[0], g[2])
    out[2] = difference_of_products(f[0], g[1], f[1], g[0])
    out[3] = abs(f[1] * g[2]) + abs(f[2] * g[1])
    out[4] = abs(f[2] * g[0]) + abs(f[0] * g[2])
    out[5] = abs(f[0] * g[1]) + abs(f[1] * g[0])


@inner_kernel
def look_at_corners(z, border, i, j, c, p, q, names, points, signs, n):
    """Write on which side of the line (i, j) the corners of a polygon are; return how many lie below."""
    below = 0
    for m in range(n):
        det = c * points[m, 0] + p * points[m, 1] + q * points[m, 2]
        doubt = DOUBT * (abs(c) * points[m, 3] + abs(p) * points[m, 4] + abs(q) * points[m, 5])
        if det > doubt:
            signs[m] = 1
        elif det < -doubt:
            signs[m] = -1
            below += 1
        else:
            after = (m + 1) % n
            signs[m] = exact_side(
                z, border, i, j, names[m, 0], names[m, 1], names[after, 0], names[after, 1]
            )  # fmt: skip
            below += signs[m] < 0
    return below


@kernel
def cut(names, vectors, points, signs, n, i, j, c, p, q):
    """Replace the corners with a negative sign by the line (i, j); return how many lines there are, −1 for a fault."""
    end = 0
    while not (signs[end] < 0 and signs[(end + 1) % n] > 0):
        end += 1
        if end == n:
            return -1
    # Line end + 1 is the first to stay; go round until a corner is cut off, and lay the new line there.
    size = 0
    old_names, old_vectors, old_points = names[:n].copy(), vectors[:n].copy(), points[:n].copy()
    m = (end + 1) % n
    while True:
        names[size], vectors[size], points[size] = old_names[m], old_vectors[m], old_points[m]
        size += 1
        if signs[m] < 0:
            break
        m = (m + 1) % n
    names[size, 0], names[size, 1] = i, j
    vectors[size, 0], vectors[size, 1], vectors[size, 2] = c, p, q
    size += 1
    meet(vectors[size - 2], vectors[size - 1], points[size - 2])
    meet(vectors[size - 1], vectors[0], points[size - 1])
    return size


@kernel
def lay_window(border, names, vectors, points):
    """Write the window as a polygon: its lines counter-clockwise, and where each meets the next."""
    for b in range(4):
        names[b, 0], names[b, 1] = -1 - b, 0
        vectors[b] = border[b]
    for b in range(4):
        meet(vectors[b], vectors[(b + 1) % 4], points[b])


@kernel
def clip_face(z, first, last, k, border, names, vectors, points, signs):
    """Write which lines bound the face of row k, counter-clockwise; return how many.

    The face is the window cut by the lines (k, j) of all other rows. ``names[m]`` names a line, ``vectors[m]`` is
    it, ``points[m]`` where it meets the next.
    """
    n = 4
    lay_window(border, names, vectors, points)
    k0, k1, k2 = z[k, 0], z[k, 1], z[k, 2]
    for j in range(first, last):
        if j == k:
            continue
        c, p, q = k0 - z[j, 0], k1 - z[j, 1], k2 - z[j, 2]
        below = look_at_corners(z, border, k, j, c, p, q, names, points, signs, n)
        if below == n:
            return 0
        if below > 0:  # the same four lines as in `clip_cell`: laid into both by a kernel they cost half as much again
            n = cut(names, vectors, points, signs, n, k, j, c, p, q)
    return n


@kernel
def clip_cell(z, border, face_ptr, sides, faces, names, vectors, points, signs):
    """Write which lines bound the cell on which every list selects its face; return how many (0: no such cell)."""
    n = 4
    lay_window(border, names, vectors, points)
    for k in faces:
        for m in range(face_ptr[k], face_ptr[k + 1]):
            j = sides[m]
            if j < 0:
                continue
            c, p, q = z[k, 0] - z[j, 0], z[k, 1] - z[j, 1], z[k, 2] - z[j, 2]
            below = look_at_corners(z, border, k, j, c, p, q, names, points, signs, n)
            if below == n:
                return 0
            if below > 0:
                n = cut(names, vectors, points, signs, n, k, j, c, p, q)
    return n


@kernel
def highest_at_corner(z, border, first, last):
    """Return the row that is the highest at the lower left corner of the window."""
    best = first
    for k in range(first + 1, last):
        if side(z, border, k, best, -4, 0, -1, 0) > 0:
            best = k
    return best


@kernel
def faces_at_corner(z, border, offsets, faces):
    """Write the face of each list at the lower left corner of a window."""
    for s in range(len(faces)):
        faces[s] = highest_at_corner(z, border, offsets[s], offsets[s + 1])


@kernel
def subdivide(z, offsets, low, high, border, face_rows, face_ptr, sides, counts):
    """Write the faces of lists low … high − 1: their rows ascending, and the names of their sides.

    ``sides[face_ptr[f]:face_ptr[f + 1]]`` are the sides of face f, counter-clockwise: rows, or −1 − b.
    ``counts[s]`` is how many faces list s has; returns how many there are in all, −1 for a fault.
    """
    longest = 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    names, signs = np.empty((longest + 8, 2), np.int64), np.empty(longest + 8, np.int64)
    vectors, points = np.empty((longest + 8, 3)), np.empty((longest + 8, 6))
    queue, place = np.empty(longest, np.int64), np.empty(longest, np.int64)
    starts, found = np.empty(longest + 1, np.int64), np.empty(8 * longest + 16, np.int64)
    n_faces = 0
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        place[: last - first] = -1
        best = highest_at_corner(z, border, first, last)
        queue[0], place[best - first], starts[0] = best, 0, 0
        head, tail = 0, 1
        while head < tail:
            n = clip_face(z, first, last, queue[head], border, names, vectors, points, signs)
            if n < 0 or starts[head] + n > len(found):
                return -1
            for m in range(n):
                j = names[m, 1] if names[m, 0] >= 0 else names[m, 0]
                found[starts[head] + m] = j
                if j >= 0 and place[j - first] < 0:
                    place[j - first] = tail
                    queue[tail] = j
                    tail += 1
            starts[head + 1] = starts[head] + n
            head += 1
        counts[s - low] = tail
        for k in range(last - first):
            if place[k] >= 0:
                f = place[k]
                n = starts[f + 1] - starts[f]
                if face_ptr[n_faces] + n > len(sides):
                    return -1
                face_rows[n_faces] = first + k
                sides[face_ptr[n_faces] : face_ptr[n_faces] + n] = found[starts[f] : starts[f + 1]]
                face_ptr[n_faces + 1] = face_ptr[n_faces] + n
                n_faces += 1
    return n_faces


@inner_kernel
def upward(p, q):
    """Tell whether a line's own direction, (q, −p), goes up."""
    return p < 0.0 or (p == 0.0 and q > 0.0)


@kernel
def collect_edges(z, face_ptr, sides, edges, edge_of_side):
    """Write every edge between two faces once, as its upward direction sees it; return how many, −1 for a fault.

    ``edges[e]`` is: face on the left, on the right, the lines (2 names each) that end it below and above, and
    1 if the left face has its lowest point at the lower end. ``edge_of_side`` names the edge of each side.
    """
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
def place_ends(z, border, edges, ends, turns):
    """Write where edges begin and end: x, y, how wrong heights may be there, for both; and signs of minors.

    ``turns[e]`` has the signs of minor(e, line below) and minor(e, line above).
    """
    point, e, g = np.empty(6), np.empty(3), np.empty(3)
    for n in range(len(edges)):
        e[0], e[1], e[2] = line_of(z, border, edges[n, 0], edges[n, 1])
        for end in range(2):
            g[0], g[1], g[2] = line_of(z, border, edges[n, 2 + 2 * end], edges[n, 3 + 2 * end])
            meet(e, g, point)
            turns[n, end] = minor_sign(e, g)
            x, y = point[1] / point[0], point[2] / point[0]
            ends[n, 3 * end], ends[n, 3 * end + 1] = x, y
            # Only where a border ends the edge are the products no integers, and more than the last bit is lost.
            lost = 8.0 * UNIT * UNIT * (point[4] + point[5]) / abs(point[0])
            ends[n, 3 * end + 2] = LARGEST * (lost + 10.0 * UNIT * (1.0 + abs(x) + abs(y)))


@kernel
def comes_first(z, border, i, j, a0, a1, b0, b1):
    """Tell whether the edge (i, j), going up, leaves a0 for a1 before it leaves b0 for b1."""
    return side(z, border, b0, b1, i, j, a0, a1) > 0


@kernel
def walk(z, border, face_ptr, sides, lists, here, edge, ends, turn, state, hops, times):
    """Write the crossings of an edge with the subdivisions of other lists; return how many, −1 for a fault.

    ``state[t]`` is a face of list t from which the search for the lower end begins, then the face found there.
    ``hops[m]`` is: face before, face after, number of the side between them; ``times[m]`` how far along the
    edge, and by how much that may be wrong. Lists are looked at one after another; `here` is left out.
    """
    i, j = edge[0], edge[1]
    x0, y0, doubt0 = ends[0], ends[1], ends[2]
    x1, y1, doubt1 = ends[3], ends[4], ends[5]
    n = 0
    for a in range(len(lists)):
        t = lists[a]
        if t == here:
            continue
        cur = state[t]
        placed, moves = False, 0
        while True:
            best, best_time, best_doubt, moved = -1, 2.0, 0.0, False
            c, p, q = z[cur, 0], z[cur, 1], z[cur, 2]
            for m in range(face_ptr[cur], face_ptr[cur + 1]):
                to = sides[m]
                if to < 0:
                    continue
                dc, dp, dq = c - z[to, 0], p - z[to, 1], q - z[to, 2]
                alpha = dc + x0 * dp + y0 * dq
                if not placed and not alpha > doubt0:
                    if alpha < -doubt0 or turn[0] * side(z, border, cur, to, i, j, edge[2], edge[3]) < 0:
                        cur, moved = to, True
                        break
                omega = dc + x1 * dp + y1 * dq
                if omega > doubt1:
                    continue
                if not omega < -doubt1 and turn[1] * side(z, border, cur, to, i, j, edge[4], edge[5]) > 0:
                    continue
                time, doubt = 0.5, np.inf
                if alpha != omega:
                    time = alpha / (alpha - omega)
                    time = min(max(time, 0.0), 1.0) if time == time else 0.5
                    doubt = 2.0 * (doubt0 + doubt1) / abs(alpha - omega)
                sooner = best < 0 or time + doubt < best_time - best_doubt
                if not sooner and not time - doubt > best_time + best_doubt:
                    sooner = comes_first(z, border, i, j, cur, to, cur, sides[best])
                if sooner:
                    best, best_time, best_doubt = m, time, doubt
            if moved:
                moves += 1
                if moves == len(face_ptr):
                    return -1
                continue
            if not placed:
                state[t] = cur
                placed = True
            if best < 0:
                break
            if n == len(hops):
                return -1
            hops[n, 0], hops[n, 1], hops[n, 2] = cur, sides[best], best
            times[n, 0], times[n, 1] = best_time, best_doubt
            n += 1
            cur = sides[best]
    return n


@kernel
def order_hops(z, border, edge, hops, times, n, bend, order, buckets):
    """Write in which order an edge, going up, meets its crossings: into buckets first, then by comparing.

    Of a long edge most crossings may lie near its lower end; `bend` stretches the buckets there.
    """
    buckets[: n + 1] = 0
    for m in range(n):
        buckets[bucket(times[m, 0], bend, n) + 1] += 1
    for m in range(n):
        buckets[m + 1] += buckets[m]
    for m in range(n):
        b = bucket(times[m, 0], bend, n)
        order[buckets[b]] = m
        buckets[b] += 1
    for m in range(1, n):
        new = order[m]
        time, doubt = times[new, 0], times[new, 1]
        k = m - 1
        while k >= 0:
            old = order[k]
            if times[old, 0] + times[old, 1] < time - doubt:
                break
            if not times[old, 0] - times[old, 1] > time + doubt and not comes_first(
                z, border, edge[0], edge[1], hops[new, 0], hops[new, 1], hops[old, 0], hops[old, 1]
            ):
                break
            order[k + 1] = old
            k -= 1
        order[k + 1] = new


@inner_kernel
def bucket(time, bend, n):
    """Return the bucket of a time in [0, 1]."""
    return min(n - 1, np.int64(time * (1.0 + bend) / (time + bend) * n))


@kernel
def sweep(z, border, face_list, values, here, edge, ends, kind, hops, order, n, totals, sums, low, keys):
    """Write the cells whose lowest point this edge owns; return how many.

    The crossing with an edge of another list is the lowest point of one cell: the one between the parts of both
    that go up. Inner edges (kind 0) count the crossings with later lists, the border's bottom (1) all, its right
    (2) and left (4) side those that come in from there. ``totals`` holds the sum over the other lists.
    """
    c, p, q = line_of(z, border, edge[0], edge[1])
    count = 0
    if (kind == 0 and edge[6] > 0) or kind == 1:
        for v in range(len(totals)):
            sums[0, v] = totals[v] + (values[edge[0], v] if kind == 0 else 0)
        low[0, 0], low[0, 1], keys[0, 1] = ends[0], ends[1], -1
        count = 1
    for m in range(n):
        k = order[m]
        old, new = hops[k, 0], hops[k, 1]
        for v in range(len(totals)):
            totals[v] += values[new, v] - values[old, v]
        # The line between them, with `old` on its left, leaves to the left of this edge; it may go down there.
        c2, p2, q2 = z[old, 0] - z[new, 0], z[old, 1] - z[new, 1], z[old, 2] - z[new, 2]
        up_left = upward(p2, q2)
        if kind == 0:
            if face_list[old] < here:
                continue
            own = edge[0] if up_left else edge[1]
            for v in range(len(totals)):
                sums[count, v] = totals[v] + values[own, v]
        else:
            if (kind == 2 and not up_left) or (kind == 4 and up_left):
                continue
            for v in range(len(totals)):
                sums[count, v] = totals[v]
        minor = difference_of_products(p, q2, q, p2)
        low[count, 0] = difference_of_products(q, c2, c, q2) / minor
        low[count, 1] = difference_of_products(c, p2, p, c2) / minor
        keys[count, 1] = new
        count += 1
    return count


@kernel
def stream(
    z, border, face_ptr, sides, lists, face_list, values, constant, edges, ends, turns, kinds, bends,
    start, stop, state, hops, times, order, buckets, sums, low, keys,
):  # fmt: skip
    """Write the cells that edges start … own, until room runs short; return the next edge and how many cells.

    Less than 0 cells are a fault.
    ``constant`` is the sum of values over the lists that have one face only.
    """
    totals = np.empty(values.shape[1], sums.dtype)
    count = 0
    e = start
    while e < stop:
        here = face_list[edges[e, 0]] if kinds[e] == 0 else -1
        n = walk(z, border, face_ptr, sides, lists, here, edges[e], ends[e], turns[e], state, hops, times)
        if n < 0:
            return e, -1
        if count + n + 1 > len(sums):
            break
        order_hops(z, border, edges[e], hops, times, n, bends[e], order, buckets)
        totals[:] = constant
        for a in range(len(lists)):
            if lists[a] != here:
                for v in range(len(totals)):
                    totals[v] += values[state[lists[a]], v]
        new = sweep(
            z, border, face_list, values, here, edges[e], ends[e], kinds[e], hops, order, n, totals,
            sums[count:], low[count:], keys[count:],
        )  # fmt: skip
        keys[count : count + new, 0] = e
        count += new
        e += 1
    return e, count


@kernel
def faces_of_cell(
    z, border, face_ptr, sides, lists, face_list, edge, ends, turn, kind, here, target, state, hops, times, order,
    buckets, bend,
):  # fmt: skip
    """Write into `state` the faces of the cell that an edge owns where it enters `target`; return if it does."""
    n = walk(z, border, face_ptr, sides, lists, here, edge, ends, turn, state, hops, times)
    if n < 0:
        return False
    if target < 0:
        if kind == 0:
            state[here] = edge[0]
        return True
    order_hops(z, border, edge, hops, times, n, bend, order, buckets)
    for m in range(n):
        old, new = hops[order[m], 0], hops[order[m], 1]
        state[face_list[old]] = new
        if new == target:
            if kind == 0:
                state[here] = edge[0] if upward(z[old, 1] - z[new, 1], z[old, 2] - z[new, 2]) else edge[1]
            return True
    return False


@kernel
def cross(
    z, border, face_ptr, sides, lists, face_list, of_side, edges, ends, turns, kinds, bends, start, stop,
    state, hops, times, order, buckets, counts, others, others_left,
):  # fmt: skip
    """Write the crossings of edges start …, in their order, until room runs short; return next edge and how many.

    ``counts[e]`` is how many edge e has; of each: the other edge, and whether its upward part leaves to the
    left.
    """
    count = 0
    e = start
    while e < stop:
        here = face_list[edges[e, 0]] if kinds[e] == 0 else -1
        n = walk(z, border, face_ptr, sides, lists, here, edges[e], ends[e], turns[e], state, hops, times)
        if n < 0:
            return e, -1
        if count + n > len(others):
            break
        order_hops(z, border, edges[e], hops, times, n, bends[e], order, buckets)
        for m in range(n):
            k = order[m]
            old, new = hops[k, 0], hops[k, 1]
            others[count] = of_side[hops[k, 2]]
            others_left[count] = upward(z[old, 1] - z[new, 1], z[old, 2] - z[new, 2])
            count += 1
        counts[e] = n
        e += 1
    return e, count
