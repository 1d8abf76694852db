# mypy: ignore-errors
"""Kernels that find the highest row of every list at every point of a raster.

Symbols: h (M, 3) rows c, p, q; at (x, y) row k has the height (c + y·q) + x·p. `order` visits the rows of each
list by ascending p; x is ascending.
"""

import numpy as np

from luthier.core.jit import inner_kernel, kernel


@inner_kernel
def beats(heights, slopes, new, old, x):
    """Tell whether row `new` is selected at x rather than row `old`: it is higher, or as high and before it."""
    a, b = heights[new] + x * slopes[new], heights[old] + x * slopes[old]
    return a > b or (a == b and new < old)


@kernel
def overtakes(heights, slopes, new, old, xs, per, low):
    """Return the first place from `low` on at which `new`, whose slope is not smaller, beats `old`; or the end.

    Places are looked for where the two cross; `per` is how many there are in a unit of x, on average.
    """
    high, gap = len(xs), slopes[new] - slopes[old]
    if gap > 0.0:
        place = ((heights[old] - heights[new]) / gap - xs[0]) * per + 1.0
        guess = low
        if place >= high:
            guess = high
        elif place > low:
            guess = int(place)
        if guess < high and not beats(heights, slopes, new, old, xs[guess]):
            low = guess + 1
        elif guess == low or not beats(heights, slopes, new, old, xs[guess - 1]):
            return guess
        else:
            high = guess - 1
    while low < high:
        middle = (low + high) // 2
        if beats(heights, slopes, new, old, xs[middle]):
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def stack_row(heights, slopes, order, xs, per, starts, kept):
    """Write which rows of one list are highest from which place on; return how many are.

    Row ``kept[i]`` is selected at ``xs[starts[i]:starts[i + 1]]``. At each x the rows are in a total order, and of
    two rows the steeper one is ahead from some place on: so the stack of an upper envelope is exact here.
    """
    size = 0
    for i in range(len(order)):
        k = order[i]
        start = 0
        while size > 0:
            start = overtakes(heights, slopes, k, kept[size - 1], xs, per, starts[size - 1])
            if start > starts[size - 1]:
                break
            size -= 1
            start = 0
        if start < len(xs):
            starts[size], kept[size] = start, k
            size += 1
    return size


@kernel
def raster_rows(h, offsets, order, values, xs, ys, out):
    """Add how the selected rows' values change from one place to the next along x, (len(ys), len(xs), S)."""
    longest = np.int64(1)
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    starts, kept = np.empty(longest, np.int64), np.empty(longest, np.int64)
    heights, slopes = np.empty(len(h)), h[:, 1].copy()
    n_values, per = values.shape[1], (len(xs) - 1) / (xs[-1] - xs[0]) if len(xs) > 1 else 0.0
    for r in range(len(ys)):
        for k in range(len(h)):
            heights[k] = h[k, 0] + ys[r] * h[k, 2]
        for s in range(len(offsets) - 1):
            n = stack_row(heights, slopes, order[offsets[s] : offsets[s + 1]], xs, per, starts, kept)
            for v in range(n_values):
                out[r, 0, v] += values[kept[0], v]
            for i in range(1, n):
                for v in range(n_values):
                    out[r, starts[i], v] += values[kept[i], v] - values[kept[i - 1], v]
