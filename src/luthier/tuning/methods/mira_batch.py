"""Batch MIRA on k-best lists: hope and fear in a background corpus, the best epoch kept (Cherry and Foster, 2012)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import ListTuner, State, keep_best
from luthier.tuning.margin import _mira_kernels as kernels
from luthier.tuning.margin.steps import AveragedWeights, Workspace
from luthier.tuning.ranking.sentence_gains import Background, Outcomes, outcome_gains
from luthier.tuning.restarts import rescaled


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    """Epochs of one step a sentence, each the least that puts hope before fear by their difference in gain.

    With scores s = w·h and gains g of a list's hypotheses, hope is argmax s + g and fear argmax s − g, and

        w ← w + min(C, max(0, g_hope − g_fear − (s_hope − s_fear)) / ‖h_hope − h_fear‖²) · (h_hope − h_fear),

    clipped to the bounds. The gain of a hypothesis is that of a background corpus with it, times the length
    of both in words; the background is the statistics of past hopes, ageing by `decay` with every sentence.
    Any metric will do: it is a function of summed statistics. An epoch's weights are the mean of those
    after each of its steps; the epoch with the highest corpus gain is kept, the start being epoch 0.

    References
    ----------
    [cherry2012]; the background is from [chiang2008].
    """

    sparse = True
    order_free = False
    published = {"refresh": 1, "rescale": False, "standardize": False}  # noqa: RUF012 - never changed

    epochs: int = param(60, low=1, high=100_000, help="passes over the lists")
    c: float = param(0.01, low=1e-12, help="largest step along the difference of two feature vectors")
    decay: float = param(0.999, low=0.0, high=0.999999, help="what is left of the background after one sentence")
    refresh: int = param(16, low=1, help="sentences after which gains see the new background (1: as published)")
    average: str = param("epoch", choices=("epoch", "all", "none"), help="which weights are averaged")
    rescale: bool = param(True, help="bring the start to a length at which scores spread as gains do")
    standardize: bool = param(True, help="work on features divided by their spread within lists (published: not)")

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each epoch, then the best of them."""
        return keep_best(self._epochs(problem, start, rng))

    def _epochs(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        yield State(start, problem.gain(start), "start")
        outcomes = Outcomes.of(problem)
        if self.rescale:
            start = rescaled(problem, start, outcome_gains(problem, outcomes, start)[outcomes.groups])
        background = Background.of(problem, start, self.decay)
        space = Workspace.of(problem, standardize=self.standardize)
        averaged = AveragedWeights.of(start)
        for epoch in range(1, self.epochs + 1):
            if self.average == "epoch":
                averaged.restart()
            loss = self._epoch(problem, outcomes, background, space, averaged, rng=rng)
            weights = averaged.weights if self.average == "none" else averaged.mean()
            weights = problem.bounds.clip(weights)
            yield State(weights, problem.gain(weights), f"epoch {epoch}", loss)

    def _epoch(
        self,
        problem: ListProblem,
        outcomes: Outcomes,
        background: Background,
        space: Workspace,
        averaged: AveragedWeights,
        *,
        rng: np.random.Generator,
    ) -> float:
        """Take a step for each sentence, in an order drawn; return the mean loss."""
        n = problem.pool.n_sentences
        order = rng.permutation(n)
        gains = np.zeros(len(outcomes.stats))
        lists = kernels.Lists(problem.offsets, outcomes.groups, gains)
        past = kernels.Past(background.sums, self.decay, outcomes.stats, background.lengths)
        total = 0.0
        for first in range(0, n, self.refresh):
            sentences = order[first : first + self.refresh]
            rows, found = background.gains(problem, outcomes, sentences)
            gains[rows] = found
            total += kernels.hope_fear_steps(
                sentences,
                lists,
                space.features,
                space.box,
                self.c,
                past,
                averaged.clock,
                averaged.weights,
                averaged.drift,
                space.room,
            )
            averaged.clock += len(sentences)
        return total / n
