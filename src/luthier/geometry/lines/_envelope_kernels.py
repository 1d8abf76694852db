# mypy: ignore-errors
"""Kernels for upper envelopes of lines a + t·b, many segments and directions at once.

Symbols: K lines of a segment, D columns, w (D,) the start, d (D,) a direction, t the position; line k
has a_k = w·h_k and b_k = d·h_k, summed in the order of the columns, one multiplication and one
addition at a time.
"""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

LANES = 64  # independent running maxima: a comparison of vectors, where one maximum would be a chain
FEW = 40  # lines that are sorted by insertion


@inner_kernel
def dot(features, row, used, n_used, coefficients):
    """Return the product of a row with coefficients, of which only those at `used` are not 0."""
    total = 0.0
    for i in range(n_used):
        total += coefficients[used[i]] * features[row, used[i]]
    return total


@inner_kernel
def line(features, row, w, used_w, n_w, d, used_d, n_d):
    """Return a and b of a row."""
    return dot(features, row, used_w, n_w, w), dot(features, row, used_d, n_d, d)


@inner_kernel
def nonzero(coefficients, used):
    """Write where coefficients are not 0; return how many are."""
    n = 0
    for j in range(len(coefficients)):
        if coefficients[j] != 0.0:
            used[n] = j
            n += 1
    return n


@kernel
def stack_lines(a, b, order, n, starts, kept):
    """Write the upper envelope of lines, visited by ascending slope; return how many lines it has.

    Line ``kept[i]`` is the highest from ``starts[i]`` to ``starts[i + 1]``; the first starts at −inf.
    Of equal lines the lowest index stays; a line that is highest in one point only does not stay.
    """
    size = 0
    for i in range(n):
        k = order[i]
        if size > 0 and b[kept[size - 1]] == b[k]:
            top = kept[size - 1]
            if a[k] < a[top] or (a[k] == a[top] and k > top):
                continue
            size -= 1
        t = -np.inf
        while size > 0:
            top = kept[size - 1]
            t = (a[top] - a[k]) / (b[k] - b[top])
            if t > starts[size - 1]:
                break
            size -= 1
        if size == 0:
            t = -np.inf
        elif t == np.inf:  # slopes so close that the lines meet nowhere a float can name
            continue
        starts[size] = t
        kept[size] = k
        size += 1
    return size


@kernel
def sort_few(b, order, n):
    """Sort the first n of `order` by ascending slope, in place; the sort is stable."""
    for i in range(1, n):
        k = order[i]
        slope = b[k]
        j = i - 1
        while j >= 0 and b[order[j]] > slope:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = k


@kernel
def write_events(q, segment, offset, size, starts, kept, b, rows, times, before, after, bends, counts, firsts):
    """Append the breakpoints of one envelope to those of direction q; line k is row offset + rows[k]."""
    c = counts[q]
    firsts[q, segment] = offset + rows[kept[0]]
    for i in range(1, size):
        times[q, c] = starts[i]
        before[q, c] = offset + rows[kept[i - 1]]
        after[q, c] = offset + rows[kept[i]]
        bends[q, c] = b[kept[i]] - b[kept[i - 1]]
        c += 1
    counts[q] = c


@kernel
def sorted_envelopes(a, b, offsets, segment, times, before, after, bends, counts, firsts):
    """Sort all lines of each segment, (M,) and (Q, M), and stack them; the reference.

    Begins at `segment`, stops before one that might not fit; returns the number of that segment.
    """
    longest = 1
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    starts, kept, rows = np.empty(longest), np.empty(longest, np.int64), np.arange(longest)
    while segment < len(offsets) - 1:
        first, last = offsets[segment], offsets[segment + 1]
        if counts.max() + last - first > times.shape[1]:
            break
        for q in range(b.shape[0]):
            slopes = b[q, first:last]
            size = stack_lines(a[first:last], slopes, np.argsort(slopes), last - first, starts, kept)
            write_events(
                q, segment, first, size, starts, kept, slopes, rows, times, before, after, bends, counts, firsts
            )
        segment += 1
    return segment


