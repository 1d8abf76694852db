"""What the tuners that learn to rank share: rounds of gains, a loss, penalties and a fit."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.params import param
from luthier.core.segments import segment_of_rows
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import KEEPS, State, keep_best
from luthier.tuning.neighbours.fit import minimize_with_neighbours
from luthier.tuning.neighbours.penalty import Neighbours, NeighbourTuner, reported
from luthier.tuning.neighbours.smooth_fit import Fit, Ridge, SummedLoss, Term, minimize
from luthier.tuning.ranking.sentence_gains import GAIN_KINDS, hypothesis_gains

# The top of lists: hypotheses that weights nearby may select, without those from deep down that outvote them.


def highest_rows(scores: Float64, offsets: Int64, n: int) -> Int64:
    """Return the rows of each list's n highest scores, in their order.

    >>> highest_rows(np.array([1.0, 3.0, 2.0, 5.0]), np.array([0, 3, 4]), 2)
    array([1, 2, 3])
    """
    lists = segment_of_rows(offsets)
    order = np.lexsort((-scores, lists))
    rank = np.arange(len(scores)) - offsets[lists]
    return np.sort(order[rank < n])


def top_of(problem: ListProblem, weights: Float64, n: int) -> tuple[ListProblem, Int64]:
    """Return the problem of each list's n hypotheses that score highest, and their rows; all of them if n is 0."""
    if not n or n >= problem.pool.list_lengths.max():
        return problem, np.arange(problem.pool.n_hypotheses)
    rows = highest_rows(problem.pool.scores(weights), problem.offsets, n)
    return dataclasses.replace(problem, pool=problem.pool.take(rows), stats=frozen(problem.stats[rows])), rows


@dataclasses.dataclass(frozen=True)
class RankingTuner(NeighbourTuner):
    """Rounds of: judge the hypotheses, make a loss of it, minimise, go a part of the way.

    A round minimises loss + c‖w‖² + c_prev‖w − w_prev‖² from the weights before, w_prev, and goes on from
    w ← ψ w' + (1 − ψ) w_prev. Every loss is a *sum* in which a sentence weighs 100 (PRO's 50 pairs of two
    vectors), so that c and c_prev have one scale for all these tuners: that of such sums, and of weights
    as given. Features of larger values need smaller weights and feel a penalty less.

    With ``corpus`` gains each round judges by what the weights before select, and ψ keeps the rounds
    from swinging about the length at which a brevity penalty begins; it falls from 1 as the number of rounds
    grows, so that the start's length does not matter. With ``sentence`` gains, and nothing random in the loss, one
    round with ψ = 1 on whole lists says all.

    A round may look at the hypotheses of highest score by the weights before only. Those below are never selected by
    weights nearby, and their gains, often far lower, would outvote the others.

    A penalty on neighbouring bins joins the sum. Such a fit ends where its gradient is small, whatever the number
    of steps; a plain one may end at `fit_iterations`, as the next round goes on from there.
    """

    monotone: ClassVar[bool] = False
    sparse: ClassVar[bool] = True

    gains: str = param("corpus", choices=GAIN_KINDS, help="what a hypothesis is worth: to the corpus, or by itself")
    iterations: int = param(15, low=1, high=100_000, help="rounds")
    psi: float = param(0.1, low=0.0, high=1.0, help="how far to go to what a round found, at least")
    falling: bool = param(True, help="go 1/t of the way in round t, as long as that is more")
    c: float = param(1.0, low=0.0, help="weight of the squared length of the weights")
    c_prev: float = param(0.0, low=0.0, help="weight of the squared distance from the weights before")
    fit_iterations: int = param(
        100, low=1, high=1_000_000, help="steps of L-BFGS in a round without neighbours, at most"
    )
    keep: str = param("best", choices=KEEPS, help="which round's weights to return, by the gain on the tuning set")

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each round, and at last the best of them."""
        rounds = self._rounds(problem, start, rng)
        return keep_best(rounds) if self.keep == "best" else rounds

    def _rounds(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        yield State(start, problem.gain(start), "start")
        weights, neighbours = self.begin(problem, start), self.penalty_on_neighbours(problem)
        for number in range(1, self.iterations + 1):
            loss = self.loss_of(problem, weights, hypothesis_gains(problem, weights, self.gains), rng)
            terms = [loss, *self.penalties(problem, weights)]
            fit = self._fit(terms, neighbours, weights, problem.bounds, raised=number == 1)
            psi = max(self.psi, 1.0 / number) if self.falling else self.psi
            weights = problem.bounds.clip(psi * fit.weights + (1.0 - psi) * weights)
            did = f"round {number}: {fit.iterations} steps{'' if fit.converged else ', not converged'}"
            state = State(weights, problem.gain(weights), did, fit.value)
            yield state if neighbours is None else reported(state, fit, neighbours, loss.n_pairs)

    def _fit(
        self, terms: list[Term], neighbours: Neighbours | None, start: Float64, bounds: Bounds, *, raised: bool
    ) -> Fit:
        if neighbours is None:
            return minimize(terms, start, bounds, iterations=self.fit_iterations)
        return minimize_with_neighbours(terms, neighbours, start, bounds, raised=raised)

    def begin(self, problem: ListProblem, start: Float64) -> Float64:  # noqa: ARG002
        """Return the weights that the first round begins at."""
        return start

    @abc.abstractmethod
    def loss_of(self, problem: ListProblem, weights: Float64, gains: Float64, rng: np.random.Generator) -> SummedLoss:
        """Return the loss of a round that begins at `weights`, for gains of all hypotheses, (M,)."""

    def penalties(self, problem: ListProblem, previous: Float64) -> list[Term]:  # noqa: ARG002
        """Return the penalties of a round, but for that on neighbouring bins."""
        centres = ((self.c, np.zeros(len(previous))), (self.c_prev, previous))
        return [Ridge(strength, centre) for strength, centre in centres if strength]
