"""How much of each weight counts as one unit, so that moves mean the same for every feature."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.landscape.problem import Problem

# A feature that spreads less than this, beside the one that spreads most, is constant but for rounding.
NEGLIGIBLE = 1e-12


def effect_units(spread: Float64, weights: Float64) -> Float64:
    """Return the mean effect of a feature at `weights`, as an amount of each weight, (D,).

    The effect of a feature is |w|·s, s its spread within lists (`Problem.spread`); one unit of weight d is
    mean(|w|·s) / s[d], and 1 / s[d] where the mean is 0. A feature that is constant within lists has the unit 0:
    its weight selects nothing, and a large one would only drown the others in rounding.
    """
    moves = spread > NEGLIGIBLE * spread.max(initial=0.0)
    effect = float(np.mean(np.abs(weights) * spread)) or 1.0
    units: Float64 = np.divide(effect, spread, out=np.zeros(len(spread)), where=moves)
    return units


def movable(problem: Problem) -> Int64:
    """Return the features whose weight may move, and does something if it does."""
    spread = problem.spread
    return np.flatnonzero(~problem.bounds.fixed & (spread > NEGLIGIBLE * spread.max(initial=0.0)))
