# mypy: ignore-errors
"""Kernels for losses on lists ordered by gain, the best first.

The kernels work on one list of K rows at a time: `scores` are its scores in that order, and ``lower[i]`` is
the first place whose gain is truly lower than that of place i (K if none), so that the pairs to be ranked
are (i, j) with j ≥ ``lower[i]`` and no gain is compared. Each adds the derivative of its loss by every
score to `slopes` and returns the loss.
"""

import math

import numpy as np

from luthier.core.jit import fast_kernel, kernel

# A product of so many factors in [1/4, 1] is far from underflow.
BLOCK = 256
# Scores of a list may differ by so much before a product of two exponentials comes near underflow.
WIDEST = 300.0
ROOT_2 = math.sqrt(2.0)
LOG_ROOT_2 = 0.5 * math.log(2.0)


@kernel
def wide_logistic(scores, lower, gains, by_gap, slopes):
    """Σ weight_ij · log(1 + exp(s_j − s_i)), an exponential for each pair: for any range of scores."""
    n = len(scores)
    loss = 0.0
    for i in range(n):
        for j in range(lower[i], n):
            weight = gains[i] - gains[j] if by_gap else 1.0
            margin = scores[i] - scores[j]
            shrunk = math.exp(-abs(margin))
            loss += weight * (max(-margin, 0.0) + math.log1p(shrunk))
            c = weight * (shrunk if margin > 0.0 else 1.0) / (1.0 + shrunk)
            slopes[i] -= c
            slopes[j] += c
    return loss


@fast_kernel
def logistic(scores, powers, lower, slopes):
    """Σ log(1 + exp(s_j − s_i)) from ``powers = exp(s − max s)``: half a division a pair, a logarithm a block.

    log(1 + e^{s_j − s_i}) = max(0, s_j − s_i) − log max(c, 1 − c) with c = E_j / (E_i + E_j), of which the
    second term's argument is in [1/2, 1], so that a block's can be multiplied first. Two better ones share
    each pass over the worse ones, and the division: 1/a = b · 1/(a·b).
    """
    n = len(scores)
    loss = 0.0
    for i in range(0, n - 1, 2):  # the last place has nothing below it
        s1, s2, e1, e2 = scores[i], scores[i + 1], powers[i], powers[i + 1]
        slope1 = slope2 = linear = 0.0
        for j in range(lower[i], lower[i + 1]):  # where a level ends between the two
            c = powers[j] / (e1 + powers[j])
            slope1 += c
            slopes[j] += c
            linear += max(0.0, scores[j] - s1) - math.log(max(e1, powers[j]) / (e1 + powers[j]))
        for first in range(lower[i + 1], n, BLOCK):
            product = 1.0
            for j in range(first, min(first + BLOCK, n)):
                e = powers[j]
                sum1, sum2 = e1 + e, e2 + e
                inverse = 1.0 / (sum1 * sum2)
                c1, c2 = e * inverse * sum2, e * inverse * sum1
                slope1 += c1
                slope2 += c2
                slopes[j] += c1 + c2
                d1, d2 = 1.0 - c1, 1.0 - c2
                product *= (c1 if c1 > d1 else d1) * (c2 if c2 > d2 else d2)
                ahead1, ahead2 = scores[j] - s1, scores[j] - s2
                linear += (ahead1 if ahead1 > 0.0 else 0.0) + (ahead2 if ahead2 > 0.0 else 0.0)
            loss -= math.log(product)
        loss += linear
        slopes[i] -= slope1
        slopes[i + 1] -= slope2
    return loss


@fast_kernel
def gap_logistic(scores, powers, lower, gains, slopes):
    """Σ (g_i − g_j) · log(1 + exp(s_j − s_i)), the logarithm by its series about √2.

    With q = min(E)/max(E) in [0, 1] and y = (1 + q − √2)/(1 + q + √2), log(1 + q) = log √2 + 2 artanh y and
    y² < 0.03, so eight terms leave 1e-14. Slopes and loss are two loops: as one they do not vectorise.
    """
    n = len(scores)
    loss = 0.0
    for i in range(n):
        s, e, g = scores[i], powers[i], gains[i]
        slope = 0.0
        for j in range(lower[i], n):
            c = (g - gains[j]) * (powers[j] / (e + powers[j]))
            slope += c
            slopes[j] += c
        slopes[i] -= slope
        for j in range(lower[i], n):
            other = powers[j]
            both, high = e + other, ROOT_2 * (other if other > e else e)
            y = (both - high) / (both + high)
            z = y * y
            series = 1 / 9 + z * (1 / 11 + z * (1 / 13 + z / 15))
            series = 1.0 + z * (1 / 3 + z * (1 / 5 + z * (1 / 7 + z * series)))
            ahead = scores[j] - s
            loss += (g - gains[j]) * ((ahead if ahead > 0.0 else 0.0) + LOG_ROOT_2 + 2.0 * y * series)
    return loss


