"""How much an answer owes to its sentences: the weights are tuned again on resamples of them.

A resample is as many sentences, drawn with replacement. Each is tuned from the answer by exact lines; sentences count
as often as they were drawn, and no list is copied.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.rng import child_rng, resample_counts
from luthier.core.tasks import Shared, Threads, run_units
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import Tuner

CONFIDENCE = 0.95
STEADY = 0.95  # a winner that stays in this share of the resamples is called steady


@dataclasses.dataclass(frozen=True, eq=False)
class Resampling:
    """An answer, and what resamples made of it.

    Attributes
    ----------
    names : of D features
    answer : (D,)
    weights : (B, D)
        Tuned on each resample, brought to the size of the answer: Σ |w|·s, s being the spreads within lists.
    stays : (N,)
        In which share of the resamples each list keeps the winner that it has by the answer.
    scores : (B,)
        Of the answer on each resample.
    """

    names: tuple[str, ...]
    answer: Float64
    weights: Float64
    stays: Float64
    scores: Float64

    @property
    def intervals(self) -> Float64:
        """Percentile intervals of the weights, (D, 2)."""
        tail = (1 - CONFIDENCE) / 2
        return np.quantile(self.weights, [tail, 1 - tail], axis=0).T

    @property
    def score_spread(self) -> float:
        """Standard deviation of the answer's score over resamples."""
        return float(self.scores.std(ddof=1))

    @property
    def steady(self) -> int:
        """How many lists keep their winner in nearly all resamples."""
        return int(np.count_nonzero(self.stays >= STEADY))

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        low, high = self.intervals.T
        return {
            "draws": len(self.weights),
            "confidence": CONFIDENCE,
            "weights": {
                name: {"answer": float(self.answer[d]), "low": float(low[d]), "high": float(high[d])}
                for d, name in enumerate(self.names)
            },
            "winner_stays": self.stays.tolist(),
            "mean_winner_stays": float(self.stays.mean()),
            "score_spread": self.score_spread,
        }


@dataclasses.dataclass(frozen=True, eq=False)
class _Retuning:
    """What all resamples share."""

    problem: ListProblem
    tuner: Tuner
    answer: Float64


@dataclasses.dataclass(frozen=True)
class Resample:
    """One resample, by its number: its sentences are a function of the seed and that."""

    seed: int
    number: int

    def counts(self, n_sentences: int) -> Int64:
        """Return how often each sentence is drawn, (N,)."""
        return resample_counts(self.seed, self.number, n_sentences)


def resample_answer(
    problem: ListProblem, tuner: Tuner, answer: Float64, *, draws: int, seed: int = 0, threads: int = 1
) -> Resampling:
    """Tune weights again on resamples of a problem's sentences, from the answer, (D,), by a tuner of exact lines."""
    if draws < 2:
        raise LuthierError(f"expected at least 2 resamples, found {draws}")
    if problem.n_sentences < 2:
        raise LuthierError("expected at least 2 sentences to resample, found 1")
    given = Shared(_Retuning(problem, tuner, answer))
    units = {number: Resample(seed, number) for number in range(draws)}
    _ = problem.lines, problem.spread  # made once, before threads share them
    with progress("resamples", draws) as advance:
        found = run_units(retuned, given, units, engine=Threads(threads), keep=lambda *_: advance(1))
    if len(found) < draws:
        raise KeyboardInterrupt
    rows, weights, scores = problem.select(answer), [], []
    stays = np.zeros(problem.n_sentences)
    for end, score in found.values():
        stays += problem.select(end) == rows
        weights.append(same_size(end, answer, problem.spread))
        scores.append(score)
    return Resampling(problem.names, answer, np.array(weights), stays / draws, np.array(scores))


def retuned(given: _Retuning, unit: Resample) -> tuple[Float64, float]:
    """Return the weights of one resample, and the answer's score on it."""
    problem = given.problem.resampled(unit.counts(given.problem.n_sentences))
    end = given.answer
    for state in given.tuner.steps(problem, given.answer, child_rng(unit.seed, unit.number)):
        end = state.weights
    return end, float(problem.metric.gain(np.array(problem.gain(given.answer))))


def same_size(weights: Float64, answer: Float64, spread: Float64) -> Float64:
    """Return weights of the size of the answer: only their direction matters."""
    size, wanted = (float(np.sum(np.abs(vector) * spread)) for vector in (weights, answer))
    return weights * (wanted / size) if size > 0 and wanted > 0 else weights