@kernel
def centre(features, offsets, copy, radius, size, exact):
    """Write features minus those of their segment's first row, column by column, as float32.

    `copy` is flat: segment s has a (D, K) block from D·offsets[s]. ``radius[s, j]`` is the largest
    absolute value in a column of the block, ``size[s, j]`` the largest of the features themselves;
    ``exact[s, j]`` says that nothing of the column was lost.
    """
    n_columns = features.shape[1]
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        k = last - first
        for j in range(n_columns):
            block = copy[n_columns * first + j * k : n_columns * first + (j + 1) * k]
            origin = features[first, j]
            far, large, lossless = 0.0, 0.0, True
            for r in range(k):
                h = features[first + r, j]
                far = max(far, abs(h - origin))
                large = max(large, abs(h))
                block[r] = h - origin
                lossless &= origin + np.float64(block[r]) == h
            radius[s, j], size[s, j], exact[s, j] = far, large, lossless


@kernel
def project(columns, used, n_used, coefficients, out):
    """Write Σ_j coefficients[j]·columns[j] over the used columns, (D, K) float32 → (K,)."""
    k = columns.shape[1]
    if n_used == 0:
        out[:k] = 0.0
        return
    j = used[0]
    c0, x0 = coefficients[j], columns[j]
    for r in range(k):
        out[r] = c0 * x0[r]
    i = 1
    while i + 4 <= n_used:
        c0, c1, c2, c3 = (
            coefficients[used[i]], coefficients[used[i + 1]], coefficients[used[i + 2]], coefficients[used[i + 3]]
        )  # fmt: skip
        x0, x1, x2, x3 = columns[used[i]], columns[used[i + 1]], columns[used[i + 2]], columns[used[i + 3]]
        for r in range(k):
            out[r] += (c0 * x0[r] + c1 * x1[r]) + (c2 * x2[r] + c3 * x3[r])
        i += 4
    while i < n_used:
        c0, x0 = coefficients[used[i]], columns[used[i]]
        for r in range(k):
            out[r] += c0 * x0[r]
        i += 1


@kernel
def place_of(a, b, t, height):
    """Return the first line with this height at t."""
    for low in range(0, len(a), LANES):
        here = False
        for r in range(LANES):
            here |= a[low + r] + t * b[low + r] == height
        if here:
            for k in range(low, low + LANES):
                if a[k] + t * b[k] == height:
                    return k
    return 0


@kernel
def tops(a, b, t1, t2, top1, top2, out):
    """Write which line is highest at t1 and which at t2, the first of equals.

    Lengths are multiples of LANES. Heights are compared first; where the highest is, is looked up.
    """
    top1[:] = -np.inf
    top2[:] = -np.inf
    for low in range(0, len(a), LANES):
        for r in range(LANES):
            v1 = a[low + r] + t1 * b[low + r]
            v2 = a[low + r] + t2 * b[low + r]
            top1[r] = v1 if v1 > top1[r] else top1[r]
            top2[r] = v2 if v2 > top2[r] else top2[r]
    out[0] = place_of(a, b, t1, top1.max())
    out[1] = place_of(a, b, t2, top2.max())


@kernel
def mark(a, b, vertices, floors, low, high, flags):
    """Flag 1 the lines at or above the floor of any of four vertices, 2 those whose slope is extreme."""
    t0, t1, t2, t3 = vertices[0], vertices[1], vertices[2], vertices[3]
    f0, f1, f2, f3 = floors[0], floors[1], floors[2], floors[3]
    for k in range(len(a)):
        x, y = a[k], b[k]
        above = (x + t0 * y >= f0) | (x + t1 * y >= f1) | (x + t2 * y >= f2) | (x + t3 * y >= f3)
        extreme = (y < low) | (y > high)
        flags[k] = np.uint8(above) | (np.uint8(extreme) << np.uint8(1))


