"""The metric of expected statistics under a softmax over each list, with its exact gradient."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, flat
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.tuning.ranking import _expected_kernels as kernels
from luthier.tuning.ranking.pairs import sum_rows
from luthier.tuning.ranking.sentence_gains import Outcomes

BREVITY = 300.0  # how sharply BLEU's brevity penalty sets in, unless said otherwise
FULL_SCORE = 100.0


def smooth_gain(metric: Metric, sums: Float64, brevity: float) -> tuple[float, Float64]:
    """Return a metric's gain at summed statistics, corners rounded as `brevity` says, and its slopes, (S,)."""
    score, slopes = metric.smooth_score(sums, brevity)
    return float(metric.gain(np.array(score))), metric.gain(slopes)


@dataclasses.dataclass(frozen=True, eq=False)
class Expectation:
    """The gain of the expected corpus: statistics Σ p·stats, p = softmax(sharpness · w·h) in each list.

    Attributes
    ----------
    problem : ListProblem
    outcomes : Outcomes
    sharpness : γ
    temperature : what the mean entropy of a list, in nats, is worth, in gains on the scale 0–1
    brevity : how sharp corners of the metric stay (`Metric.smooth_score`; 0: as they are)
    """

    problem: ListProblem
    outcomes: Outcomes
    sharpness: float = 1.0
    temperature: float = 0.0
    brevity: float = 0.0

    def value_and_gradient(self, weights: Float64) -> tuple[float, Float64]:
        """Return gain(E)/100 + temperature · mean entropy, and its gradient by the weights, (D,)."""
        problem, outcomes = self.problem, self.outcomes
        n, m = problem.pool.n_sentences, problem.pool.n_hypotheses
        scores = flat(self.sharpness * problem.pool.scores(weights))
        chances, logs, slopes = np.empty(m), np.empty(m), np.empty(m)
        mass = np.zeros(len(outcomes.stats))
        entropy = kernels.soften(scores, problem.offsets, outcomes.groups, chances, logs, mass)
        sums = np.einsum("u,us->s", mass, outcomes.stats)
        gain, by_sums = smooth_gain(problem.metric, sums, self.brevity)
        value = gain / FULL_SCORE + self.temperature * entropy / n
        worth = np.einsum("us,s->u", outcomes.stats, by_sums / FULL_SCORE)
        kernels.score_slopes(problem.offsets, outcomes.groups, chances, logs, worth, self.temperature / n, slopes)
        return value, self.sharpness * sum_rows(problem.pool.features, slopes)