@kernel
def tree_add(tree, at, score, gain):
    """Add one row to a Fenwick tree of Σ 1, s, s², g, g·s, g·s² over ranks."""
    while at < len(tree):
        tree[at, 0] += 1.0
        tree[at, 1] += score
        tree[at, 2] += score * score
        tree[at, 3] += gain
        tree[at, 4] += gain * score
        tree[at, 5] += gain * score * score
        at += at & -at


@kernel
def tree_sum(tree, at, out):
    """Write the sums over ranks 1 … at."""
    out[:] = 0.0
    while at > 0:
        for c in range(6):
            out[c] += tree[at, c]
        at -= at & -at


@kernel
def hinge(scores, ascending, lower, higher, gains, by_gap, tree, slopes):
    """Σ weight_ij · max(0, 1 − (s_i − s_j))², in O(K log K).

    The better ones i are visited by falling score; by then the tree holds every j with s_j > s_i − 1, at
    place K − j, so that the ranks 1 … K − lower[i] are those of lower gain. A second pass, by rising score,
    does the same for the worse ones, whose partners are the places before ``higher[j]``, the first of
    their own gain. `tree` is (K + 1, 6) of zeros.
    """
    n = len(scores)
    sums = np.empty(6)
    loss = 0.0
    for falling in (True, False):
        tree[: n + 1] = 0.0
        added = 0
        for step in range(n):
            row = ascending[n - 1 - step] if falling else ascending[step]
            s, g = scores[row], gains[row]
            while added < n:
                other = ascending[n - 1 - added] if falling else ascending[added]
                if (scores[other] <= s - 1.0) if falling else (scores[other] >= s + 1.0):
                    break
                tree_add(tree, n - other if falling else other + 1, scores[other], gains[other])
                added += 1
            tree_sum(tree, n - lower[row] if falling else higher[row], sums)
            if falling:
                a = 1.0 - s
                count, first, second = sums[0], sums[1], sums[2]
                if by_gap:
                    count, first, second = g * count - sums[3], g * first - sums[4], g * second - sums[5]
                loss += count * a * a + 2.0 * a * first + second
                slopes[row] -= 2.0 * (count * a + first)
            else:
                a = 1.0 + s
                count, first = sums[0], sums[1]
                if by_gap:
                    count, first = sums[3] - g * count, sums[4] - g * first
                slopes[row] += 2.0 * (count * a - first)
    return loss


@kernel
def plackett_luce(powers, lower, stages, tails, slopes):
    """−Σ over stages of log(Σ of the best remaining level / Σ of all remaining), of ``powers = exp(s − max s)``.

    A level is a run of equal gains; a stage takes the best one away. At most `stages` of them count, and
    one that takes all that is left says nothing. `tails` has room for K + 1.
    """
    n = len(powers)
    tails[n] = 0.0
    for i in range(n - 1, -1, -1):
        tails[i] = tails[i + 1] + powers[i]
    loss = 0.0
    share = 0.0  # Σ over stages so far of 1 / Σ of all remaining
    first = 0
    while first < n:
        last = lower[first]
        counts = stages > 0 and last < n
        level = 0.0
        for i in range(first, last):
            level += powers[i]
        if counts:
            share += 1.0 / tails[first]
            loss += math.log(tails[first] / level)
            stages -= 1
        for i in range(first, last):
            slopes[i] += powers[i] * share
            if counts:
                slopes[i] -= powers[i] / level
        first = last
    return loss


