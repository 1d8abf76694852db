"""The features of a pool as one plain table, for geometry, which knows no other form."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, flat
from luthier.core.errors import LuthierError
from luthier.kbest.features import Features

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
