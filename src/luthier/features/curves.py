"""The weights of bins against the values they represent: what shape was learned (Figure 7 of [clark2014])."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, frozen
from luthier.core.errors import LuthierError
from luthier.features.bins import Bins, FeatureBins

LEAST_POINTS = 3  # a curve of two numbers goes through two points


@dataclasses.dataclass(frozen=True)
class Fit:
    """The curve a + b·g(x) of the least squares weighted by population, and the share R² of the variance explained."""

    a: float
    b: float
    r2: float


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """What a model learned of one feature.

    Attributes
    ----------
    bins : FeatureBins
    weights : (K,) float64
        Of its bins; 0 where there is none.
    log, line : Fit or None
        a + b·log x over the bins whose mean x is above 0, and a + b·x over the same; None for fewer than three.
    against : (K−1,) bool
        Which steps from a bin to the next go against the direction of the whole: down where weights rise, or up.
    rises : bool
        Whether weights rise with the value, by the regression on the rank of the bin.
    """

    bins: FeatureBins
    weights: Float64
    log: Fit | None
    line: Fit | None
    against: Bool
    rises: bool

    @property
    def fitted(self) -> Float64:
        """a + b·log x at the mean of each bin, (K,); NaN where there is none."""
        out = np.full(len(self.bins), np.nan)
        above = self.bins.means > 0
        if self.log is not None:
            out[above] = self.log.a + self.log.b * np.log(self.bins.means[above])
        return out

    def as_dict(self) -> dict[str, Any]:
        """Return all of it in plain values."""
        fitted = [None if np.isnan(value) else value for value in self.fitted.tolist()]
        return {
            "feature": self.bins.feature,
            "rises": self.rises,
            "log": None if self.log is None else dataclasses.asdict(self.log),
            "line": None if self.line is None else dataclasses.asdict(self.line),
            "against": int(self.against.sum()),
            "bins": [
                {"name": name, "low": low, "high": high, "mean": mean, "population": n, "weight": w, "fitted": f}
                for name, low, high, mean, n, w, f in zip(
                    self.bins.names,
                    self.bins.lows.tolist(),
                    self.bins.highs.tolist(),
                    self.bins.means.tolist(),
                    self.bins.populations.tolist(),
                    self.weights.tolist(),
                    fitted,
                    strict=True,
                )
            ],
        }


def curves(bins: Bins, weights: Mapping[str, float]) -> tuple[Curve, ...]:
    """Return the curve of each feature of `bins` that any weight is of.

    Raises
    ------
    LuthierError
        If the weights are of no bin at all.
    """
    known = [feature for feature in bins.features if any(name in weights for name in feature.names)]
    if not known:
        raise LuthierError(
            f"expected weights of the bins {bins.names[0]!r} …, found none. hint: are these the bins of another model?"
        )
    return tuple(_curve(feature, weights) for feature in known)


def _curve(feature: FeatureBins, weights: Mapping[str, float]) -> Curve:
    w = frozen(np.array([float(weights.get(name, 0.0)) for name in feature.names]))
    n, above = feature.populations.astype(np.float64), feature.means > 0
    log = line = None
    if np.count_nonzero(above) >= LEAST_POINTS:
        x = feature.means[above]
        log, line = (fit_line(g, w[above], n[above]) for g in (np.log(x), x))
    rank = fit_line(np.arange(len(w), dtype=np.float64), w, n)
    rises = rank is None or rank.b >= 0
    steps = np.diff(w)
    return Curve(feature, w, log, line, steps < 0 if rises else steps > 0, rises)


def fit_line(x: Float64, y: Float64, weights: Float64) -> Fit | None:
    """Return a + b·x of the least weighted squares, None where all x are one; R² is 1 where nothing varies.

    >>> fit_line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), np.ones(3))
    Fit(a=1.0, b=2.0, r2=1.0)
    """
    share = weights / weights.sum()
    centre, mean = float(share @ x), float(share @ y)
    spread = float(share @ (x - centre) ** 2)
    if not spread > 0:
        return None
    b = float(share @ ((x - centre) * (y - mean))) / spread
    total = float(share @ (y - mean) ** 2)
    left = float(share @ (y - mean - b * (x - centre)) ** 2)
    return Fit(mean - b * centre, b, 1.0 - left / total if total > 0 else 1.0)
