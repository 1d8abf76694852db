# mypy: ignore-errors
"""Kernels that look at all lines a + t·b of a segment in float32, and keep those that may be on its upper envelope.

Symbols: K lines of a segment, D columns, w (D,) the start, d (D,) a direction, t the position; line k
has a_k = w·h_k and b_k = d·h_k, summed in the order of the columns, one multiplication and one
addition at a time.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

LANES = 64  # independent running maxima: a comparison of vectors, where one maximum would be a chain


class Rows(NamedTuple):
    """The rows of all segments, and what `centre` writes of them."""

    offsets: np.ndarray
    features: np.ndarray
    copy: np.ndarray
    radius: np.ndarray
    size: np.ndarray
    exact: np.ndarray


class Vector(NamedTuple):
    """Coefficients of the columns, (D,), of which only the first n of `used` are not 0."""

    coefficients: np.ndarray
    used: np.ndarray
    n: int


class Seen(NamedTuple):
    """The lines of a segment in float32, (B, LANES), flags of those that may be on the envelope, and scratch for it."""

    a: np.ndarray
    b: np.ndarray
    flags: np.ndarray
    lanes: np.ndarray
    chosen: np.ndarray
    probes: np.ndarray
    vertices: np.ndarray


class Lines(NamedTuple):
    """Lines that may be on the envelope, in float64: line k is row ``rows[k]`` of its segment."""

    rows: np.ndarray
    a: np.ndarray
    b: np.ndarray


@inner_kernel
def dot(features, row, used, n_used, coefficients):
    """Return the product of a row with coefficients, of which only those at `used` are not 0."""
    total = 0.0
    for i in range(n_used):
        total += coefficients[used[i]] * features[row, used[i]]
    return total


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
def tops(a, b, t1, t2, lanes, out):
    """Write which line is highest at t1 and which at t2; of equals, any.

    Lines lie in blocks of LANES, (B, LANES): two indices that count from 0 let the compiler see that no place is
    negative, and compare whole vectors.
    """
    top1, top2 = lanes[0], lanes[1]
    top1[:] = -np.inf
    top2[:] = -np.inf
    for i in range(len(a)):
        for r in range(LANES):
            v1 = a[i, r] + t1 * b[i, r]
            v2 = a[i, r] + t2 * b[i, r]
            top1[r] = v1 if v1 > top1[r] else top1[r]
            top2[r] = v2 if v2 > top2[r] else top2[r]
    out[0] = highest_in_lane(a, b, t1, np.argmax(top1))
    out[1] = highest_in_lane(a, b, t2, np.argmax(top2))


@kernel
def highest_in_lane(a, b, t, lane):
    """Return the line that is highest at t of those at one place of their blocks."""
    best, top = 0, -np.inf
    for i in range(len(a)):
        height = np.float64(a[i, lane] + t * b[i, lane])
        if height > top:
            best, top = i, height
    return best * LANES + lane


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
def lower_floors(a, b, bound_a, bound_b, vertices, floors):
    """Write the height of the polyline at its vertices less the margin.

    Between two vertices the polyline runs below the line that belongs there, because at both it is at
    most as high; so it is nowhere above the envelope, wherever the vertices are.
    """
    for i in range(4):
        t = np.float64(vertices[i])
        floors[i] = min(a[i] + t * b[i], a[i + 1] + t * b[i + 1]) - (bound_a + abs(t) * bound_b)


@inner_kernel
def flagged(features, first, k, flags, lines):
    """Write which lines have a flag; return how many.

    Something of each of their rows is read: then all come from memory at once, and not one after another when they are
    summed.
    """
    rows, a, b = lines
    middle, last = features.shape[1] // 2, features.shape[1] - 1
    words = flags.view(np.uint64)
    n = 0
    for group in range((k + 7) >> 3):
        if words[group] == 0:
            continue
        for r in range(8 * group, min(8 * group + 8, k)):
            if flags[r] != 0:
                rows[n], a[n], b[n] = r, features[first + r, 0] + features[first + r, middle], features[first + r, last]
                n += 1
    return n


@inner_kernel
def gather(features, first, n, flags, w, used_w, n_w, d, used_d, n_d, low, high, lines):
    """Write row, a and b of the flagged lines, n of them, that may be on the envelope; return how many."""
    rows, a, b = lines
    kept = 0
    for i in range(n):
        r = rows[i]
        slope = dot(features, first + r, used_d, n_d, d)
        if flags[r] == 2 and low <= slope <= high:
            continue
        rows[kept], a[kept], b[kept] = r, dot(features, first + r, used_w, n_w, w), slope
        kept += 1
    return kept


@inner_kernel
def error_bound(coefficients, radius, size, segment, unit, exact_unit, tiny):
    """Return a bound on the error of a projected column sum (see `luthier.geometry.lines.envelope`)."""
    near = far = 0.0
    for j in range(len(coefficients)):
        near += abs(coefficients[j]) * radius[segment, j]
        far += abs(coefficients[j]) * size[segment, j]
    return near, unit * near + exact_unit * far + tiny


@inner_kernel
def survivors(rows, segment, start, along, limits, top, seen, lines):
    """Write row, a and b of the lines that may be on the envelope of one segment; return how many.

    `limits` are bounds on the errors of a and b, how far the outer probes look, and whether slopes differ at all; `top`
    is the highest line at t = 0. Probes are seen in float32 as all lines are, so margins are twice the bounds: few rows
    of `features` are fetched that are not kept. It is inlined into its one caller, and takes each array out of its
    tuple once: that is counted every time.
    """
    offsets, features, _, _, _, exact = rows
    (w, used_w, n_w), (d, used_d, n_d) = start, along
    a32, b32, flags, lanes, chosen, probes, vertices = seen
    bound_a, bound_b, reach, differ = limits
    flat_a, flat_b = a32.reshape(-1), b32.reshape(-1)
    first, k = offsets[segment], offsets[segment + 1] - offsets[segment]
    probe_a, probe_b, middle = probes[0], probes[1], probes[2]
    tops(a32, b32, np.float32(-reach), np.float32(reach), lanes, chosen)
    left, right = chosen[0], chosen[1]
    probe_a[0], probe_b[0] = flat_a[left], flat_b[left]
    probe_a[2], probe_b[2] = flat_a[top], flat_b[top]
    probe_a[4], probe_b[4] = flat_a[right], flat_b[right]
    middle[0] = crossing(probe_a, probe_b, 0, 2, -reach, 0.0)
    middle[1] = crossing(probe_a, probe_b, 2, 4, 0.0, reach)
    tops(a32, b32, np.float32(middle[0]), np.float32(middle[1]), lanes, chosen)
    probe_a[1], probe_b[1] = flat_a[chosen[0]], flat_b[chosen[0]]
    probe_a[3], probe_b[3] = flat_a[chosen[1]], flat_b[chosen[1]]
    lay_polyline(probe_a, probe_b, reach, middle, vertices[0])
    lower_floors(probe_a, probe_b, 2.0 * bound_a, 2.0 * bound_b, vertices[0], vertices[1])
    low, high = np.float32(-np.inf), np.float32(np.inf)
    exactly = n_d == 1 and exact[segment, used_d[0]] and abs(d[used_d[0]]) == 1.0
    if differ and exactly:
        low, high = flat_b[left], flat_b[right]  # slopes are what they seem, and ties of them are ties
    elif differ:
        low, high = np.float32(probe_b[0] + 2.0 * bound_b), np.float32(probe_b[4] - 2.0 * bound_b)
    mark(flat_a, flat_b, vertices[0], vertices[1], low, high, flags)
    n = flagged(features, first, k, flags, lines)
    gentle, steep = np.inf, -np.inf  # slopes between which none is extreme
    if differ and not exactly:
        gentle = dot(features, first + left, used_d, n_d, d)
        steep = dot(features, first + right, used_d, n_d, d)
    return gather(features, first, n, flags, w, used_w, n_w, d, used_d, n_d, gentle, steep, lines)
