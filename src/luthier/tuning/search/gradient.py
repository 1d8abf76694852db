"""Vertices along the gradient of the expected metric, which lead a simplex uphill."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.kbest.features import Features
from luthier.kbest.spread import spread_in_lists
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import movable
from luthier.tuning.ranking.expectation import BREVITY, Expectation
from luthier.tuning.ranking.sentence_gains import Outcomes

SHARPNESS = 10.0  # of the softmax, in standard deviations of scores within lists
REACHES = 2.0 ** np.arange(-4, 3)  # of the steps along it, in distances of the other vertices from the best


class GradientVertices:
    """Points along the gradient at the best vertex of a simplex; each best vertex is tried once.

    The metric is that of expected statistics under a softmax over each list (`Expectation`). Gradient and distances
    are in units of the mean effect of a feature: neither the scale of a feature nor that of all weights matters.

    Parameters
    ----------
    problem
        Of all rows: the points may lie anywhere within the bounds.
    """

    def __init__(self, problem: ListProblem) -> None:
        self._expectation = Expectation(problem, Outcomes.of(problem), brevity=BREVITY)
        self._free = movable(problem)
        self._tried: Float64 | None = None

    def better(self, vertices: Float64, gain: float, units: Float64) -> tuple[Float64, float] | None:
        """Return the best of the points with its gain, if that is above `gain`, the best vertex's; else None.

        The best vertex is the first of `vertices`, (V, D).
        """
        best = vertices[0]
        if self._tried is not None and np.array_equal(best, self._tried):
            return None
        self._tried = best
        uphill, problem = self._uphill(best, units), self._expectation.problem
        others = (vertices[1:, self._free] - best[self._free]) / units[self._free]
        distance = float(np.sqrt(np.mean(np.sum(others**2, axis=1))))
        if uphill is None or not np.isfinite(distance):
            return None
        points = problem.bounds.clip(best + distance * REACHES[:, None] * uphill)
        gains = problem.gains(points)
        highest = int(np.argmax(gains))
        return (points[highest], float(gains[highest])) if gains[highest] > gain else None

    def _uphill(self, weights: Float64, units: Float64) -> Float64 | None:
        """Return the direction of the gradient, one unit long, (D,); None where there is none."""
        pool = self._expectation.problem.pool
        scores = Features.from_dense(("score",), pool.scores(weights)[:, None])
        spread = float(spread_in_lists(pool.with_features(scores))[0])
        if not spread > 0:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            sharp = dataclasses.replace(self._expectation, sharpness=SHARPNESS / spread)
            slopes = units[self._free] * sharp.value_and_gradient(weights)[1][self._free]
            length = float(np.linalg.norm(slopes))
        if not 0 < length < np.inf:
            return None
        direction = np.zeros(len(weights))
        direction[self._free] = units[self._free] * slopes / length
        return direction
