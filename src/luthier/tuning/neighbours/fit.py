"""Minimising a sum of smooth terms of which one ties neighbouring bins, within bounds, until its gradient is small."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from scipy.linalg import cholesky_banded
from scipy.linalg.blas import dtbmv, dtbsv
from scipy.optimize import minimize

from luthier.core.arrays import Float64, Int64
from luthier.landscape.bounds import Bounds
from luthier.tuning.neighbours.penalty import Neighbours
from luthier.tuning.neighbours.smooth_fit import MEMORY, Fit, Term, objective

# Units in which an objective with neighbouring bins curves alike in all directions: a banded Cholesky factor.

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


# β comes in by these shares of itself: MNR has local minima, and small steps find better ones.
SHARES = (0.01, 0.1, 1.0)
# Steps between two factors: the loss's curvature and MNR's damping change as weights move, and so do the units.
STEPS_OF_A_FACTOR = 20
# What each term keeps of LNR's curvature in the units.
LEAST_BAND = 0.03
# How small the gradient becomes, in units in which the objective and its curvature are about 1: at the end of LNR,
# which takes few steps, at the end of MNR, and on the way there.
TOLERANCES = {"lnr": 1e-5, "mnr": 1e-4}
ON_THE_WAY = 1e-3
# A search that has not ended by then is given up, and says so.
MOST_STEPS = 20_000


def minimize_with_neighbours(
    terms: Sequence[Term], neighbours: Neighbours, start: Float64, bounds: Bounds, *, raised: bool, unit: float = 0.0
) -> Fit:
    """Return where the sum of terms and of the neighbours' penalty is least, from `start` on.

    The search works in units of a banded Cholesky factor (`BandedUnits`) of the terms' curvature and the
    penalty's. With LNR the sum is as convex as its terms, and there is one answer. With MNR it has local minima:
    if `raised`, the search begins at LNR's answer with a hundredth of β and raises β by tens; if not, it goes on
    from `start`, the answer of an earlier search for much the same sum.

    Parameters
    ----------
    unit
        What the objective counts in; default: its value at the start.
    """
    first = unit or objective([*terms, neighbours], start)[0]
    if not first > 0.0:
        return Fit(start, first, 0, converged=True)
    search = _Search(terms, bounds, first)
    if neighbours.kind == "lnr" or not raised:
        return search.run(neighbours, start)
    fit = search.run(neighbours.with_strength(SHARES[0] * neighbours.strength, "lnr"), start, ON_THE_WAY)
    for share in SHARES:
        fit = search.run(neighbours.with_strength(share * neighbours.strength), fit.weights, ON_THE_WAY)
    return search.run(neighbours, fit.weights)


class _Search:
    """The terms without the neighbours, and the steps taken so far."""

    def __init__(self, terms: Sequence[Term], bounds: Bounds, unit: float) -> None:
        self.terms, self.bounds, self.scale = terms, bounds, float(np.sqrt(unit))
        self.steps = 0

    def run(self, neighbours: Neighbours, start: Float64, tolerance: float | None = None) -> Fit:
        """Return where it is least with one penalty; its steps count those before."""
        both, weights = [*self.terms, neighbours], start
        tolerance = tolerance or TOLERANCES[neighbours.kind]
        while True:
            curvature = sum((term.curvature(weights) for term in self.terms), np.zeros(len(weights)))
            units = BandedUnits.of(curvature, neighbours, neighbours.band(weights, LEAST_BAND), self.bounds)
            limits = units.limits(self.bounds, self.scale)
            length = min(STEPS_OF_A_FACTOR, MOST_STEPS - self.steps)
            z, gradient, value, steps = self._leg(both, units, weights, (length, tolerance))
            self.steps += steps
            weights = _snapped(units.weights(z * self.scale), self.bounds)
            downhill = z - gradient if limits is None else np.clip(z - gradient, *limits.T)
            converged = float(np.abs(downhill - z).max()) <= tolerance
            if converged or not steps or self.steps >= MOST_STEPS:
                return Fit(weights, value * self.scale**2, self.steps, converged=converged)

    def _leg(
        self, terms: Sequence[Term], units: BandedUnits, start: Float64, limit: tuple[int, float]
    ) -> tuple[Float64, Float64, float, int]:
        """Take steps of L-BFGS in units in which the objective and its curvature are about 1.

        Returns z, gradient and value where it ended, and the steps taken. Only the gradient ends it, or no way down.
        """

        def scaled(z: Float64) -> tuple[float, Float64]:
            value, gradient = objective(terms, units.weights(z * self.scale))
            return value / self.scale**2, units.gradient(gradient) / self.scale

        found = minimize(
            scaled,
            units.inner(start) / self.scale,
            jac=True,
            method="L-BFGS-B",
            bounds=units.limits(self.bounds, self.scale),
            options={"maxiter": limit[0], "maxfun": 4 * limit[0] + 20, "maxcor": MEMORY, "ftol": 0.0, "gtol": limit[1]},
        )
        return found.x, found.jac, float(found.fun), int(found.nit)


def _snapped(weights: Float64, bounds: Bounds) -> Float64:
    """Return weights inside their bounds; one that units brought next to its bound is on it."""
    for limit in (bounds.low, bounds.high):
        weights = np.where(np.isclose(weights, limit, rtol=1e-12, atol=0.0), limit, weights)
    return bounds.clip(weights)
