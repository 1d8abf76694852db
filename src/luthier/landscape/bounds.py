"""Limits on weights: a sign, a range, a fixed value, feature by feature."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from luthier.core.arrays import Bool, Float64, frozen
from luthier.core.errors import LuthierError
from luthier.core.params import names_of
from luthier.kbest.features import unknown_names


@dataclasses.dataclass(frozen=True, eq=False)
class Bounds:
    """``low[d] ≤ w[d] ≤ high[d]`` for each of D features; equal bounds fix a weight.

    Attributes
    ----------
    low, high : (D,) float64
        −inf and inf where there is no limit.
    """

    low: Float64
    high: Float64

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, frozen(np.ascontiguousarray(getattr(self, name), dtype=np.float64)))
        if self.low.shape != self.high.shape or np.isnan(self.low).any() or np.isnan(self.high).any():
            raise LuthierError("bounds must be two vectors of numbers of the same length")
        if np.any(self.low > self.high):
            raise LuthierError(f"a lower bound is above its upper bound: {self.low} and {self.high}")

    @classmethod
    def none(cls, n_features: int) -> Bounds:
        """Return bounds that allow everything."""
        return cls(np.full(n_features, -np.inf), np.full(n_features, np.inf))

    @classmethod
    def from_names(cls, names: Sequence[str], ranges: Mapping[str, tuple[float, float]]) -> Bounds:
        """Return bounds for some features by name; the others are free."""
        if not isinstance(ranges, Mapping):
            raise LuthierError(f"expected bounds by name, such as {{'lm': (0, 1)}}, found {type(ranges).__name__}")
        unknown = [name for name in names_of(list(ranges), "features") if name not in set(names)]
        if unknown:
            raise LuthierError(unknown_names(unknown, names))
        limits = np.tile([-np.inf, np.inf], (len(names), 1))  # (D, 2)
        for name, pair in ranges.items():
            try:
                low, high = (float(end) for end in pair)
            except (TypeError, ValueError):
                low, high = np.nan, np.nan
            if not low <= high:
                raise LuthierError(f"expected bounds (low, high) of {name!r}, the lower one first, found {pair!r}")
            limits[names.index(name)] = low, high
        return cls(limits[:, 0], limits[:, 1])

    @property
    def is_free(self) -> bool:
        """Whether there is no limit at all."""
        return bool(np.isneginf(self.low).all() and np.isposinf(self.high).all())

    @property
    def fixed(self) -> Bool:
        """Which weights cannot move, (D,)."""
        fixed: Bool = self.low == self.high
        return fixed

    def clip(self, weights: Float64) -> Float64:
        """Return the nearest weights inside the bounds, (…, D) → (…, D)."""
        return np.clip(weights, self.low, self.high)

    def allow(self, weights: Float64) -> bool:
        """Return whether weights are inside the bounds."""
        return bool(np.all(weights >= self.low) and np.all(weights <= self.high))

    def steps_along(self, start: Float64, direction: Float64) -> tuple[float, float]:
        """Return the steps t for which ``start + t·direction`` stays inside: an interval that holds 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            to_low, to_high = (self.low - start) / direction, (self.high - start) / direction
        moving = direction != 0
        lows = np.where(direction > 0, to_low, to_high)[moving]
        highs = np.where(direction > 0, to_high, to_low)[moving]
        return min(0.0, float(lows.max(initial=-np.inf))), max(0.0, float(highs.min(initial=np.inf)))


def parse_range(text: str) -> tuple[float, float]:
    """Read ``lo:hi``, ``lo:``, ``:hi`` or a single value, which fixes the weight.

    >>> parse_range("0:"), parse_range("2")
    ((0.0, inf), (2.0, 2.0))
    """
    low, colon, high = text.partition(":")
    try:
        least = float(low) if low.strip() else -np.inf
        most = (float(high) if high.strip() else np.inf) if colon else least
    except ValueError:
        least = most = np.nan
    if not least <= most or not (np.isfinite(least) or np.isfinite(most) or colon):
        raise LuthierError(f"expected a range lo:hi, lo:, :hi or one value, found {text!r}")
    return least, most
