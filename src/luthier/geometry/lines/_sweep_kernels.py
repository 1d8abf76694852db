# mypy: ignore-errors
"""Kernels before and after envelopes: lines of all rows, and sums along sorted breakpoints."""

from luthier.core.jit import kernel


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
