"""Distinct outcomes: hypotheses of a list with the same statistics are the same to every metric."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, flat, frozen
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.kbest.pool import Pool
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.margin import _mira_kernels as kernels

# Odd, with bits all over: rows of small counts get hashes that differ.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """The distinct statistics of each list, U of them in all; lists of 1000 hypotheses have some 100.

    Attributes
    ----------
    offsets : (N+1,) int64
        List i has the outcomes ``offsets[i]:offsets[i+1]``.
    stats : (U, S) float64
    groups : (M,) int64
        The outcome of each hypothesis.
    """

    offsets: Int64
    stats: Float64
    groups: Int64

    @classmethod
    def of(cls, problem: ListProblem) -> Outcomes:
        """Return the outcomes of a problem, in O(M log M)."""
        segments = segment_of_rows(problem.offsets)
        # Lists, then hashes, in one number: rows of one outcome lie together, in whatever order.
        bits = len(problem.offsets).bit_length()
        hashes = _hashes(problem.stats) >> np.uint64(bits)
        order = np.argsort((segments.astype(np.uint64) << np.uint64(64 - bits)) | hashes)
        stats = problem.stats[order]
        new = np.any(stats[1:] != stats[:-1], axis=1) | (segments[1:] != segments[:-1])
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        groups = np.empty(len(order), dtype=np.int64)
        groups[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
        counts = np.bincount(segments[starts], minlength=len(problem.offsets) - 1)
        distinct = np.ascontiguousarray(stats[starts], dtype=np.float64)
        return cls(frozen(offsets_from_counts(counts)), frozen(distinct), frozen(groups))


def _hashes(stats: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return a hash of each row; equal hashes of unlike rows only make an outcome stand twice."""
    bits = stats.view(np.uint64)
    hashes = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        hashes = (hashes ^ column) * MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
    return hashes


# Gains counted in words: a gain on the scale 0–1 times a length.
#
# So one more matching word is worth about the same in every sentence, and a constant of a margin method means the
# same for every metric. Lengths are means over a list's hypotheses, which every pool has, not of references, which it
# may not have.

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
        return Background.of(problem, weights, 1.0).gains(problem, outcomes, np.arange(len(outcomes.offsets) - 1))[1]
    gains = problem.metric.sentence_gains(outcomes.stats) / FULL_SCORE
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

    def gains(self, problem: ListProblem, outcomes: Outcomes, sentences: Int64) -> tuple[Int64, Float64]:
        """Return the outcomes of some sentences, (n,), and their gains in words, (n,)."""
        counts = outcomes.offsets[sentences + 1] - outcomes.offsets[sentences]
        n = int(counts.sum())
        rows, sums = np.empty(n, np.int64), np.empty((outcomes.stats.shape[1], n))  # each statistic in one stretch
        kernels.in_background(flat(sentences), outcomes.offsets, outcomes.stats, self.sums, rows, sums)
        gains = problem.gain_of_sums(sums.T) / FULL_SCORE
        gains *= self.sums[-1] + np.repeat(self.lengths[sentences], counts)
        return rows, gains


# What single hypotheses are worth: by themselves, or to the corpus.

GAIN_KINDS = ("corpus", "sentence")


def hypothesis_gains(problem: ListProblem, weights: Float64, kind: str) -> Float64:
    """Return a gain for every hypothesis, (M,): that of its sentence alone, or its part in the corpus's."""
    return problem.sentence_gains if kind == "sentence" else corpus_gains(problem, weights)


def corpus_gains(problem: ListProblem, weights: Float64) -> Float64:
    """Return what each hypothesis would add to the corpus's gain beside the present selections, (M,).

    To first order, N · ∇gain(Σ) · x for statistics x and their sum Σ over what `weights` select: points, on
    the scale of sentence gains, up to a constant that is the same for all. Unlike sentence gains they
    need no smoothing, and know whether the corpus as a whole is too short or too long. The slopes of the
    gain are differences over about one sentence's statistics to both sides, which rounds off the corner
    where a brevity penalty begins.
    """
    stats = problem.stats
    selected = problem.select(weights)
    total = stats[selected].sum(axis=0).astype(np.float64)  # (S,)
    step = np.where(total == 0, 1.0, np.abs(total)) / (len(selected) + 1)
    above, below = total + np.diag(step), np.maximum(total - np.diag(step), np.minimum(total, 0.0))
    rise = problem.gain_of_sums(above) - problem.gain_of_sums(below)
    slopes = len(selected) * rise / np.diag(above - below)
    gains = np.zeros(len(stats))
    for column, slope in zip(stats.T, slopes, strict=True):  # in a fixed order, unlike a matrix product
        gains += column * slope
    return flat(gains)
