"""Rampion: the structured ramp loss, hopes held while fears are fought (Gimpel and Smith, 2012)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import ListTuner, State, keep_best
from luthier.tuning.margin import _mira_kernels as kernels
from luthier.tuning.margin.steps import Workspace, best_rows
from luthier.tuning.ranking.sentence_gains import Outcomes, outcome_gains
from luthier.tuning.restarts import rescaled


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    """Lower Σ_i [ max_j (s_j + α·cost_j) − max_j (s_j − α·cost_j) ] + C/2·‖w − w0‖², by the concave-convex procedure.

    s = w·h are scores, w0 is the start, costs are gains with the sign changed, in words: those of the
    corpus that a round's first weights select with the hypothesis added, or of the sentence alone. The second
    maximum, reached by the hope, makes the loss non-convex: a round finds the hopes of the present
    weights and holds them, and its passes take one subgradient step a sentence on what is then convex:

        w ← w + η (h_hope − h_fear) − η C/N (w − w0),  clipped to the bounds.

    The loss of a pass is the mean of its sentences' as they are met. The round with the highest corpus
    gain is kept, the start being round 0.

    References
    ----------
    [gimpel2012], Algorithm 1 and the loss with hope and fear.
    """

    sparse = True
    order_free = False
    published = {"background": False, "rescale": False, "standardize": False}  # noqa: RUF012 - never changed

    rounds: int = param(10, low=1, high=100_000, help="times that hopes are found anew")
    passes: int = param(5, low=1, high=100_000, help="passes over the lists in a round")
    rate: float = param(0.01, low=1e-12, help="η, the step size")
    gain_weight: float = param(1.0, low=0.0, help="α, factor on gains, which are in words")
    c: float = param(1.0, low=0.0, help="C, the pull back to the start")
    background: bool = param(True, help="gains are what a sentence adds to the corpus, else of the sentence alone")
    rescale: bool = param(True, help="bring the start to a length at which scores spread as gains do")
    standardize: bool = param(True, help="work on features divided by their spread within lists")

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each round, then the best of them."""
        return keep_best(self._rounds(problem, start, rng))

    def _rounds(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        yield State(start, problem.gain(start), "start")
        outcomes = Outcomes.of(problem)
        space = Workspace.of(problem, standardize=self.standardize)
        if self.rescale:
            start = rescaled(problem, start, self._gains(problem, outcomes, start)[outcomes.groups])
        weights = np.array(start)
        n = problem.pool.n_sentences
        for number in range(1, self.rounds + 1):
            gains = self._gains(problem, outcomes, weights)
            hopes = best_rows(problem.pool.scores(weights) + gains[outcomes.groups], problem.offsets)
            lists, loss = kernels.Lists(problem.offsets, outcomes.groups, gains), 0.0
            for _ in range(self.passes):
                order = rng.permutation(n)
                loss = kernels.ramp_steps(
                    order, hopes, lists, space.features, space.box, self.rate, self.c / n, start, weights, space.room
                )
            yield State(weights, problem.gain(weights), f"round {number}", float(loss) / n)

    def _gains(self, problem: ListProblem, outcomes: Outcomes, weights: Float64) -> Float64:
        """Return the gain of each outcome, in words."""
        return self.gain_weight * outcome_gains(problem, outcomes, weights if self.background else None)
