"""The largest circle inside a convex polygon: its centre is the point farthest from all sides."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.geometry.lp import maximize


def largest_circle(polygon: Float64) -> tuple[Float64, float]:
    """Return centre and radius of the largest circle in a convex polygon, (v, 2), counter-clockwise and finite.

    Maximise r subject to n_i·c + r ≤ n_i·p_i, with p_i the corners and n_i the outward normals of length 1. A
    polygon without area has the mean of its corners and radius 0. Of several such circles, one.

    >>> centre, radius = largest_circle(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]))
    >>> centre.round(9).tolist(), round(radius, 9)
    ([1.0, 1.0], 1.0)
    """
    if polygon.ndim != 2 or polygon.shape[1] != 2 or not len(polygon) or not np.isfinite(polygon).all():
        raise LuthierError(f"expected finite corners of a polygon, found shape {polygon.shape}")
    middle = polygon.mean(axis=0)
    corners = polygon - middle
    size = float(np.abs(corners).max())
    along = np.roll(corners, -1, axis=0) - corners
    length = np.hypot(along[:, 0], along[:, 1])
    long = length > 0.0
    if not size > 0.0 or not long.any():
        return middle, 0.0
    normals = np.column_stack([along[long, 1], -along[long, 0]]) / length[long, None]
    limits = np.einsum("ij,ij->i", normals, corners[long]) / size
    found = maximize(np.column_stack([normals, np.ones(len(normals))]), limits, np.array([0.0, 0.0, 1.0]), box=2.0)
    x, y, radius = found.points[0]
    if not radius > 0.0:  # NaN where rounding left nothing
        return middle, 0.0
    return middle + size * np.array([x, y]), size * float(radius)
