# mypy: ignore-errors
"""Kernels that split the lines of an ARPA file into fields, and write them."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

TAB, LINE_FEED, RETURN, SPACE = 9, 10, 13, 32
DECIMALS = 10**7
LARGEST = 1e10  # with its decimals it is well within 64 bits


@inner_kernel
def is_blank(c):
    """Return whether a byte separates fields; other white space of Unicode may be part of a word."""
    return c == SPACE or c == TAB or c == RETURN


@kernel
def split_rows(data, starts, stops, field_starts, field_stops, counts):
    """Write the spans of the first fields of each line (as many as there is room for), and how many it has."""
    room = field_starts.shape[1]
    for r in range(len(starts)):
        i, stop, n = starts[r], stops[r], 0
        while i < stop:
            if is_blank(data[i]):
                i += 1
                continue
            first = i
            while i < stop and not is_blank(data[i]):
                i += 1
            if n < room:
                field_starts[r, n] = first
                field_stops[r, n] = i
            n += 1
        counts[r] = n
        for k in range(n, room):
            field_starts[r, k] = stop
            field_stops[r, k] = stop


@inner_kernel
def put_number(out, at, value):
    """Write a number with at most seven digits behind the point; return where it ends."""
    scaled = np.int64(np.rint(min(abs(np.float64(value)), LARGEST) * DECIMALS))
    if value < 0.0 and scaled > 0:
        out[at] = 45
        at += 1
    whole, rest = scaled // DECIMALS, scaled % DECIMALS
    size, reach = 1, np.int64(10)
    while reach <= whole:
        size += 1
        reach *= 10
    for k in range(size - 1, -1, -1):
        out[at + k] = 48 + whole % 10
        whole //= 10
    at += size
    if rest > 0:
        out[at] = 46
        digits = 7
        while rest % 10 == 0:
            rest //= 10
            digits -= 1
        for k in range(digits, 0, -1):
            out[at + k] = 48 + rest % 10
            rest //= 10
        at += digits + 1
    return at


@kernel
def format_rows(data, offsets, ids, probs, backoffs, with_backoffs, out):
    """Write ``prob <tab> words <tab> back-off`` lines; return how many bytes they take."""
    at = 0
    for r in range(len(ids)):
        at = put_number(out, at, probs[r])
        for k in range(ids.shape[1]):
            out[at] = TAB if k == 0 else SPACE
            at += 1
            for i in range(offsets[ids[r, k]], offsets[ids[r, k] + 1]):
                out[at] = data[i]
                at += 1
        if with_backoffs:
            out[at] = TAB
            at = put_number(out, at + 1, backoffs[r])
        out[at] = LINE_FEED
        at += 1
    return at
