"""Line search for the gain less a penalty: on the distance from given weights, or on neighbouring bins."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.curve import LineCurve, intervals_of, reach_of
from luthier.landscape.problem import TRIES, Problem
from luthier.tuning.base import State
from luthier.tuning.neighbours.penalty import Neighbours
from luthier.tuning.search.line_search import Seen

# How far inside an interval its nearest point is taken, as a share of the width and in units of `reach`.
INSIDE, STEP_INSIDE = 0.01, 1e-3
MOST_FAVOURITES = 16


class Price(Protocol):
    """A penalty that is known everywhere on a line."""

    def of(self, weights: Float64) -> Float64:
        """Return the penalty of weights, (…, D) → (…)."""

    def favourites(self, weights: Float64, direction: Float64) -> Float64:
        """Return steps along a line near which the penalty is low."""

    def points(self, weights: Float64, direction: Float64, positions: Float64) -> Float64:
        """Return the weights at steps along a line, (T, D)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Penalty:
    """What a distance from `origin` costs: ``strength · ‖w − origin‖²`` or, for ``l0``, per weight changed."""

    kind: str
    strength: float
    origin: Float64

    def of(self, weights: Float64) -> Float64:
        """Return the penalty of weights, (…, D) → (…)."""
        moved = weights - self.origin
        size = (moved != 0).sum(axis=-1) if self.kind == "l0" else (moved**2).sum(axis=-1)
        return np.asarray(self.strength * size, dtype=np.float64)

    def favourites(self, weights: Float64, direction: Float64) -> Float64:
        """Return the steps at which the penalty along a line is least, or lower than about it.

        For ``l2`` that is one: the foot of the perpendicular from the origin. For ``l0`` every weight that
        the line takes back to its origin gives one.
        """
        moved = weights - self.origin
        if self.kind == "l2":
            return np.array([-float(moved @ direction) / float(direction @ direction)])
        returning = (direction != 0) & (moved != 0)
        return np.unique(-moved[returning] / direction[returning])

    def points(self, weights: Float64, direction: Float64, positions: Float64) -> Float64:
        """Return ``weights + t·direction``, (T, D); a weight that comes back to its origin does so exactly."""
        points = weights + positions[:, None] * direction
        if self.kind == "l0":
            back = (direction != 0) & np.isclose(points, self.origin, rtol=1e-12, atol=0.0)
            points = np.where(back, self.origin, points)
        return points


@dataclasses.dataclass(frozen=True, eq=False)
class NeighbourPrice:
    """What weights of neighbouring bins cost once they are scaled to Σ|w| = 1: selections do not know their length."""

    neighbours: Neighbours

    def of(self, weights: Float64) -> Float64:
        """Return the penalty of weights, (…, D) → (…); 0 where all of them are 0."""
        size = np.abs(weights).sum(axis=-1, keepdims=True)
        return self.neighbours.values(weights / np.where(size > 0.0, size, 1.0))

    def favourites(self, weights: Float64, direction: Float64) -> Float64:
        """Return where bins come to the mean of their neighbours; at most so many, evenly taken."""
        found = self.neighbours.straight(weights, direction)
        if len(found) <= MOST_FAVOURITES:
            return found
        return found[np.linspace(0, len(found) - 1, MOST_FAVOURITES).round().astype(np.int64)]

    def points(self, weights: Float64, direction: Float64, positions: Float64) -> Float64:
        """Return ``weights + t·direction``, (T, D)."""
        return np.asarray(weights + positions[:, None] * direction)


def candidates(
    curve: LineCurve, favourites: Float64, *, limits: tuple[float, float], reach: float, tolerance: float
) -> tuple[Float64, Float64]:
    """Return positions on a line, and the gain promised at each: two or more for every interval.

    In each interval: its point nearest to each favourite, and to 0, a step strictly inside [waite2015];
    the favourite itself where it is inside.
    """
    left, right = intervals_of(curve, limits)
    wide = np.flatnonzero(right - left > tolerance * reach)
    left, right, gains = left[wide], right[wide], curve.gains[wide]
    step = np.minimum(INSIDE * (right - left), STEP_INSIDE * reach)
    wanted = np.append(favourites, 0.0)[:, None]
    inside = (left < wanted) & (wanted < right)
    near = np.where(inside, wanted, np.clip(wanted, left + step, right - step))  # (F, P)
    return near.ravel(), np.broadcast_to(gains, near.shape).ravel()


def penalized_search(
    problem: Problem, seen: Seen, here: State, direction: Float64, curve: LineCurve, penalty: Price, *, tolerance: float
) -> State | None:
    """Return the place of a line with the highest objective, if it is above the present one.

    As in `luthier.tuning.search.line_search`, a promise is checked by re-ranking at the very weights returned.
    """
    assert here.objective is not None
    limits = problem.bounds.steps_along(here.weights, direction)
    positions, promised = candidates(
        curve,
        penalty.favourites(here.weights, direction),
        limits=limits,
        reach=reach_of(here.weights, direction),
        tolerance=tolerance,
    )
    hopeful = promised > here.objective  # a penalty only takes
    positions, promised = positions[hopeful], promised[hopeful]
    points = problem.bounds.clip(penalty.points(here.weights, direction, positions))
    objectives = promised - penalty.of(points)
    for i in np.lexsort((np.abs(positions), -objectives))[:TRIES]:
        if objectives[i] <= here.objective:
            return None
        gain = seen.gain(points[i])
        objective = gain - float(penalty.of(points[i]))
        if objective > here.objective:
            return State(points[i], gain, objective=objective)
    return None
