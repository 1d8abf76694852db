# mypy: ignore-errors
"""Kernels that go through the rows of all lists once, for what a plane is measured by."""

import numpy as np

from luthier.core.jit import kernel


@kernel
def largest_sizes(dense, indptr, indices, values, offsets, vectors, out):
    """Write the largest Σ |w_j h_j| of the rows of every list for each of W vectors (D, no entry below 0): (N, W)."""
    n_dense, n_vectors = dense.shape[1], len(vectors)
    used, counts = np.empty((n_vectors, n_dense), np.int64), np.zeros(n_vectors, np.int64)
    for w in range(n_vectors):
        for d in range(n_dense):
            if vectors[w, d] != 0.0:
                used[w, counts[w]] = d
                counts[w] += 1
    sparse = len(indices) > 0
    for s in range(len(offsets) - 1):
        for w in range(n_vectors):
            largest = 0.0
            for row in range(offsets[s], offsets[s + 1]):
                total = 0.0
                for i in range(counts[w]):
                    total += vectors[w, used[w, i]] * abs(dense[row, used[w, i]])
                if sparse:
                    for e in range(indptr[row], indptr[row + 1]):
                        total += vectors[w, n_dense + indices[e]] * abs(values[e])
                largest = max(largest, total)
            out[s, w] = largest


@kernel
def moving_lists(changes, offsets, noise, means, moves):
    """Write the mean of each list, (N,), and whether its rows differ by more than noise; return the largest distance
    of a row of those lists from its mean. All in halves, of which differences do not overflow.
    """
    largest = 0.0
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        low = high = 0.5 * changes[first]
        mean, count = 0.0, last - first
        for k in range(first, last):
            half = 0.5 * changes[k]
            low, high = min(low, half), max(high, half)
            mean += half / count
        means[s], moves[s] = mean, high - low > 0.5 * noise[s]
        if moves[s]:
            largest = max(largest, high - mean, mean - low)
    return largest


@kernel
def squared_distances(changes, offsets, means, moves, factor):
    """Return the sum of squares of what `moving_lists` measures, each times a factor first."""
    total = 0.0
    for s in range(len(offsets) - 1):
        if moves[s]:
            part = 0.0
            for k in range(offsets[s], offsets[s + 1]):
                away = (0.5 * changes[k] - means[s]) * factor
                part += away * away
            total += part
    return total
