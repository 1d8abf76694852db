"""Utilities by a scorer of pairs from elsewhere, such as a neural metric: all pairs, or those that can decide.

A scorer states the limits of its scores. A candidate is out when its sum would stay below the best whole sum even if
all its unscored pairs were as high as scores can be. Pairs are scored in rounds, the evidence that counts most first;
in each the most promising candidate is scored to the end.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_blocks, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.features.consensus._gram_kernels import Lists
from luthier.features.consensus.evidence import Block, Evidence, make_block
from luthier.features.consensus.mbr import BLOCK_ROWS, EQUAL, Selection, check_one_way, first_of_best
from luthier.kbest.pool import Pool

# Pairs that a scorer is given at once: what is held of them takes some hundred megabytes.
MOST_PAIRS = 1 << 18
FIRST_SHARE = 16  # a sixteenth of the evidence in the first round, and twice as much in each of the next


@dataclasses.dataclass(frozen=True)
class PairScorer:
    """A scorer of pairs: `score` takes sentences (n,), n hypotheses and n references, and returns (n,) numbers.

    More is better; none lies below `low` or above `high`.
    """

    name: str
    score: Callable[[Int64, Texts, Texts], Float64]
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise LuthierError(f"expected limits of the scores of {self.name}, the lower first, found {self.limits}")

    @property
    def limits(self) -> str:
        """The limits, in words."""
        return f"{self.low:g} to {self.high:g}"

    def of(self, sentences: Int64, hypotheses: Texts, references: Texts) -> Float64:
        """Return the scores of pairs, (n,); raise where one is not within the limits."""
        found = self.score(sentences, hypotheses, references)
        wrong = np.flatnonzero(~((found >= self.low) & (found <= self.high)))
        if len(wrong):
            k = int(wrong[0])
            raise LuthierError(
                f"expected scores of {self.name} from {self.limits}, found {found[k]:g} for the pair "
                f"{hypotheses[k]!r:.60} and {references[k]!r:.60}. hint: pruning by wrong limits would be no proof"
            )
        return found


def scored_utilities(pool: Pool, scorer: PairScorer, evidence: Evidence) -> Float64:
    """Return the expected utility of every hypothesis by a scorer of pairs, (M, T)."""
    out: Float64 = np.zeros((pool.n_hypotheses, 1 if evidence.posterior is None else len(evidence.temperatures)))
    for first, last in segment_blocks(pool.offsets, BLOCK_ROWS):
        block = make_block(pool, evidence, np.arange(first, last))
        lists, n = block.lists, np.diff(block.lists.evid_offsets)[segment_of_rows(block.lists.cand_offsets)]
        sums, itself = np.zeros((len(lists.cand), out.shape[1])), np.zeros(len(lists.cand))
        for which, shown, values in _scores(scorer, block, first, np.zeros_like(n), n, np.arange(len(lists.evid))):
            own = shown - lists.evid_offsets[segment_of_rows(lists.cand_offsets)[which]] == lists.same[which]
            itself[which[own]] = values[own]
            np.add.at(sums, which[~own], values[~own, None] * lists.weights[shown[~own]])
        out[pool.offsets[first] : pool.offsets[last]] = block.averages(sums, itself)
    return out


def select_by_scorer(pool: Pool, scorer: PairScorer, evidence: Evidence, *, prune: bool) -> Selection:
    """Return the hypothesis of each sentence with the highest expected utility by a scorer of pairs."""
    check_one_way(evidence, prune=prune)
    if prune and not math.isfinite(scorer.high):
        raise LuthierError(f"to prune, the highest score of {scorer.name} must be known. hint: `bounds` LOW,HIGH")
    if not prune:
        values = scored_utilities(pool, scorer, evidence)[:, 0]
        pairs = sum(_count_pairs(make_block(pool, evidence, np.arange(*span)).lists) for span in _blocks(pool))
        return first_of_best(pool, values, pairs, pairs)
    values, pairs, scored = np.empty(pool.n_hypotheses), 0, 0
    for first, last in _blocks(pool):
        block = make_block(pool, evidence, np.arange(first, last))
        found, done = _race(scorer, block, first)
        values[pool.offsets[first] : pool.offsets[last]] = found[block.candidates]
        pairs, scored = pairs + _count_pairs(block.lists), scored + int(done.sum())
    return first_of_best(pool, values, pairs, scored)


def _blocks(pool: Pool) -> list[tuple[int, int]]:
    return list(segment_blocks(pool.offsets, BLOCK_ROWS))


def _count_pairs(lists: Lists) -> int:
    return int((np.diff(lists.cand_offsets) * np.diff(lists.evid_offsets)).sum())


def _race(scorer: PairScorer, block: Block, first: int) -> tuple[Float64, Int64]:
    """Return the means of candidates that may be best, −∞ for the others, and how many pairs of each were scored."""
    lists = block.lists
    sentence, of_evidence = segment_of_rows(lists.cand_offsets), segment_of_rows(lists.evid_offsets)
    whole = np.bincount(of_evidence, lists.weights[:, 0], minlength=len(lists.offsets) - 1)
    shares = lists.weights[:, 0] / whole[of_evidence]
    order = np.lexsort((-shares, of_evidence))
    sums = np.concatenate([[0.0], np.cumsum(shares[order])])
    n, begin = np.diff(lists.evid_offsets)[sentence], lists.evid_offsets[sentence]
    total, done = np.zeros(len(n)), np.zeros(len(n), dtype=np.int64)
    open_, best = np.ones(len(n), dtype=bool), np.full(len(whole), -np.inf)
    target = np.maximum(n // FIRST_SHARE, 1)
    while open_.any():
        upto = np.where(open_, np.minimum(target, n), done)
        for which, shown, values in _scores(scorer, block, first, done, upto, order):
            np.add.at(total, which, values * shares[shown])
        done = np.maximum(done, upto)
        rest = np.maximum(sums[begin + n] - sums[begin + done], 0.0)
        ended = open_ & (done == n)
        np.maximum.at(best, sentence[ended], total[ended])
        slack = 2 * EQUAL * np.maximum(1.0, np.abs(np.where(np.isfinite(best), best, 0.0)))
        open_ &= (done < n) & (total + rest * scorer.high >= (best - slack)[sentence])
        target = np.where(_leaders(sentence, open_, total + rest * scorer.high), n, 2 * target)
    return np.where(done == n, total, -np.inf), done


def _leaders(sentence: Int64, open_: Bool, promise: Float64) -> Bool:
    """Return which candidate of each sentence, among those that are open, may become the highest."""
    order = np.lexsort((-promise, ~open_, sentence))
    first: Bool = np.zeros(len(order), dtype=np.bool_)
    first[order[np.flatnonzero(np.diff(sentence, prepend=-1))]] = True
    return np.asarray(first & open_)


def _scores(
    scorer: PairScorer, block: Block, first: int, start: Int64, stop: Int64, order: Int64
) -> Iterator[tuple[Int64, Int64, Float64]]:
    """Score candidates with the evidence at places ``start … stop − 1`` of `order`, (C,) each; yield it in portions.

    A portion has the candidates, the evidence and the scores, (n,) each.
    """
    lists = block.lists
    sentence = segment_of_rows(lists.cand_offsets)
    ends = np.cumsum(stop - start)
    begin = 0
    while begin < len(ends):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + MOST_PAIRS, side="right")))
        counts = (stop - start)[begin:end]
        which = np.repeat(np.arange(begin, end), counts)
        if len(which):
            rank = np.arange(len(which)) - np.repeat(ends[begin:end] - counts - before, counts)
            shown = order[lists.evid_offsets[sentence[which]] + start[which] + rank]
            hypotheses, references = block.texts.take(lists.cand[which]), block.texts.take(lists.evid[shown])
            yield which, shown, scorer.of(sentence[which] + first, hypotheses, references)
        begin = end