@inner_kernel
def crossing(a, b, i, j, low, high):
    """Return where line j overtakes line i, kept within [low, high]."""
    if b[j] <= b[i]:
        return low
    return min(max((a[i] - a[j]) / (b[j] - b[i]), low), high)


@kernel
def lay_polyline(a, b, reach, middle, vertices):
    """Write the four vertices, ascending, at which each of five lines hands over to the next."""
    vertices[0] = crossing(a, b, 0, 1, -reach, middle[0])
    vertices[1] = crossing(a, b, 1, 2, middle[0], 0.0)
    vertices[2] = crossing(a, b, 2, 3, 0.0, middle[1])
    vertices[3] = crossing(a, b, 3, 4, middle[1], reach)


@kernel
def lower_floors(a, b, origin, bound_a, bound_b, vertices, floors):
    """Write the height of the polyline at its vertices, relative to the first row, less the margin.

    Between two vertices the polyline runs below the line that belongs there, because at both it is at
    most as high; so it is nowhere above the envelope, wherever the vertices are.
    """
    for i in range(4):
        t = np.float64(vertices[i])
        left = (a[i] - origin[0]) + t * (b[i] - origin[1])
        right = (a[i + 1] - origin[0]) + t * (b[i + 1] - origin[1])
        floors[i] = min(left, right) - (bound_a + abs(t) * bound_b)


@kernel
def gather(features, first, k, flags, words, w, used_w, n_w, d, used_d, n_d, low, high, rows, a, b):
    """Write row, a and b of the lines that may be on the envelope; return how many."""
    n = 0
    for group in range((k + 7) >> 3):
        if words[group] == 0:
            continue
        for r in range(8 * group, min(8 * group + 8, k)):
            if flags[r] == 0:
                continue
            slope = dot(features, first + r, used_d, n_d, d)
            if flags[r] == 2 and low <= slope <= high:
                continue
            rows[n], a[n], b[n] = r, dot(features, first + r, used_w, n_w, w), slope
            n += 1
    return n


@inner_kernel
def error_bound(coefficients, radius, size, segment, unit, exact_unit, tiny):
    """Return a bound on the error of a projected column sum (see `luthier.geometry.lines.envelope`)."""
    near = far = 0.0
    for j in range(len(coefficients)):
        near += abs(coefficients[j]) * radius[segment, j]
        far += abs(coefficients[j]) * size[segment, j]
    return near, unit * near + exact_unit * far + tiny


@kernel
def fast_envelopes(
    features, copy, radius, size, exact, offsets, w, directions, units, segment,
    times, before, after, bends, counts, firsts,
):  # fmt: skip
    """Write the envelopes of all segments along all directions, as `sorted_envelopes` does.

    Every line is seen in float32 first: three passes find five high lines and drop what lies under
    them for certain. The rest are computed in float64, sorted and stacked.
    """
    n_columns = features.shape[1]
    longest = np.int64(1)
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    padded = (longest + LANES - 1) // LANES * LANES
    a32, b32, flags = np.empty(padded, np.float32), np.zeros(padded, np.float32), np.zeros(padded, np.uint8)
    a, b, starts = np.empty(longest), np.empty(longest), np.empty(longest)
    rows, kept, order = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    lanes = np.empty((2, LANES), np.float32)
    used_w, used_d = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    chosen, probes, vertices = np.empty(2, np.int64), np.empty((4, 5)), np.empty((2, 4), np.float32)
    n_w, w32, directions32 = nonzero(w, used_w), w.astype(np.float32), directions.astype(np.float32)
    while segment < len(offsets) - 1:
        first, last = offsets[segment], offsets[segment + 1]
        k = last - first
        if counts.max() + k > times.shape[1]:
            break
        columns = copy[n_columns * first : n_columns * last].reshape((n_columns, k))
        wide = (k + LANES - 1) // LANES * LANES
        project(columns, used_w, n_w, w32, a32)
        a32[k:wide] = -np.inf
        zero = np.float32(0.0)
        tops(a32[:wide], b32[:wide], zero, zero, lanes[0], lanes[1], chosen)
        top = chosen[0]
        for q in range(len(directions)):
            d = directions[q]
            n_d = nonzero(d, used_d)
            project(columns, used_d, n_d, directions32[q], b32)
            n = survivors(
                features, first, k, a32[:wide], b32[:wide], flags[:wide], w, used_w, n_w, d, used_d, n_d,
                radius, size, exact, segment, units, lanes, top, chosen, probes, vertices, rows, a, b,
            )  # fmt: skip
            if n > FEW:
                sorted_rows = np.argsort(b[:n])
                for i in range(n):
                    order[i] = sorted_rows[i]
            else:
                for i in range(n):
                    order[i] = i
                sort_few(b, order, n)
            n = stack_lines(a, b, order, n, starts, kept)
            write_events(q, segment, first, n, starts, kept, b, rows, times, before, after, bends, counts, firsts)
        segment += 1
    return segment


