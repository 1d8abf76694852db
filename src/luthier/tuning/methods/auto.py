"""A tuner chosen by the numbers of features and sentences: it says which one, and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem, movable
from luthier.tuning.base import State, Tuner, tuner

ON_TRIAL = ("mert", "mira-batch", "svm")  # a line search, an online and a batch method of large margins


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Look at a problem, choose a tuner with its defaults, and run it.

    The first line that applies, with D the number of weights that can move and change something:

    1. D ≤ 1: ``mert``, of which one line search is all, and exact.
    2. Without lists (forests, other problems): ``mert``.
    3. D > `few`: ``mira-batch``, made for many features.
    4. Fewer than `sentences_each` sentences for each of them: ``pro``, whose answer fits the sentences less closely.
    5. Else ``mert``, exact along lines, with random directions beside the axes.

    The choice depends on these numbers and on nothing else. Where lists are cross-validated, folds decide instead:
    of `ON_TRIAL` the one whose answers score best on sentences they have not seen.
    """

    monotone = False  # its choices promise different things
    sparse = True
    order_free = False

    few: int = param(30, low=1, help="weights up to which line searches are made")
    sentences_each: int = param(30, low=0, help="sentences for each weight below which a ranking is learnt instead")

    def choose(self, problem: Problem) -> tuple[Tuner, str]:
        """Return the tuner for a problem, and why it is that one."""
        n = len(movable(problem))
        if n <= 1:
            return tuner("mert"), f"{n} weight can move" if n else "no weight can move"
        if not isinstance(problem, ListProblem):
            return tuner("mert", directions="both"), f"{n} weights can move, and there are no lists to look into"
        if n > self.few:
            return tuner("mira-batch"), f"{n:,} weights can move, more than {self.few}"
        sentences = len(problem.offsets) - 1
        if sentences < self.sentences_each * n:
            return tuner("pro"), f"{sentences:,} sentences are few for {n} weights"
        return tuner("mert", directions="both"), f"{sentences:,} sentences are enough for {n} weights"

    def on_trial(self, problem: Problem) -> list[Tuner]:
        """Return the tuner that numbers choose, and those on trial beside it."""
        first = self.choose(problem)[0]
        if len(movable(problem)) <= 1 or not isinstance(problem, ListProblem):
            return [first]
        return [first, *(tuner(name) for name in ON_TRIAL if name != first.name)]

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the states of the chosen tuner; the last one says which it was."""
        chosen, why = self.choose(problem)
        state: State | None = None
        for state in chosen.steps(problem, start, rng):
            yield state
        if state is not None:
            note = "; ".join(filter(None, [f"auto chose {chosen.name}: {why}", state.note]))
            yield dataclasses.replace(state, note=note)
