"""Newton's method for a convex loss with a ridge and LNR: conjugate gradients in banded units, and a proof."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.landscape.bounds import Bounds
from luthier.tuning.neighbours.fit import BandedUnits
from luthier.tuning.neighbours.penalty import Neighbours
from luthier.tuning.neighbours.smooth_fit import Ridge, Term, objective

Product = Callable[[Float64], Float64]

MOST_STEPS, MOST_PRODUCTS = 100, 500
# Conjugate gradients end where the residual is this share of the gradient, and later as that vanishes.
LOOSEST = 0.1
# A step is taken if the objective falls by this share of what its slope says; where it is halved to nothing there is
# no way down in floating point.
LEAST_FALL, SHORTEST = 1e-4, 1e-8


class CurvedLoss(Term, Protocol):
    """A convex loss that can multiply by its second derivatives."""

    def product_at(self, weights: Float64) -> Product:
        """Return the product of the second derivatives at `weights` with a direction, (D,) → (D,)."""


class Space:
    """Where a minimum is searched for: all weights, in units of a banded matrix.

    Parameters
    ----------
    loss, ridge : the ridge is above 0, about 0
    penalty : LNR
    """

    def __init__(self, loss: CurvedLoss, ridge: Ridge, penalty: Neighbours) -> None:
        self.loss, self.ridge, self.penalty = loss, ridge, penalty

    def enter(self, weights: Float64) -> Float64:
        """Return the coordinates of weights, or of a gradient."""
        return weights

    def leave(self, at: Float64) -> Float64:
        """Return the weights of coordinates."""
        return at

    def objective(self, at: Float64) -> tuple[float, Float64]:
        """Return value and gradient at coordinates."""
        return objective([self.loss, self.ridge, self.penalty], at)

    def above_least(self, gradient: Float64) -> float:
        """Return how far the objective is above the least one at most, by its gradient: it curves by 2c at least."""
        return float(gradient @ gradient) / (4.0 * self.ridge.strength)

    def product(self, at: Float64) -> Product:
        """Return the product of the second derivatives at coordinates with a direction."""
        loss, penalty = self.loss.product_at(at), self.penalty
        twice = 2.0 * self.ridge.strength
        # a quadratic form's gradient is its product
        return lambda d: loss(d) + twice * d + penalty.value_and_gradient(d)[1]

    def preconditioner(self, at: Float64) -> Product:
        """Return about the inverse of that product."""
        curvature = self.loss.curvature(at) + self.ridge.curvature()
        units = BandedUnits.of(curvature, self.penalty, self.penalty.band(at, 0.0), Bounds.none(len(at)))
        return lambda r: units.weights(units.gradient(r))


class StraightSpace(Space):
    """Weights whose bins lie on a line in each feature, in an orthonormal basis of them; the penalty is 0 there."""

    def __init__(self, loss: CurvedLoss, ridge: Ridge, penalty: Neighbours, lines: Lines) -> None:
        super().__init__(loss, ridge, penalty)
        self.lines = lines

    def enter(self, weights: Float64) -> Float64:
        """Return the coordinates of the nearest such weights."""
        return self.lines.enter(weights)

    def leave(self, at: Float64) -> Float64:
        """Return the weights of coordinates."""
        return self.lines.leave(at)

    def objective(self, at: Float64) -> tuple[float, Float64]:
        """Return value and gradient at coordinates."""
        value, gradient = objective([self.loss, self.ridge], self.leave(at))
        return value, self.enter(gradient)

    def product(self, at: Float64) -> Product:
        """Return the product of the second derivatives at coordinates with a direction."""
        loss, twice = self.loss.product_at(self.leave(at)), 2.0 * self.ridge.strength
        return lambda d: self.enter(loss(self.leave(d))) + twice * d

    def preconditioner(self, at: Float64) -> Product:
        """Return about the inverse of that product, by its diagonal."""
        curvature = self.lines.diagonal(self.loss.curvature(self.leave(at)) + self.ridge.curvature())
        return lambda r: r / curvature


@dataclasses.dataclass(frozen=True, eq=False)
class Lines:
    """An orthonormal basis of weights on straight lines: a constant and a slope for each feature, others by themselves.

    Attributes
    ----------
    others : (O,) int64
        Weights that are no bins with neighbours on both sides.
    parts : a feature's columns, (n,), and its basis, (n, 2)
    n_weights : int
    """

    others: Int64
    parts: Sequence[tuple[Int64, Float64]]
    n_weights: int

    def enter(self, weights: Float64) -> Float64:
        """Return Tᵀ·w."""
        return np.concatenate([weights[self.others], *(basis.T @ weights[columns] for columns, basis in self.parts)])

    def leave(self, at: Float64) -> Float64:
        """Return T·v."""
        weights, first = np.zeros(self.n_weights), len(self.others)
        weights[self.others] = at[:first]
        for k, (columns, basis) in enumerate(self.parts):
            weights[columns] = basis @ at[first + 2 * k : first + 2 * k + 2]
        return weights

    def diagonal(self, curvature: Float64) -> Float64:
        """Return Tᵀ·diag(curvature)·T on its diagonal."""
        return np.concatenate([curvature[self.others], *((b**2).T @ curvature[c] for c, b in self.parts)])


def straight_lines(bends: Neighbours) -> Lines:
    """Return the basis of weights without bends: a feature's bins are a run of `columns`."""
    ends = np.flatnonzero(np.diff(np.concatenate([[0.0], bends.inner, [0.0]])))  # where runs of terms begin and end
    parts = []
    for first, last in ends.reshape(-1, 2).tolist():
        columns = bends.columns[first : last + 2]
        steps = np.arange(len(columns)) - 0.5 * (len(columns) - 1)
        basis = np.stack([np.ones(len(columns)), steps], axis=1)
        parts.append((columns, basis / np.linalg.norm(basis, axis=0)))
    others = np.setdiff1d(np.arange(bends.n_weights), bends.columns)
    return Lines(others, parts, bends.n_weights)


