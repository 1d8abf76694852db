# mypy: ignore-errors
"""Kernels for upper envelopes of lines a + t·b, many segments and directions at once.

Symbols are those of `_survivor_kernels`.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel
from luthier.geometry.lines._survivor_kernels import (
    LANES,
    Lines,
    Seen,
    Vector,
    dot,
    error_bound,
    nonzero,
    project,
    survivors,
    tops,
)

# Kernels before and after envelopes: lines of all rows, and sums along sorted breakpoints.


@kernel
def running_sums(first, before, after, order, values, changes, sums):
    """Write the sums of the highest rows' values after 0, 1, … breakpoints in the given order.

    Changes are formed segment by segment first: rows of a segment lie together in memory.
    """
    n_values = values.shape[1]
    for i in range(len(order)):
        new, old = after[i], before[i]
        for j in range(n_values):
            changes[i, j] = values[new, j] - values[old, j]
    sums[0] = 0
    for s in range(len(first)):
        for j in range(n_values):
            sums[0, j] += values[first[s], j]
    for i in range(len(order)):
        e = order[i]
        for j in range(n_values):
            sums[i + 1, j] = sums[i, j] + changes[e, j]


@kernel
def all_lines(features, vectors, out):
    """Write the product of every row with every vector, (M, D) and (Q, D) → (Q, M)."""
    for q in range(len(vectors)):
        for row in range(len(features)):
            total = 0.0
            for j in range(features.shape[1]):
                total += vectors[q, j] * features[row, j]
            out[q, row] = total


# Kernels that look for the highest row of every segment at one place: in float32 first, for certain in float64.
#
# Symbols are those of `_survivor_kernels`.


@kernel
def projections_at(rows, w, heights):
    """Write w·(h − h_1) of all rows, (M,), in float32."""
    offsets, n_columns = rows.offsets, rows.features.shape[1]
    used = np.empty(n_columns, np.int64)
    n_used, w32 = nonzero(w, used), w.astype(np.float32)
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        columns = rows.copy[n_columns * first : n_columns * last].reshape((n_columns, last - first))
        project(columns, used, n_used, w32, heights[first:last])


@kernel
def highest_rows(rows, heights, moves, w, bounds, units, out, moved):
    """Write the highest row of every segment at w, the first if several are, and the heights there, (M,) or none.

    `heights` were sighted elsewhere; w is there plus `moves`, (D,). `bounds` (D,) are the sizes of all that was added,
    which errors are measured by. What may be the highest for all that is computed in float64.
    """
    offsets, features, n_columns = rows.offsets, rows.features, rows.features.shape[1]
    radius, size = rows.radius, rows.size
    longest = np.int64(1)
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    blocks = np.empty(((longest + LANES - 1) // LANES, LANES), np.float32)
    a32, lanes = blocks.reshape(-1), np.empty(LANES, np.float32)
    used, changed = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    n_used, n_changed, moves32 = nonzero(w, used), nonzero(moves, changed), moves.astype(np.float32)
    for s in range(len(offsets) - 1):
        first, k = offsets[s], offsets[s + 1] - offsets[s]
        columns = rows.copy[n_columns * first : n_columns * (first + k)].reshape((n_columns, k))
        for r in range(k):
            a32[r] = heights[first + r]
        for i in range(n_changed):
            step, column = moves32[changed[i]], columns[changed[i]]
            for r in range(k):
                a32[r] += step * column[r]
        if len(moved):
            for r in range(k):
                moved[first + r] = a32[r]
        wide = (k + LANES - 1) // LANES
        a32[k : wide * LANES] = -np.inf
        _, bound = error_bound(bounds, radius, size, s, units[0], units[1], units[2])
        height = np.float64(highest_of(blocks, wide, lanes))
        floor = np.float32(height - 2.0 * bound - units[0] * (abs(height) + bound))  # less what float32 rounds here
        best, top = first, -np.inf
        for i in range(wide):
            if not reaches(blocks[i], floor):
                continue
            for r in range(LANES):
                if blocks[i, r] >= floor and i * LANES + r < k:
                    row = first + i * LANES + r
                    score = dot(features, row, used, n_used, w)
                    if score > top:
                        best, top = row, score
        out[s] = best


@kernel
def highest_of(blocks, wide, lanes):
    """Return the largest number of the first blocks."""
    lanes[:] = -np.inf
    for i in range(wide):
        for r in range(LANES):
            v = blocks[i, r]
            lanes[r] = v if v > lanes[r] else lanes[r]
    return lanes.max()


@kernel
def reaches(block, floor):
    """Tell whether one number of a block is at or above a floor."""
    here = False
    for r in range(LANES):
        here |= block[r] >= floor
    return here


class Events(NamedTuple):
    """Where the breakpoints of Q directions are written, (Q, P), how many there are, (Q,), and first rows, (Q, N)."""

    times: np.ndarray
    before: np.ndarray
    after: np.ndarray
    bends: np.ndarray
    counts: np.ndarray
    firsts: np.ndarray


@kernel
def stack_lines(a, b, order, n, starts, kept):
    """Write the upper envelope of lines, visited by ascending slope; return how many lines it has.

    Line ``kept[i]`` is the highest from ``starts[i]`` to ``starts[i + 1]``; the first starts at −inf.
    If several lines are equal, the one with the lowest index stays. A line that is highest in one
    point only does not stay.
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
def sort_by_slope(b, order, n):
    """Write the numbers of n lines by ascending slope into `order`.

    By insertion, longer rows in steps first (Shell's sort): NumPy's own takes as long to compile as all else here.
    """
    step = 1
    while step * 27 < n:
        step = 3 * step + 1
    for i in range(n):
        order[i] = i
    while step > 0:
        for i in range(step, n):
            k, j = order[i], i - step
            while j >= 0 and b[order[j]] > b[k]:
                order[j + step] = order[j]
                j -= step
            order[j + step] = k
        step //= 3


