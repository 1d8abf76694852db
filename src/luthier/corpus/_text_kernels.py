"""Kernels over columns of text: white space, spans, gathering.

A text column is one array of UTF-8 bytes with offsets; a span is a half-open stretch of bytes.
"""

import numpy as np

from luthier.core.jit import kernel


@kernel
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
def count_tokens(data, offsets, counts):
    """Write the number of white-space separated tokens of every text into `counts`."""
    for row in range(len(offsets) - 1):
        i, end, inside, n = offsets[row], offsets[row + 1], False, 0
        while i < end:
            width = space_width(data, i, end)
            if width > 0:
                inside = False
                i += width
            else:
                if not inside:
                    n += 1
                    inside = True
                i += 1
        counts[row] = n


@kernel
def token_spans(data, offsets, starts, stops):
    """Write the byte span of every token of every text, in order."""
    n = 0
    for row in range(len(offsets) - 1):
        i, end, inside = offsets[row], offsets[row + 1], False
        while i < end:
            width = space_width(data, i, end)
            if width > 0:
                if inside:
                    stops[n] = i
                    n += 1
                    inside = False
                i += width
            else:
                if not inside:
                    starts[n] = i
                    inside = True
                i += 1
        if inside:
            stops[n] = end
            n += 1


@kernel
def gather_spans(data, starts, stops, offsets, out):
    """Copy spans one behind another into `out`; `offsets` says where each goes."""
    for s in range(len(starts)):
        at = offsets[s]
        for i in range(starts[s], stops[s]):
            out[at] = data[i]
            at += 1


@kernel
def hash_span(data, start, stop):
    """Return a 64-bit hash of the bytes of a span (FNV-1a with a final mix)."""
    h = np.uint64(0xCBF29CE484222325)
    for i in range(start, stop):
        h = (h ^ np.uint64(data[i])) * np.uint64(0x100000001B3)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(32))


@kernel
def same_bytes(data, start, stop, known, known_start, known_stop):
    """Return whether two spans hold the same bytes."""
    if stop - start != known_stop - known_start:
        return False
    for i in range(stop - start):
        if data[start + i] != known[known_start + i]:
            return False
    return True


@kernel
def intern_spans(data, starts, stops, first, ids, table, hashes, known, known_offsets, size):
    """Give each span from `first` on the number of its text, adding texts not met before.

    `table` is an open-addressing index (−1 = free, length a power of two) into the known texts, whose
    bytes are `known[known_offsets[k]:known_offsets[k+1]]`; `hashes[k]` is the hash of text k.

    Returns
    -------
    (next span, number of known texts)
        The first span that was not done because an array is full; the caller grows it and calls again.
    """
    mask = np.uint64(len(table) - 1)
    for s in range(first, len(starts)):
        start, stop = starts[s], stops[s]
        h = hash_span(data, start, stop)
        slot = h & mask
        while True:
            k = table[slot]
            if k < 0:
                used = known_offsets[size]
                if 2 * (size + 1) > len(table) or size + 1 >= len(known_offsets):
                    return s, size
                if used + (stop - start) > len(known):
                    return s, size
                for i in range(stop - start):
                    known[used + i] = data[start + i]
                known_offsets[size + 1] = used + (stop - start)
                hashes[size] = h
                table[slot] = size
                ids[s] = size
                size += 1
                break
            if hashes[k] == h and same_bytes(
                data, start, stop, known, known_offsets[k], known_offsets[k + 1]
            ):
                ids[s] = k
                break
            slot = (slot + np.uint64(1)) & mask
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
