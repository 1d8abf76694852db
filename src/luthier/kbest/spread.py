"""How much each feature differs within a list: all that a weight can act on."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.segments import segment_of_rows
from luthier.kbest.pool import Pool


def spread_in_lists(pool: Pool) -> Float64:
    """Return each feature's standard deviation about the mean of its list, (D,).

    Differences between sentences do not count: they cannot change which hypothesis is selected.
    """
    f, m = pool.features, max(1, pool.n_hypotheses)
    squares = np.zeros(f.n_features)
    for start, stop in zip(pool.offsets[:-1], pool.offsets[1:], strict=True):
        if stop - start > 1:
            block = f.dense[start:stop] - f.dense[start:stop].mean(axis=0)
            squares[: f.n_dense] += np.einsum("kd,kd->d", block, block)
    if len(f.indices):
        squares[f.n_dense :] = _sparse_squares(pool)
    spread: Float64 = np.sqrt(squares / m)
    return spread


def _sparse_squares(pool: Pool) -> Float64:
    """Return Σ x² − Σ over lists of (Σ x)² / K for each sparse feature; absent entries are zeros."""
    f = pool.features
    n_sparse = f.n_features - f.n_dense
    rows = np.repeat(np.arange(len(f)), np.diff(f.indptr))
    keys = segment_of_rows(pool.offsets)[rows] * n_sparse + f.indices
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    sums = np.add.reduceat(f.values[order], starts)
    lists, features = np.divmod(keys[order][starts], n_sparse)
    means = np.bincount(features, weights=sums**2 / pool.list_lengths[lists], minlength=n_sparse)
    total = np.bincount(f.indices, weights=f.values**2, minlength=n_sparse)
    squares: Float64 = np.maximum(total - means, 0.0)
    return squares
