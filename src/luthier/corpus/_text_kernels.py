# mypy: ignore-errors
"""Kernels over columns of text: white space, spans, gathering.

A text column is one array of UTF-8 bytes with offsets; a span is a half-open stretch of bytes.
"""

from typing import NamedTuple

import numpy as np

from luthier.core._bit_kernels import ONES, TOPS, bytes_below, lowest_bytes
from luthier.core.jit import eight_bytes, inner_kernel, kernel, lean_kernel

SHORT = 16  # spans below are copied item by item: setting up a block copy takes longer


class Index(NamedTuple):
    """Known texts: text k has the bytes ``known[offsets[k]:offsets[k+1]]`` and the hash ``hashes[k]``.

    `table` is an open-addressing index into them (−1 = free, length a power of two). ``heads[k]`` holds the first eight
    bytes of text k, ``follows[k]`` the text that last came behind it, or −1.
    """

    table: np.ndarray
    hashes: np.ndarray
    heads: np.ndarray
    follows: np.ndarray
    known: np.ndarray
    offsets: np.ndarray


@inner_kernel
def space_width(data, i, end):
    """Return how many bytes the white space at `i` takes, 0 if there is none (as str.isspace)."""
    c = data[i]
    if c <= 32:
        return 1 if c == 32 or (9 <= c <= 13) or (28 <= c <= 31) else 0
    if c < 0xC2:
        return 0
    if c == 0xC2:  # U+0085, U+00A0
        return 2 if i + 1 < end and (data[i + 1] == 0x85 or data[i + 1] == 0xA0) else 0
    if i + 2 >= end:
        return 0
    b, a = data[i + 1], data[i + 2]
    if c == 0xE1:  # U+1680
        return 3 if b == 0x9A and a == 0x80 else 0
    if c == 0xE2:  # U+2000-200A, 2028, 2029, 202F, 205F
        if b == 0x80:
            return 3 if a <= 0x8A or a == 0xA8 or a == 0xA9 or a == 0xAF else 0
        return 3 if b == 0x81 and a == 0x9F else 0
    if c == 0xE3:  # U+3000
        return 3 if b == 0x80 and a == 0x80 else 0
    return 0


@inner_kernel
def word_end(data, i, end):
    """Return where a word, of which byte `i` is not white space, ends."""
    while i < end:
        if i + 8 <= len(data):
            v = eight_bytes(data, i)
            i += bytes_below(((v - np.uint64(33) * ONES) & ~v | v) & TOPS)  # to a byte up to 32 or beyond ASCII
            if i >= end:
                break
        c = data[i]
        if (c <= 32 or c >= 0xC2) and space_width(data, i, end) > 0:
            break
        i += 1
        if c >= 0xC2:
            while i < end and data[i] & 0xC0 == 0x80:
                i += 1
    return min(i, end)


@kernel
def gather_spans(data, starts, stops, offsets, out):
    """Copy spans one behind another into `out`; `offsets` says where each goes."""
    for s in range(len(starts)):
        start, stop, at = starts[s], stops[s], offsets[s]
        if stop - start < SHORT:
            for i in range(stop - start):
                out[at + i] = data[start + i]
        else:
            source, target = data[start:stop], out[at : at + stop - start]
            for i in range(len(target)):
                target[i] = source[i]


@inner_kernel
def head_of(data, start, stop):
    """Return the first eight bytes of a span as one word, 0 where it has no more."""
    n = stop - start
    if start + 8 <= len(data):
        head = eight_bytes(data, start)
        if n < 8:
            head = lowest_bytes(head, n)
    else:
        head = np.uint64(0)
        for i in range(min(n, 8)):
            head |= np.uint64(data[start + i]) << np.uint64(8 * i)
    return head


