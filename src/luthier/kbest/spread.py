"""How much each feature differs within a list: all that a weight can act on."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.segments import segment_of_rows
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool

SAFE_POWER = 400  # sums of squares of numbers between 2^−400 and 2^400 neither overflow nor vanish
SHORT_LIST_ROWS = 1024  # of short lists of one length, which are summed at once


def spread_in_lists(pool: Pool) -> Float64:
    """Return each feature's standard deviation about the mean of its list, (D,).

    Differences between sentences do not count: they cannot change which hypothesis is selected.
    """
    f, m = pool.features, max(1, pool.n_hypotheses)
    powers = squarable(f.sizes)
    if powers.any():
        dense, values = np.ldexp(f.dense, -powers[: f.n_dense]), np.ldexp(f.values, -powers[f.n_dense :][f.indices])
        scaled = dataclasses.replace(f, dense=flat(dense), values=flat(values))
        return np.ldexp(np.sqrt(_squares(pool, scaled) / m), powers)
    return np.asarray(np.sqrt(_squares(pool, f) / m), np.float64)


def differing(pool: Pool) -> Bool:
    """Return which features differ within some list, be it by the last bit, (D,): all others select nothing."""
    f, found = pool.features, np.zeros(pool.features.n_features, np.bool_)
    firsts = pool.offsets[:-1][pool.list_lengths > 0]
    if f.n_dense and len(firsts):
        lows, highs = np.minimum.reduceat(f.dense, firsts, axis=0), np.maximum.reduceat(f.dense, firsts, axis=0)
        found[: f.n_dense] = np.any(lows != highs, axis=0)
    there = np.flatnonzero(f.values)
    rows = np.repeat(np.arange(len(f)), np.diff(f.indptr))[there]
    lists, columns, values = segment_of_rows(pool.offsets)[rows], f.indices[there], f.values[there]
    order = np.lexsort((columns, lists))
    lists, columns, values = lists[order], columns[order], values[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(lists) != 0) | (np.diff(columns) != 0)][: len(lists)])
    if len(starts):
        full = np.diff(np.r_[starts, len(lists)]) == pool.list_lengths[lists[starts]]
        same = np.minimum.reduceat(values, starts) == np.maximum.reduceat(values, starts)
        found[f.n_dense + columns[starts[~(full & same)]]] = True
    return found


def squarable(sizes: Float64) -> Int64:
    """Return powers of two by which numbers of such sizes are to be divided before they are squared: mostly 0.

    >>> squarable(np.array([0.0, 3.0, 1e300, 1e-300])).tolist()
    [0, 0, 997, -996]
    """
    powers = np.frexp(sizes)[1].astype(np.int64)
    powers[np.abs(powers) < SAFE_POWER] = 0
    return powers


def _squares(pool: Pool, f: Features) -> Float64:
    """Return the sum of squares about the means of lists, (D,)."""
    squares, lengths = np.zeros(f.n_features), pool.list_lengths
    of_lists = np.zeros((len(lengths), f.n_dense))
    for length in np.unique(lengths[lengths > 1]).tolist():
        lists, many = np.flatnonzero(lengths == length), max(1, SHORT_LIST_ROWS // length)
        for at in range(0, len(lists), many):
            some = lists[at : at + many]
            starts = pool.offsets[some]
            block = f.dense[starts[:, None] + np.arange(length)] if many > 1 else f.dense[None, starts[0] :][:, :length]
            block = block - block.mean(axis=1, keepdims=True)
            of_lists[some] = np.einsum("nkd,nkd->nd", block, block)
    squares[: f.n_dense] = of_lists.sum(axis=0)
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