@kernel
def survivors(
    features, first, k, a32, b32, flags, w, used_w, n_w, d, used_d, n_d,
    radius, size, exact, segment, units, lanes, top, chosen, probes, vertices, rows, a, b,
):  # fmt: skip
    """Write row, a and b of the lines that may be on the envelope of one segment; return how many.

    `top` is the highest line at t = 0; `chosen`, `probes`, `vertices` and `lanes` are scratch.
    """
    spread_a, bound_a = error_bound(w, radius, size, segment, units[0], units[1], units[2])
    spread_b, bound_b = error_bound(d, radius, size, segment, units[0], units[1], units[2])
    reach = min(units[3] * spread_a / spread_b, units[4]) if spread_b > 0.0 else 0.0
    probe_a, probe_b, middle, origin = probes[0], probes[1], probes[2], probes[3]
    tops(a32, b32, np.float32(-reach), np.float32(reach), lanes[0], lanes[1], chosen)
    probe_a[0], probe_b[0] = line(features, first + chosen[0], w, used_w, n_w, d, used_d, n_d)
    probe_a[2], probe_b[2] = line(features, first + top, w, used_w, n_w, d, used_d, n_d)
    probe_a[4], probe_b[4] = line(features, first + chosen[1], w, used_w, n_w, d, used_d, n_d)
    middle[0] = crossing(probe_a, probe_b, 0, 2, -reach, 0.0)
    middle[1] = crossing(probe_a, probe_b, 2, 4, 0.0, reach)
    tops(
        a32, b32, np.float32(middle[0]), np.float32(middle[1]),
        lanes[0], lanes[1], chosen,
    )  # fmt: skip
    probe_a[1], probe_b[1] = line(features, first + chosen[0], w, used_w, n_w, d, used_d, n_d)
    probe_a[3], probe_b[3] = line(features, first + chosen[1], w, used_w, n_w, d, used_d, n_d)
    origin[0], origin[1] = line(features, first, w, used_w, n_w, d, used_d, n_d)
    lay_polyline(probe_a, probe_b, reach, middle, vertices[0])
    lower_floors(probe_a, probe_b, origin, bound_a, bound_b, vertices[0], vertices[1])
    low, high = np.float32(-np.inf), np.float32(np.inf)
    if n_d == 1 and exact[segment, used_d[0]] and abs(d[used_d[0]]) == 1.0:
        bound_b = 0.0  # slopes are what they seem, and ties of them are ties
    if spread_b > 0.0:
        low, high = np.float32(probe_b[0] - origin[1] + bound_b), np.float32(probe_b[4] - origin[1] - bound_b)
    mark(a32, b32, vertices[0], vertices[1], low, high, flags)
    return gather(
        features, first, k, flags, flags.view(np.uint64), w, used_w, n_w, d, used_d, n_d,
        probe_b[0], probe_b[4], rows, a, b,
    )  # fmt: skip
