# mypy: ignore-errors
"""Kernels that look for rows which stand in the way of a selection: h_j with w·h_j too near to w·h_i.

Symbols: i the selected row of a list (−1: the list does not count), j any other row of it with h_j ≠ h_i,
w (D,); the gap of j is w·h_j − w·h_i, which must be negative. Rows equal to h_i are the same point.
"""

import numpy as np

from luthier.core.jit import inner_kernel, kernel


@inner_kernel
def score(features, row, w):
    """Return w·h, summed in the order of the columns."""
    total = 0.0
    for k in range(len(w)):
        total += w[k] * features[row, k]
    return total


@inner_kernel
def size(features, row, w):
    """Return Σ|w_k||h_k|."""
    total = 0.0
    for k in range(len(w)):
        total += abs(w[k] * features[row, k])
    return total


@inner_kernel
def same(features, i, j):
    """Return whether two rows are equal."""
    for k in range(features.shape[1]):
        if features[i, k] != features[j, k]:
            return False
    return True


@kernel
def worst_rows(offsets, features, selection, w, gaps, rows):
    """Write for each list the largest gap and its row (ties go to the first); −inf and −1 if there is none."""
    for s in range(len(selection)):
        i = selection[s]
        best, where = -np.inf, -1
        if i >= 0:
            own = score(features, i, w)
            for j in range(offsets[s], offsets[s + 1]):
                gap = score(features, j, w) - own
                if gap > best and not same(features, i, j):
                    best, where = gap, j
        gaps[s], rows[s] = best, where


@kernel
def doubtful_rows(offsets, features, selection, w, unit, tiny, lists, out):
    """Write the rows whose gap is not below 0 by more than rounding; return how many there are.

    |fl(gap) − gap| ≤ unit·Σ|w_k|(|h_jk| + |h_ik|) + tiny; `unit` must cover that this bound is rounded itself, `tiny`
    the products that underflow. Counting goes on where `out` is full.
    """
    n = 0
    for s in range(len(selection)):
        i = selection[s]
        if i < 0:
            continue
        own, own_size = score(features, i, w), size(features, i, w)
        for j in range(offsets[s], offsets[s + 1]):
            gap = score(features, j, w) - own
            if not gap < -unit * (size(features, j, w) + own_size) - tiny and not same(features, i, j):  # or it is NaN
                if n < len(out):
                    lists[n], out[n] = s, j
                n += 1
    return n


@kernel
def first_equal(offsets, features, selection, lowest):
    """Write the lowest row of each list that equals the selected one; −1 where none is selected."""
    for s in range(len(selection)):
        lowest[s] = selection[s]
        if selection[s] >= 0:
            for j in range(offsets[s], selection[s]):
                if same(features, selection[s], j):
                    lowest[s] = j
                    break


@kernel
def lean(offsets, features, selection, step, direction):
    """Add up, over lists, the selected row less the mean of about every step-th row."""
    for s in range(len(selection)):
        if selection[s] < 0:
            continue
        n = (offsets[s + 1] - offsets[s] + step - 1) // step
        for k in range(features.shape[1]):
            direction[k] += features[selection[s], k]
        for j in range(offsets[s], offsets[s + 1], step):
            for k in range(features.shape[1]):
                direction[k] -= features[j, k] / n
