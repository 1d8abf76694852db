# mypy: ignore-errors
"""Kernel of means and variances over the derivations of a forest."""

import numpy as np

from luthier.core.jit import kernel


@kernel
def moments(edge_offsets, tails, scores, numbers, logs, means, variances):
    """Write log Z of each node, and mean and variance of the C numbers of its derivations, (V, C), zeros at first.

    Symbols: an edge has the share p of its node's Z, and the mean m and variance s of the derivations that it begins.
    """
    n_numbers = numbers.shape[1]
    most = 0
    for node in range(len(edge_offsets) - 1):
        most = max(most, edge_offsets[node + 1] - edge_offsets[node])
    shares = np.empty(most)
    for node in range(len(edge_offsets) - 1):
        first, stop = edge_offsets[node], edge_offsets[node + 1]
        top, total = -np.inf, 0.0
        for e in range(first, stop):
            shares[e - first] = scores[e]
            for gap in range(2):
                if tails[e, gap] >= 0:
                    shares[e - first] += logs[tails[e, gap]]
            top = max(top, shares[e - first])
        for i in range(stop - first):
            shares[i] = np.exp(shares[i] - top)
            total += shares[i]
        logs[node] = top + np.log(total)
        for c in range(n_numbers):
            mean, second = 0.0, 0.0
            for e in range(first, stop):
                m = numbers[e, c]
                for gap in range(2):
                    if tails[e, gap] >= 0:
                        m += means[tails[e, gap], c]
                mean += shares[e - first] / total * m
            for e in range(first, stop):
                m, s = numbers[e, c], 0.0
                for gap in range(2):
                    if tails[e, gap] >= 0:
                        m += means[tails[e, gap], c]
                        s += variances[tails[e, gap], c]
                second += shares[e - first] / total * (s + (m - mean) ** 2)
            means[node, c], variances[node, c] = mean, second
