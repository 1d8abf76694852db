"""Minimum risk: the metric of expected statistics under a softmax, annealed, by L-BFGS (Smith and Eisner, 2006)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import State, keep_best
from luthier.tuning.margin.steps import step_scale
from luthier.tuning.neighbours.fit import minimize_with_neighbours
from luthier.tuning.neighbours.penalty import NeighbourTuner, reported
from luthier.tuning.ranking.expectation import BREVITY, Expectation
from luthier.tuning.ranking.sentence_gains import Outcomes

# What a sentence weighs in the sums of the ranking tuners, so that β means about the same here.
SENTENCE_WEIGHT, SENTENCE_PAIRS = 100.0, 50


@dataclasses.dataclass(frozen=True)
class Method(NeighbourTuner):
    """Maximise gain(Σ p·stats) + T·H(p) − ℓ2/2·‖w·s‖², with p = softmax(γ w·h) in each list, T falling.

    The metric is that of the whole corpus, of expected statistics: smooth in w, with its exact gradient.
    H is the mean entropy of a list: while the temperature T is high it keeps all hypotheses in play, so
    that the search is not caught where the start would have it; each temperature starts from the end of
    the one before, and the last is 0. Gains are on the scale 0–1; s are the spreads of features within
    lists (or 1), in whose units the search moves and the penalty counts. The temperature whose weights
    have the highest corpus gain is kept, the start counting as one. A penalty on neighbouring bins counts
    β / (100 · sentences): the ranking tuners have it beside a sum in which a sentence weighs 100.

    References
    ----------
    [smith2006]; for BLEU [rosti2011].
    """

    sparse = True
    published = {"brevity": 0.0, "standardize": False}  # noqa: RUF012 - never changed

    temperature: float = param(0.025, low=0.0, help="T at first; 0: no annealing")
    cooling: float = param(0.5, low=0.01, high=0.99, help="factor on T after each round")
    rounds: int = param(4, low=1, high=1000, help="rounds of annealing; a last one, at T = 0, follows")
    sharpness: float = param(1.0, low=1e-9, help="γ, which matters where bounds hold the scale of the weights")
    brevity: float = param(BREVITY, low=0.0, help="how sharply BLEU's brevity penalty sets in (0: with a kink)")
    l2: float = param(1e-4, low=0.0, help="weight of the squared norm")
    iterations: int = param(30, low=1, high=100_000, help="steps of L-BFGS in a round, at most")
    standardize: bool = param(True, help="search and penalise in units of the spreads within lists")

    @property
    def is_random(self) -> bool:
        """Nothing is drawn."""
        return False

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:  # noqa: ARG002
        """Yield the weights after each round, then the best of them."""
        return keep_best(self._rounds(problem, start))

    def _rounds(self, problem: ListProblem, start: Float64) -> Iterator[State]:
        yield State(start, problem.gain(start), "start")
        expectation = Expectation(problem, Outcomes.of(problem), self.sharpness, brevity=self.brevity)
        scale = np.sqrt(step_scale(problem, standardize=self.standardize))
        weights, neighbours = start, self.penalty_on_neighbours(problem)
        heats = [self.temperature * self.cooling**k for k in range(self.rounds)] if self.temperature else []
        for number, heat in enumerate([*heats, 0.0]):
            heated = dataclasses.replace(expectation, temperature=heat)
            if neighbours is None:
                weights, value = self.fit(heated, weights, scale)
                yield State(weights, problem.gain(weights), f"temperature {heat:.4g}", value)
                continue
            share = neighbours.with_strength(neighbours.strength / (SENTENCE_WEIGHT * problem.pool.n_sentences))
            loss = _Negative(self, heated, scale)
            fit = minimize_with_neighbours([loss], share, weights, problem.bounds, raised=number == 0, unit=1.0)
            weights = fit.weights
            did = f"temperature {heat:.4g}: {fit.iterations} steps{'' if fit.converged else ', not converged'}"
            state = State(weights, problem.gain(weights), did, -fit.value)
            yield reported(state, fit, neighbours, SENTENCE_PAIRS * problem.pool.n_sentences)

    def objective(self, expectation: Expectation, weights: Float64, scale: Float64) -> tuple[float, Float64]:
        """Return the objective and its gradient by the weights; `scale` is 1/s, 0 for what cannot move."""
        value, gradient = expectation.value_and_gradient(weights)
        free = scale > 0
        inner = np.divide(weights, scale, out=np.zeros(len(scale)), where=free)  # w·s
        value -= 0.5 * self.l2 * float(inner @ inner)
        gradient[free] -= self.l2 * inner[free] / scale[free]
        return value, gradient

    def fit(self, expectation: Expectation, start: Float64, scale: Float64) -> tuple[Float64, float]:
        """Return where L-BFGS ends and the objective there."""
        free = np.flatnonzero(scale > 0)
        bounds, weights = expectation.problem.bounds, np.array(start)

        def negative(x: Float64) -> tuple[float, Float64]:
            weights[free] = x * scale[free]
            value, gradient = self.objective(expectation, weights, scale)
            return -value, -gradient[free] * scale[free]

        limits = np.stack([bounds.low[free] / scale[free], bounds.high[free] / scale[free]], axis=1)
        found = minimize(
            negative,
            start[free] / scale[free],
            jac=True,
            method="L-BFGS-B",
            bounds=None if bounds.is_free else limits,
            options={"maxiter": self.iterations, "maxfun": 4 * self.iterations + 20, "ftol": 1e-9, "gtol": 1e-7},
        )
        weights[free] = found.x * scale[free]
        return bounds.clip(weights), -float(found.fun)


@dataclasses.dataclass(frozen=True, eq=False)
class _Negative:
    """Minus the objective, as a term to be minimised."""

    method: Method
    expectation: Expectation
    scale: Float64

    def value_and_gradient(self, weights: Float64) -> tuple[float, Float64]:
        value, gradient = self.method.objective(self.expectation, weights, self.scale)
        return -value, np.where(self.scale > 0, -gradient, 0.0)

    def curvature(self, weights: Float64 | None = None) -> Float64:  # noqa: ARG002
        """Return what makes the search's units those of the spreads within lists."""
        return np.divide(1.0 + self.method.l2, self.scale**2, out=np.zeros(len(self.scale)), where=self.scale > 0)
