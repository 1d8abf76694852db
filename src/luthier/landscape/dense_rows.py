"""The features of a pool as one plain table, for geometry, which knows no other form."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_of_rows
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool

MOST_ENTRIES = 1 << 28  # 2 GB


def dense_rows(features: Features) -> Float64:
    """Return all features, sparse ones among them, as (M, D); the pool's own array if none is sparse."""
    if features.n_features == features.n_dense:
        return features.dense
    shape = len(features), features.n_features
    if shape[0] * shape[1] > MOST_ENTRIES:
        raise LuthierError(
            f"expected features that fit into a plain table, found {shape[0]:,} hypotheses with {shape[1]:,} features, "
            f"most of them sparse. hint: keep the features that matter, or fewer sentences"
        )
    table = np.zeros(shape)
    table[:, : features.n_dense] = features.dense
    rows = np.repeat(np.arange(shape[0]), np.diff(features.indptr))
    table[rows, features.n_dense + features.indices] = features.values
    return flat(table)


def varying_columns(pool: Pool) -> Int64:
    """Return the features that differ within some list, (c,)."""
    return np.flatnonzero(np.concatenate([_dense_varies(pool), _sparse_varies(pool)]))


def varying_rows(pool: Pool, most: int) -> tuple[Int64, Float64]:
    """Return the features that differ within some list, (c,), and these of all rows, (M, c): no others matter.

    Linear programs over more than `most` of them do not end in a reasonable time, and are refused.
    """
    columns = varying_columns(pool)
    if len(columns) > most:
        raise LuthierError(
            f"expected at most {most} features that differ within a list, found {len(columns):,}: exact answers about "
            f"so many weights take too long. hint: keep the features that matter, with 'luthier pool'"
        )
    f = pool.features
    if len(columns) == f.n_features == f.n_dense:
        return columns, f.dense
    return columns, dense_rows(f.select([f.names[column] for column in columns]))


def _dense_varies(pool: Pool) -> Bool:
    starts = pool.offsets[:-1][pool.list_lengths > 0]
    dense = pool.features.dense
    if not len(starts) or not dense.shape[1]:
        return np.zeros(dense.shape[1], np.bool_)
    differ = np.maximum.reduceat(dense, starts) != np.minimum.reduceat(dense, starts)
    return np.asarray(differ.any(axis=0))


def _sparse_varies(pool: Pool) -> Bool:
    """Return which sparse features have two values within a list; an absent one is 0."""
    f = pool.features
    n_sparse = f.n_features - f.n_dense
    varies = np.zeros(n_sparse, np.bool_)
    rows = np.repeat(np.arange(len(f)), np.diff(f.indptr))
    keys = segment_of_rows(pool.offsets)[rows] * max(n_sparse, 1) + f.indices
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    if not len(starts):
        return varies
    values = f.values[order]
    high, low = np.maximum.reduceat(values, starts), np.minimum.reduceat(values, starts)
    counts = np.diff(np.append(starts, len(values)))
    lists, features = np.divmod(keys[order][starts], n_sparse)
    some_absent = counts < pool.list_lengths[lists]
    differ = (high != low) | (some_absent & ((high != 0) | (low != 0)))
    varies[features[differ]] = True
    return varies
