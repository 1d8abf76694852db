"""Perceptron: steps from what is selected to the best of a list, until every list is separated (Collins, 2002)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import ListTuner, State
from luthier.tuning.margin import _mira_kernels as kernels
from luthier.tuning.margin.steps import Workspace, sentence_oracles


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    """Epochs over the lists: w ← w + h_o − h_j where some h_j ≠ h_o of the list scores as high as its target o.

    The target is the sentence oracle: the highest gain of the sentence alone, the lowest row of equals. An epoch
    without a mistake ends it. The lists are then separated, and the last weights are the answer: they select every
    target. Where weights with a margin exist, that happens after finitely many steps [novikoff1962]. Where the limit
    comes first, the answer is the mean of the weights after each list's turn, and its note says so.

    Nothing is measured but which row of a list is the best: no corpus, and no size of a mistake.

    References
    ----------
    [collins2002], Figure 2, and its averaged parameters.
    """

    monotone = False
    sparse = True
    order_free = False
    published = {"standardize": False}  # noqa: RUF012 - never changed

    epochs: int = param(100, low=1, high=1_000_000, help="passes over the lists, at most")
    standardize: bool = param(True, help="measure steps in units of the features' spreads within lists")

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each epoch, and their mean where the lists are not separated."""
        yield State(start, problem.gain(start), "start")
        space = Workspace.of(problem, standardize=self.standardize)
        targets = sentence_oracles(problem)
        weights, drift, clock = np.array(start), np.zeros(len(start)), 0.0
        mistakes = 0
        for epoch in range(1, self.epochs + 1):
            order = rng.permutation(problem.pool.n_sentences)
            mistakes = kernels.perceptron_steps(
                order, problem.offsets, targets, space.features, space.box, clock, weights, drift, space.room
            )
            clock += float(len(order))
            note = "" if mistakes else f"separated: the weights select all {len(targets)} sentence oracles"
            yield State(weights, problem.gain(weights), f"epoch {epoch}", float(mistakes), note)
            if not mistakes:
                return
        mean = problem.bounds.clip(weights - drift / clock)
        note = f"not separated after {self.epochs} epochs, {mistakes} mistakes in the last: the mean of all weights"
        yield State(mean, problem.gain(mean), "mean", float(mistakes), note)
