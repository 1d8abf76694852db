"""The evidence of each list: its distinct texts, and how much each of them counts."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, rows_of_segments, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.features.consensus._gram_kernels import Lists
from luthier.kbest.pool import Pool
from luthier.metrics._edit_kernels import find_equals


@dataclasses.dataclass(frozen=True, eq=False)
class Evidence:
    """What hypotheses are compared with.

    Attributes
    ----------
    pool : Pool, optional
        Lists of the same sentences; None: the candidates themselves.
    first : int, optional
        Only the first so many of each list.
    counts : str, optional
        A column with how often each text was drawn; otherwise every hypothesis counts once.
    posterior : (D,) float64, optional
        Weights w of the evidence's features: hypotheses count by softmax(w·h / τ) instead.
    temperatures : tuple of float
        The values of τ, one set of utilities for each.
    leave_self_out : bool
        Compare a hypothesis with the others only; of a text that was drawn several times, with the other draws.
    """

    pool: Pool | None = None
    first: int | None = None
    counts: str | None = None
    posterior: Float64 | None = None
    temperatures: tuple[float, ...] = (1.0,)
    leave_self_out: bool = False

    def __post_init__(self) -> None:
        if self.first is not None and (isinstance(self.first, bool) or self.first < 1):
            raise LuthierError(f"expected at least 1 hypothesis of each list as evidence, found {self.first}")
        if self.counts is not None and self.posterior is not None:
            raise LuthierError("evidence counts by a column or by a posterior, not by both")
        if self.leave_self_out and self.pool is not None:
            raise LuthierError("a hypothesis is left out of its own list only, not of another pool's")
        wrong = [t for t in self.temperatures if not (np.isfinite(t) and t > 0)]
        if wrong or not self.temperatures:
            raise LuthierError(f"expected temperatures above 0, found {wrong[0] if wrong else 'none'}")


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """Consecutive sentences, ready to be scored.

    Attributes
    ----------
    texts : D texts
        The distinct ones of each sentence.
    lists : Lists
    candidates : (M,) int64
        Which of the candidates' texts, of all sentences, each hypothesis is.
    equal : (M, T) float64
        How much the evidence counts that has a hypothesis' own text.
    norms : (M, T) float64
        How much the evidence of a hypothesis counts altogether.
    """

    texts: Texts
    lists: Lists
    candidates: Int64
    equal: Float64
    norms: Float64

    def averages(self, sums: Float64, itself: Float64) -> Float64:
        """Return the utility of every hypothesis, (M, T).

        `sums` (C, T) are of the scores with other texts, `itself` (C,) the score of each text with itself.
        """
        total = sums[self.candidates] + self.equal * itself[self.candidates, None]
        return np.divide(total, self.norms, out=np.zeros_like(total), where=self.norms > 0)


def make_block(pool: Pool, evidence: Evidence, sentences: Int64) -> Block:
    """Return some consecutive sentences of a pool with their evidence."""
    rows = rows_of_segments(pool.offsets, sentences)
    cand_offsets = offsets_from_counts(pool.list_lengths[sentences])
    shown = pool if evidence.pool is None else evidence.pool
    lists = sentences if evidence.pool is None else _same_sentences(pool, shown, sentences)
    shown_rows, shown_offsets = _first_rows(shown, lists, evidence.first)
    weights = _row_weights(shown, evidence, shown_rows, shown_offsets)
    _check_weights(pool, sentences, cand_offsets, shown_offsets, weights)
    if evidence.pool is None:
        texts, offsets, cand_at = pool.texts.take(rows), cand_offsets, np.arange(len(rows))
        rank = np.arange(len(rows)) - cand_offsets[segment_of_rows(cand_offsets)]
        shown_at = np.flatnonzero(rank < (evidence.first or np.iinfo(np.int64).max))
    else:
        texts, offsets, cand_at, shown_at = _interleaved(
            pool.texts.take(rows), cand_offsets, shown.texts.take(shown_rows), shown_offsets
        )
    text_of, distinct, text_offsets = _distinct(texts, offsets)
    made, candidates = _lists(text_offsets, text_of[cand_at], text_of[shown_at], weights)
    own = np.zeros((len(rows), weights.shape[1]))
    if evidence.leave_self_out:
        own[shown_at] = np.minimum(weights, 1.0) if evidence.counts is not None else weights
    equal, norms = _left(made, candidates, _segment_sums(shown_offsets, weights)[segment_of_rows(cand_offsets)], own)
    # where a hypothesis counts nearly all, the rest is summed without it
    for row in np.flatnonzero((norms < 1e-3 * (norms + own)).any(axis=1)).tolist():
        sentence = int(np.searchsorted(cand_offsets, row, side="right")) - 1
        span = slice(shown_offsets[sentence], shown_offsets[sentence + 1])
        others = weights[span].copy()
        others[row - cand_offsets[sentence]] -= own[row]
        norms[row] = others.sum(axis=0)
        equal[row] = others[text_of[shown_at][span] == text_of[cand_at][row]].sum(axis=0)
    check_norms(pool, sentences, cand_offsets, norms)
    return Block(texts.take(distinct), made, candidates, equal, norms)


def list_weights(pool: Pool, evidence: Evidence) -> tuple[Float64, Int64, Float64]:
    """Return how much each hypothesis of the evidence counts, where each list's begin, and how much a candidate itself.

    Shapes are (E, T), (N+1,) and (M, T); the last is 0 where a candidate is not left out.
    """
    sentences = np.arange(pool.n_sentences)
    shown = pool if evidence.pool is None else evidence.pool
    rows, offsets = _first_rows(
        shown, sentences if evidence.pool is None else _same_sentences(pool, shown, sentences), evidence.first
    )
    weights = _row_weights(shown, evidence, rows, offsets)
    _check_weights(pool, sentences, pool.offsets, offsets, weights)
    own = np.zeros((pool.n_hypotheses, weights.shape[1]))
    if evidence.leave_self_out:
        own[rows] = np.minimum(weights, 1.0) if evidence.counts is not None else weights
    return weights, offsets, own


def _same_sentences(pool: Pool, shown: Pool, sentences: Int64) -> Int64:
    """Return where another pool has some sentences of this one, by their ids."""
    known = {name: i for i, name in enumerate(shown.sentence_ids)}
    places = [known.get(pool.sentence_ids[i], -1) for i in sentences.tolist()]
    if -1 in places:
        name = pool.sentence_ids[int(sentences[places.index(-1)])]
        raise LuthierError(f"expected evidence for every sentence, found none for the sentence {name!r}")
    return np.array(places, dtype=np.int64)


def _first_rows(shown: Pool, lists: Int64, first: int | None) -> tuple[Int64, Int64]:
    """Return the rows that are evidence, and where those of each list begin."""
    rows, offsets = rows_of_segments(shown.offsets, lists), offsets_from_counts(shown.list_lengths[lists])
    if first is None:
        return rows, offsets
    rank = np.arange(len(rows)) - offsets[segment_of_rows(offsets)]
    return rows[rank < first], offsets_from_counts(np.minimum(np.diff(offsets), first))


def _row_weights(shown: Pool, evidence: Evidence, rows: Int64, offsets: Int64) -> Float64:
    """Return how much each row counts, (rows, T); the largest of a posterior counts 1."""
    if evidence.counts is not None:
        if evidence.counts not in shown.columns:
            known = ", ".join(shown.columns) or "none"
            raise LuthierError(f"there is no column {evidence.counts!r} to count by. known: {known}")
        counts = shown.columns[evidence.counts][rows]
        wrong = np.flatnonzero(~((counts >= 0) & (counts == np.floor(counts))))
        if len(wrong):
            found = counts[wrong[0]]
            raise LuthierError(f"expected whole numbers from 0 on in the column {evidence.counts!r}, found {found:g}")
        return np.ascontiguousarray(counts[:, None])
    if evidence.posterior is None:
        return np.ones((len(rows), 1))
    scores = shown.features.take(rows).scores(evidence.posterior)
    filled = np.flatnonzero(np.diff(offsets))
    best = np.zeros(len(offsets) - 1)
    if len(filled):
        best[filled] = np.maximum.reduceat(scores, offsets[filled])
    below = scores - best[segment_of_rows(offsets)]
    return np.asarray(np.exp(below[:, None] / np.array(evidence.temperatures)[None, :]))


def _check_weights(pool: Pool, sentences: Int64, offsets: Int64, shown_offsets: Int64, weights: Float64) -> None:
    """Raise where a sentence with candidates has no evidence, or none that counts."""
    sums = _segment_sums(shown_offsets, weights).min(axis=1)
    bad = np.flatnonzero((np.diff(offsets) > 0) & ~(sums > 0))
    if len(bad):
        name = pool.sentence_ids[int(sentences[bad[0]])]
        raise LuthierError(f"expected evidence for every sentence, found none that counts for the sentence {name!r}")


def check_norms(pool: Pool, sentences: Int64, offsets: Int64, norms: Float64) -> None:
    """Raise where the rest of a list of several does not count once a hypothesis is left out."""
    alone = np.diff(offsets)[segment_of_rows(offsets)] == 1
    bad = np.flatnonzero(~(norms.min(axis=1, initial=np.inf) > 0) & ~alone)
    if len(bad):
        sentence = int(np.searchsorted(offsets, bad[0], side="right")) - 1
        raise LuthierError(
            f"without one hypothesis no evidence of the sentence {pool.sentence_ids[int(sentences[sentence])]!r} "
            "counts. hint: keep it, or take a higher temperature"
        )


def _interleaved(texts: Texts, offsets: Int64, shown: Texts, shown_offsets: Int64) -> tuple[Texts, Int64, Int64, Int64]:
    """Return the texts of two pools, sentence by sentence, where they lie, and where each pool's are."""
    both = offsets + shown_offsets
    cand_at = np.arange(len(texts)) + shown_offsets[segment_of_rows(offsets)]
    shown_at = np.arange(len(shown)) + offsets[segment_of_rows(shown_offsets) + 1]
    order = np.empty(len(texts) + len(shown), dtype=np.int64)
    order[cand_at], order[shown_at] = np.arange(len(texts)), len(texts) + np.arange(len(shown))
    return Texts.concatenate([texts, shown]).take(order), both, cand_at, shown_at


