"""Online MIRA: for each list the least move that puts its oracle before every hypothesis (Watanabe et al., 2007)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64, flat
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import KEEPS, ListTuner, State, keep_best
from luthier.tuning.margin import _mira_qp_kernels as kernels
from luthier.tuning.margin.steps import ORACLES, AveragedWeights, Workspace, target_gains
from luthier.tuning.ranking.sentence_gains import Outcomes, outcome_gains
from luthier.tuning.restarts import rescaled


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    """One quadratic program a sentence, over hypotheses j of its list and its oracle o.

        min ½‖w' − w‖² + C Σ_j ξ_j   subject to   w'·(h_j − h_o) + Δ_j ≤ ξ_j,  ξ_j ≥ 0,

    with Δ_j the gain of the oracle less that of j, in words. The oracle is the hypothesis of the highest
    gain, or (``hope``) of the highest score + gain, whose Δ can be negative for others, or (``sentence``) of the
    highest gain of the sentence alone, whatever the weights: a fixed target. Slacks are separate, so that the
    dual has 0 ≤ α_j ≤ C; it is solved by Hildreth's method over the conditions that push, and w' is clipped to
    the bounds. `conditions` leaves all but the most violated out, as those with k-best lists of ten do; 0 is the
    equation, where hundreds of middling hypotheses outvote the best.

    Gains are those of the hypothesis added to the corpus that the weights select as an epoch begins,
    times its length; or (no `background`) of the sentence alone, times the list's. Sentences come in an
    order drawn anew in each epoch; the weights of an epoch are the mean of those after each of its steps.
    The epoch with the highest corpus gain is kept, the start being epoch 0, or the last.

    With C → ∞, a fixed target, all conditions and no average, weights that meet every condition of every list are where
    it comes to rest, if there are any.

    References
    ----------
    [watanabe2007]; [crammer2006]; [waite2015] eq. 7; [hildreth1957].
    """

    sparse = True
    order_free = False
    published = {"oracle": "gain", "conditions": 0, "background": False, "rescale": False, "standardize": False}  # noqa: RUF012 - never changed

    epochs: int = param(10, low=1, high=100_000, help="passes over the lists")
    c: float = param(1e-3, low=1e-12, help="largest multiplier of one hypothesis")
    oracle: str = param(
        "hope", choices=ORACLES, help="what is put first: the best, the best within reach, or a fixed one"
    )
    conditions: int = param(10, low=0, help="conditions of a list, the most violated ones (0: all)")
    gain_weight: float = param(1.0, low=0.0, help="factor on gains, which are in words")
    average: str = param("epoch", choices=("epoch", "all", "none"), help="which weights are averaged")
    tolerance: float = param(1e-3, low=0.0, help="how much a condition may be violated, in words")
    sweeps: int = param(100, low=1, help="sweeps over the conditions of a list, at most")
    background: bool = param(True, help="gains are what a sentence adds to the corpus, else of the sentence alone")
    keep: str = param("best", choices=KEEPS, help="which epoch's weights to return, by the gain on the tuning set")
    rescale: bool = param(True, help="bring the start to a length at which scores spread as gains do")
    standardize: bool = param(True, help="measure moves in units of the features' spreads within lists")

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each epoch, then the best of them."""
        epochs = self._epochs(problem, start, rng)
        return keep_best(epochs) if self.keep == "best" else epochs

    def _epochs(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        yield State(start, problem.gain(start), "start")
        outcomes = Outcomes.of(problem)
        program = _Program(self, problem)
        if self.rescale:
            start = rescaled(problem, start, self._gains(problem, outcomes, start))
        averaged = AveragedWeights.of(start)
        for epoch in range(1, self.epochs + 1):
            if self.average == "epoch":
                averaged.restart()
            weights = averaged.weights.copy()
            program.gains = self._gains(problem, outcomes, weights)
            for s in rng.permutation(problem.pool.n_sentences).tolist():
                program.solve(s, weights)
                weights = problem.bounds.clip(weights)
                averaged.put(weights)
            weights = problem.bounds.clip(averaged.weights if self.average == "none" else averaged.mean())
            yield State(weights, problem.gain(weights), f"epoch {epoch}")

    def _gains(self, problem: ListProblem, outcomes: Outcomes, weights: Float64) -> Float64:
        """Return the gains of all hypotheses, in words."""
        fixed = self.oracle == "sentence"
        gains = outcome_gains(problem, outcomes, weights if self.background and not fixed else None)[outcomes.groups]
        return flat(self.gain_weight * (target_gains(problem, gains) if fixed else gains))


class _Program:
    """The quadratic programs of all lists, with room to solve one at a time."""

    def __init__(self, method: Method, problem: ListProblem) -> None:
        self.method, self.problem, self.gains = method, problem, np.zeros(0)
        space = Workspace.of(problem, standardize=method.standardize)
        self.features, self.scale = space.features, space.box.scale
        longest = int(problem.pool.list_lengths.max())
        self.fears, self.rows = np.empty(longest), np.empty(longest, dtype=np.int64)
        self.room = kernels.Workspace(
            np.empty(longest), np.empty(longest, dtype=np.int64), np.zeros(problem.n_features)
        )

    def solve(self, sentence: int, weights: Float64) -> int:
        """Move `weights` to the solution of a list's program; return the sweeps that took."""
        method = self.method
        first, last = self.problem.offsets[sentence : sentence + 2].tolist()
        hope = method.oracle == "hope"
        o, n = kernels.pick(
            first, last, hope, method.conditions, self.gains, self.features, weights, self.fears, self.rows
        )
        return int(
            kernels.solve_list(
                self.rows[:n],
                o,
                self.gains,
                self.features,
                self.scale,
                method.c,
                method.tolerance,
                method.sweeps,
                weights,
                self.room,
            )
        )
