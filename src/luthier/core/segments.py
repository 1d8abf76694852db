"""Operations on consecutive segments of rows, `offsets[i]:offsets[i+1]`, in NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Int64


def offsets_from_counts(counts: npt.ArrayLike) -> Int64:
    """Return the (N+1,) offsets of segments of the given lengths.

    >>> offsets_from_counts([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    counts = np.asarray(counts, dtype=np.int64)
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def segment_of_rows(offsets: Int64) -> Int64:
    """Return the (M,) segment number of every row.

    >>> segment_of_rows(np.array([0, 2, 2, 5])).tolist()
    [0, 0, 2, 2, 2]
    """
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def rows_of_segments(offsets: Int64, segments: npt.ArrayLike) -> Int64:
    """Return the rows of the chosen segments, in the order in which the segments are named.

    >>> rows_of_segments(np.array([0, 2, 2, 5]), [2, 0]).tolist()
    [2, 3, 4, 0, 1]
    """
    segments = np.asarray(segments, dtype=np.int64)
    counts = offsets[segments + 1] - offsets[segments]
    inner = np.arange(counts.sum(), dtype=np.int64) - np.repeat(offsets_from_counts(counts)[:-1], counts)
    rows: Int64 = np.repeat(offsets[segments], counts) + inner
    return rows


def counts_in_segments(offsets: Int64, rows: Int64) -> Int64:
    """Return how many of the (sorted) `rows` fall into each segment."""
    return np.diff(np.searchsorted(rows, offsets)).astype(np.int64)
