# mypy: ignore-errors
"""Kernels of interior points: the matrix of the normal equations of sparse rows, and their sums.

Symbols: A (m, n) the rows, by `starts`, `columns` and `values`; x (m,) what each row is weighed by.
"""

from luthier.core.jit import kernel


@kernel
def weighed_gram(starts, columns, values, x, out):
    """Add Σ_i x_i a_i a_iᵀ to the lower triangle of `out`, (n, n); columns of a row ascend."""
    for i in range(len(x)):
        for p in range(starts[i], starts[i + 1]):
            row, size = out[columns[p]], x[i] * values[p]
            for q in range(starts[i], p + 1):
                row[columns[q]] += size * values[q]
