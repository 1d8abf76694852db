"""Numbers for texts: an interner that grows, and the vocabulary of tokens built on it.

A dictionary of Python strings would be ten times slower than the kernels that use the numbers, so
the table lives in flat arrays and spans of bytes are looked up without becoming strings.
"""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Array, Bytes, Int32, Int64, flat
from luthier.corpus import _text_kernels as kernels
from luthier.corpus.texts import Texts, Tokens, check_spans


class Interner:
    """Gives each distinct text a number, 0, 1, 2, … in the order of first appearance."""

    def __init__(self) -> None:
        self._index = kernels.Index(
            table=np.full(1 << 10, -1, dtype=np.int64),
            hashes=np.zeros(1 << 9, dtype=np.uint64),
            heads=np.zeros(1 << 9, dtype=np.uint64),
            follows=np.full(1 << 9, -1, dtype=np.int64),
            known=np.zeros(1 << 13, dtype=np.uint8),
            offsets=np.zeros((1 << 9) + 1, dtype=np.int64),
        )
        self._size = 0

    @classmethod
    def of(cls, texts: Texts) -> Interner:
        """Return an interner that knows the given texts; a repeated text has its first number."""
        interner = cls()
        interner.intern_texts(texts)
        return interner

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, number: int) -> str:
        number = range(self._size)[number]
        known, offsets = self._index.known, self._index.offsets
        return known[offsets[number] : offsets[number + 1]].tobytes().decode("utf-8")

    def intern_spans(self, data: Bytes, starts: Int64, stops: Int64) -> Int32:
        """Return the number of each text ``data[starts[i]:stops[i]]``, adding the new ones."""
        check_spans(starts, stops, len(data))
        return self._intern(data, starts, stops)

    def _intern(self, data: Bytes, starts: Int64, stops: Int64) -> Int32:
        data, starts, stops = flat(data), flat(starts), flat(stops)
        ids = np.empty(len(starts), dtype=np.int32)
        done = 0
        while True:
            done, self._size = kernels.intern_spans(data, starts, stops, done, ids, self._index, self._size)
            if done == len(starts):
                return ids
            self._grow(int(stops[done] - starts[done]))

    def intern_texts(self, texts: Texts) -> Int32:
        """Return the number of each text of a column, adding the new ones."""
        return self._intern(texts.data, texts.offsets[:-1], texts.offsets[1:])

    def split_texts(self, texts: Texts) -> Tokens:
        """Split texts at white space, as `str.split` does, and number their words, adding the new ones."""
        n, size = len(texts), int(texts.offsets[-1] - texts.offsets[0])
        # a word has a byte at least, and white space or the end of the text behind it
        ids = np.empty((size + n) // 2, dtype=np.int32)
        offsets = np.zeros(n + 1, dtype=np.int64)
        done = 0
        while True:
            done, self._size, needed = kernels.intern_words(
                texts.data, texts.offsets, done, offsets, ids, self._index, self._size
            )
            if done == n:
                return Tokens(offsets, ids[: offsets[-1]].copy())
            self._grow(needed)

    def texts(self) -> Texts:
        """Return the known texts; text k has number k."""
        offsets = self._index.offsets[: self._size + 1].copy()
        return Texts(offsets, self._index.known[: offsets[-1]].copy())

    def _grow(self, needed: int) -> None:
        old = self._index
        used = int(old.offsets[self._size])
        if used + needed > len(old.known):
            self._index = old._replace(known=_enlarged(old.known, max(2 * len(old.known), used + needed)))
        if 2 * (self._size + 1) > len(old.table) or self._size + 1 >= len(old.offsets):
            self._index = self._index._replace(
                table=np.full(2 * len(old.table), -1, dtype=np.int64),
                hashes=_enlarged(old.hashes, 2 * len(old.hashes)),
                heads=_enlarged(old.heads, 2 * len(old.heads)),
                follows=np.full(2 * len(old.follows), -1, dtype=np.int64),
                offsets=_enlarged(old.offsets, 2 * len(old.offsets)),
            )
            kernels.rehash(self._index.hashes, self._size, self._index.table)


def _enlarged(array: Array, length: int) -> Array:
    larger = np.zeros(length, dtype=array.dtype)
    larger[: len(array)] = array
    return larger  # type: ignore[return-value]


def tokenize(texts: Texts, vocab: Interner) -> Tokens:
    """Split texts at white space, as `str.split` does, and number their tokens in `vocab`."""
    return vocab.split_texts(texts)
