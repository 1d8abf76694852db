"""Weights as people read them: sizes that sum to 1, the share of the effect that each has, and which may be 0."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.tuning.base import Tuner
from luthier.tuning.validation.report import TuningReport


@dataclasses.dataclass(frozen=True)
class WeightShare:
    """One weight of an answer.

    Attributes
    ----------
    name : str
    weight : float
        In units in which the sizes of all weights sum to 1.
    share : float
        |w|·s of Σ |w|·s, in per cent; s is the feature's spread within lists.
    interval : low and high over resamples, in the same units; None without resamples
    """

    name: str
    weight: float
    share: float
    interval: tuple[float, float] | None

    @property
    def may_be_zero(self) -> bool:
        """Whether the interval holds 0."""
        return self.interval is not None and self.interval[0] <= 0.0 <= self.interval[1]

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without its name."""
        low, high = self.interval or (None, None)
        return {"weight": self.weight, "share": self.share, "low": low, "high": high}


def size_of(weights: Float64) -> float:
    """Return the sum of the sizes of weights; 1 where all are 0."""
    return float(np.abs(weights).sum()) or 1.0


def unit_weights(weights: Float64) -> Float64:
    """Return weights whose sizes sum to 1, (D,) → (D,), as the file of them has them; zeros stay.

    >>> unit_weights(np.array([1e308, -1e308])).tolist()
    [0.5, -0.5]
    """
    largest = float(np.abs(weights).max(initial=0.0))
    if not largest:
        return weights
    scaled = weights / largest  # so that the sum stays finite
    return np.asarray(scaled / np.abs(scaled).sum())


def weight_shares(report: TuningReport) -> list[WeightShare]:
    """Return the weights of the first answer, with shares of the effect, and intervals where it was resampled."""
    weights, resampled = report.replicas[0].weights, report.resampled
    effects = np.abs(unit_weights(weights)) * report.problem.spread
    total = float(effects.sum()) or 1.0
    intervals = None if resampled is None else resampled.intervals / size_of(weights)
    return [
        WeightShare(
            name, float(weight), float(100.0 * effects[d] / total),
            None if intervals is None else (float(intervals[d, 0]), float(intervals[d, 1])),
        )
        for d, (name, weight) in enumerate(zip(report.names, unit_weights(weights), strict=True))
    ]  # fmt: skip


def kept_size(report: TuningReport, tuner: Tuner) -> str:
    """Return why the weights of a report are written as they were found; '' where only their direction counts."""
    if report.problem.size_means:
        return report.problem.size_means
    if not report.problem.bounds.is_free:
        return "bounds are of their size"
    choose = getattr(tuner, "choose", None)  # what `auto` chose is what counts
    means = (tuner if choose is None else choose(report.problem)[0]).size_means
    if means:
        return str(means)
    vectors = [replica.weights for replica in report.replicas]
    for weights in vectors if report.average is None else [*vectors, report.average]:
        if not _same_choice(report, weights):
            return "others of this direction round to another choice where hypotheses tie"
    return ""


def _same_choice(report: TuningReport, weights: Float64) -> bool:
    """Return whether weights choose the same when their sizes sum to 1."""
    try:
        unit = report.named(weights).normalized("l1")
    except LuthierError:  # all are 0, or too small beside one another
        return False
    return report.problem.gain(unit.vector(report.names)) == report.problem.gain(weights)
