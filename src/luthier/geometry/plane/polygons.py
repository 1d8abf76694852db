"""How much of a Gaussian lies in polygons of the plane: exact, by Owen's T, without sampling."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.geometry.lp.lp import maximize
from luthier.geometry.plane.cells import area_and_centroid


def gaussian_shares(offsets: Int64, corners: Float64, centre: Float64) -> Float64:
    """Return the share of a standard Gaussian about `centre` that lies in each of n polygons, (n,).

    The triangle of the centre and an edge, which lies at the distance h from it and reaches from t₁ to t₂ along its
    line, has the share ``(θ₂ − θ₁)/2π − (T(h, t₂/h) − T(h, t₁/h))``, θ = atan(t/h), T Owen's function [owen1956]. A
    polygon is the sum of its triangles, those whose edge is seen from its other side counted negative.

    Parameters
    ----------
    offsets : (n+1,) int64
        Polygon i has the corners ``corners[offsets[i]:offsets[i+1]]``, counter-clockwise, one or more.
    corners : (V, 2) float64
    centre : (2,) float64

    >>> square = np.array([[0.0, 0.0], [9, 0], [9, 9], [0, 9]])
    >>> gaussian_shares(np.array([0, 4]), square, np.zeros(2)).round(6).tolist()
    [0.25]
    """
    from scipy import special  # loaded by those who ask for shares only

    begin = corners - centre  # (V, 2)
    following = np.arange(1, len(corners) + 1)
    following[offsets[1:] - 1] = offsets[:-1]
    end = begin[following]
    along = end - begin
    length = np.sqrt(np.einsum("vc,vc->v", along, along))
    along = np.divide(along, length[:, None], out=np.zeros_like(along), where=length[:, None] > 0.0)
    distance = begin[:, 0] * along[:, 1] - begin[:, 1] * along[:, 0]
    height, sides = np.abs(distance), []
    for corner in (begin, end):
        place = np.einsum("vc,vc->v", corner, along)
        slope = np.divide(place, height, out=np.zeros_like(place), where=height > 0.0)
        sides.append(np.arctan(slope) / (2 * np.pi) - special.owens_t(height, slope))
    shares: Float64 = np.add.reduceat(np.sign(distance) * (sides[1] - sides[0]), offsets[:-1])
    return shares


# The largest circle inside a convex polygon: its centre is the point farthest from all sides.

THIN = 1e-8


def largest_circle(polygon: Float64, sides: Float64 | None = None) -> tuple[Float64, float]:
    """Return centre and radius of the largest circle in a convex polygon, (v, 2), counter-clockwise and finite.

    Maximise r subject to n_i·c + d_i ≥ r, with n_i·x + d_i = 0 the sides' lines and n_i of length 1. There may be
    several such circles; one is returned. A polygon thinner than 1e-8 of its length is too thin for that program:
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