class Minimum(NamedTuple):
    """Where a search ended, in coordinates of its space."""

    at: Float64
    value: float
    gradient: Float64
    steps: int


def minimize_by_newton(space: Space, start: Float64, tolerance: float) -> Minimum:
    """Return where the objective is proven to be within a share `tolerance` of the least one, or steps end."""
    at = start
    value, gradient = space.objective(at)
    first, steps = float(np.linalg.norm(gradient)), 0
    while steps < MOST_STEPS and space.above_least(gradient) > tolerance * value:
        share = min(LOOSEST, math.sqrt(float(np.linalg.norm(gradient)) / first))
        step = _solve(space.product(at), space.preconditioner(at), -gradient, share)
        slope, length = float(gradient @ step), 1.0
        while True:
            there = at + length * step
            new, new_gradient = space.objective(there)
            if new <= value + LEAST_FALL * length * slope:
                break
            length *= 0.5
            if length < SHORTEST:
                return Minimum(at, value, gradient, steps)
        at, value, gradient, steps = there, new, new_gradient, steps + 1
    return Minimum(at, value, gradient, steps)


def _solve(product: Product, preconditioner: Product, right: Float64, share: float) -> Float64:
    """Return x with A x ≈ b by preconditioned conjugate gradients: its residual is a share of b, in that norm."""
    x, residual = np.zeros(len(right)), right.copy()
    scaled = preconditioner(residual)
    direction, size = scaled, float(residual @ scaled)
    least = share**2 * size
    for _ in range(MOST_PRODUCTS):
        if size <= least:
            break
        image = product(direction)
        length = size / float(direction @ image)
        x += length * direction
        residual -= length * image
        scaled = preconditioner(residual)
        before, size = size, float(residual @ scaled)
        direction = scaled + (size / before) * direction
    return x