@inner_kernel
def hash_span(data, start, stop, head):
    """Return a 64-bit hash of the bytes of a span, eight at a time; the last eight may overlap those before them."""
    h = (head ^ np.uint64(stop - start)) * np.uint64(0x9E3779B97F4A7C15)
    i = start + 8
    while i < stop:
        h ^= h >> np.uint64(32)
        h = (h ^ eight_bytes(data, min(i, stop - 8))) * np.uint64(0x9E3779B97F4A7C15)
        i += 8
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@inner_kernel
def same_rest(data, start, n, known, known_start):
    """Return whether two spans of n bytes are the same from the ninth byte on."""
    i = 8
    while i < n:
        at = min(i, n - 8)
        if eight_bytes(data, start + at) != eight_bytes(known, known_start + at):
            return False
        i += 8
    return True


@inner_kernel
def intern(data, start, stop, before, table, hashes, heads, follows, known, offsets, size):
    """Return the number of a text, which is added if it is new, and how many are known; −1 where an array is full.

    Lists repeat themselves: ``follows[before]``, the text that last came behind text `before`, is tried first.
    """
    n, head = stop - start, head_of(data, start, stop)
    k = follows[before]
    if (
        k < 0
        or heads[k] != head
        or offsets[k + 1] - offsets[k] != n
        or not same_rest(data, start, n, known, offsets[k])
    ):
        h = hash_span(data, start, stop, head)
        mask = np.uint64(len(table) - 1)
        slot = h & mask
        k = table[slot]
        while k >= 0 and (
            hashes[k] != h or offsets[k + 1] - offsets[k] != n or not same_rest(data, start, n, known, offsets[k])
        ):
            slot = (slot + np.uint64(1)) & mask
            k = table[slot]
        if k < 0:
            used = offsets[size]
            if 2 * (size + 1) <= len(table) and size + 1 < len(offsets) and used + n <= len(known):
                for i in range(n):
                    known[used + i] = data[start + i]
                offsets[size + 1] = used + n
                hashes[size], heads[size] = h, head
                table[slot] = k = size
                size += 1
        if k >= 0:
            follows[before] = k
    return k, size


@lean_kernel
def intern_spans(data, starts, stops, first, ids, index, size):
    """Give each span from `first` on the number of its text, adding texts not met before.

    Returns
    -------
    (next span, number of known texts)
        The first span that was not done because an array is full; the caller grows it and calls again.
    """
    table, hashes, heads, follows, known, known_offsets = index
    before = 0
    for s in range(first, len(starts)):
        k, size = intern(data, starts[s], stops[s], before, table, hashes, heads, follows, known, known_offsets, size)
        if k < 0:
            return s, size
        ids[s] = before = k
    return len(starts), size


@lean_kernel
def intern_words(data, offsets, first, word_offsets, ids, index, size):
    """Split texts from row `first` on at white space, as `str.split` does, and number their words.

    Row r has the words ``word_offsets[r]:word_offsets[r+1]``; ``word_offsets[first]`` is given.

    Returns
    -------
    (next row, number of known texts, bytes)
        The first row that was not done because an array is full, and how long the word was that had no room.
    """
    table, hashes, heads, follows, known, known_offsets = index
    n, before = word_offsets[first], 0
    for row in range(first, len(offsets) - 1):
        i, end = offsets[row], offsets[row + 1]
        while i < end:
            width = space_width(data, i, end)
            if width > 0:
                i += width
                continue
            start = i
            i = word_end(data, i, end)
            k, size = intern(data, start, i, before, table, hashes, heads, follows, known, known_offsets, size)
            if k < 0:
                return row, size, i - start
            ids[n] = before = k
            n += 1
        word_offsets[row + 1] = n
    return len(offsets) - 1, size, 0


@kernel
def rehash(hashes, size, table):
    """Fill an empty (all −1) index with the first `size` known texts."""
    mask = np.uint64(len(table) - 1)
    for k in range(size):
        slot = hashes[k] & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = k


@kernel
def differing_spans(data, offsets, rows, others, out):
    """Write whether spans ``rows[i]`` and ``others[i]`` of data are not the same."""
    for i in range(len(rows)):
        a, b = offsets[rows[i]], offsets[others[i]]
        n = offsets[rows[i] + 1] - a
        differ = n != offsets[others[i] + 1] - b
        k = 0
        while not differ and k < n:
            differ = data[a + k] != data[b + k]
            k += 1
        out[i] = differ
