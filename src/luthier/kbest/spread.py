"""How much each feature differs within a list: all that a weight can act on."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.segments import segment_of_rows
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool

SAFE_POWER = 400  # sums of squares of numbers between 2^−400 and 2^400 neither overflow nor vanish


def spread_in_lists(pool: Pool) -> Float64:
    """Return each feature's standard deviation about the mean of its list, (D,).

    Differences between sentences do not count: they cannot change which hypothesis is selected.
    """
    f, m = pool.features, max(1, pool.n_hypotheses)
    sizes = np.concatenate([_largest(f.dense), _largest_sparse(f)])
    powers = squarable(sizes)
    if powers.any():
        dense, values = np.ldexp(f.dense, -powers[: f.n_dense]), np.ldexp(f.values, -powers[f.n_dense :][f.indices])
        scaled = dataclasses.replace(f, dense=flat(dense), values=flat(values))
        return np.ldexp(np.sqrt(_squares(pool, scaled) / m), powers)
    return np.asarray(np.sqrt(_squares(pool, f) / m), np.float64)


def squarable(sizes: Float64) -> Int64:
    """Return powers of two by which numbers of such sizes are to be divided before they are squared: mostly 0.

    >>> squarable(np.array([0.0, 3.0, 1e300, 1e-300])).tolist()
    [0, 0, 997, -996]
    """
    powers = np.frexp(sizes)[1].astype(np.int64)
    powers[np.abs(powers) < SAFE_POWER] = 0
    return powers


def _largest(dense: Float64) -> Float64:
    """Return the largest size in each column."""
    return np.asarray(np.maximum(dense.max(axis=0, initial=0.0), -dense.min(axis=0, initial=0.0)), np.float64)


def _largest_sparse(f: Features) -> Float64:
    """Return the largest size of each sparse feature."""
    sizes = np.zeros(f.n_features - f.n_dense)
    np.maximum.at(sizes, f.indices, np.abs(f.values))
    return sizes


def _squares(pool: Pool, f: Features) -> Float64:
    """Return the sum of squares about the means of lists, (D,)."""
    squares = np.zeros(f.n_features)
    for start, stop in zip(pool.offsets[:-1], pool.offsets[1:], strict=True):
        if stop - start > 1:
            block = f.dense[start:stop] - f.dense[start:stop].mean(axis=0)
            squares[: f.n_dense] += np.einsum("kd,kd->d", block, block)
    if len(f.indices):
        squares[f.n_dense :] = _sparse_squares(pool, f)
    return squares


def _sparse_squares(pool: Pool, f: Features) -> Float64:
    """Return Σ x² − Σ over lists of (Σ x)² / K for each sparse feature; absent entries are zeros."""
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
