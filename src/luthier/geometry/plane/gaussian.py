"""How much of a Gaussian lies in polygons of the plane: exact, by Owen's T, without sampling."""

from __future__ import annotations

import numpy as np
from scipy import special

from luthier.core.arrays import Float64, Int64


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
