"""What a metric is: statistics of each hypothesis, and a score of their sum."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from luthier import __version__
from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import validate
from luthier.metrics.batch import Batch
from luthier.metrics.majorant import Majorant, Majorants, rate_majorant

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


Stats = npt.NDArray[Any]
ROWS_AT_ONCE = 1 << 16  # of sentence scores: what they take beside the answer
VERSION_MARK = "|luthier:"


@dataclasses.dataclass(frozen=True)
class Metric(abc.ABC):
    """A metric whose corpus value is a function of summed statistics.

    A file ``metrics/methods/<name>.py`` holds one metric as a frozen dataclass `Method`; its parameters
    are fields declared by `luthier.core.params.param`. `variants` gives names to parameter settings:
    ``{"nist": {"reference_length": "shortest"}}`` in ``bleu.py`` makes the name ``bleu_nist``.
    """

    variants: ClassVar[dict[str, dict[str, Any]]] = {}

    def __post_init__(self) -> None:
        validate(self)

    @property
    @abc.abstractmethod
    def stat_names(self) -> tuple[str, ...]:
        """Names of the S statistics."""

    @property
    def higher_is_better(self) -> bool | None:
        """The direction of improvement; None where there is none (a length ratio)."""
        return True

    @abc.abstractmethod
    def stats(self, batch: Batch) -> Stats:
        """Return the statistics of every hypothesis, (M, S) int64 or float64."""

    @abc.abstractmethod
    def score(self, stats: Stats) -> Float64:
        """Return the score of (sums of) statistics, (..., S) → (...), on 0–100; `stats` is not changed."""

    @property
    def rate(self) -> Rate | None:
        """Which two statistics the score is the quotient of; None if it is no rate."""
        return None

    @property
    def rates(self) -> tuple[Rate, ...] | None:
        """The rates whose sum, plus a constant, is the score: one, or several in an expression; None if it is none."""
        return None if self.rate is None else (self.rate,)

    def slopes(self, sums: Float64) -> Float64 | None:
        """Return the derivative of the score by each statistic, (S,) → (S,); None where nobody worked it out."""
        return None if self.rates is None else rate_slopes(self.rates, self.stat_names, sums)

    def smooth_score(self, sums: Float64, sharpness: float) -> tuple[float, Float64]:  # noqa: ARG002
        """Return the score of summed statistics, (S,), and its slopes, (S,), by differences where there are no others.

        A metric with a corner rounds it off; `sharpness` says how little (0: not at all).
        """
        slopes = self.slopes(sums)
        return float(self.score(sums)), difference_slopes(self.score, sums) if slopes is None else slopes

    def majorant(self, point: Float64, low: Float64, high: Float64, *, sign: float = 1.0) -> Majorant | None:
        """Return a limit of sign · score, `sign` being 1 or −1, for all sums between low and high; (S,) each.

        It should be close where the sums are those of `point`. Statistics that are counts have whole sums. None where
        nobody worked one out: then no proof can be given (`luthier.landscape.certified`).
        """
        if self.rate is None:
            return None
        places = self.stat_names.index(self.rate.numerator), self.stat_names.index(self.rate.denominator)
        return rate_majorant(places, sign * self.rate.factor, point, low, high)

    def majorants(self, points: Float64, lows: Float64, highs: Float64, *, sign: float = 1.0) -> Majorants:
        """Return the limits of several ranges of sums, (B, S) each; to be overridden where all at once is faster."""
        found = (self.majorant(*one, sign=sign) for one in zip(points, lows, highs, strict=True))
        return Majorants.of([line for line in found if line is not None])

    def sentence_score(self, stats: Stats) -> Float64:
        """Return the score of single sentences, smoothed where the metric needs it, (..., S) → (...)."""
        return self.score(stats)

    def gain(self, scores: Float64) -> Float64:
        """Return scores as gains, of which more is better: the one place that knows the direction."""
        if self.higher_is_better is None:
            raise LuthierError(
                f"{self.name} is better neither when higher nor when lower. "
                "hint: say whether to minimize or to maximize it"
            )
        return scores if self.higher_is_better else -scores

    def sentence_gains(self, stats: Stats) -> Float64:
        """Return the (smoothed) gain of each row as a corpus of its own, (M, S) → (M,), in bounded memory."""
        gains = np.empty(len(stats))
        for first in range(0, len(stats), ROWS_AT_ONCE):
            block = stats[first : first + ROWS_AT_ONCE]
            gains[first : first + ROWS_AT_ONCE] = self.gain(self.sentence_score(block))
        return gains

    @property
    def name(self) -> str:
        """The metric's name: that of its file."""
        return type(self).__module__.rsplit(".", 1)[-1]

    @property
    def label(self) -> str:
        """What a table calls it."""
        return self.name

    @property
    def spec(self) -> str:
        """The metric with all its parameters, as `luthier.metrics.loading.load_metric` reads it."""
        values = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self))
        return f"{self.name}({', '.join(values)})"

    @property
    def signature(self) -> str:
        """What a number of this metric must be quoted with: all parameters and the version."""
        return f"{self.spec}{VERSION_MARK}{__version__}"

    def check_stats(self, stats: Stats) -> Stats:
        """Return `stats` as an array, or raise unless its last axis is as long as `stat_names`."""
        stats = np.asarray(stats)
        if stats.ndim == 0 or stats.shape[-1] != len(self.stat_names):
            raise LuthierError(
                f"expected {len(self.stat_names)} statistics of {self.name} in the last axis, found shape {stats.shape}"
            )
        return stats


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike, empty: float = 0.0) -> Float64:
    """Return numerator / denominator, and `empty` where the denominator is 0.

    >>> ratio([1.0, 1.0], [2.0, 0.0]).tolist()
    [0.5, 0.0]
    """
    denominator = np.asarray(denominator, dtype=np.float64)
    quotient = np.asarray(numerator, dtype=np.float64) / np.where(denominator == 0, 1.0, denominator)
    return np.where(denominator == 0, empty, quotient)
