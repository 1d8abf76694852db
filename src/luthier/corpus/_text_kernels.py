# mypy: ignore-errors
"""Kernels over columns of text: white space, spans, gathering.

A text column is one array of UTF-8 bytes with offsets; a span is a half-open stretch of bytes.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

SHORT = 16  # spans below are copied item by item: setting up a block copy takes longer


class Index(NamedTuple):
    """Known texts: text k has the bytes ``known[offsets[k]:offsets[k+1]]`` and the hash ``hashes[k]``.

    `table` is an open-addressing index into them (−1 = free, length a power of two).
    """

    table: np.ndarray
    hashes: np.ndarray
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


@kernel
def token_room(data, first, last, n_texts):
    """Return an upper bound on the number of tokens in ``data[first:last]``, cut into `n_texts`.

    A byte that cannot begin white space ends no token; counting the others vectorises.
    """
    room = n_texts
    for i in range(first, last):
        room += (data[i] <= 32) | (data[i] >= 0xC2)
    return room


@kernel
def token_spans(data, offsets, token_offsets, starts, stops):
    """Write the byte span of every white-space separated token of every text, in order.

    `token_offsets[row]` becomes the number of the first token of a text. Returns the number of tokens.
    """
    n = 0
    for row in range(len(offsets) - 1):
        token_offsets[row] = n
        i, end = offsets[row], offsets[row + 1]
        while i < end:
            width = space_width(data, i, end)
            if width > 0:
                i += width
                continue
            starts[n] = i
            i += 1
            while i < end:
                c = data[i]
                if (c <= 32 or c >= 0xC2) and space_width(data, i, end) > 0:
                    break
                i += 1
            stops[n] = i
            n += 1
    token_offsets[len(offsets) - 1] = n
    return n


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
def eight_bytes(data, i):
    """Return eight bytes as one word: the compiler makes a single load of it."""
    return (
        np.uint64(data[i])
        | (np.uint64(data[i + 1]) << np.uint64(8))
        | (np.uint64(data[i + 2]) << np.uint64(16))
        | (np.uint64(data[i + 3]) << np.uint64(24))
        | (np.uint64(data[i + 4]) << np.uint64(32))
        | (np.uint64(data[i + 5]) << np.uint64(40))
        | (np.uint64(data[i + 6]) << np.uint64(48))
        | (np.uint64(data[i + 7]) << np.uint64(56))
    )


@inner_kernel
def hash_span(data, start, stop):
    """Return a 64-bit hash of the bytes of a span: FNV-1a over words of eight or four bytes, mixed at the end."""
    prime = np.uint64(0x100000001B3)
    h = np.uint64(0xCBF29CE484222325) ^ np.uint64(stop - start)
    i = start
    while i + 8 <= stop:
        h = (h ^ eight_bytes(data, i)) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
        i += 8
    while i + 4 <= stop:
        word = (
            np.uint64(data[i])
            | (np.uint64(data[i + 1]) << np.uint64(8))
            | (np.uint64(data[i + 2]) << np.uint64(16))
            | (np.uint64(data[i + 3]) << np.uint64(24))
        )
        h = (h ^ word) * prime
        i += 4
    while i < stop:
        h = (h ^ np.uint64(data[i])) * prime
        i += 1
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@inner_kernel
def same_bytes(data, start, stop, known, known_start, known_stop):
    """Return whether two spans hold the same bytes."""
    if stop - start != known_stop - known_start:
        return False
    n = stop - start
    i = 0
    while i + 8 <= n:
        if eight_bytes(data, start + i) != eight_bytes(known, known_start + i):
            return False
        i += 8
    while i < n:
        if data[start + i] != known[known_start + i]:
            return False
        i += 1
    return True


@inner_kernel
def find_text(data, start, stop, h, table, hashes, known, known_offsets):
    """Return the slot of a text in the index, or the free slot where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = h & mask
    while True:
        k = table[slot]
        if k < 0 or (hashes[k] == h and same_bytes(data, start, stop, known, known_offsets[k], known_offsets[k + 1])):
            return slot
        slot = (slot + np.uint64(1)) & mask


@kernel
def intern_spans(data, starts, stops, first, ids, index, size):
    """Give each span from `first` on the number of its text, adding texts not met before.

    Lists repeat themselves: `follows[k]`, the text that last came behind text k, is tried before the table.

    Returns
    -------
    (next span, number of known texts)
        The first span that was not done because an array is full; the caller grows it and calls again.
    """
    table, hashes, follows, known, known_offsets = index
    before = 0
    for s in range(first, len(starts)):
        start, stop = starts[s], stops[s]
        k = follows[before]
        if k < 0 or not same_bytes(data, start, stop, known, known_offsets[k], known_offsets[k + 1]):
            h = hash_span(data, start, stop)
            slot = find_text(data, start, stop, h, table, hashes, known, known_offsets)
            k = table[slot]
            if k < 0:
                used = known_offsets[size]
                if 2 * (size + 1) > len(table) or size + 1 >= len(known_offsets) or used + (stop - start) > len(known):
                    return s, size
                for i in range(stop - start):
                    known[used + i] = data[start + i]
                known_offsets[size + 1] = used + (stop - start)
                hashes[size] = h
                table[slot] = k = size
                size += 1
            follows[before] = k
        ids[s] = k
        before = k
    return len(starts), size


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
