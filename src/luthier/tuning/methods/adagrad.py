"""Online pairwise ranking with a step size for each feature, ℓ1 and ℓ2 (AdaGrad; Green et al., 2013)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.kbest.features import Features
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import KEEPS, ListTuner, State, keep_best
from luthier.tuning.ranking import _pair_kernels as kernels
from luthier.tuning.ranking.pairs import (
    SELECTIONS,
    VECTORS_OF_A_PAIR,
    Pairs,
    PairSampling,
    count_entries,
    differences,
    sample_pairs,
    shares_of_gaps,
    sum_squares,
)
from luthier.tuning.ranking.rounds import top_of
from luthier.tuning.ranking.sentence_gains import GAIN_KINDS, hypothesis_gains
from luthier.tuning.restarts import with_spread


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    r"""Stochastic steps on PRO's loss, mini-batch by mini-batch, after [green2013].

    A step takes the gradient g of a batch's logistic losses and goes to

    .. math:: v_d − \frac{η}{\sqrt{\sum g_d²}} g_d,

    then ℓ1 draws it towards 0 by as much as is due to it, through 0 never, and ℓ2 shrinks it: forward and
    backward steps, of which the latter makes true zeros. η is in units v_d = w_d·σ_d, σ_d being the root
    mean square of a feature's differences where it differs at all, so that features of any scale move
    alike. The penalties are of the weights as given, l1·Σ|w| + l2·Σw², beside a loss summed over all
    sentences with two vectors for each pair: the scale of ``pro``'s constants. Pairs are drawn anew in
    each epoch, of the hypotheses that score highest by the weights before, and count by the difference of their gains.

    If `averaged`, the weights after epoch t are the mean over all steps, those of epoch k counting k times; in it ℓ1's
    zeros are rare. Corpus gains are those of the mean: with the gains of single epochs the search swings between
    too short and too long.
    """

    monotone: ClassVar[bool] = False
    sparse: ClassVar[bool] = True
    order_free: ClassVar[bool] = False
    published: ClassVar[Mapping[str, Any]] = {
        "l1": 0.1,
        "l2": 0.0,
        "averaged": False,
        "gains": "sentence",
        "keep": "last",
        "top": 0,
        "alpha": 5.0,
        "select": "largest",
        "weighting": "equal",
        "rescale": False,
    }

    epochs: int = param(20, low=1, high=100_000, help="passes over the sentences")
    batch: int = param(20, low=1, high=1_000_000, help="sentences in a step")
    rate: float = param(0.3, low=1e-12, help="length of a feature's first step, in units of its differences")
    l1: float = param(0.0, low=0.0, help="weight of the sum of absolute weights")
    l2: float = param(1.0, low=0.0, help="weight of the squared length of the weights")
    averaged: bool = param(True, help="take the mean over steps, later epochs counting more")
    gains: str = param("corpus", choices=GAIN_KINDS, help="what a hypothesis is worth: to the corpus, or by itself")
    keep: str = param("best", choices=KEEPS, help="which epoch's weights to return, by the gain on the tuning set")
    draws: int = param(5000, low=1, high=100_000_000, help="pairs drawn of each sentence")
    kept: int = param(50, low=1, high=1_000_000, help="pairs kept of each sentence, at most")
    top: int = param(50, low=0, help="hypotheses of a list that pairs are drawn of, by score; 0 for all")
    alpha: float = param(0.0, low=0.0, help="least difference of two gains, in points of 0-100")
    select: str = param("first", choices=SELECTIONS, help="which pairs are kept: by difference, or as drawn")
    weighting: str = param("difference", choices=("equal", "difference"), help="what a pair counts")
    rescale: bool = param(True, help="bring the start to a length at which scores spread by 1")

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each epoch, and at last the best of them."""
        epochs = self._epochs(problem, start, rng)
        return keep_best(epochs) if self.keep == "best" else epochs

    def _epochs(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        yield State(start, problem.gain(start), "start")
        sampling = PairSampling(self.draws, self.kept, self.alpha, self.select)
        weights = with_spread(problem, start, 1.0) if self.rescale else start
        learner = _Learner(self, problem, weights)
        for number in range(1, self.epochs + 1):
            top, rows = top_of(problem, weights, self.top)
            gains = hypothesis_gains(problem, weights, self.gains)[rows]
            pairs = sample_pairs(top, gains, sampling, rng)
            counts = shares_of_gaps(gains, pairs) if self.weighting == "difference" else np.ones(len(pairs))
            loss, mean = learner.epoch(pairs, (differences(top.pool.features, pairs), counts), rng)
            if self.averaged:
                weights = problem.bounds.clip(weights + (mean - weights) * 2.0 / (number + 1))
            else:
                weights = learner.weights.copy()
            yield State(weights, problem.gain(weights), f"epoch {number}", loss)


class _Learner:
    """Weights and sums of squared gradients, (D,) each, that go on from epoch to epoch."""

    def __init__(self, method: Method, problem: ListProblem, start: Float64) -> None:
        self.method, self.bounds = method, problem.bounds
        self.weights = np.array(start)
        self.squares = np.zeros(len(start))
        self.unit = np.zeros(len(start))  # σ; 0 until a feature differs

    def epoch(self, pairs: Pairs, given: tuple[Features, Float64], rng: np.random.Generator) -> tuple[float, Float64]:
        """Go once over all sentences, in a random order; return the loss on the way and the mean weights.

        `given` are the differences of the pairs, P rows, and how much each counts, (P,).
        """
        rows, counts = given
        entries = count_entries(rows)
        new = (self.unit == 0) & (entries > 0)
        self.unit[new] = np.sqrt(sum_squares(rows)[new] / entries[new])
        sentences = rng.permutation(len(pairs.offsets) - 1)
        total, loss, n_steps = np.zeros(len(self.weights)), 0.0, 0
        for first in range(0, len(sentences), self.method.batch):
            chosen = sentences[first : first + self.method.batch]
            gradient = np.zeros(len(self.weights))
            for s in chosen.tolist():
                loss += kernels.add_pair_gradients(
                    rows.dense,
                    rows.indptr,
                    rows.indices,
                    rows.values,
                    counts,
                    pairs.offsets[s],
                    pairs.offsets[s + 1],
                    self.weights,
                    gradient,
                )
            self._step(VECTORS_OF_A_PAIR * gradient, share=len(chosen) / len(sentences))
            total += self.weights
            n_steps += 1
        return VECTORS_OF_A_PAIR * loss, total / n_steps

    def _step(self, gradient: Float64, *, share: float) -> None:
        """Take one step by the gradient of a batch, which is a `share` of all sentences."""
        unit = np.where(self.unit > 0, self.unit, 1.0)
        self.squares += (gradient / unit) ** 2
        # In w the step is η/√squares · (g/σ)/σ, and the penalties, too, are divided by σ².
        root = np.sqrt(self.squares) * unit**2
        size = np.divide(self.method.rate, root, out=np.zeros_like(root), where=root > 0)
        moved = self.weights - size * gradient
        shrunk = np.maximum(np.abs(moved) - size * share * self.method.l1, 0.0)
        shrunk /= 1.0 + 2.0 * size * share * self.method.l2
        self.weights[:] = self.bounds.clip(np.copysign(shrunk, moved) + 0.0)  # no −0
