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

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.landscape.bounds import Bounds
from luthier.tuning.neighbours.fit import minimize_with_neighbours
from luthier.tuning.neighbours.penalty import Neighbours
from luthier.tuning.neighbours.smooth_fit import Fit, Ridge, Term, objective

from .newton import CurvedLoss, Space, StraightSpace, minimize_by_newton, straight_lines

GAP = 1e-3
# A point is solved so that its own bounds differ by this share of the gap that is wanted between points.
SHARE_OF_A_POINT = 0.01
MOST_POINTS = 500


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
    """Return the point of one β, that of `neighbours`, from `start` on: within a share `tolerance` of the least one."""
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
        self.loss, self.bends, self.tolerance = loss, bends, tolerance
        self.ridge, self.lines = Ridge(ridge, np.zeros(bends.n_weights)), straight_lines(bends)

    def solve(self, beta: float, start: Float64) -> PathPoint:
        """Return the point of a β; for ∞ the search is among straight lines."""
        if math.isinf(beta):
            space: Space = StraightSpace(self.loss, self.ridge, self.bends.with_strength(0.0), self.lines)
        else:
            space = Space(self.loss, self.ridge, self.bends.with_strength(beta))
        found = minimize_by_newton(space, space.enter(start), self.tolerance)
        weights = space.leave(found.at)
        bent = 0.0 if math.isinf(beta) else self.bends.value_and_gradient(weights)[0]
        loss = found.value - beta * bent if bent else found.value
        return PathPoint(beta, weights, loss, bent, found.value - space.above_least(found.gradient), found.steps)
