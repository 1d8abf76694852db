"""What is selected at the points of a raster over the plane: exact at every point, none is interpolated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_of_rows
from luthier.core.threads import executor
from luthier.geometry.plane import _raster_kernels as kernels

ROWS_AT_ONCE = 16


def raster(
    offsets: Int64, points: Float64, values: npt.NDArray[Any], xs: Float64, ys: Float64, *, threads: int = 1
) -> npt.NDArray[Any]:
    """Return the sum over lists of the highest row's values at every ``(xs[i], ys[j])``: (ny, nx, S).

    Row k has the height ``(c + y·q) + x·p``; if several rows of a list are equally high, the lowest counts, as when
    it is re-ranked. For each y the rows of a list are stacked by ascending p, which costs O(K log nx).

    Parameters
    ----------
    offsets : (N+1,) int64
        Rows of each list, at least one.
    points : (M, 3) float64
        c, p, q of each row.
    values : (M, S)
    xs, ys : (nx,), (ny,) float64
        Ascending.

    >>> flags = np.array([[1, 0], [0, 1]])
    >>> raster(np.array([0, 2]), np.array([[0.0, 0, 0], [0, 1, 1]]), flags, np.array([-1.0, 1]), np.zeros(1)).tolist()
    [[[1, 0], [0, 1]]]
    """
    return np.cumsum(raster_changes(offsets, points, values, (xs, ys), threads=threads), axis=1)


def raster_changes(
    offsets: Int64,
    points: Float64,
    values: npt.NDArray[Any],
    places: tuple[Float64, Float64],
    *,
    onto: npt.NDArray[Any] | None = None,
    threads: int = 1,
) -> npt.NDArray[Any]:
    """Return what is to be summed along x for a raster, (ny, nx, S), added list by list to `onto`, which is changed.

    So the rasters of some lists after others are those of all lists, to the last bit.
    """
    xs, ys = places
    offsets, points = flat(np.asarray(offsets, np.int64)), flat(np.asarray(points, np.float64))
    xs, ys = flat(np.asarray(xs, np.float64)), flat(np.asarray(ys, np.float64))
    if points.shape != (len(values), 3) or offsets[-1] != len(points) or np.any(np.diff(offsets) < 1):
        raise LuthierError(f"expected lists of one row or more with 3 numbers each, found shape {points.shape}")
    if np.any(np.diff(xs) <= 0) or np.any(np.diff(ys) <= 0):
        raise LuthierError("expected the places of a raster in ascending order, found another")
    order = flat(np.lexsort((points[:, 1], segment_of_rows(offsets))))
    values = flat(values.astype(np.int64 if np.issubdtype(values.dtype, np.integer) else np.float64))
    out = np.zeros((len(ys), len(xs), values.shape[1]), values.dtype) if onto is None else onto
    if not out.size:
        return out

    def work(first: int) -> None:
        part = slice(first, first + ROWS_AT_ONCE)
        kernels.raster_rows(points, offsets, order, values, xs, ys[part], out[part])

    with executor(threads) as pool:
        list(pool.map(work, range(0, len(ys), ROWS_AT_ONCE)))
    return out
