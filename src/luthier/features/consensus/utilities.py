"""A metric as a utility of pairs: the sentence score of a text with another as its reference, summed over evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from luthier.core._bit_kernels import WORD_BITS
from luthier.core.arrays import Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts, Tokens
from luthier.features.consensus import _edit_pair_kernels as edit_kernels
from luthier.features.consensus import _limit_kernels as limit_kernels
from luthier.features.consensus import _score_kernels as kernels
from luthier.features.consensus._gram_kernels import BIT_PAIRS, Level, Lists, Shared, Trie
from luthier.features.consensus.evidence import Block
from luthier.metrics import _ter_kernels
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch
from luthier.metrics.expression import Expression

UTILITIES = ("chrf", "bleu", "ter", "wer", "cer", "per")
AGGREGATED = ("chrf", "bleu")


@dataclasses.dataclass(frozen=True)
class Utility:
    """A metric as a weighted sum of gains of metrics: gain = constant + Σ coefficient · gain of a part."""

    parts: tuple[tuple[float, Metric], ...]
    constant: float

    @classmethod
    def of(cls, metric: Metric) -> Utility:
        """Return the utility of a metric, or raise where it has no score of pairs."""
        sign = 1.0 if metric.higher_is_better else -1.0
        if isinstance(metric, Expression):
            terms = [(sign * c, part) for c, part in zip(metric.coefficients, metric.parts, strict=True)]
            constant = sign * metric.constant
        else:
            terms, constant = [(sign, metric)], 0.0
        for _, part in terms:
            if part.name not in UTILITIES:
                raise LuthierError(
                    f"{part.name} has no score of pairs of hypotheses. known: {', '.join(UTILITIES)}. "
                    "hint: scores of pairs from elsewhere are given as matrices (`matrix`)"
                )
        return cls(tuple((c if part.higher_is_better else -c, part) for c, part in terms), constant)

    def averages(self, block: Block, batch: Batch) -> Float64:
        """Return the utility of every hypothesis, (M, T)."""
        total: Any = self.constant
        for coefficient, part in self.parts:
            total = total + coefficient * block.averages(*pair_sums(part, block.lists, batch))
        return np.asarray(total)

    def aggregated(self, block: Block, batch: Batch) -> Float64:
        """Return the scores with the mean n-gram counts of the evidence as the reference, (M, T)."""
        total: Any = self.constant
        for coefficient, part in self.parts:
            total = total + coefficient * _aggregated(part, block.lists, batch)[block.candidates]
        return np.asarray(total)

    def sums(self, lists: Lists, batch: Batch) -> Float64:
        """Return the sum of scores of every candidate with all evidence, itself included, (C,); for one weighting."""
        total = np.zeros(len(lists.cand))
        own = own_weights(lists)
        for coefficient, part in self.parts:
            sums, itself = pair_sums(part, lists, batch)
            total += coefficient * (sums[:, 0] + own * itself)
        return total

    def limits(self, lists: Lists, batch: Batch) -> Float64:
        """Return what the sums cannot exceed, (C,); infinity where nothing is known."""
        total = np.zeros(len(lists.cand))
        for coefficient, part in self.parts:
            total += coefficient * sum_limits(part, lists, batch) if coefficient > 0 else np.inf
        return total


def own_weights(lists: Lists) -> Float64:
    """Return how much the text of each candidate counts as evidence, (C,); for one weighting."""
    if not len(lists.cand):
        return np.zeros(0)
    sentence = np.repeat(np.arange(len(lists.offsets) - 1), np.diff(lists.cand_offsets))
    at = lists.evid_offsets[sentence] + np.maximum(lists.same, 0)
    return np.where(lists.same >= 0, lists.weights[at, 0], 0.0)


def text_batch(texts: Texts, offsets: Int64) -> Batch:
    """Return the texts of lists as metrics take them; the first of each list is there as a reference."""
    filled = np.flatnonzero(np.diff(offsets))
    present = np.zeros(len(offsets) - 1, dtype=np.int64)
    present[filled] = 1
    return Batch(texts, offsets, texts.take(offsets[filled]), np.concatenate([[0], np.cumsum(present)]))


def pair_sums(metric: Metric, lists: Lists, batch: Batch) -> tuple[Float64, Float64]:
    """Return the gains of candidates with the evidence other than themselves, weighted and summed, and with themselves.

    Shapes are (C, T) and (C,).
    """
    sums, itself = np.zeros((len(lists.cand), lists.weights.shape[1])), np.zeros(len(lists.cand))
    if metric.name in ("wer", "cer", "ter"):
        tokens = _tokens(metric, batch)
        (_ter_sums if metric.name == "ter" else _edit_sums)(lists, tokens, sums)
        return sums, itself
    grams = _grams(metric, batch)
    kernels.gram_sums(lists, grams.chars, grams.words, grams.scorer, *_workspace(lists, grams), sums, itself)
    return sums, itself


def sum_limits(metric: Metric, lists: Lists, batch: Batch) -> Float64:
    """Return what a candidate's sum of gains, itself included, cannot exceed, (C,)."""
    grams = _grams(metric, batch)
    limits = np.empty(len(lists.cand))
    trie, shared, state = _workspace(lists, grams)
    mass = np.empty((2, len(trie.order)))
    limit_kernels.gram_limits(
        lists, grams.chars, grams.words, grams.scorer, grams.values, trie, shared, state, mass, limits
    )
    return limits


