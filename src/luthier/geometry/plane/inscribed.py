"""The largest circle inside a convex polygon: its centre is the point farthest from all sides."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.geometry.lp.lp import maximize
from luthier.geometry.plane.cells import area_and_centroid, distance_to_sides

THIN = 1e-8


def largest_circle(polygon: Float64) -> tuple[Float64, float]:
    """Return centre and radius of the largest circle in a convex polygon, (v, 2), counter-clockwise and finite.

    Maximise r subject to n_i·c + r ≤ n_i·p_i, with p_i the corners and n_i the outward normals of length 1. Of
    several such circles, one. A polygon thinner than 1e-8 of its length is too thin for that programme: there it
    is the circle round the centroid; one without area has radius 0.

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
    if radius > THIN:
        return middle + size * np.array([x, y]), size * float(radius)
    _, centroid = area_and_centroid(polygon)
    return centroid, distance_to_sides(polygon, centroid)
