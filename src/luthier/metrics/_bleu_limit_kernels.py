# mypy: ignore-errors
"""The line above log BLEU, part by part: a search over boxes asks for some thousands of them in a second."""

import math

import numpy as np

from luthier.core.jit import inner_kernel, kernel


@inner_kernel
def add_matches(shares, instead, more, place, point, low, high, slopes):
    """Add the tangent log p − 1 + m/p of log m; return its constant and size.

    What a smoothing puts in the place of no match must be below the tangent at 0, which is log p − 1: ½ is if
    p ≥ e/2, and v if p ≥ e·v.
    """
    p = max(min(max(point[place], low[place]), high[place]), 0.5) + more
    if low[place] < 1.0:
        p = max(p, math.e * instead * (1 + 1e-14))
    slopes[place] += shares / p
    first, second = math.log(p) - 1.0, more / p
    return shares * (first + second), shares * (abs(first) + second + high[place] / p)


@inner_kernel
def add_totals(shares, more, place, low, high, slopes):
    """Add the chord of −log t between the least and the largest total; return its constant and size, NaN if none."""
    left = (low[place] if more > 0 else max(low[place], 1.0)) + more
    right = high[place] + more
    if right < left:
        return np.nan, 0.0
    start = -math.log(left)
    if right == left:
        return shares * start, shares * abs(start)
    steep = (math.log(right) - math.log(left)) / (right - left)
    slopes[place] -= shares * steep
    rest = steep * (left - more)
    # the two logarithms are wrong by units of their own size, over right − left, times what the total can differ by
    size = abs(start) + abs(math.log(right)) + abs(rest) + steep * high[place]
    return shares * (start + rest), shares * size


@inner_kernel
def add_brevity(point, low, high, slopes):
    """Add a line above min(0, 1 − r/c) where the point is too short; return its constant and size.

    −r/c is −r₁/c − (r − r₁)/c, of which the second part is at most −(r − r₁)/c_high for the lowest r₁, and at
    most (r₁ − r)/c_low for the highest; the first is concave in c. Without words BLEU is 0, so c ≥ 1.
    """
    short, long = max(low[0], 1.0), max(high[0], 1.0)
    c, r = min(max(point[0], short), long), min(max(point[1], low[1]), high[1])
    if high[1] <= short or c >= r:
        return 0.0, 0.0
    base, divisor = low[1], long
    if -low[1] / c - (r - low[1]) / long > -high[1] / c + (high[1] - r) / short:
        base, divisor = high[1], short
    slopes[0] += base / (c * c)
    slopes[1] -= 1.0 / divisor
    constant = 1.0 - 2.0 * base / c + base / divisor
    return constant, 1.0 + 2.0 * base / c + base / divisor + base / (c * c) * long + high[1] / divisor


@inner_kernel
def line_above_bleu(order, instead, more, point, low, high, slopes):
    """Write the slopes of a line above log BLEU; return its constant and the size of its terms; NaN if BLEU is 0.

    `instead` is what represents no match, `more` what is added to matches and totals of orders above 1.
    """
    slopes[:] = 0.0
    constant, size = add_brevity(point, low, high, slopes)
    shares = 1.0 / order
    for k in range(order):
        added = more if k > 0 else 0.0
        if high[2 + k] + added <= 0.0 and instead <= 0.0:
            return np.nan, 0.0
        one, one_size = add_matches(shares, instead, added, 2 + k, point, low, high, slopes)
        other, other_size = add_totals(shares, added, 2 + order + k, low, high, slopes)
        constant += one + other
        size += one_size + other_size
    return constant, size


@kernel
def lines_above_bleu(order, instead, more, points, lows, highs, slopes, constants, sizes):
    """Write lines above log BLEU for several ranges of sums: slopes (B, S), constants and sizes of terms (B,)."""
    for b in range(len(points)):
        constants[b], sizes[b] = line_above_bleu(order, instead, more, points[b], lows[b], highs[b], slopes[b])
