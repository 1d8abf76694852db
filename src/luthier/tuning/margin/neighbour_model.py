"""The program of cutting planes beside a penalty on neighbouring bins, through quadratic models of the penalty."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, flat
from luthier.landscape.bounds import Bounds
from luthier.tuning.margin import _svm_kernels as kernels
from luthier.tuning.margin._mira_kernels import Box
from luthier.tuning.neighbours.fit import BandedUnits
from luthier.tuning.neighbours.penalty import Neighbours

# What each term of MNR keeps of LNR's curvature in a model.
LEAST_BAND = 0.03
# A model that leads uphill is made so much steeper, up to a limit, and again less steep when one leads downhill.
STEEPER, STEEPEST = 4.0, 4.0**10
MOST_STEPS = 100_000


class NeighbourModel:
    """½‖w − centre‖²_{M⁻¹} + R(w) about some weights: a quadratic, in units z = Lᵀw in which it is ½‖z − z₀‖².

    For LNR the model is the penalty itself. For MNR it has the penalty's gradient and a curvature that is not below 0
    (`Neighbours.band`); the first model is LNR's, wherever that is.

    Attributes
    ----------
    neighbours : the penalty
    """

    def __init__(self, neighbours: Neighbours, scale: Float64, centre: Float64, bounds: Bounds) -> None:
        self.neighbours, self._centre, self._bounds = neighbours, centre, bounds
        self._moves = scale > 0.0
        self._curvature = np.divide(1.0, scale, out=np.ones(len(scale)), where=self._moves)
        self._here, self._objective, self._steep = centre, np.inf, 1.0
        self._build(neighbours.with_strength(neighbours.strength, "lnr"))

    def _build(self, neighbours: Neighbours) -> None:
        """Make the model about the present weights."""
        band = self._steep * neighbours.band(self._here, LEAST_BAND)
        self._units = BandedUnits.of(self._curvature, neighbours, band, self._bounds)
        _, gradient = neighbours.value_and_gradient(self._here)
        target = self._curvature * self._centre - gradient + _times(band, neighbours, self._here)
        self._center = self._units.gradient(target)
        limits = self._units.limits(self._bounds, 1.0)
        none = np.full((len(target), 2), [-np.inf, np.inf])
        low, high = (none if limits is None else limits).T
        self._low, self._high = flat(low), flat(high)
        self._scale = flat(self._moves[self._units.order].astype(np.float64))
        self._planes = np.zeros((0, len(target)))

    def planes(self, planes: Float64) -> Float64:
        """Return the planes in these units, (K, D); those that were asked for before are kept."""
        new = [self._units.gradient(plane) for plane in planes[len(self._planes) :]]
        self._planes = np.concatenate([self._planes, *(row[None] for row in new)])
        return self._planes

    def solve(self, planes: Float64, heights: Float64, alphas: Float64, *, limit: float, tolerance: float) -> Float64:
        """Return the weights that are best for planes in these units; `alphas` is where to start, and the answer."""
        z = np.empty(planes.shape[1])
        kernels.solve_planes(
            flat(planes),
            heights,
            limit,
            self._center,
            Box(self._scale, self._low, self._high),
            tolerance,
            MOST_STEPS,
            alphas,
            z,
        )
        return self._bounds.clip(self._units.weights(z))

    def settled(self, weights: Float64, objective: float, least: float) -> bool:
        """Return whether the model's answer is one: if not, the next model is made about the best weights so far."""
        if self.neighbours.kind == "lnr":
            return True
        if objective < self._objective - least:
            self._here, self._objective = weights, objective
            self._steep = max(1.0, self._steep / STEEPER)
        elif objective <= self._objective + least or self._steep >= STEEPEST:
            return True
        else:
            self._steep *= STEEPER
        self._build(self.neighbours)
        return False


def _times(band: Float64, neighbours: Neighbours, weights: Float64) -> Float64:
    """Return the product of a symmetric matrix, lower diagonals (3, B), with the weights of bins, (D,) → (D,)."""
    w, out = weights[neighbours.columns], np.zeros(len(weights))
    product = band[0] * w
    for k in (1, 2):
        product[k:] += band[k, :-k] * w[:-k]
        product[:-k] += band[k, :-k] * w[k:]
    out[neighbours.columns] = product
    return out
