"""How often every n-gram of a text occurs: n-grams numbered by order, each knowing its beginning and its end."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Bool, Int32, Int64
from luthier.corpus.texts import Tokens
from luthier.lm.arpa import BEGIN, END


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

    Unigram i is word i, whether it occurs or not. An n-gram is told by its beginning, a known n-gram, and
    its last word: one number, so that counting is sorting.
    """
    stream, places = _stream(tokens)
    unigrams = np.arange(n_words)
    yield NgramCounts(
        np.bincount(stream, minlength=n_words), np.zeros_like(unigrams), np.zeros_like(unigrams),
        unigrams.astype(np.int32), unigrams == BEGIN,
    )  # fmt: skip
    here = stream.astype(np.int64)  # which n-gram of the order below ends at each place
    begins = unigrams == BEGIN
    for n in range(2, order + 1):
        ends = np.flatnonzero(places >= n - 1)
        keys = here[ends - 1] * n_words + stream[ends]
        sort = np.argsort(keys)
        new = np.diff(keys[sort], prepend=-1) != 0
        first = np.flatnonzero(new)
        chosen = sort[first]  # a place in `ends` for each distinct n-gram
        raw = np.diff(first, append=len(ends))
        prefix, suffix = here[ends[chosen] - 1], here[ends[chosen]]
        begins = begins[prefix]
        yield NgramCounts(raw, prefix, suffix, stream[ends[chosen]], begins)
        numbers = np.empty(len(ends), dtype=np.int64)
        numbers[sort] = np.cumsum(new) - 1
        here[ends] = numbers


def _stream(tokens: Tokens) -> tuple[Int32, Int64]:
    """Return all sentences with their marks as one array, and the place of each word in its sentence."""
    lengths = tokens.lengths + 2
    stops = np.cumsum(lengths)
    starts = stops - lengths
    stream = np.empty(int(stops[-1]), dtype=np.int32)
    inside = np.ones(len(stream), dtype=bool)
    inside[starts] = inside[stops - 1] = False
    stream[starts], stream[stops - 1] = BEGIN, END
    stream[inside] = tokens.ids[tokens.offsets[0] : tokens.offsets[-1]]
    return stream, np.arange(len(stream)) - np.repeat(starts, lengths)