def _aggregated(metric: Metric, lists: Lists, batch: Batch) -> Float64:
    if metric.name not in AGGREGATED:
        raise LuthierError(f"{metric.name} has no aggregated references. known: {', '.join(AGGREGATED)}")
    grams = _grams(metric, batch)
    out = np.empty((len(lists.cand), lists.weights.shape[1]))
    trie, shared, state = _workspace(lists, grams)
    mass = np.empty((1, len(trie.order)))
    limit_kernels.aggregated_scores(
        lists, grams.chars, grams.words, grams.scorer, grams.values, trie, shared, state, mass, out
    )
    return out


class _Grams(NamedTuple):
    """The tokens of a metric's n-grams, how they are scored, and what BLEU's smoothing adds or puts for none."""

    chars: Level
    words: Level
    scorer: kernels.Scorer
    values: Float64


def _tokens(metric: Any, batch: Batch) -> Tokens:
    """Return the tokens that an error rate or BLEU compares."""
    if metric.name == "cer":
        return batch.characters("single" if metric.spaces else "drop", lowercase=metric.lowercase)[0]
    if metric.name == "ter":
        tokens: tuple[Tokens, Tokens] = metric.tokens(batch)
        return tokens[0]
    return batch.tokens(metric.tokenizer, lowercase=metric.lowercase)[0]


def _grams(metric: Any, batch: Batch) -> _Grams:
    """Return the n-grams of a metric; those of an error rate are its bag of tokens."""
    logs, parts, values = np.zeros((2, 1)), np.zeros((1, 2)), np.zeros(3)
    kind, smoothing, factor, epsilon = kernels.BAG, kernels.OTHER_SMOOTHING, 0.0, 0.0
    if metric.name == "chrf":
        (chars, _), (words, _) = metric.levels(batch)
        orders = metric.char_order, metric.word_order
        kind = kernels.CHRF_BY_ORDER if metric.eps_smoothing else kernels.CHRF
        factor, epsilon = float(metric.beta**2), 1e-16
    else:
        chars = words = _tokens(metric, batch)
        orders = (metric.order if metric.name == "bleu" else 1), 0
    totals = np.concatenate([_totals(chars, orders[0]), _totals(words, orders[1])], axis=1)
    if metric.name == "bleu":
        kind = kernels.BLEU
        smoothing = kernels.EXP_SMOOTHING if metric.sentence_smoothing == "exp" else kernels.OTHER_SMOOTHING
        logs, parts, values = _bleu_parts(metric, totals)
    inverse = np.divide(1.0, totals, out=np.zeros(totals.shape), where=totals > 0)
    scorer = kernels.Scorer(kind, smoothing, factor, epsilon, totals, inverse, logs, parts)
    levels = _level(chars, orders[0], 0), _level(words, orders[1], orders[0])
    return _Grams(*levels, scorer, values)


def _level(tokens: Tokens, order: int, left: int) -> Level:
    return Level(flat(tokens.offsets), flat(tokens.ids), order, left)


def _totals(tokens: Tokens, order: int) -> Int64:
    totals: Int64 = np.maximum(tokens.lengths[:, None] - np.arange(order), 0)
    return totals


