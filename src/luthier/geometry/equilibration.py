"""Units in which lists and columns are of like size: powers of two, so that nothing is rounded.

A power of two for each list changes none of its cones, one for each column only the units of the weights. Sizes are
medians: one value of −10¹² (a log of 0), or one list of tiny numbers, leaves the units of all others as they are.
"""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64

ROUNDS = 4


def centred(offsets: Int64, features: Float64) -> Float64:
    """Return features less a value of their list, (M, D): only differences within a list matter.

    The value is the median of the first, a middle and the last row: whole numbers stay whole, and one row far away
    does not cost the others their digits.
    """
    return np.asarray(features - centres(offsets, features), np.float64)


def centres(offsets: Int64, features: Float64) -> Float64:
    """Return for each row the value of its list that `centred` takes off, (M, D)."""
    first, last = offsets[:-1], offsets[1:] - 1
    middle = np.median(np.stack([features[first], features[(first + last) // 2], features[last]]), axis=0)
    return np.repeat(middle, np.diff(offsets), axis=0)


def balanced(offsets: Int64, features: Float64) -> tuple[Int64, Int64]:
    """Return exponents of two, (N,) for lists and (D,) for columns: |h_jk − h_ik| is about 2^(list + column).

    Lists are ``features[offsets[s]:offsets[s+1]]``, (M, D), one row or more each; lists and columns in which nothing
    differs have 0.

    >>> balanced(np.array([0, 2, 4]), np.array([[0, 0], [1, 16], [0, 0], [2.0**-40, 2.0**-36]]))
    (array([  2, -38]), array([-2,  2]))
    """
    sizes = _log_sizes(offsets, features)
    known = np.isfinite(sizes)
    lists, columns = np.zeros(len(sizes)), np.zeros(features.shape[1])
    for _ in range(ROUNDS):  # medians of lists and columns in turn: one that stands out moves no other
        lists = _medians(sizes - columns, known)
        columns = _medians((sizes - lists[:, None]).T, known.T)
    return np.rint(lists).astype(np.int64), np.rint(columns).astype(np.int64)


def _log_sizes(offsets: Int64, features: Float64) -> Float64:
    """Return log2 of the median size of what differs in each list and column, (N, D); NaN where nothing does."""
    sizes = np.full((len(offsets) - 1, features.shape[1]), np.nan)
    for s, (low, high) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        if high - low > 1:
            rows = features[low:high]
            away = np.abs(rows - np.sort(rows, axis=0)[(high - low) // 2])
            away = np.sort(away, axis=0)  # zeros first: the median of the others
            zeros = np.count_nonzero(away == 0.0, axis=0)
            at = (zeros + high - low - 1) // 2
            found = np.take_along_axis(away, at[None], axis=0)[0]
            sizes[s, found > 0] = np.log2(found[found > 0])
    return sizes


def _medians(values: Float64, known: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> Float64:
    """Return the median of what is known in each row; 0 where nothing is."""
    out = np.zeros(len(values))
    some = known.any(axis=1)
    if some.any():
        out[some] = np.nanmedian(np.where(known, values, np.nan)[some], axis=1)
    return out
