"""What every tuner may ask: names of weights, their limits, the gain at weights and along lines.

Where the gain comes from is the problem's own business. `luthier.landscape.list_problem` has the one of K-best
lists; whoever can tell the gain along a line (a forest, by a semiring) can be another.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.core.tasks import Recipe
from luthier.kbest.features import unknown_names
from luthier.kbest.groups import Groups
from luthier.landscape.bounds import Bounds
from luthier.landscape.curve import LineCurve
from luthier.metrics.base import Metric

# When two gains are the same, and how many of the best places are worth a re-rank.

# Gains that differ by less, relative to the larger but at least to 1, are equal: sums of statistics are rounded.
EQUAL_GAINS = 1e-9
# Places that are kept of a line, a plane or a space and, if need be, re-ranked: the best few.
TRIES = 8


def slack(gain: float) -> float:
    """Return by how much another gain may differ from this one and still be the same."""
    return EQUAL_GAINS * max(1.0, abs(gain))


# How much of a difference in gain is chance: sentences drawn anew, the same for all that is compared.

DRAWS = 400


def errors_of_differences(metric: Metric, selected: Iterable[npt.NDArray[Any]], to: int) -> Float64:
    """Return the standard error of each system's gain less that of system `to`, by the paired bootstrap.

    Parameters
    ----------
    selected : W arrays (N, S)
        Statistics of what each of W systems selects for each of N sentences.

    Returns
    -------
    (W,) float64; the same for the same input.
    """
    gains: list[Float64] = []
    counts: Float64 | None = None
    for own in selected:
        if counts is None:
            n = len(own)
            counts = make_rng(0).multinomial(n, np.full(n, 1.0 / n), size=DRAWS).astype(np.float64)  # (B, N)
        gains.append(metric.gain(metric.score(counts @ own)))
    errors: Float64 = (np.array(gains) - gains[to]).std(axis=1, ddof=1)
    return errors


class Problem(abc.ABC):
    """Find weights of the highest gain.

    A *gain* is the metric's corpus score with the sign that makes more better; no tuner knows about minimising
    or maximising.

    What a tuning job shows beside the answer comes from the problem too: the metric, the statistics that weights
    select, the oracle's score, what is odd, and how another process opens the same problem.

    Attributes
    ----------
    metric : Metric
    bounds : Bounds
        Limits on the weights.
    size_means : str
        Why the size of weights counts, not their direction alone; '' where it does not.
    """

    metric: Metric
    bounds: Bounds
    size_means: ClassVar[str] = ""

    @property
    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the D features."""

    @property
    @abc.abstractmethod
    def spread(self) -> Float64:
        """How much each feature differs between candidates for the same sentence, (D,): a standard deviation.

        0 says that its weight cannot matter.
        """

    @abc.abstractmethod
    def gains(self, weights: Float64) -> Float64:
        """Return the gain of each weight vector, (W, D) → (W,)."""

    @abc.abstractmethod
    def curves(self, start: Float64, directions: Float64) -> Iterator[LineCurve]:
        """Yield the exact gain along ``start + t·direction`` for each direction, (D,) and (Q, D)."""

    @abc.abstractmethod
    def with_bounds(self, bounds: Bounds) -> Self:
        """Return the same problem under other limits."""

    @property
    def n_sentences(self) -> int:
        """How many sentences there are that have candidates, N; 0 where the gain is of no sentences."""
        return 0

    def selected(self, weights: Float64) -> npt.NDArray[Any]:
        """Return the statistics of what each weight vector selects: (W, D) → (W, N, S)."""
        raise LuthierError(
            f"the gain of {type(self).__name__} is of no sentences: {len(weights)} selections cannot be told"
        )

    def score(self, weights: Float64) -> float:
        """Return the score of one weight vector, (D,): its gain with the metric's own sign."""
        return float(self.metric.gain(np.array(self.gain(weights))))  # its own inverse

    def oracle_score(self) -> float | None:
        """Return the score of the best candidates; None where they cannot be listed."""
        return None

    @property
    def n_dense(self) -> int:
        """How many of the features are dense; they come first."""
        return self.n_features

    @property
    def derived(self) -> Mapping[str, str]:
        """Formulas of features that were made of others, by name."""
        return {}

    @property
    def missing(self) -> Mapping[str, float]:
        """What features count in a candidate that lacks them, by name."""
        return {}

    def lists_alike(self) -> int | None:
        """Return in how many lists all candidates have the same statistics; None where they cannot be listed."""
        return None

    def lists_tied(self, weights: Float64) -> int | None:  # noqa: ARG002
        """Return in how many lists the winner ties with others of other statistics; None where that is unknown."""
        return None

    def redundant(self) -> list[str]:
        """Return features that can be computed from the others, where that is known."""
        return []

    def twins(self) -> list[list[str]]:
        """Return sets of features that have the same number in every candidate, where that is known."""
        return []

    def correlations(self) -> dict[str, float]:
        """Return the correlation of features with the column that is tuned for, where that is known."""
        return {}

    def notes(self) -> list[str]:
        """Return what is worth a sentence when the work is done."""
        return []

    @property
    def parallel(self) -> bool:
        """Whether several processes work on each question: then runs go one after another, each with all of them."""
        return False

    def recipe(self) -> Recipe | None:
        """Return how another process opens the same problem; None where the problem itself must travel."""
        return None

    def identity(self) -> dict[str, str]:
        """Return what the gain is made of, so that a checkpoint knows its own problem; empty if that is not known."""
        return {}

    @property
    def n_features(self) -> int:
        """How many weights there are, D."""
        return len(self.names)

    @property
    def groups(self) -> Groups:
        """Which features are the ordered bins of one; none unless the problem says so."""
        return ()

    def index(self, name: str) -> int:
        """Return the position of a feature."""
        try:
            return self.names.index(name)
        except ValueError:
            raise LuthierError(unknown_names([name], self.names)) from None

    def gain(self, weights: Float64) -> float:
        """Return the gain of one weight vector, (D,)."""
        return float(self.gains(weights[None])[0])

    def gains_along(self, start: Float64, direction: Float64, steps: Float64) -> Float64:
        """Return the gain at ``start + t·direction`` for each step t, (T,) → (T,); at a tie it may be either side's."""
        return self.gains(start + steps[:, None] * direction)

    def within(self, low: Float64, high: Float64) -> Problem:  # noqa: ARG002
        """Return a problem with the same gains for weights between two corners, (D,) each: itself, or a smaller one.

        A smaller one lacks candidates that no such weights select. What else it tells is of those it has.
        """
        return self

    def errors_of_differences(self, weights: Float64, to: int) -> Float64:  # noqa: ARG002
        """Return how much of each vector's gain less that of vector `to` is chance, a standard error: (W, D) → (W,).

        Zeros where the problem knows nothing of chance.
        """
        return np.zeros(len(weights))

    def default_start(self) -> Float64:
        """Return equal weights inside the bounds: (D,)."""
        return self.bounds.clip(np.ones(self.n_features))

    def uphill(self, weights: Float64, sharpness: float) -> Float64:  # noqa: ARG002
        """Return a direction in which the gain is likely to rise, (D,); zeros where the problem knows none."""
        return np.zeros(self.n_features)


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
