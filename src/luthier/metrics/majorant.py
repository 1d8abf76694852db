"""What a majorant is: a limit of a score over all sums between two corners."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64

UNIT = 2.0**-53
# A constant is made of some twenty operations and logarithms, none of which is wrong by more than four units in the
# last place of what went into it; so 64 units of the sizes of all terms are more than their rounding.
SUM_ROUNDING = 64 * UNIT
NEVER = -745.0  # the logarithm of the smallest number above 0


@dataclasses.dataclass(frozen=True, eq=False)
class Majorant:
    """``score ≤ limit(constant + slopes·sums)`` for all sums between `low` and `high`, where `limit` only rises.

    Attributes
    ----------
    slopes : (S,) float64
    constant : float
        Rounded outwards: what its own terms may be wrong by is added.
    logarithmic : bool
        Whether the line is above the score's logarithm.
    pivot, below, above : float
        Otherwise the limit is pivot + y·above where y > 0, and pivot + y·below elsewhere, with above ≥ below > 0.
    """

    slopes: Float64
    constant: float
    logarithmic: bool = False
    pivot: float = 0.0
    below: float = 1.0
    above: float = 1.0

    def limit(self, y: float) -> float:
        """Return the limit of the score where the line has the height y, rounded up."""
        if self.logarithmic:
            value = math.exp(y) if y < 709.0 else math.inf
        else:
            value = self.pivot + y * (self.above if y > 0 else self.below)
        return value + SUM_ROUNDING * (abs(value) + abs(self.pivot))

    def level(self, score: float) -> float:
        """Return a height of the line up to which the limit is at most `score`, rounded down."""
        if self.logarithmic:
            return math.log(score) - SUM_ROUNDING * (1.0 + abs(math.log(score))) if score > 0 else -math.inf
        y = (score - self.pivot) / (self.above if score > self.pivot else self.below)
        return y - 4 * SUM_ROUNDING * (abs(score) + abs(self.pivot)) / self.below

    def line(self, low: Float64, high: Float64) -> Majorant:
        """Return a plain line above the limit, for all sums between low and high: limits are convex, so a chord."""
        if not self.logarithmic and self.above == self.below == 1.0:
            return dataclasses.replace(self, constant=self.constant + self.pivot, pivot=0.0)
        least = self.constant + float(np.minimum(self.slopes * low, self.slopes * high).sum())
        most = self.constant + float(np.maximum(self.slopes * low, self.slopes * high).sum())
        margin = SUM_ROUNDING * (
            abs(self.constant) + float((np.abs(self.slopes) * np.maximum(abs(low), abs(high))).sum())
        )
        left, right = least - margin, most + margin
        floor, top = self.limit(left), self.limit(right)
        if not (math.isfinite(top) and right > left):
            return nothing_known(len(self.slopes)) if not math.isfinite(top) else flat_limit(len(self.slopes), top)
        steep = (top - floor) / (right - left)
        constant = floor + steep * (self.constant - left)
        size = abs(floor) + abs(top) + steep * (abs(self.constant) + abs(left) + abs(right))
        return Majorant(steep * self.slopes, constant + SUM_ROUNDING * size)


@dataclasses.dataclass(frozen=True, eq=False)
class Majorants:
    """Majorants of several ranges of sums, for those who ask for thousands; the fields are those of `Majorant`.

    Attributes
    ----------
    slopes : (B, S) float64
    constants, pivots, belows, aboves : (B,) float64
    logarithmic : (B,) bool
    """

    slopes: Float64
    constants: Float64
    logarithmic: Bool
    pivots: Float64
    belows: Float64
    aboves: Float64

    @classmethod
    def of(cls, lines: Sequence[Majorant]) -> Majorants:
        """Return majorants side by side."""
        numbers = np.array([(line.constant, line.pivot, line.below, line.above) for line in lines]).reshape(-1, 4)
        logarithmic = np.array([line.logarithmic for line in lines], np.bool_)
        constants, pivots, belows, aboves = numbers.T
        return cls(np.array([line.slopes for line in lines]), constants, logarithmic, pivots, belows, aboves)

    def __getitem__(self, at: int) -> Majorant:
        """Return one of them."""
        rest = (float(part[at]) for part in (self.pivots, self.belows, self.aboves))
        return Majorant(self.slopes[at], float(self.constants[at]), bool(self.logarithmic[at]), *rest)

    def put(self, places: Int64, others: Majorants, which: Bool) -> None:
        """Take `which` of others, in place of those at `places`."""
        for field in dataclasses.fields(self):
            getattr(self, field.name)[places] = getattr(others, field.name)[which]

    def limits(self, y: Float64) -> Float64:
        """Return the limits of the score where the lines have heights y, (B,), rounded up as by `Majorant.limit`."""
        with np.errstate(over="ignore", invalid="ignore"):
            plain = self.pivots + y * np.where(y > 0, self.aboves, self.belows)
            values = np.where(self.logarithmic, np.exp(y), plain)
            return np.asarray(values + SUM_ROUNDING * (np.abs(values) + np.abs(self.pivots)))

    def levels(self, score: float) -> Float64:
        """Return heights of the lines up to which the limits are at most `score`, (B,), rounded down."""
        log = math.log(score) if score > 0 else -math.inf
        with np.errstate(invalid="ignore"):  # of a target that is −∞
            plain = (score - self.pivots) / np.where(score > self.pivots, self.aboves, self.belows)
            plain -= 4 * SUM_ROUNDING * (abs(score) + np.abs(self.pivots)) / self.belows
        return np.asarray(np.where(self.logarithmic, log - SUM_ROUNDING * (1.0 + abs(log)), plain))


def flat_limit(n_stats: int, score: float) -> Majorant:
    """Return the limit that no score exceeds `score`."""
    return Majorant(np.zeros(n_stats), score)


def nothing_known(n_stats: int) -> Majorant:
    """Return the limit that says nothing."""
    return flat_limit(n_stats, math.inf)


def between(value: float, low: float, high: float) -> float:
    """Return the value, moved to an end where it is outside."""
    return min(max(value, low), high)


# Majorants of one sum divided by another.


def rate_majorant(places: tuple[int, int], factor: float, point: Float64, low: Float64, high: Float64) -> Majorant:
    """Return a limit of factor · n/d, (S,) each; `places` are those of n and d.

    Where d is constant it is the rate itself. Otherwise, with ρ = n₀/d₀ at the point, n/d = ρ + (n − ρd)/d, and the
    last is at most (n − ρd)/d_low where n > ρd, and (n − ρd)/d_high where not. So the limit is ρ itself as soon as
    no selection has n > ρd, and ρ rises to the largest rate there is by Dinkelbach's steps [dinkelbach1967].
    """
    above, below = places
    slopes = np.zeros(len(point))
    if not low[below] > 0:
        return nothing_known(len(point))
    if low[below] == high[below]:
        slopes[above] = factor / low[below]
        size = abs(slopes[above]) * max(abs(low[above]), abs(high[above]))
        return Majorant(slopes, SUM_ROUNDING * size)
    divisor = between(point[below], low[below], high[below])
    rho = between(point[above], low[above], high[above]) / divisor
    slopes[above], slopes[below] = factor, -factor * rho
    size = abs(factor) * (max(abs(low[above]), abs(high[above])) + abs(rho) * high[below])
    return Majorant(
        slopes, SUM_ROUNDING * size, pivot=factor * rho, below=1.0 / float(high[below]), above=1.0 / float(low[below])
    )
