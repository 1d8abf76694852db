"""Structured SVM with margin rescaling, by cutting planes (Tsochantaridis et al., 2005; Joachims et al., 2009)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.tuning.base import KEEPS, State, keep_best
from luthier.tuning.margin import _svm_kernels as kernels
from luthier.tuning.margin._mira_kernels import Box
from luthier.tuning.margin.neighbour_model import NeighbourModel
from luthier.tuning.margin.steps import (
    ORACLES,
    best_rows,
    oracle_rows,
    shared_scale,
    step_scale,
    sum_of_rows,
    target_gains,
)
from luthier.tuning.neighbours.penalty import NeighbourTuner
from luthier.tuning.ranking.sentence_gains import Outcomes, outcome_gains
from luthier.tuning.restarts import rescaled


@dataclasses.dataclass(frozen=True)
class Method(NeighbourTuner):
    """Rounds that minimise ½‖w − w0‖² + C/N Σ_i max_j [Δ_j − w·(h_o − h_j)], exactly within a tolerance.

    o is the oracle of list i, Δ_j its gain less that of j, in words: what they add to the corpus that the weights
    before select, or as sentences of their own (smoothed). The oracle has the highest gain, the score by the weights
    before deciding between equals, or (``hope``) the highest score + gain, or (``sentence``) the highest gain of the
    sentence alone, the same in every round: with C → ∞ every list is separated, if any weights do that.

    With corpus gains the highest ones lie far from anything that weights can select, and rounds swing from one side to
    the other; hopes are within reach. The weights after round r are the mean of the answers of all r rounds, round k
    counting k times, so that what follows moves ever less and what was far from the end is soon forgotten.

    A round's objective is convex: the weights before change its answer by gains and oracles only. With sentence gains
    and their oracles one round says all. w0 is 0 or the start; norms are in units of the features' spreads within
    lists, or plain.

    The loss is the highest of the planes b − w·g, one for each choice of rows in all lists. Each step
    finds the plane that is highest at the present weights and solves the quadratic program over the
    planes found so far, weights in their bounds; when the loss there is within `tolerance` of the highest
    known plane, the objective is within C·`tolerance` of the least.

    A penalty on neighbouring bins joins the objective as β·C / (100·N), what β is beside the sums of the ranking
    methods, and the bins of a feature have one spread. LNR keeps the objective convex and the answer exact. MNR begins
    at LNR's answer and goes down by quadratic models of the penalty (`luthier.tuning.margin.neighbour_model`) until one
    brings less than C·`tolerance`: a local minimum.

    References
    ----------
    [tsochantaridis2005]; with one slack, as here, [joachims2009].
    """

    monotone = False
    sparse = True
    order_free = False  # the way to an optimum within a tolerance differs by rounding
    published = {  # noqa: RUF012 - never changed
        "rounds": 1,
        "background": False,
        "oracle": "gain",
        "c": 30.0,
        "rescale": False,
        "standardize": False,
        "keep": "last",
    }

    rounds: int = param(12, low=1, high=100_000, help="times that gains and oracles are found anew")
    c: float = param(3.0, low=1e-12, help="weight of the mean loss beside half the squared norm")
    tolerance: float = param(1e-3, low=1e-12, help="how far the mean loss may be from the model's, in words")
    limit: int = param(500, low=1, help="cutting planes of a round, at most")
    oracle: str = param(
        "hope", choices=ORACLES, help="what is put first: the best, the best within reach, or a fixed one"
    )
    background: bool = param(True, help="gains are what a sentence adds to the corpus, else of the sentence alone")
    centre: str = param("zero", choices=("zero", "start"), help="w0, which weights are drawn to")
    keep: str = param("best", choices=KEEPS, help="which round's weights to return, by the gain on the tuning set")
    rescale: bool = param(True, help="bring the start to a length at which scores spread as gains do")
    standardize: bool = param(True, help="measure norms in units of the features' spreads within lists")

    def refuses(self, problem: Problem) -> str:
        """Return why this method cannot work on a problem, or '' if it can."""
        reason, neighbours = super().refuses(problem), None
        if not reason:
            neighbours = self.penalty_on_neighbours(problem)
        held = np.isfinite(problem.bounds.low) | np.isfinite(problem.bounds.high)
        if neighbours is not None and held[neighbours.columns].any():
            return f"{self.neighbours} ties the weights of neighbouring bins, and some of them have bounds"
        return reason

    @property
    def is_random(self) -> bool:
        """Nothing is drawn."""
        return False

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:  # noqa: ARG002
        """Yield the weights after each round, and at last the best of them."""
        rounds = self._rounds(problem, start)
        return keep_best(rounds) if self.keep == "best" else rounds

    def _rounds(self, problem: ListProblem, start: Float64) -> Iterator[State]:
        yield State(start, problem.gain(start), "start")
        outcomes = Outcomes.of(problem)
        weights = rescaled(problem, start, self._gains(problem, outcomes, start)) if self.rescale else start
        for number in range(1, self.rounds + 1):
            work = _CuttingPlanes(self, problem, start, (self._gains(problem, outcomes, weights), weights))
            answer, objective, did = work.least()
            weights = problem.bounds.clip(weights + (answer - weights) * 2.0 / (number + 1))
            yield State(weights, problem.gain(weights), f"round {number}: {did}", objective)

    def _gains(self, problem: ListProblem, outcomes: Outcomes, weights: Float64) -> Float64:
        """Return the gains of all hypotheses, (M,), in words."""
        fixed = self.oracle == "sentence"
        gains = outcome_gains(problem, outcomes, weights if self.background and not fixed else None)[outcomes.groups]
        return target_gains(problem, gains) if fixed else gains


class _CuttingPlanes:
    """The planes found so far of a round, and the program over them.

    `before` are the gains of the round, (M,), and the weights before, whose scores choose the oracles.
    """

    def __init__(self, method: Method, problem: ListProblem, start: Float64, before: tuple[Float64, Float64]) -> None:
        self.method, self.problem, self.gains = method, problem, before[0]
        scores = problem.pool.scores(before[1])
        if method.oracle == "hope":
            self.oracles: Int64 = best_rows(scores + self.gains, problem.offsets)
        else:
            self.oracles = oracle_rows(self.gains, scores, problem.offsets)
        neighbours = method.penalty_on_neighbours(problem)
        self.scale = flat(step_scale(problem, standardize=method.standardize))
        if neighbours is not None and method.standardize:
            self.scale = shared_scale(problem, self.scale)
        centre = np.zeros(problem.n_features) if method.centre == "zero" else start
        self.centre = flat(problem.bounds.clip(np.where(self.scale > 0, centre, start)))
        self.target = sum_of_rows(problem.pool.features, self.oracles)
        self.planes = np.zeros((0, problem.n_features))
        self.heights = np.zeros(0)
        self.alphas = np.zeros(0)
        self.model: NeighbourModel | None = None
        if neighbours is not None:
            beside = neighbours.strength * method.c / (100.0 * problem.pool.n_sentences)
            self.model = NeighbourModel(neighbours.with_strength(beside), self.scale, self.centre, problem.bounds)

    def least(self) -> tuple[Float64, float, str]:
        """Return the weights of the least objective, the objective there, and what it took."""
        weights = best = self.centre
        least, converged = np.inf, False
        for _ in range(self.method.limit):
            excess, objective = self.cut(weights)
            if objective < least:
                best, least = weights, objective
            converged = excess <= self.method.tolerance and self.settled(weights, objective)
            if converged:
                break
            weights = self.solve()
        return best, least, f"{len(self.heights)} planes{'' if converged else ', not converged'}"

    def settled(self, weights: Float64, objective: float) -> bool:
        """Return whether an answer for the planes so far is an answer; if not, the penalty's next model is made."""
        return self.model is None or self.model.settled(weights, objective, self.method.c * self.method.tolerance)

    def cut(self, weights: Float64) -> tuple[float, float]:
        """Add the highest plane at `weights`; return how far it is above the others, and the objective."""
        problem, n = self.problem, self.problem.pool.n_sentences
        known = float(np.max(self.heights - self.planes @ weights, initial=0.0))
        fears = best_rows(problem.pool.scores(weights) - self.gains, problem.offsets)
        plane = (self.target - sum_of_rows(problem.pool.features, fears)) / n
        height = float(np.sum(self.gains[self.oracles] - self.gains[fears])) / n
        loss = height - float(plane @ weights)
        self.planes = np.concatenate([self.planes, plane[None]])
        self.heights = np.append(self.heights, height)
        self.alphas = np.append(self.alphas, 0.0)
        away = weights - self.centre
        squares = np.divide(away**2, self.scale, out=np.zeros(len(away)), where=self.scale > 0)
        price = 0.0 if self.model is None else float(self.model.neighbours.values(weights))
        return loss - known, 0.5 * float(squares.sum()) + price + self.method.c * loss

    def solve(self) -> Float64:
        """Return the weights that are best for the planes so far."""
        if self.model is not None:
            planes = self.model.planes(self.planes), self.heights, self.alphas
            return self.model.solve(*planes, limit=self.method.c, tolerance=0.1 * self.method.tolerance)
        weights = np.empty(self.problem.n_features)
        bounds = self.problem.bounds
        kernels.solve_planes(
            self.planes,
            self.heights,
            self.method.c,
            self.centre,
            Box(self.scale, bounds.low, bounds.high),
            0.1 * self.method.tolerance,
            100_000,
            self.alphas,
            weights,
        )
        return weights
