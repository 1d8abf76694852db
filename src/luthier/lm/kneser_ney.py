"""How often every n-gram of a text occurs: n-grams numbered by order, each knowing its beginning and its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from luthier.core.arrays import Bool, Float64, Int32, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Tokens
from luthier.lm import _count_kernels as kernels
from luthier.lm.arpa import BEGIN, END, UNKNOWN

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
