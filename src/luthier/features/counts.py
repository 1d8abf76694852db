"""Which values a feature has, and how often; values that are printed alike are one value."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Float64, Int64, all_finite
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_of_rows
from luthier.features.derived import TARGET_WORDS, target_words
from luthier.grammar.grammar import Grammar
from luthier.grammar.writing import DIGITS
from luthier.kbest.features import Features, unknown_names
from luthier.kbest.pool import Pool

Present = tuple[Int64, Float64]


class ValueCounts(NamedTuple):
    """The distinct values of a feature, ascending, and how many instances have each; both (n,)."""

    values: Float64
    counts: Int64


def as_printed(value: float) -> float:
    """Return the number that is read where a grammar has this one printed.

    >>> as_printed(2 / 3)
    0.666666666667
    """
    return float(f"%.{DIGITS}g" % value)


def first_printed(value: float) -> float:
    """Return the least double that is printed as `value` (a printed number) or above it.

    Printing never turns an order around, so comparing with this is comparing what is printed.
    """
    if value == 0:
        return 0.0
    high, step = value, 1e-10
    low = min(value - abs(value) * step, math.nextafter(value, -math.inf))
    while as_printed(low) >= value:
        step *= 10
        low = value - abs(value) * step
    below, above = _rank(low), _rank(high)
    while above - below > 1:
        middle = (below + above) // 2
        if as_printed(_ranked(middle)) >= value:
            above = middle
        else:
            below = middle
    return _ranked(above)


def _rank(value: float) -> int:
    """Return the place of a double among all doubles, from the one nearest to 0."""
    bits = int(struct.unpack("<q", struct.pack("<d", value))[0])
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _ranked(rank: int) -> float:
    value = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return float(math.copysign(value, rank) if rank else 0.0)


def count_values(values: Float64, weights: Int64 | None = None) -> ValueCounts:
    """Return the distinct values; an instance counts its weight, (m,), or 1. What counts 0 is left out."""
    if not all_finite(values):
        raise LuthierError("expected finite values to cut into bins, found others")
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]
    distinct, counts = _summed(values, weights)
    printed = np.array([as_printed(value) for value in distinct.tolist()], dtype=np.float64)
    return ValueCounts(*_summed(printed + 0.0, counts))  # no −0


def _summed(values: Float64, weights: Int64 | None) -> tuple[Float64, Int64]:
    if weights is None:
        distinct, counts = np.unique(values, return_counts=True)
        return distinct, counts.astype(np.int64)
    distinct, which = np.unique(values, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, which, weights)
    return distinct, sums


def present_values(features: Features, name: str) -> Present:
    """Return the rows that have a feature, and their values.

    A dense feature every row has; a sparse one those with an entry, be it 0.
    """
    d = features.index(name)
    if d < features.n_dense:
        return np.arange(len(features)), features.dense[:, d]
    entries = np.flatnonzero(features.indices == d - features.n_dense)
    return np.searchsorted(features.indptr, entries, side="right") - 1, features.values[entries]


def merge_counts(parts: Sequence[ValueCounts]) -> ValueCounts:
    """Return the values of several parts together."""
    values = np.concatenate([np.zeros(0), *(part.values for part in parts)])
    counts = np.concatenate([np.zeros(0, np.int64), *(part.counts for part in parts)])
    return ValueCounts(*_summed(values, counts))


def grammar_values(grammar: Grammar, name: str) -> Present:
    """Return the rules of a grammar that have a feature, and their values; target words are counted."""
    if name not in grammar.feature_names:
        if name != TARGET_WORDS:
            raise LuthierError(unknown_names([name], grammar.feature_names))
        return np.arange(grammar.n_rules), target_words(grammar).astype(np.float64)
    entries = np.flatnonzero(grammar.feature_ids == grammar.feature_names.index(name))
    return np.searchsorted(grammar.feature_offsets, entries, side="right") - 1, grammar.feature_values[entries]


def rule_weights(grammar: Grammar) -> Int64:
    """Return how often each rule counts, (R,): once in each sentence's grammar, or once."""
    if not grammar.n_sentences:
        return np.ones(grammar.n_rules, dtype=np.int64)
    return grammar.sentence_uses()[grammar.rule_sides]


def use_weights(pool: Pool, *, by_use: bool) -> Int64:
    """Return how often each rule of a pool's table counts, (R,): once for a sentence, or once for each use."""
    assert pool.derivations is not None
    rules, n_rules = pool.derivations.rules.astype(np.int64), len(pool.derivations.texts)
    if by_use:
        return np.bincount(rules, minlength=n_rules)
    sentences = np.repeat(segment_of_rows(pool.offsets), np.diff(pool.derivations.offsets))
    once = np.unique(sentences * n_rules + rules) % max(n_rules, 1)
    return np.bincount(once, minlength=n_rules)
