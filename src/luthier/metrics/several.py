"""Several metrics at once: side by side, the one that fares worst, or one within limits on others."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.metrics.base import Metric, Stats
from luthier.metrics.expression import SideBySide
from luthier.metrics.loading import load_metric

AS_LONG = 100.0  # a ratio without a direction, such as length, is best here


@dataclasses.dataclass(frozen=True)
class Joint(SideBySide):
    """Several metrics, none of which is preferred: `gains` has all of them, `score` the first."""

    def score(self, stats: Stats) -> Float64:
        """Return the score of the first."""
        part, own = next(self.own(stats))
        return part.score(own)

    def scores(self, stats: Stats) -> Float64:
        """Return the score of each part, (..., S) → (..., K)."""
        return np.stack([part.score(own) for part, own in self.own(stats)], axis=-1)

    def gains(self, scores: Float64) -> Float64:
        """Return scores as gains, (..., K); one without a direction is better the nearer it is to 100."""
        columns = [
            -np.abs(scores[..., k] - AS_LONG) if part.higher_is_better is None else part.gain(scores[..., k])
            for k, part in enumerate(self.parts)
        ]
        return np.stack(columns, axis=-1)


@dataclasses.dataclass(frozen=True)
class WorstOf(SideBySide):
    """The smallest gain of several metrics: min over k of (gain_k − baseline_k) / unit_k.

    Attributes
    ----------
    baselines : of each part, the gain that counts 0
    units : of each part, above 0: how much of its gain counts 1
    """

    baselines: tuple[float, ...]
    units: tuple[float, ...]

    def score(self, stats: Stats) -> Float64:
        """Return the smallest of the parts' gains over their baselines, in their units."""
        return self._smallest([part.gain(part.score(own)) for part, own in self.own(stats)])

    def sentence_score(self, stats: Stats) -> Float64:
        """Return the same of sentence scores."""
        return self._smallest([part.gain(part.sentence_score(own)) for part, own in self.own(stats)])

    def _smallest(self, gains: list[Float64]) -> Float64:
        scaled = [(g - low) / unit for g, low, unit in zip(gains, self.baselines, self.units, strict=True)]
        return np.asarray(np.min(np.stack(scaled), axis=0))

    @property
    def name(self) -> str:
        """The parts, without parameters."""
        return f"worst of {', '.join(part.name for part in self.parts)}"

    @property
    def spec(self) -> str:
        """The parts with their baselines and units."""
        terms = zip(self.parts, self.baselines, self.units, strict=True)
        return f"worst of {', '.join(f'({part.spec} - {low!r})/{unit!r}' for part, low, unit in terms)}"


@dataclasses.dataclass(frozen=True)
class Limit:
    """A limit on a metric's score: at least `bound` where `sense` is 1, at most where it is −1.

    >>> Limit.parse("length>=98").bound
    98.0
    """

    metric: Metric
    sense: int
    bound: float

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read ``METRIC>=NUMBER`` or ``METRIC<=NUMBER``."""
        found = re.fullmatch(r"(.+?)\s*(>=|<=)\s*([^<>=]+)", text.strip())
        try:
            bound = float(found[3]) if found else np.nan
        except ValueError:
            bound = np.nan
        if found is None or not np.isfinite(bound):
            raise LuthierError(f"expected a constraint such as 'length>=98' or 'ter<=50', found {text!r}")
        return cls(load_metric(found[1]), 1 if found[2] == ">=" else -1, bound)

    def violation(self, scores: Float64) -> Float64:
        """Return by how much scores are beyond the limit, 0 where they keep it."""
        return np.maximum(self.sense * (self.bound - scores), 0.0)

    @property
    def label(self) -> str:
        """The limit without parameters."""
        return f"{self.metric.name}{'>=' if self.sense > 0 else '<='}{self.bound:g}"

    def __str__(self) -> str:
        """Return it as it is written, with all parameters."""
        return f"{self.metric.spec} {'>=' if self.sense > 0 else '<='} {self.bound!r}"


@dataclasses.dataclass(frozen=True)
class Constrained(SideBySide):
    """A metric within limits on others; where a limit is broken, less violation is better.

    Attributes
    ----------
    parts
        The metric itself, then those of the limits.
    limits
    floor : float
        Below every gain of the metric: with a violation v the gain is floor − v.
    """

    limits: tuple[Limit, ...]
    floor: float

    @property
    def higher_is_better(self) -> bool:
        """As the metric says."""
        return bool(self.parts[0].higher_is_better)

    def score(self, stats: Stats) -> Float64:
        """Return the metric's score where all limits hold."""
        (metric, own), *others = self.own(stats)
        return self._within(metric.score(own), [part.score(theirs) for part, theirs in others])

    def sentence_score(self, stats: Stats) -> Float64:
        """Return the metric's sentence score: limits are on the score of all sentences together."""
        metric, own = next(self.own(stats))
        return metric.sentence_score(own)

    def part_scores(self, sums: Stats) -> dict[str, float]:
        """Return the score of the metric, of several at once each, and of those that are limited, by their limits."""
        (metric, own), *others = self.own(sums)
        found = metric.part_scores(own) if isinstance(metric, WorstOf) else {metric.name: float(metric.score(own))}
        limited = zip(self.limits, others, strict=False)
        return {**found, **{limit.label: float(part.score(theirs)) for limit, (part, theirs) in limited}}

    @property
    def unlimited(self) -> Constrained:
        """The same statistics without the limits: for other sentences than those that they are on."""
        return dataclasses.replace(self, limits=())

    def _within(self, score: Float64, others: list[Float64]) -> Float64:
        violation = sum(limit.violation(other) for limit, other in zip(self.limits, others, strict=False))
        return np.where(np.asarray(violation) > 0.0, self.parts[0].gain(self.floor - np.asarray(violation)), score)

    @property
    def name(self) -> str:
        """The metric and its limits, without parameters."""
        return f"{self.parts[0].name} with {', '.join(limit.label for limit in self.limits)}"

    @property
    def spec(self) -> str:
        """The metric and its limits."""
        return f"{self.parts[0].spec} with {', '.join(map(str, self.limits))}"
