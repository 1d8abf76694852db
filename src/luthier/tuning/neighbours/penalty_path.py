"""All weights of β at once: the fit of a fixed loss with LNR from β = 0 to β = ∞, its least objective within a gap.

The least objective φ(β) = min_w L(w) + c‖w‖² + β·R(w), R the sum of squared bends, is a minimum of functions that are
affine in β: it is concave, does not fall, and any weights give a tangent or a line above it, L + c‖·‖² + β·R. The
chord of two of its points is below it. Both bounds meet the points, and are farthest apart where two tangents cross:
there the next point goes, until no two bounds differ by more than the gap (a sandwich algorithm, [rote1992]).
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.landscape.bounds import Bounds
from luthier.tuning.neighbours.fit import BandedUnits, minimize_with_neighbours
from luthier.tuning.neighbours.penalty import Neighbours
from luthier.tuning.neighbours.smooth_fit import Fit, Ridge, Term, objective

Product = Callable[[Float64], Float64]

GAP = 1e-3
# A point is solved so that its own bounds differ by this share of the gap that is wanted between points.
SHARE_OF_A_POINT = 0.01
MOST_POINTS, MOST_STEPS, MOST_PRODUCTS = 500, 100, 500
# Conjugate gradients end where the residual is this share of the gradient, and sooner as that vanishes.
LOOSEST = 0.1
# A step is taken if the objective falls by this share of what its slope says; where it is halved to nothing there is
# no way down in floating point.
LEAST_FALL, SHORTEST = 1e-4, 1e-8


class CurvedLoss(Term, Protocol):
    """A convex loss that can multiply by its second derivatives."""

    def product_at(self, weights: Float64) -> Product:
        """Return the product of the second derivatives at `weights` with a direction, (D,) → (D,)."""


@dataclasses.dataclass(frozen=True, eq=False)
class PathPoint:
    """Weights for one β, and between what the least objective lies there.

    Attributes
    ----------
    beta : float
        ∞ where only straight lines of weights are allowed.
    weights : (D,)
    loss : float
        L + c‖w‖², the objective without the penalty.
    bent : float
        R, the sum of squared bends: the slope of the tangent. 0 for β = ∞.
    low : float
        Proven to be at most the least objective; the objective at the weights is at least that.
    steps : int
        Of Newton.
    """

    beta: float
    weights: Float64
    loss: float
    bent: float
    low: float
    steps: int

    @property
    def value(self) -> float:
        """The objective at the weights."""
        return self.at(self.beta)

    def at(self, beta: float) -> float:
        """Return the objective of these weights with another β: a bound from above."""
        return self.loss + beta * self.bent if self.bent else self.loss


@dataclasses.dataclass(frozen=True, eq=False)
class PenaltyPath:
    """Points of ascending β, the first with β = 0, the last with β = ∞.

    Attributes
    ----------
    points : tuple of PathPoint
    gap : float
        The largest difference of both bounds of the least objective, for any β, as a share of the lower one.
    """

    points: tuple[PathPoint, ...]
    gap: float

    def bounds_at(self, beta: float) -> tuple[float, float]:
        """Return between what the least objective lies for a β from 0 to ∞."""
        high = min(point.at(beta) for point in self.points)
        for left, right in itertools.pairwise(self.points):
            if left.beta <= beta <= right.beta:
                return _chord(left, right, beta), high
        raise LuthierError(f"expected a β from 0 on, found {beta}")


def trace_lnr(loss: CurvedLoss, ridge: float, neighbours: Neighbours, *, gap: float = GAP) -> PenaltyPath:
    """Return weights for every β from 0 to ∞: those of a point are optimal within `gap` as far as its tangent is.

    For any β the better one of the points beside it has an objective within `gap` of the least one. Each point begins
    half-way between the points beside it, and is solved by Newton's method with conjugate gradients, preconditioned
    by `BandedUnits`. With a ridge c a gradient g proves that the objective is within ‖g‖² / 4c of the least one.

    Parameters
    ----------
    ridge
        c, above 0.
    gap
        As a share of the objective.
    """
    if not (ridge > 0.0 and math.isfinite(ridge)) or not 0.0 < gap < 1.0:
        raise LuthierError(f"expected a ridge above 0 and a gap between 0 and 1, found {ridge} and {gap}")
    if not len(neighbours.inner):
        raise LuthierError("expected bins that have neighbours on both sides, found none")
    solver = _Solver(loss, ridge, neighbours.with_strength(1.0, "lnr"), SHARE_OF_A_POINT * gap)
    nothing = np.zeros(neighbours.n_weights)
    points = [solver.solve(0.0, nothing), solver.solve(math.inf, nothing)]
    while True:
        gaps = [_widest(left, right) for left, right in itertools.pairwise(points)]
        i = int(np.argmax([share for share, _ in gaps]))
        share, beta = gaps[i]
        inside = points[i].beta < beta < points[i + 1].beta
        if share <= gap or not inside or len(points) >= MOST_POINTS:
            return PenaltyPath(tuple(points), share)
        points.insert(i + 1, solver.solve(beta, 0.5 * (points[i].weights + points[i + 1].weights)))


def fit_lnr(loss: CurvedLoss, ridge: float, neighbours: Neighbours, start: Float64, *, tolerance: float) -> PathPoint:
    """Return the point of one β, the strength of `neighbours`, from `start` on: within a share `tolerance` of the least."""
    if not (ridge > 0.0 and math.isfinite(ridge)):
        raise LuthierError(f"expected a ridge above 0, found {ridge}")
    return _Solver(loss, ridge, neighbours.with_strength(1.0, "lnr"), tolerance).solve(neighbours.strength, start)


def trace_mnr(path: PenaltyPath, loss: Term, ridge: float, neighbours: Neighbours) -> tuple[Fit, ...]:
    """Return a *local* optimum of MNR for every finite β of a path, by continuation.

    Both penalties are nothing at β = 0. From there on each fit begins at the weights before or at those of LNR with
    the same β, wherever the objective is lower. MNR is nowhere above LNR: what is found is between φ(0) and φ(β).
    """
    terms = [loss, Ridge(ridge, np.zeros(neighbours.n_weights))]
    free, first = Bounds.none(neighbours.n_weights), path.points[0]
    fits = [Fit(first.weights, first.value, first.steps, converged=True)]
    for point in path.points[1:-1]:
        penalty = neighbours.with_strength(point.beta, "mnr")
        start = min((fits[-1].weights, point.weights), key=lambda w: objective([*terms, penalty], w)[0])
        fits.append(minimize_with_neighbours(terms, penalty, start, free, raised=False))
    return tuple(fits)


def _chord(left: PathPoint, right: PathPoint, beta: float) -> float:
    """Return the bound from below between two points: the chord, or towards ∞ the left one's own."""
    if math.isinf(right.beta):
        return right.low if math.isinf(beta) else left.low
    share = (beta - left.beta) / (right.beta - left.beta)
    return (1.0 - share) * left.low + share * right.low


