"""What the best value of each weight alone would gain: the weight that hurts most is the one with the most to gain."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.landscape.curve import intervals_of, reach_of
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.landscape.problem import slack

WIDE = 1e-9  # of the weights' length: narrower intervals are no places to go to


@dataclasses.dataclass(frozen=True)
class CoordinateGain:
    """The best place of the line along one feature.

    Attributes
    ----------
    feature : int
    position : float
        What is added to its weight.
    gain : float
        At that place, less the gain at the start; 0 where nothing is better.
    best : float
        The gain at that place.
    """

    feature: int
    position: float
    gain: float
    best: float


def coordinate_gains(problem: ProjectionCache, weights: Float64, features: Int64) -> list[CoordinateGain]:
    """Return the best place along each of some features, the others staying as they are.

    Of equally good intervals it is the widest. Nothing is re-ranked; intervals too narrow to be reached are left out.
    """
    directions = np.zeros((len(features), len(weights)))
    directions[np.arange(len(features)), features] = 1.0
    here, found = problem.gain(weights), []
    for feature, direction, curve in zip(
        features.tolist(), directions, problem.curves(weights, directions), strict=True
    ):
        reach = reach_of(weights, direction)
        low, high = intervals_of(curve, (-np.inf, np.inf))
        wide = np.flatnonzero(high - low > WIDE * reach)
        gains = curve.gains[wide]
        best = float(gains.max(initial=-np.inf))
        near = wide[gains >= best - slack(best)]
        place = near[np.argmax(high[near] - low[near])]
        left, right = float(low[place]), float(high[place])
        if np.isinf(left) or np.isinf(right):
            end = right if np.isinf(left) else left
            position = (end - reach if np.isinf(left) else end + reach) if np.isfinite(end) else 0.0
        else:
            position = left / 2 + right / 2
        better = best > here + slack(here)
        found.append(CoordinateGain(feature, position, best - here if better else 0.0, float(curve.gains[place])))
    return found
