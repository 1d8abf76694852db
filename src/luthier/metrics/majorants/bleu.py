"""Majorants of BLEU: its logarithm is a sum of concave parts, under tangents, and convex ones, under chords."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from luthier.core.arrays import Float64
from luthier.metrics.majorants import _bleu_limit_kernels as kernels
from luthier.metrics.majorants.majorant import NEVER, ROUNDING, Majorant, Majorants, between, flat_limit

LOG_100 = math.log(100.0)


class _Line:
    """A line under construction: slopes, a constant, and the sizes of all that it is made of."""

    def __init__(self, low: Float64, high: Float64) -> None:
        self.low, self.high = low, high
        self.slopes, self.constant, self.size = np.zeros(len(low)), 0.0, 0.0

    def add(self, constant: float, *slopes: tuple[int, float]) -> None:
        """Add a constant, and slopes of statistics by their places."""
        self.constant += constant
        self.size += abs(constant)
        for place, slope in slopes:
            self.slopes[place] += slope
            self.size += abs(slope) * max(abs(self.low[place]), abs(self.high[place]))

    def at(self, sums: Float64) -> float:
        """Return the height of the line over sums."""
        return self.constant + float(self.slopes @ sums)


@dataclasses.dataclass(frozen=True)
class BleuLimits:
    """What the limits of a BLEU depend on; statistics are lengths, then matches, then totals of each order.

    Attributes
    ----------
    order : int
    smoothing : str
    value : float
        What the smoothing puts in the place of no match, or adds.
    effective : bool
        Whether orders without n-grams are left out.
    """

    order: int
    smoothing: str
    value: float
    effective: bool

    def upper(self, points: Float64, lows: Float64, highs: Float64) -> Majorants:
        """Return limits of log BLEU, touching it near the points; (B, S) each.

        A statistic of counts is a whole number, so a total above 0 is 1 at least; without n-grams BLEU is 0, and
        nothing needs to be shown.
        """
        n, count = self.order, len(points)
        more = self.value if self.smoothing in ("add-k", "plus-one") else 0.0
        instead = {"exp": 0.5, "floor": self.value}.get(self.smoothing, 0.0)
        slopes, constants, sizes = np.empty(points.shape), np.empty(count), np.empty(count)
        kernels.lines_above_bleu(n, instead, more, points, lows, highs, slopes, constants, sizes)
        never = np.isnan(constants)
        slopes[never] = 0.0
        constants = np.where(never, NEVER, constants + LOG_100 + ROUNDING * (sizes + LOG_100))
        logarithmic = np.ones(count, np.bool_)
        if self.effective:
            unknown = lows[:, 2 + n :].min(axis=1) < 1.0
            slopes[unknown], logarithmic[unknown] = 0.0, False
            constants[unknown] = 100.0 * max(1.0, self.value if self.smoothing == "floor" else 1.0)
        ones = np.ones(count)
        return Majorants(slopes, constants, logarithmic, np.zeros(count), ones, ones.copy())

    def lower(self, point: Float64, low: Float64, high: Float64) -> Majorant:
        """Return a limit of −BLEU, touching it near the point; (S,) each: chords and tangents change places."""
        n = self.order
        if low[0] < 1.0 or low[2:].min() < 1.0:
            return flat_limit(len(low), 0.0)
        line, share = _Line(low, high), 1.0 / n
        for k in range(n):
            more = self.value if k and self.smoothing in ("add-k", "plus-one") else 0.0
            left, right = low[2 + k] + more, high[2 + k] + more
            steep = (math.log(right) - math.log(left)) / (right - left) if right > left else 0.0
            line.add(share * math.log(left))
            line.add(share * steep * (more - left), (2 + k, share * steep))
            place = 2 + n + k
            q = between(point[place], low[place], high[place]) + more
            line.add(-share * math.log(q))
            line.add(share * (1.0 - more / q), (place, -share / q))
        ends = [min(0.0, 1.0 - float(high[1]) / float(c)) for c in (low[0], high[0])]
        steep = (ends[1] - ends[0]) / (high[0] - low[0]) if high[0] > low[0] else 0.0
        line.add(ends[0] - steep * low[0], (0, steep))
        line.add(LOG_100)
        # a logarithm that is high − low times as wrong as its ends is wrong by less than what is taken off here
        line.constant -= 4 * ROUNDING * line.size
        here = line.at(np.clip(point, low, high))
        factor = math.exp(here)
        constant = -factor * (1.0 + line.constant - here)
        size = factor * (1.0 + line.size + abs(here))
        return Majorant(-factor * line.slopes, constant + ROUNDING * size)