def _widest(left: PathPoint, right: PathPoint) -> tuple[float, float]:
    """Return by how much bounds differ at most between two points, as a share of the lower one, and for which β.

    The bounds from above cross once and the one from below is straight, so that is where the tangents cross, or at an
    end of rounding's own.
    """
    crossing = (right.loss - left.loss) / (left.bent - right.bent) if left.bent > right.bent else left.beta
    beta = min(max(crossing, left.beta), right.beta)
    return max((min(left.at(b), right.at(b)) / _chord(left, right, b) - 1.0, b) for b in (left.beta, beta))


class _Solver:
    """The loss, the ridge and the bends of all points, and how exactly they are solved."""

    def __init__(self, loss: CurvedLoss, ridge: float, bends: Neighbours, tolerance: float) -> None:
        self.loss, self.ridge, self.bends, self.tolerance = loss, Ridge(ridge, np.zeros(bends.n_weights)), bends, tolerance
        self.lines = _straight_lines(bends)

    def solve(self, beta: float, start: Float64) -> PathPoint:
        """Return the point of a β; for ∞ the search is among straight lines."""
        straight = math.isinf(beta)
        space = _StraightSpace(self, beta) if straight else _Space(self, beta)
        at, value, gradient, steps = _newton(space, space.enter(start), self.tolerance)
        weights = space.leave(at)
        bent = 0.0 if straight else self.bends.value_and_gradient(weights)[0]
        low = value - space.beyond(gradient)
        return PathPoint(beta, weights, value if straight else value - beta * bent, bent, low, steps)