def _distinct(texts: Texts, offsets: Int64) -> tuple[Int64, Int64, Int64]:
    """Return which distinct text each text is, where those are, and where those of each list begin."""
    most = int(np.diff(offsets).max(initial=0))
    first, hashes = np.empty(len(texts), dtype=np.int64), np.empty(len(texts), dtype=np.uint64)
    table = np.empty(1 << (2 * most + 1).bit_length(), dtype=np.int64)
    find_equals(flat(offsets), flat(texts.offsets), flat(texts.data), hashes, table, first)
    is_first = first == np.arange(len(texts))
    number = np.concatenate([[0], np.cumsum(is_first)])
    return number[first], np.flatnonzero(is_first), number[offsets]


def _lists(text_offsets: Int64, cand_texts: Int64, shown_texts: Int64, weights: Float64) -> tuple[Lists, Int64]:
    """Return the distinct texts as kernels take them, and which candidate each hypothesis is, (M,)."""
    cand, candidates = np.unique(cand_texts, return_inverse=True)
    evid, shown = np.unique(shown_texts, return_inverse=True)
    summed = np.zeros((len(evid), weights.shape[1]))
    np.add.at(summed, shown, weights)
    cand_offsets, evid_offsets = np.searchsorted(cand, text_offsets), np.searchsorted(evid, text_offsets)
    place = np.full(int(text_offsets[-1]), -1, dtype=np.int64)
    place[evid] = np.arange(len(evid)) - evid_offsets[segment_of_rows(evid_offsets)]
    same, counts = place[cand], np.diff(cand_offsets)
    both = np.bincount(segment_of_rows(cand_offsets)[same >= 0], minlength=len(counts))
    symmetric = (both == counts) & (counts == np.diff(evid_offsets))
    made = Lists(text_offsets, cand_offsets, cand, evid_offsets, evid, same, symmetric, summed)
    return made, candidates.astype(np.int64)


def _left(lists: Lists, candidates: Int64, sums: Float64, own: Float64) -> tuple[Float64, Float64]:
    """Return how much equal texts count for each hypothesis, and all evidence, without its own part."""
    at = lists.evid_offsets[segment_of_rows(lists.cand_offsets)] + np.maximum(lists.same, 0)
    equal = np.where(lists.same[:, None] >= 0, lists.weights[at], 0.0) if len(at) else np.zeros((0, own.shape[1]))
    return equal[candidates] - own, sums - own


def _segment_sums(offsets: Int64, values: Float64) -> Float64:
    out = np.zeros((len(offsets) - 1, values.shape[1]))
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled):
        out[filled] = np.add.reduceat(values, offsets[filled], axis=0)
    return out
