"""Corners and edges of one list on a whole-numbered grid: all that a search over sums of lists looks at.

A list may be flat, or have repeated or collinear rows. An edge too many costs time (what lies behind it is
tested, and is no vertex of a sum); one too few would cost vertices. Qhull proposes corners and edges in the
list's affine hull; small lists get all pairs.
"""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Int64
from luthier.geometry.sums.exact_cone import rank_columns

FEW_ROWS = 10  # all pairs are so few that nothing is saved by a hull
HULL_DIMENSIONS = 5  # beyond, a hull has more facets than there are pairs of rows
SURELY_FULL = 1e-6  # singular values in this proportion are independent without a doubt


def corner_pairs(points: Int64) -> Int64:
    """Return pairs of rows that hold every edge of the hull of distinct points, (K, D) → (P, 2)."""
    if len(points) < 2:
        return np.empty((0, 2), np.int64)
    columns = _independent_columns(points)
    if len(columns) == 1:
        along = points[:, columns[0]]
        return np.array([[np.argmin(along), np.argmax(along)]], np.int64)
    if len(points) <= max(FEW_ROWS, len(columns) + 1) or len(columns) > HULL_DIMENSIONS:
        return all_pairs(np.arange(len(points)))
    return _hull_pairs(points[:, columns].astype(np.float64))


def all_pairs(rows: Int64) -> Int64:
    """Return every pair of the rows, lower first: (P, 2)."""
    first, second = np.triu_indices(len(rows), 1)
    return np.stack([rows[first], rows[second]], axis=1)


def _independent_columns(points: Int64) -> list[int]:
    spread = np.ptp(points, axis=0)
    if np.all(spread > 0):
        values = np.linalg.svd((points - points[0]) / spread, compute_uv=False)
        if len(values) == points.shape[1] and values[-1] > SURELY_FULL * values[0]:
            return list(range(points.shape[1]))
    return rank_columns(points)


def _hull_pairs(points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Int64:
    from scipy.spatial import ConvexHull, QhullError

    spread = np.ptp(points, axis=0)
    try:
        simplices = ConvexHull((points - points.mean(axis=0)) / spread).simplices  # (F, rank)
    except QhullError:
        return all_pairs(np.arange(len(points)))
    first, second = np.triu_indices(simplices.shape[1], 1)
    pairs = np.sort(np.stack([simplices[:, first], simplices[:, second]], axis=-1).reshape(-1, 2), axis=1)
    return np.unique(pairs, axis=0).astype(np.int64)
