"""Majorants of chrF: a harmonic mean, under its tangent plane, of shares, under lines."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from luthier.core.arrays import Float64
from luthier.metrics.majorants.majorant import ROUNDING, Majorant, between, flat_limit


@dataclasses.dataclass(frozen=True)
class ChrfLimits:
    """What the limits of chrF depend on; statistics are n-grams of hypothesis, of reference, and matched, by order.

    Attributes
    ----------
    factor : float
        β².
    separate : bool
        Whether the mean over the orders is that of F-scores, instead of that of precisions and recalls.
    epsilon : float
        What represents a share of nothing.
    """

    factor: float
    separate: bool
    epsilon: float

    def upper(self, point: Float64, low: Float64, high: Float64) -> Majorant:
        """Return a limit of chrF, touching it near the point; (S,) each.

        F = (1 + β²)PR/(β²P + R) is concave and homogeneous, so F ≤ F_P·P + F_R·R with the slopes at any (P₀, R₀).
        A share m/h is at most m₁/h + (m − m₁)/h₁ with m₁ lowest and h₁ lowest, or m₁ highest and h₁ highest; 1/h is
        below its chord.
        """
        orders = self._orders(low, high)
        if orders is None:
            return flat_limit(len(low), 100.0 * (1 + ROUNDING))
        slopes, constant, size = np.zeros(len(low)), 0.0, 0.0
        n_orders = len(low) // 3 if self.separate else max(len(orders), 1)
        shares = [_share_lines(point, low, high, k) for k in orders]
        groups = [[lines] for lines in shares] if self.separate else [shares] if shares else []
        for group in groups:
            tangent = self._tangent(*np.array([[line.here for line in lines] for lines in group]).mean(axis=0))
            for lines in group:
                for steep, line in zip(tangent, lines, strict=True):
                    weight = 100.0 * steep / n_orders
                    slopes[line.places[0]] += weight * line.slopes[0]
                    slopes[line.places[1]] += weight * line.slopes[1]
                    constant += weight * line.constant
                    size += weight * line.size
        if self.separate:
            constant += 100.0 * self.epsilon
        return Majorant(slopes, constant + ROUNDING * (size + abs(constant)))

    def lower(self, low: Float64, high: Float64) -> Majorant:
        """Return a limit of −chrF, which is least where matches are fewest and n-grams most; (S,) each."""
        orders = self._orders(low, high)
        if orders is None:
            return flat_limit(len(low), 0.0)
        pairs = [(low[3 * k + 2] / high[3 * k], low[3 * k + 2] / high[3 * k + 1]) for k in orders]
        if self.separate:
            score = math.fsum(self._mean(*pair) for pair in pairs) / (len(low) // 3)
        else:
            score = self._mean(*np.array(pairs).mean(axis=0)) if pairs else 0.0
        return flat_limit(len(low), -100.0 * score * (1 - ROUNDING))

    def _orders(self, low: Float64, high: Float64) -> list[int] | None:
        """Return the orders that count, or None where that depends on the selection."""
        sides = np.arange(0, len(low), 3)
        sure = (low[sides] >= 1.0) & (low[sides + 1] >= 1.0)
        never = (high[sides] < 1.0) | (high[sides + 1] < 1.0)
        return None if not np.all(sure | never) else np.flatnonzero(sure).tolist()

    def _mean(self, precision: float, recall: float) -> float:
        below = self.factor * precision + recall
        return (1 + self.factor) * precision * recall / below if below > 0 else 0.0

    def _tangent(self, precision: float, recall: float) -> tuple[float, float]:
        """Return the slopes of F; where both are 0, those at (1, 1), since any tangent plane is a limit."""
        if precision + recall <= 0:
            precision = recall = 1.0
        below = (self.factor * precision + recall) ** 2
        ahead = 1 + self.factor
        return ahead * recall**2 / below, ahead * self.factor * precision**2 / below


@dataclasses.dataclass(frozen=True)
class _ShareLine:
    """constant + slopes·(m, h) ≥ m/h, at `places` of the statistics, and the share at the point."""

    places: tuple[int, int]
    slopes: tuple[float, float]
    constant: float
    size: float
    here: float


def _share_lines(point: Float64, low: Float64, high: Float64, k: int) -> tuple[_ShareLine, _ShareLine]:
    """Return lines above precision and recall of an order."""
    matches = 3 * k + 2
    return _share_line(point, low, high, (matches, 3 * k)), _share_line(point, low, high, (matches, 3 * k + 1))


def _share_line(point: Float64, low: Float64, high: Float64, places: tuple[int, int]) -> _ShareLine:
    (m_low, m_high), (left, right) = ((float(low[i]), float(high[i])) for i in places)
    m, h = (between(float(point[i]), float(low[i]), float(high[i])) for i in places)
    found = []
    for base, divisor in ((m_low, left), (m_high, right)):
        # the chord of 1/h: 1/left + 1/right − h/(left·right)
        constant = base * (1.0 / left + 1.0 / right) - base / divisor if right > left else base / left - base / divisor
        slope = -base / (left * right) if right > left else 0.0
        found.append((constant + m / divisor + slope * h, constant, (1.0 / divisor, slope), base))
    _, constant, slopes, base = min(found)
    size = base * (2.0 / left + 1.0 / right) + m_high * slopes[0] + abs(slopes[1]) * right
    return _ShareLine(places, slopes, constant, size, m / h)
