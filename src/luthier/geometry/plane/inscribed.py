"""The largest circle inside a convex polygon: its centre is the point farthest from all sides."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.geometry.lp.lp import maximize
from luthier.geometry.plane.cells import area_and_centroid

THIN = 1e-8


def largest_circle(polygon: Float64, sides: Float64 | None = None) -> tuple[Float64, float]:
    """Return centre and radius of the largest circle in a convex polygon, (v, 2), counter-clockwise and finite.

    Maximise r subject to n_i·c + d_i ≥ r, with n_i·x + d_i = 0 the sides' lines and n_i of length 1. There may be
    several such circles; one is returned. A polygon thinner than 1e-8 of its length is too thin for that programme:
    there it is the circle round the centroid; one without area has radius 0.

    `sides` (l, 3) are rows d, n; without them they are laid through the corners, which should then lie apart.

    >>> centre, radius = largest_circle(np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]]))
    >>> centre.round(9).tolist(), round(radius, 9)
    ([1.0, 1.0], 1.0)
    """
    if polygon.ndim != 2 or polygon.shape[1] != 2 or not len(polygon) or not np.isfinite(polygon).all():
        raise LuthierError(f"expected finite corners of a polygon, found shape {polygon.shape}")
    middle = polygon.mean(axis=0)
    size = float(np.abs(polygon - middle).max())
    if sides is None:
        sides = _through_corners(polygon)
    if not size > 0.0 or not len(sides):
        return middle, 0.0
    normals, limits = -sides[:, 1:], (sides[:, 0] + sides[:, 1:] @ middle) / size
    found = maximize(np.column_stack([normals, np.ones(len(normals))]), limits, np.array([0.0, 0.0, 1.0]), box=2.0)
    x, y, radius = found.points[0]
    if radius > THIN:
        return middle + size * np.array([x, y]), size * float(radius)
    area, centroid = area_and_centroid(polygon)
    return centroid, max(0.0, float(np.min(sides[:, 0] + sides[:, 1:] @ centroid))) if area > 0.0 else 0.0


def _through_corners(polygon: Float64) -> Float64:
    """Return the lines through corners that follow each other, (l, 3)."""
    along = np.roll(polygon, -1, axis=0) - polygon
    length = np.hypot(along[:, 0], along[:, 1])
    long = length > 0.0
    normals = np.column_stack([-along[long, 1], along[long, 0]]) / length[long, None]
    return np.column_stack([-np.einsum("ij,ij->i", normals, polygon[long]), normals])