def _bleu_parts(metric: Any, totals: Int64) -> tuple[Float64, Float64, Float64]:
    """Return the logarithms of matches, of each text's totals with its orders, and what smoothing adds."""
    smoothing = metric.sentence_smoothing
    value = metric.smoothing_value_of(smoothing)
    adds = smoothing in ("add-k", "plus-one")
    values = np.array([0.0, value if adds else 0.0, {"floor": value, "exp": 0.5}.get(smoothing, 0.0)])
    matches = np.arange(int(totals.max(initial=0)) + 1, dtype=np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(np.stack([matches, matches + values[1]]))
        if smoothing == "floor":
            logs[:, 0] = np.log(value)
    more = np.zeros(totals.shape)
    more[:, 1:] = values[1]
    if smoothing == "plus-one":
        more[totals == 0] = 0.0
    whole = totals + more
    reached = np.logical_and.accumulate(whole > 0, axis=1)
    parts = np.where(reached, np.log(np.where(reached, whole, 1.0)), 0.0).sum(axis=1)
    return logs, np.column_stack([parts, np.maximum(reached.sum(axis=1), 1)]), values


def _workspace(lists: Lists, grams: _Grams) -> tuple[Trie, Shared, Int64]:
    """Return what the kernels of n-grams write to, large enough for the largest list."""
    totals, orders = grams.scorer.totals, grams.chars.order + grams.words.order
    starts = np.concatenate([[0], np.cumsum(totals.sum(axis=1))])
    items = int(np.diff(starts[lists.offsets]).max(initial=0)) + 1
    n_words = 1 + max(int(level.ids.max(initial=0)) for level in (grams.chars, grams.words))
    slots = 1 << max(5, (2 * (items + orders)).bit_length() + 1)
    n_cand, n_evid = np.diff(lists.cand_offsets), np.diff(lists.evid_offsets)
    own, shown = (_sums_of(rows, ends, totals) for rows, ends in _sides(lists))
    with np.errstate(invalid="ignore", divide="ignore"):
        bits = np.nan_to_num(np.sqrt(BIT_PAIRS * own * shown / (n_cand * n_evid)))
    width = orders + bits.astype(np.int64) // WORD_BITS + 1
    int_items = [np.empty(items, dtype=np.int32) for _ in range(12)]
    trie = Trie(
        words=np.full(n_words, -1, dtype=np.int32),
        keys=np.empty(slots, dtype=np.int64),
        values=np.empty(slots, dtype=np.int32),
        key_of=np.empty(items, dtype=np.int64),
        link=int_items[0], again=int_items[1], order=int_items[2], seen=int_items[3], current=int_items[4],
        base=int_items[5], occurrence=int_items[6],
    )  # fmt: skip
    shared = Shared(
        starts=np.empty(int(np.diff(lists.offsets).max(initial=0)) + 1, dtype=np.int64),
        items=int_items[7], in_cand=int_items[8], in_evid=int_items[9], place=int_items[10],
        posts=np.empty(items + 1, dtype=np.int64),
        next=np.empty(items + 1, dtype=np.int64),
        listed=int_items[11],
        cand_bits=np.empty(int((n_cand * width).max(initial=0)), dtype=np.uint64),
        evid_bits=np.empty(int((n_evid * width).max(initial=0)), dtype=np.uint64),
        word_starts=np.empty(orders + 1, dtype=np.int64),
        matches=np.zeros((int(n_evid.max(initial=0)) + 1, orders), dtype=np.int32),
    )  # fmt: skip
    return trie, shared, np.zeros(3, dtype=np.int64)


def _sides(lists: Lists) -> Sequence[tuple[Int64, Int64]]:
    return (lists.cand, lists.cand_offsets), (lists.evid, lists.evid_offsets)


def _sums_of(rows: Int64, offsets: Int64, totals: Int64) -> Float64:
    """Return how many items the texts `rows` of each sentence have, (N,)."""
    sums = np.concatenate([[0], np.cumsum(totals[rows].sum(axis=1))])
    return np.diff(sums[offsets]).astype(np.float64)


def _edit_sums(lists: Lists, tokens: Tokens, sums: Float64) -> None:
    longest = int(tokens.lengths.max(initial=1))
    n_blocks = -(-longest // WORD_BITS)
    edit_kernels.edit_sums(
        lists,
        flat(tokens.offsets),
        flat(tokens.ids),
        np.zeros(int(tokens.ids.max(initial=0)) + 1, dtype=np.int64),
        np.zeros((longest + 1, n_blocks), dtype=np.uint64),
        np.empty((2, n_blocks), dtype=np.uint64),
        sums,
    )


def _ter_sums(lists: Lists, tokens: Tokens, sums: Float64) -> None:
    longest = int(tokens.lengths.max(initial=1))
    n_blocks, n_words = -(-longest // WORD_BITS), int(tokens.ids.max(initial=0)) + 1
    workspace = _ter_kernels.Workspace(
        heads=np.full(n_words, -1, dtype=np.int64),
        masks=np.zeros((longest + 1, n_blocks), dtype=np.uint64),
        bits=np.empty((_ter_kernels.BIT_ROWS, (longest + 1) * n_blocks), dtype=np.uint64),
        table=np.empty((longest + 3) * (longest + 1), dtype=np.int32),
        work=np.empty((_ter_kernels.WORK_ROWS, longest + 1), dtype=np.int64),
        moves=np.empty((_ter_kernels.MOST_MOVES, 3), dtype=np.int64),
    )
    slots, counts = np.zeros((2, n_words), dtype=np.int64)
    rows = np.empty((2, n_blocks), dtype=np.uint64)
    edit_kernels.ter_sums(lists, flat(tokens.offsets), flat(tokens.ids), slots, counts, rows, workspace, sums)
