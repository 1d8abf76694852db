# mypy: ignore-errors
"""Kernel: which rows of lists can win somewhere in a box of weights."""

from luthier.core.jit import fast_kernel

UNDERFLOW = 1e-290  # products below the normal numbers are wrong by more than a share of their size


@fast_kernel
def find_rows_in_box(dense, offsets, scores, winners, radius, largest, rounding, able):
    """Write whether each row can be selected within `radius` (D,) of a centre: (M,).

    `scores` (M,) and `winners` (N,) are those at the centre. Row k loses to the winner v everywhere in the box if
    ``scores_v − scores_k > Σ_d radius_d |h_v,d − h_k,d|``, by more than `rounding` of ``Σ_d largest_d (|h_v,d| +
    |h_k,d|)``, `largest` being the largest sizes of the weights there. A comparison with NaN leaves the row in.
    """
    n_features = dense.shape[1]
    for s in range(len(offsets) - 1):
        best = winners[s]
        size_of_best = 0.0
        for d in range(n_features):
            size_of_best += largest[d] * abs(dense[best, d])
        for row in range(offsets[s], offsets[s + 1]):
            change, size = 0.0, size_of_best
            for d in range(n_features):
                value = dense[row, d]
                change += radius[d] * abs(value - dense[best, d])
                size += largest[d] * abs(value)
            able[row] = not scores[best] - scores[row] > change + rounding * size + UNDERFLOW
