"""A feature that nobody wrote but the rule itself shows: how many words its target side has."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Bool, Bytes, Int32, Int64, flat
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus._field_kernels import split_fields
from luthier.corpus.texts import Texts
from luthier.grammar.grammar import Grammar
from luthier.grammar.reading import _rule_kernels as kernels
from luthier.kbest.features import Features

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
