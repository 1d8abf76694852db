"""Estimate a language model from text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int32, Int64
from luthier.core.errors import InputError, LuthierError
from luthier.core.html import Shown
from luthier.core.params import ParameterError, param, validate
from luthier.core.progress import notice
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize
from luthier.lm import _count_kernels as kernels
from luthier.lm.arpa import BEGIN, END, HIGHEST_ORDER, MARKS, UNKNOWN, ZERO_LOG10, Arpa, Float32, Level, without_marks

# How often every n-gram of a text occurs: n-grams numbered by order, each knowing its beginning and its end.

MOST_WORDS = 1 << 31  # places are int32


@dataclasses.dataclass(frozen=True, eq=False)
class NgramCounts:
    """The distinct n-grams of one order, sorted by their first n − 1 words and then the last.

    Attributes
    ----------
    raw : (n,) int64
        How often each occurs.
    prefix, suffix : (n,) int64
        Which n-gram of the order below it begins with, and ends in; 0 for unigrams.
    last : (n,) int32
        Its last word.
    begins : (n,) bool
        Whether its first word is <s>.
    """

    raw: Int64
    prefix: Int64
    suffix: Int64
    last: Int32
    begins: Bool


def count_ngrams(tokens: Tokens, order: int, n_words: int) -> Iterator[NgramCounts]:
    """Yield the n-grams of orders 1 … `order` of ``<s> words </s>``, of all sentences.

    Unigram i is word i, whether it occurs or not. The places of the text are kept grouped by the n-gram that ends
    there; each order sorts what follows within the groups of the order below, most of which are tiny.
    """
    stream = _stream(tokens)
    raw = np.bincount(stream, minlength=n_words)
    unigrams = np.arange(n_words)
    begins = unigrams == BEGIN
    yield NgramCounts(raw, np.zeros_like(unigrams), np.zeros_like(unigrams), unigrams.astype(np.int32), begins)
    starts = offsets_from_counts(raw)
    places = np.empty_like(stream)
    kernels.group_by_word(stream, starts[:-1].copy(), places)
    here = stream
    for _ in range(1, order):
        room = len(places)
        keys = np.empty(int(np.diff(starts).max(initial=0)), dtype=np.int64)
        grown, numbers = np.empty_like(places), np.empty_like(stream)
        columns = np.empty((3, room), dtype=np.int64)
        last = np.empty(room, dtype=np.int32)
        used, n_grams = kernels.lengthen(stream, END, places, starts, here, keys, grown, numbers, columns, last)
        raw, prefix, suffix = (column[:n_grams].copy() for column in columns)
        places, starts, here = grown[:used], offsets_from_counts(raw), numbers
        begins = begins[prefix]
        yield NgramCounts(raw, prefix, suffix, last[:n_grams].copy(), begins)


def _stream(tokens: Tokens) -> Int32:
    """Return all sentences with their marks as one array."""
    lengths = tokens.lengths + 2
    stops = np.cumsum(lengths)
    if stops[-1] >= MOST_WORDS:
        raise LuthierError(f"expected less than 2^31 words, found {stops[-1]:,}. hint: lmplz makes such models on disk")
    starts = stops - lengths
    stream = np.empty(int(stops[-1]), dtype=np.int32)
    inside = np.ones(len(stream), dtype=bool)
    inside[starts] = inside[stops - 1] = False
    stream[starts], stream[stops - 1] = BEGIN, END
    stream[inside] = tokens.ids[tokens.offsets[0] : tokens.offsets[-1]]
    return stream


# Interpolated modified Kneser–Ney: counts of n-grams → probabilities and back-offs.

FALLBACK = (0.5, 1.0, 1.5)  # discounts where the counts are too few to estimate any


@dataclasses.dataclass(frozen=True)
class Discounts:
    """What is taken off counts of 1, 2, and 3 or more, for one order; `estimated` or the fallback."""

    values: tuple[float, float, float]
    estimated: bool


@dataclasses.dataclass(frozen=True, eq=False)
class SmoothedLevel:
    """Probabilities of the n-grams of one order.

    Attributes
    ----------
    probs : (n,) float64
        p(last word | the others), natural numbers, not logs; that of <s> is 0.
    interpolation : (contexts,) float64
        γ(h) of every n-gram of the order below: the share that goes to the shorter context; 1 where there is
        nothing else.
    kept : (n,) bool
        Which n-grams stay in the model.
    discounts : Discounts
    """

    probs: Float64
    interpolation: Float64
    kept: Bool
    discounts: Discounts


def adjusted_counts(levels: Sequence[NgramCounts]) -> list[Int64]:
    """Return a(g) for all n-grams of all orders.

    That is the number of distinct words before g; for the highest order and where g begins with <s>, before
    which nothing stands, how often it occurs. <s> alone is no event and has 0.
    """
    counts = []
    for level, longer in zip(levels, [*levels[1:], None], strict=True):
        if longer is None:
            a = level.raw.copy()
        else:
            a = np.where(level.begins, level.raw, np.bincount(longer.suffix, minlength=len(level.raw)))
        counts.append(a)
    counts[0][BEGIN] = 0
    return counts


def estimate_discounts(adjusted: Int64) -> Discounts:
    """Return D_1, D_2, D_3+ of one order from the numbers n_k of n-grams with a(g) = k [chen1999].

    Y = n_1/(n_1 + 2 n_2), D_k = k − (k+1)·Y·n_{k+1}/n_k; the fallback where an n_k (k ≤ 3) is 0 or a D_k
    is not in [0, k].

    >>> estimate_discounts(np.array([1, 1, 1, 1, 2, 2, 3, 4])).values
    (0.5, 1.25, 1.0)
    """
    n = [int(np.count_nonzero(adjusted == k)) for k in range(5)]
    if not all(n[1:4]):
        return Discounts(FALLBACK, estimated=False)
    y = Fraction(n[1], n[1] + 2 * n[2])  # exact: a discount of 0 must not round to one below 0
    one, two, three = (k - (k + 1) * y * Fraction(n[k + 1], n[k]) for k in (1, 2, 3))
    if not (0 <= one <= 1 and 0 <= two <= 2 and 0 <= three <= 3):
        return Discounts(FALLBACK, estimated=False)
    return Discounts((float(one), float(two), float(three)), estimated=True)


def smooth(levels: Sequence[NgramCounts], thresholds: Sequence[int]) -> Iterator[SmoothedLevel]:
    """Yield the probabilities of each order, from unigrams up.

    p(w|h) = (a(hw) − D(a(hw)))/Σ_v a(hv) + γ(h)·p(w|h'), where h' is h without its first word. What discounts
    and pruning take away is γ(h): (Σ D over the kept + Σ a over the pruned)/Σ_v a(hv). Below unigrams stands
    1/V, V counting <unk> and </s> but not <s>.

    Parameters
    ----------
    thresholds
        For each order: n-grams that occur at most so often leave the model.
    """
    adjusted = adjusted_counts(levels)
    n_words = len(levels[0].raw)
    below: Float64 = np.full(1, 1.0 / (n_words - 1))
    n_contexts = 1
    for level, a, threshold in zip(levels, adjusted, thresholds, strict=True):
        discounts = estimate_discounts(a)
        kept = level.raw > threshold
        taken = np.array([0.0, *discounts.values])[np.minimum(a, 3)]
        total = np.bincount(level.prefix, weights=a, minlength=n_contexts)
        given_up = np.bincount(level.prefix, weights=np.where(kept, taken, a), minlength=n_contexts)
        interpolation = np.divide(given_up, total, out=np.ones(n_contexts), where=total > 0)
        probs = np.where(kept, a - taken, 0.0) / np.maximum(total, 1.0)[level.prefix]
        probs += interpolation[level.prefix] * below[level.suffix]
        if level is levels[0]:
            kept[:] = True
            probs[BEGIN] = 0.0
            probs[UNKNOWN] = interpolation[0] / (n_words - 1)
        yield SmoothedLevel(probs, interpolation, kept, discounts)
        below, n_contexts = probs, len(level.raw)


@dataclasses.dataclass(frozen=True)
class EstimateOptions:
    """How a model is estimated; `prune` has a threshold for each order, its last one for all above."""

    order: int = param(5, low=1, high=HIGHEST_ORDER, help="length of the longest n-grams")
    prune: tuple[int, ...] = param(
        (0,), help="n-grams that occur at most so often leave, a threshold for each order from 1 (0 0 1)"
    )
    skip_symbols: bool = param(False, help="take <s>, </s> and <unk> in the text for white space")

    def __post_init__(self) -> None:
        validate(self)
        fine = all(isinstance(t, int) and t >= 0 for t in self.prune) and 1 <= len(self.prune) <= self.order
        if not fine or self.prune[0] != 0 or list(self.prune) != sorted(self.prune):
            raise ParameterError(
                f"expected at most {self.order} thresholds to prune by, whole numbers that begin with 0 (no word "
                f"leaves) and never descend, found {' '.join(map(str, self.prune))}"
            )

    @property
    def thresholds(self) -> tuple[int, ...]:
        """A threshold for every order."""
        return self.prune + (self.prune[-1],) * (self.order - len(self.prune))


@dataclasses.dataclass(frozen=True, eq=False)
class Estimate(Shown):
    """A model and what it was made from; `pruned` counts the n-grams of each order that left."""

    model: Arpa
    n_sentences: int
    n_words: int
    discounts: tuple[Discounts, ...]
    pruned: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what was counted and estimated, but no n-grams, for JSON."""
        orders = [
            {"order": n, "ngrams": count, "pruned": pruned, "discounts": list(own.values), "estimated": own.estimated}
            for n, (count, pruned, own) in enumerate(
                zip(self.model.counts, self.pruned, self.discounts, strict=True), 1
            )
        ]
        return {"sentences": self.n_sentences, "words": self.n_words, "orders": orders}


def estimate_lm(texts: Texts | Sequence[str], options: EstimateOptions | None = None, *, path: str = "") -> Estimate:
    """Estimate an interpolated modified Kneser–Ney model [chen1999] of sentences, one per text.

    Parameters
    ----------
    texts
        Sentences whose words white space separates; an empty one is ``<s> </s>``.
    path
        What complaints call the text.

    Raises
    ------
    InputError
        No words at all; <s>, </s> or <unk> in the text; each with its line.

    >>> made = estimate_lm(["a b", "a"], EstimateOptions(order=2))
    >>> made.model.counts
    (5, 4)
    """
    options = EstimateOptions() if options is None else options
    texts = texts if isinstance(texts, Texts) else Texts.from_strings(texts)
    vocab = Interner.of(Texts.from_strings(MARKS))
    tokens = without_marks(tokenize(texts, vocab), path, skip=options.skip_symbols)
    if not len(tokens.ids):
        raise InputError(expected="at least one word", found=f"{len(texts)} empty lines", path=path)
    return _estimate(tokens, vocab.texts(), options)


def _estimate(tokens: Tokens, words: Texts, options: EstimateOptions) -> Estimate:
    counts = list(count_ngrams(tokens, options.order, len(words)))
    smoothed = list(smooth(counts, options.thresholds))
    order = max(n for n, level in enumerate(smoothed, 1) if level.kept.any())
    if order < options.order:
        notice(f"no n-grams of more than {order} words are left: the model is of order {order}")
        counts, smoothed = counts[:order], smoothed[:order]
    discounts = tuple(level.discounts for level in smoothed)
    odd = [str(n) for n, own in enumerate(discounts, 1) if not own.estimated]
    if odd:
        notice(
            f"too few n-grams to estimate discounts of order {', '.join(odd)}: 0.5, 1 and 1.5 are used there "
            "(a text this small makes a weak model)"
        )
    return Estimate(
        Arpa(words, tuple(_levels(counts, smoothed))),
        len(tokens),
        len(tokens.ids),
        discounts,
        tuple(int(np.count_nonzero(~level.kept)) for level in smoothed),
    )


def _levels(counts: list[NgramCounts], smoothed: list[SmoothedLevel]) -> list[Level]:
    """Return the kept n-grams with their words and log10 numbers."""
    out = []
    ids: Int32 = np.zeros((1, 0), dtype=np.int32)
    place: Int64 = np.zeros(1, dtype=np.int64)  # where each n-gram of the order below went
    for n, (own, level) in enumerate(zip(counts, smoothed, strict=True)):
        rows = np.flatnonzero(level.kept)
        ids = np.hstack((ids[place[own.prefix[rows]]], own.last[rows, None]))
        longer = smoothed[n + 1].interpolation[rows] if n + 1 < len(smoothed) else np.ones(len(rows))
        out.append(Level(ids, _log10(level.probs[rows]), _log10(longer)))
        if n == 0:
            out[0].probs[BEGIN] = ZERO_LOG10
        place = np.cumsum(level.kept) - 1
    return out


def _log10(values: Float64) -> Float32:
    """Return logs; a weight of 0, which a discount of 0 leaves, becomes what ARPA files have for it."""
    with np.errstate(divide="ignore"):
        logs = np.log10(values)
    logs[values == 0.0] = ZERO_LOG10
    return np.minimum(logs, 0.0).astype(np.float32)