@kernel
def log_add(a, b):
    """Return log(eᵃ + eᵇ), of which one may be −inf."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + math.log1p(math.exp(low - high))


@kernel
def wide_plackett_luce(scores, lower, stages, tails, slopes):
    """Return the same of scores, all sums as logarithms: for any range of scores."""
    n = len(scores)
    tails[n] = -np.inf
    for i in range(n - 1, -1, -1):
        tails[i] = log_add(tails[i + 1], scores[i])
    loss = 0.0
    share = -np.inf
    first = 0
    while first < n:
        last = lower[first]
        counts = stages > 0 and last < n
        level = -np.inf
        for i in range(first, last):
            level = log_add(level, scores[i])
        if counts:
            share = log_add(share, -tails[first])
            loss += tails[first] - level
            stages -= 1
        for i in range(first, last):
            slopes[i] += math.exp(scores[i] + share)
            if counts:
                slopes[i] -= math.exp(scores[i] - level)
        first = last
    return loss


@kernel
def gather(scores, order, start, stop, into):
    """Write the scores of one list in the order of its gains, less the greatest; return the least."""
    top, least = -np.inf, 0.0
    for i in range(start, stop):
        top = max(top, scores[i])
    for i in range(start, stop):
        into[i - start] = scores[order[i]] - top
        least = min(least, into[i - start])
    return least


@kernel
def scatter(slopes, order, start, stop, factor, coefficients):
    """Put the slopes of one list, times a factor, back to their rows, and leave zeros behind."""
    for i in range(start, stop):
        coefficients[order[i]] = factor * slopes[i - start]
        slopes[i - start] = 0.0


@kernel
def all_logistic(scores, order, offsets, lower, gains, by_gap, factors, coefficients):
    """Return Σ over lists of factor · logistic loss; write its derivative by every row's score."""
    longest = np.max(offsets[1:] - offsets[:-1])
    sorted_scores, powers, slopes = np.empty(longest), np.empty(longest), np.zeros(longest)
    total = 0.0
    for s in range(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        k = stop - start
        least = gather(scores, order, start, stop, sorted_scores)
        here, below, gain = sorted_scores[:k], lower[start:stop], gains[start:stop]
        if factors[s] == 0.0:
            loss = 0.0
        elif least < -WIDEST:
            loss = wide_logistic(here, below, gain, by_gap, slopes[:k])
        else:
            for i in range(k):
                powers[i] = math.exp(here[i])
            if by_gap:
                loss = gap_logistic(here, powers[:k], below, gain, slopes[:k])
            else:
                loss = logistic(here, powers[:k], below, slopes[:k])
        total += factors[s] * loss
        scatter(slopes, order, start, stop, factors[s], coefficients)
    return total


@kernel
def all_hinge(scores, order, offsets, lower, higher, gains, by_gap, factors, coefficients):
    """Return Σ over lists of factor · squared hinge loss; write its derivative by every row's score."""
    longest = np.max(offsets[1:] - offsets[:-1])
    sorted_scores, slopes, tree = np.empty(longest), np.zeros(longest), np.empty((longest + 1, 6))
    total = 0.0
    for s in range(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        k = stop - start
        gather(scores, order, start, stop, sorted_scores)
        if factors[s] != 0.0:
            here = sorted_scores[:k]
            ascending = np.argsort(here)
            loss = hinge(
                here, ascending, lower[start:stop], higher[start:stop], gains[start:stop],
                by_gap, tree[: k + 1], slopes[:k],
            )  # fmt: skip
            total += factors[s] * loss
        scatter(slopes, order, start, stop, factors[s], coefficients)
    return total


@kernel
def all_plackett_luce(scores, order, offsets, lower, stages, factors, coefficients):
    """Return Σ over lists of factor · Plackett–Luce loss; write its derivative by every row's score."""
    longest = np.max(offsets[1:] - offsets[:-1])
    sorted_scores, powers, slopes = np.empty(longest), np.empty(longest), np.zeros(longest)
    tails = np.empty(longest + 1)
    total = 0.0
    for s in range(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        k = stop - start
        least = gather(scores, order, start, stop, sorted_scores)
        if factors[s] == 0.0:
            loss = 0.0
        elif least < -WIDEST:
            loss = wide_plackett_luce(sorted_scores[:k], lower[start:stop], stages, tails, slopes[:k])
        else:
            for i in range(k):
                powers[i] = math.exp(sorted_scores[i])
            loss = plackett_luce(powers[:k], lower[start:stop], stages, tails, slopes[:k])
        total += factors[s] * loss
        scatter(slopes, order, start, stop, factors[s], coefficients)
    return total
