"""Gains counted in words: a gain on the scale 0–1 times a length.

So one more matching word is worth about the same in every sentence, and a constant of a margin method means the
same for every metric. Lengths are means over a list's hypotheses, which every pool has, not of references, which it
may not have.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.kbest.pool import Pool
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.gains.outcomes import Outcomes

FULL_SCORE = 100.0


def list_lengths_in_words(pool: Pool) -> Float64:
    """Return the mean number of tokens of each list's hypotheses, at least 1, (N,)."""
    means = np.add.reduceat(pool.tokens.lengths, pool.offsets[:-1]) / pool.list_lengths
    return np.maximum(means, 1.0)


def outcome_gains(problem: ListProblem, outcomes: Outcomes, weights: Float64 | None) -> Float64:
    """Return the gain of each outcome in words, (U,): as a sentence of its own, or in a corpus.

    The first is the metric's (smoothed) sentence gain times the list's length. The second, where weights
    are given, is that of the selections' statistics with the outcome added, times the length of all:
    what the sentence adds to the corpus.
    """
    if weights is not None:
        everyone = np.arange(len(outcomes.stats))
        background = Background.of(problem, weights, 1.0)
        return background.gains(problem, outcomes, np.arange(len(outcomes.offsets) - 1), everyone)
    gains = problem.metric.gain(problem.metric.sentence_score(outcomes.stats)) / FULL_SCORE
    return gains * np.repeat(list_lengths_in_words(problem.pool), np.diff(outcomes.offsets))


@dataclasses.dataclass
class Background:
    """The corpus that a sentence is scored in: statistics of past hopes, each sentence ageing them.

    A gain is then gain(background + statistics) × (length of the background + length of the list): what
    the sentence adds to the corpus, in words. The background begins as the selections of the start, as
    many sentences of them as the decay remembers, 1/(1 − decay), or as there are.

    Attributes
    ----------
    sums : (S + 1,) statistics, and the length
    decay : what is left of the background after one more sentence
    lengths : (N,) of the lists
    """

    sums: Float64
    decay: float
    lengths: Float64

    @classmethod
    def of(cls, problem: ListProblem, start: Float64, decay: float) -> Background:
        """Return the background of the start's selections."""
        lengths = list_lengths_in_words(problem.pool)
        n = len(lengths) if decay == 1.0 else min(len(lengths), 1.0 / (1.0 - decay))
        means = problem.stats[problem.select(start)].mean(axis=0)
        return cls(n * np.append(means, lengths.mean()), decay, lengths)

    def gains(self, problem: ListProblem, outcomes: Outcomes, sentences: Int64, rows: Int64) -> Float64:
        """Return the gain in words of the outcomes `rows`, which are those of `sentences` in their order."""
        counts = outcomes.offsets[sentences + 1] - outcomes.offsets[sentences]
        gains = problem.gain_of_sums(outcomes.stats[rows] + self.sums[:-1]) / FULL_SCORE
        gains *= self.sums[-1] + np.repeat(self.lengths[sentences], counts)
        return gains