class _Space:
    """Where a point is searched for: all weights, preconditioned by a banded matrix."""

    def __init__(self, solver: _Solver, beta: float) -> None:
        self.loss, self.ridge = solver.loss, solver.ridge
        self.penalty = solver.bends.with_strength(0.0 if math.isinf(beta) else beta)
        self.lines = solver.lines

    def enter(self, weights: Float64) -> Float64:
        return weights

    def leave(self, at: Float64) -> Float64:
        return at

    def objective(self, at: Float64) -> tuple[float, Float64]:
        return objective([self.loss, self.ridge, self.penalty], at)

    def beyond(self, gradient: Float64) -> float:
        """Return how far the objective is above the least one at most, by its gradient: it curves by 2c at least."""
        return float(gradient @ gradient) / (4.0 * self.ridge.strength)

    def product(self, at: Float64) -> Product:
        loss, penalty = self.loss.product_at(at), self.penalty
        twice = 2.0 * self.ridge.strength
        # a quadratic form's gradient is its product
        return lambda d: loss(d) + twice * d + penalty.value_and_gradient(d)[1]

    def preconditioner(self, at: Float64) -> Product:
        curvature = self.loss.curvature(at) + self.ridge.curvature()
        units = BandedUnits.of(curvature, self.penalty, self.penalty.band(at, 0.0), Bounds.none(len(at)))
        return lambda r: units.weights(units.gradient(r))


class _StraightSpace(_Space):
    """Coordinates of weights whose bins lie on a line in each feature: an orthonormal basis of them."""

    def enter(self, weights: Float64) -> Float64:
        return self.lines.enter(weights)

    def leave(self, at: Float64) -> Float64:
        return self.lines.leave(at)

    def objective(self, at: Float64) -> tuple[float, Float64]:
        value, gradient = objective([self.loss, self.ridge], self.leave(at))
        return value, self.enter(gradient)

    def product(self, at: Float64) -> Product:
        loss, twice = self.loss.product_at(self.leave(at)), 2.0 * self.ridge.strength
        return lambda d: self.enter(loss(self.leave(d))) + twice * d

    def preconditioner(self, at: Float64) -> Product:
        curvature = self.lines.diagonal(self.loss.curvature(self.leave(at)) + self.ridge.curvature())
        return lambda r: r / curvature


@dataclasses.dataclass(frozen=True, eq=False)
class _Lines:
    """An orthonormal basis of weights on straight lines: a constant and a slope for each feature, others by themselves.

    Attributes
    ----------
    others : (O,) int64
        Weights that are no bins with neighbours on both sides.
    parts : a feature's columns, (n,), and its basis, (n, 2)
    n_weights : int
    """

    others: Float64
    parts: Sequence[tuple[Float64, Float64]]
    n_weights: int

    def enter(self, weights: Float64) -> Float64:
        return np.concatenate([weights[self.others], *(basis.T @ weights[columns] for columns, basis in self.parts)])

    def leave(self, at: Float64) -> Float64:
        weights, first = np.zeros(self.n_weights), len(self.others)
        weights[self.others] = at[:first]
        for k, (columns, basis) in enumerate(self.parts):
            weights[columns] = basis @ at[first + 2 * k : first + 2 * k + 2]
        return weights

    def diagonal(self, curvature: Float64) -> Float64:
        """Return Tᵀ·diag(curvature)·T on its diagonal."""
        return np.concatenate([curvature[self.others], *((b**2).T @ curvature[c] for c, b in self.parts)])


def _straight_lines(bends: Neighbours) -> _Lines:
    """Return the basis of weights without bends: a feature's bins are a run of `columns`."""
    ends = np.flatnonzero(np.diff(np.concatenate([[0.0], bends.inner, [0.0]])))  # where runs of terms begin and end
    parts = []
    for first, last in ends.reshape(-1, 2).tolist():
        columns = bends.columns[first : last + 2]
        steps = np.arange(len(columns)) - 0.5 * (len(columns) - 1)
        basis = np.stack([np.ones(len(columns)), steps], axis=1)
        parts.append((columns, basis / np.linalg.norm(basis, axis=0)))
    others = np.setdiff1d(np.arange(bends.n_weights), bends.columns)
    return _Lines(others, parts, bends.n_weights)


def _newton(space: _Space, start: Float64, tolerance: float) -> tuple[Float64, float, Float64, int]:
    """Return where the objective is least in a space, within a share `tolerance` of it, with value, gradient, steps."""
    at = start
    value, gradient = space.objective(at)
    first, steps = float(np.linalg.norm(gradient)), 0
    while steps < MOST_STEPS and space.beyond(gradient) > tolerance * value:
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
                return at, value, gradient, steps
        at, value, gradient, steps = there, new, new_gradient, steps + 1
    return at, value, gradient, steps


def _solve(product: Product, preconditioner: Product, right: Float64, share: float) -> Float64:
    """Return x with A x ≈ b by preconditioned conjugate gradients, its residual a share of b in the preconditioned norm."""
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
