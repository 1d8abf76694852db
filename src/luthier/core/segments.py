"""Operations on consecutive segments of rows, `offsets[i]:offsets[i+1]`, in NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Int32, Int64
from luthier.core.errors import LuthierError


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


def check_offsets(offsets: Int64, size: int, what: str, *, whole: bool = True) -> None:
    """Raise `LuthierError` unless `offsets` cut `size` items into segments: kernels index by them.

    Without `whole` the segments may be a stretch of the items, otherwise they must be all of them.
    """
    if offsets.ndim != 1 or not len(offsets):
        raise LuthierError(f"{what}: offsets must start at 0, found shape {offsets.shape}")
    first, last = int(offsets[0]), int(offsets[-1])
    if np.any(offsets[1:] < offsets[:-1]):
        raise LuthierError(f"{what}: expected offsets that never descend, found {_first_fall(offsets)}")
    if whole and first:
        raise LuthierError(f"{what}: offsets must start at 0, found {first}")
    if (first, last) != (0, size) if whole else first < 0 or last > size:
        span = f"from 0 to {size}" if whole else f"within 0 and {size}"
        raise LuthierError(f"{what}: expected offsets {span}, found {first} to {last}")


def _first_fall(offsets: Int64) -> str:
    i = int(np.argmax(offsets[1:] < offsets[:-1]))
    return f"{offsets[i + 1]} behind {offsets[i]}"


def check_rows(rows: Int64, n_rows: int) -> None:
    """Raise `LuthierError` unless every one of `rows` is a row of a column of `n_rows`."""
    if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
        raise LuthierError(f"expected rows from 0 to {n_rows - 1}, found {rows.min()} to {rows.max()}")


def ascends_in_segments(values: Int32, offsets: Int64) -> bool:
    """Return whether the values of each segment ascend, no two being equal.

    >>> ascends_in_segments(np.array([4, 1, 2, 2], np.int32), np.array([0, 1, 3, 4]))
    True
    """
    falls = values[1:] <= values[:-1]
    starts = offsets[(offsets > 0) & (offsets < len(values))]
    falls[starts - 1] = False
    return not falls.any()


def segment_blocks(offsets: Int64, rows: int) -> list[tuple[int, int]]:
    """Cut segments into consecutive blocks of about `rows` rows: pairs (first, last + 1).

    >>> segment_blocks(np.array([0, 3, 6, 9, 12]), 6)
    [(0, 2), (2, 4)]
    """
    blocks, first, n = [], 0, len(offsets) - 1
    while first < n:
        last = int(np.searchsorted(offsets, offsets[first] + rows, side="right")) - 1
        last = min(max(last, first + 1), n)
        blocks.append((first, last))
        first = last
    return blocks