@kernel
def has_room(events, n):
    """Return whether n more breakpoints fit for every direction."""
    for q in range(len(events.counts)):
        if events.counts[q] + n > events.times.shape[1]:
            return False
    return True


@kernel
def write_events(events, q, segment, offset, size, starts, kept, b, rows):
    """Append the breakpoints of one envelope to those of direction q; line k is row offset + rows[k]."""
    times, before, after, bends, counts, firsts = events
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
def sorted_envelopes(a, b, offsets, segment, events):
    """Sort all lines of each segment, (M,) and (Q, M), and stack them; the reference.

    Begins at `segment`, stops before one that might not fit; returns the number of that segment.
    """
    longest = 1
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    starts, kept, order = np.empty(longest), np.empty(longest, np.int64), np.empty(longest, np.int64)
    rows = np.arange(longest)
    while segment < len(offsets) - 1:
        first, last = offsets[segment], offsets[segment + 1]
        if not has_room(events, last - first):
            break
        for q in range(b.shape[0]):
            slopes = b[q, first:last]
            sort_by_slope(slopes, order, last - first)
            size = stack_lines(a[first:last], slopes, order, last - first, starts, kept)
            write_events(events, q, segment, first, size, starts, kept, slopes, rows)
        segment += 1
    return segment


@kernel
def sort_segment(rows, segment, start, directions, used, lines, scratch, events):
    """Write the envelopes of one segment along all directions: all of its lines are sorted and stacked."""
    first, k = rows.offsets[segment], rows.offsets[segment + 1] - rows.offsets[segment]
    features, (starts, kept, order) = rows.features, scratch
    for r in range(k):
        lines.rows[r], lines.a[r] = r, dot(features, first + r, start.used, start.n, start.coefficients)
    for q in range(len(directions)):
        d = directions[q]
        n_used = nonzero(d, used)
        for r in range(k):
            lines.b[r] = dot(features, first + r, used, n_used, d)
        sort_by_slope(lines.b, order, k)
        n = stack_lines(lines.a, lines.b, order, k, starts, kept)
        write_events(events, q, segment, first, n, starts, kept, lines.b, lines.rows)


@kernel
def fast_envelopes(rows, w, bounds, directions, units, few, sighted, segment, events):
    """Write the envelopes of all segments along all directions, as `sorted_envelopes` does.

    Every line is seen in float32 first: three passes find five high lines and drop what lies under
    them for certain. The rest are computed in float64, sorted and stacked, as are all lines of segments with less than
    `few`. Where rows have been `sighted` at w, (M,),
    they are not projected again; `bounds` (D,) are the sizes of all that was added for that.
    """
    offsets, n_columns = rows.offsets, rows.features.shape[1]
    longest = np.int64(1)
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    padded = (longest + LANES - 1) // LANES
    a32, b32 = np.empty((padded, LANES), np.float32), np.zeros((padded, LANES), np.float32)
    flat_a, flat_b, flags = a32.reshape(-1), b32.reshape(-1), np.zeros(padded * LANES, np.uint8)
    lines = Lines(np.empty(longest, np.int64), np.empty(longest), np.empty(longest))
    starts, kept, order = np.empty(longest), np.empty(longest, np.int64), np.empty(longest, np.int64)
    lanes = np.empty((2, LANES), np.float32)
    used_w, used_d = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    chosen, probes, vertices = np.empty(2, np.int64), np.empty((3, 5)), np.empty((2, 4), np.float32)
    n_w, w32, directions32 = nonzero(w, used_w), w.astype(np.float32), directions.astype(np.float32)
    while segment < len(offsets) - 1:
        first, last = offsets[segment], offsets[segment + 1]
        k = last - first
        if not has_room(events, k):
            break
        if k < few:
            sort_segment(
                rows, segment, Vector(w, used_w, n_w), directions, used_d, lines, (starts, kept, order), events
            )
            segment += 1
            continue
        columns = rows.copy[n_columns * first : n_columns * last].reshape((n_columns, k))
        wide = (k + LANES - 1) // LANES
        seen = Seen(a32[:wide], b32[:wide], flags[: wide * LANES], lanes, chosen, probes, vertices)
        if len(sighted):
            for r in range(k):
                flat_a[r] = sighted[first + r]
        else:
            project(columns, used_w, n_w, w32, flat_a)
        flat_a[k : wide * LANES] = -np.inf
        spread_a, bound_a = error_bound(bounds, rows.radius, rows.size, segment, units[0], units[1], units[2])
        zero = np.float32(0.0)
        tops(seen.a, seen.b, zero, zero, lanes, chosen)
        top = chosen[0]
        for q in range(len(directions)):
            d = directions[q]
            n_d = nonzero(d, used_d)
            project(columns, used_d, n_d, directions32[q], flat_b)
            spread_b, bound_b = error_bound(d, rows.radius, rows.size, segment, units[0], units[1], units[2])
            differ = spread_b > 0.0
            reach = min(units[3] * spread_a / spread_b, units[4]) if differ else 0.0
            limits = (bound_a, bound_b, reach, differ)
            n = survivors(rows, segment, Vector(w, used_w, n_w), Vector(d, used_d, n_d), limits, top, seen, lines)
            sort_by_slope(lines.b, order, n)
            n = stack_lines(lines.a, lines.b, order, n, starts, kept)
            write_events(events, q, segment, first, n, starts, kept, lines.b, lines.rows)
        segment += 1
    return segment
