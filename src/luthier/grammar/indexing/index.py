"""The index of a text: its places sorted by the words that begin there, as deep as patterns reach."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Int32, Int64, flat, frozen
from luthier.grammar.indexing import _index_kernels as kernels


def sort_places(words: Int32, n_words: int, depth: int) -> Int32:
    """Return the places of all words, sorted by the next `depth` words, equal ones in the order of the text.

    Parameters
    ----------
    words : (P,)
        Word numbers from 1; a 0 behind every sentence, and `depth` of them at the end.
    n_words
        The largest word number.

    >>> sort_places(np.array([2, 1, 0, 1, 2, 0, 0], np.int32), 2, 2).tolist()
    [1, 3, 4, 0]
    """
    before = np.flatnonzero(words).astype(np.int32)
    after = np.empty_like(before)
    starts = np.empty(n_words + 2, dtype=np.int64)
    words = flat(words)
    for shift in range(depth - 1, -1, -1):  # a stable sort by the last word first
        kernels.sort_pass(words, shift, starts, before, after)
        before, after = after, before
    return frozen(before)


def find_chunks(words: Int32, places: Int32, text: Int32, depth: int) -> tuple[Int64, Int64]:
    """Return the range of places of every chunk of up to `depth` words of `text`, as two (len(text), depth) arrays."""
    lows = np.empty((len(text), depth), dtype=np.int64)
    highs = np.empty_like(lows)
    kernels.find_chunks(flat(words), flat(places), flat(text), lows, highs)
    return lows, highs
