"""Units in which an objective with neighbouring bins curves alike in all directions: a banded Cholesky factor."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.linalg import cholesky_banded
from scipy.linalg.blas import dtbmv, dtbsv

from luthier.core.arrays import Float64, Int64
from luthier.landscape.bounds import Bounds
from luthier.tuning.neighbours.penalty import Neighbours

BANDS = 2
# What a weight curves the objective by at least, as a share of what any other does.
LEAST_CURVE = 1e-12


@dataclasses.dataclass(frozen=True, eq=False)
class BandedUnits:
    """z = Lᵀ w for the weights in an order in which bins stand beside their neighbours; L Lᵀ is banded.

    A weight that has bounds is scaled by itself, so that its bounds are bounds of one z.

    Attributes
    ----------
    order : (D,) int64
        The weight at each place.
    factor : (3, D) float64
        L, lower diagonals.
    """

    order: Int64
    factor: Float64

    @classmethod
    def of(cls, curvature: Float64, neighbours: Neighbours, band: Float64, bounds: Bounds) -> BandedUnits:
        """Return the units of a matrix: a diagonal, (D,), plus the band of neighbours, (3, B)."""
        others = np.setdiff1d(np.arange(len(curvature)), neighbours.columns)
        order = np.concatenate([neighbours.columns, others])
        matrix = np.zeros((BANDS + 1, len(order)))
        matrix[:, : band.shape[1]] = band
        matrix[0] += curvature[order]
        held = (np.isfinite(bounds.low) | np.isfinite(bounds.high))[order]
        for k in range(1, BANDS + 1):
            matrix[k, :-k][held[:-k] | held[k:]] = 0.0
        matrix[0] = np.maximum(matrix[0], matrix[0].max(initial=0.0) * LEAST_CURVE or 1.0)
        return cls(order, np.asfortranarray(cholesky_banded(matrix, lower=True)))

    def inner(self, weights: Float64) -> Float64:
        """Return z of weights, (D,)."""
        z: Float64 = dtbmv(BANDS, self.factor, weights[self.order], lower=1, trans=1)
        return z

    def weights(self, z: Float64) -> Float64:
        """Return the weights of z, (D,)."""
        weights = np.empty(len(z))
        weights[self.order] = dtbsv(BANDS, self.factor, z, lower=1, trans=1)
        return weights

    def gradient(self, gradient: Float64) -> Float64:
        """Return the gradient by z of a gradient by weights, (D,)."""
        by_z: Float64 = dtbsv(BANDS, self.factor, gradient[self.order], lower=1)
        return by_z

    def limits(self, bounds: Bounds, scale: float) -> Float64 | None:
        """Return low and high of every z / scale, (D, 2); None where there are no bounds."""
        if bounds.is_free:
            return None
        low, high = bounds.low[self.order], bounds.high[self.order]
        limits: Float64 = np.stack([low, high], axis=1) * (self.factor[0] / scale)[:, None]
        return limits
