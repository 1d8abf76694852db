"""The metric of expected statistics under a softmax over each list, with its exact gradient."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, flat
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.methods.bleu import Method as Bleu
from luthier.tuning.gains import _expected_kernels as kernels
from luthier.tuning.gains.outcomes import Outcomes
from luthier.tuning.ranking.pairs import sum_rows

FULL_SCORE = 100.0
STEP = 1e-3  # of a statistic, in differences of fourth order: their error is near STEP⁴
# Derivatives by five points: f' ≈ (f(−2h) − 8 f(−h) + 8 f(h) − f(2h)) / 12h.
POINTS = np.array([-2.0, -1.0, 1.0, 2.0])
SHARES = np.array([1.0, -8.0, 8.0, -1.0]) / 12.0


def smooth_gain(metric: Metric, sums: Float64, brevity: float) -> tuple[float, Float64]:
    """Return a metric's gain at summed statistics and its derivative by each of the S, (S,).

    BLEU is worked out: with log b = −softplus(κ·(r/c − 1))/κ + Σ_k log(m_k/t_k)/n, ∂ log b is 1/(n·m_k) by the
    matches, −1/(n·t_k) by the totals, and by the lengths what the first term gives. That term is
    min(0, 1 − r/c) for κ → ∞, which is what `brevity` = 0 means; a search that ends where output is just long
    enough, as good ones do, needs it smooth [rosti2011]. Smoothing for orders without match changes
    nothing where every m_k > 0; other smoothings, and other metrics, are differentiated by differences of
    the score over its S inputs, all in one call.
    """
    gain = float(metric.gain(metric.score(sums)))
    if isinstance(metric, Bleu) and metric.smoothing in ("none", "floor", "exp"):
        n = metric.order
        matches, totals = sums[2 : 2 + n], sums[2 + n :]
        if matches.min() > 0.0 and totals.min() > 0.0:
            c, r = sums[:2]
            x = r / c - 1.0
            slope = float(x > 0)
            if brevity:
                gain *= float(np.exp(max(0.0, x) - np.logaddexp(0.0, brevity * x) / brevity))
                slope = float(np.exp(-np.logaddexp(0.0, -brevity * x)))
            logs = [slope * r / c**2, -slope / c], 1.0 / (n * matches), -1.0 / (n * totals)
            return gain, gain * np.concatenate(logs)
    return gain, _difference_slopes(metric, sums)


def _difference_slopes(metric: Metric, sums: Float64) -> Float64:
    """Return the slopes by differences; a statistic that is 0 in sum is 0 in every row and has none."""
    steps = STEP * np.abs(sums)
    moved = np.repeat(sums[None, None], len(POINTS), axis=0).repeat(len(sums), axis=1)  # (4, S, S)
    each = np.arange(len(sums))
    moved[:, each, each] += POINTS[:, None] * steps
    differences = SHARES @ metric.gain(metric.score(moved))
    return np.divide(differences, steps, out=np.zeros(len(sums)), where=steps > 0)


@dataclasses.dataclass(frozen=True, eq=False)
class Expectation:
    """The gain of the expected corpus: statistics Σ p·stats, p = softmax(sharpness · w·h) in each list.

    Attributes
    ----------
    problem : ListProblem
    outcomes : Outcomes
    sharpness : γ
    temperature : what the mean entropy of a list, in nats, is worth, in gains on the scale 0–1
    brevity : κ of `smooth_gain`
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
