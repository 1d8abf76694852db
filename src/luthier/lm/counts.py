"""How often every n-gram of a text occurs: n-grams numbered by order, each knowing its beginning and its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Bool, Int32, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Tokens
from luthier.lm import _count_kernels as kernels
from luthier.lm.arpa import BEGIN, END

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
