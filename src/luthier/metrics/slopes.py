"""Derivatives of a score by its statistics: of rates worked out, of any score by differences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from luthier.core.arrays import Float64

STEP = 1e-3  # of a statistic, in differences of fourth order: their error is near STEP⁴
# Derivatives by five points: f' ≈ (f(−2h) − 8 f(−h) + 8 f(h) − f(2h)) / 12h.
POINTS = np.array([-2.0, -1.0, 1.0, 2.0])
SHARES = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0


@dataclasses.dataclass(frozen=True)
class Rate:
    """A score, or a term of one, that is factor · Σ numerator / Σ denominator where the denominator is above 0.

    Attributes
    ----------
    numerator, denominator : str
        Names of two statistics.
    """

    numerator: str
    denominator: str
    factor: float = 100.0


def rate_slopes(rates: tuple[Rate, ...], names: tuple[str, ...], sums: Float64) -> Float64 | None:
    """Return the derivative of a sum of rates by each statistic, (S,); None where a denominator is 0."""
    slopes = np.zeros(len(names))
    for rate in rates:
        above, below = names.index(rate.numerator), names.index(rate.denominator)
        if not sums[below] > 0:
            return None
        slopes[above] += rate.factor / sums[below]
        slopes[below] -= rate.factor * sums[above] / sums[below] ** 2
    return slopes


def difference_slopes(score: Callable[[Float64], Float64], sums: Float64) -> Float64:
    """Return the slopes of a score, (..., S) → (...), by differences over its S inputs, all in one call: (S,).

    A statistic that is 0 in sum is 0 in every row, and gets the slope 0.
    """
    steps = STEP * np.abs(sums)
    moved = np.repeat(sums[None, None], len(POINTS), axis=0).repeat(len(sums), axis=1)  # (4, S, S)
    each = np.arange(len(sums))
    moved[:, each, each] += POINTS[:, None] * steps
    return np.divide(SHARES @ score(moved), steps, out=np.zeros(len(sums)), where=steps > 0)
