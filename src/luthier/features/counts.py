"""Which values a feature has, and how often; values that are printed alike are one value."""

from __future__ import annotations

import dataclasses
import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Bool, Bytes, Float64, Int32, Int64, all_finite, flat
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus._field_kernels import split_fields
from luthier.corpus.texts import Texts
from luthier.grammar import _rule_kernels as kernels
from luthier.grammar.grammar import Grammar
from luthier.grammar.writing import DIGITS
from luthier.kbest.features import Features, unknown_names
from luthier.kbest.pool import Pool

# A feature that nobody wrote but the rule itself shows: how many words its target side has.

TARGET_WORDS = "TargetWords"
PASS_THROUGH = "PassThrough"  # a decoder's own rules stand in no grammar, so they have no bins there
LABEL, N_FIELDS = b"[X]", 3
Spans = tuple[Int64, Int64]


def target_words(grammar: Grammar) -> Int64:
    """Return how many words the target side of each rule has, (R,)."""
    rules = segment_of_rows(grammar.target_offsets)
    return np.bincount(rules[grammar.target_symbols >= 0], minlength=grammar.n_rules)


def count_words(data: Bytes, source: Spans, target: Spans) -> Int64:
    """Return how many symbols that are no gaps the target side of each rule has; sides are spans of text."""
    (offsets, kinds), (target_offsets, target_kinds) = (_lex(data, *side) for side in (source, target))
    kernels.resolve_bare_gaps(offsets, kinds, target_offsets, target_kinds)
    is_word = (target_kinds == kernels.WORD) | (target_kinds == kernels.LABEL)
    return np.diff(np.concatenate([[0], np.cumsum(is_word)])[target_offsets])


def _lex(data: Bytes, starts: Int64, stops: Int64) -> tuple[Int64, Int32]:
    """Return offsets and kinds of the symbols of some spans."""
    data, starts, stops = flat(data), flat(starts), flat(stops)
    room = int((stops - starts).sum()) // 2 + len(starts) + 1
    offsets, kinds = np.empty(len(starts) + 1, np.int64), np.empty(room, np.int32)
    spans = np.empty(room, np.int64), np.empty(room, np.int64)
    used = kernels.lex_symbols(data, starts, stops, offsets, kinds, *spans)
    return offsets, kinds[:used]


def with_target_words(features: Features, texts: Texts) -> Features:
    """Return the features of rules with a column of target words, from texts ``[X] ||| f ||| e``, unless they have one.

    What has another label or form does not have it, nor has a rule that passes a word through.
    """
    if TARGET_WORDS in features.names:
        return features
    data, starts, stops = flat(texts.data), flat(texts.offsets[:-1]), flat(texts.offsets[1:])
    counts = np.empty(len(texts), dtype=np.int64)
    firsts, lasts = (np.zeros((len(texts), N_FIELDS), dtype=np.int64) for _ in range(2))
    split_fields(data, starts, stops, False, firsts, lasts, counts)
    has = (counts >= N_FIELDS) & (lasts[:, 0] - firsts[:, 0] == len(LABEL))
    for k, byte in enumerate(LABEL):
        has[has] = data[firsts[has, 0] + k] == byte
    if PASS_THROUGH in features.names:
        has &= features.column(PASS_THROUGH) == 0
    rows = np.flatnonzero(has)
    words = count_words(data, *((firsts[rows, side], lasts[rows, side]) for side in (1, 2)))
    return _with_last_column(features, has, words)


def _with_last_column(features: Features, has: Bool, values: Int64) -> Features:
    """Return features with one more sparse column, which some rows have."""
    column = features.n_features - features.n_dense
    indptr = offsets_from_counts(np.diff(features.indptr) + has)
    places = np.ones(int(indptr[-1]), dtype=bool)
    places[indptr[1:][has] - 1] = False
    indices = np.full(int(indptr[-1]), column, dtype=np.int32)
    out = np.empty(int(indptr[-1]))
    indices[places], out[places], out[~places] = features.indices, features.values, values
    return dataclasses.replace(
        features, names=(*features.names, TARGET_WORDS), indptr=indptr, indices=indices, values=out
    )


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
