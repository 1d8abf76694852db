# mypy: ignore-errors
"""Kernels over links as text: ``0-0 1-2``, a sentence a line, read and printed."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

SPACE, TAB, LINE_FEED, ZERO, NINE, HYPHEN = 32, 9, 10, 48, 57, 45
MOST_DIGITS = 6  # a sentence of a million words is none


@inner_kernel
def read_digits(data, i):
    """Return the number written at `i` and the place behind it; the place is `i` where there is none."""
    value, start = 0, i
    while ZERO <= data[i] <= NINE and i - start <= MOST_DIGITS:
        value = 10 * value + (np.int64(data[i]) - ZERO)
        i += 1
    return value, (start if i - start > MOST_DIGITS else i)


@kernel
def parse_links(data, ends, counts, source, target):
    """Read the links of every line of a block; `ends` are the places of its line feeds.

    Returns
    -------
    (number of links, line, place)
        The line is the first that has something else, with the place of that; −1 if there is none.
    """
    n = 0
    i = 0
    for line in range(len(ends)):
        first = n
        while True:
            while data[i] == SPACE or data[i] == TAB:
                i += 1
            if i == ends[line]:
                break
            s, between = read_digits(data, i)
            if between == i or data[between] != HYPHEN:
                return n, line, i
            t, behind = read_digits(data, between + 1)
            if behind == between + 1 or not (data[behind] == SPACE or data[behind] == TAB or behind == ends[line]):
                return n, line, i
            source[n], target[n] = s, t
            n += 1
            i = behind
        counts[line] = n - first
        i += 1
    return n, -1, -1


@inner_kernel
def print_digits(value, out, at):
    """Write a number from `at` on; return the place behind it."""
    width, rest = 1, value // 10
    while rest > 0:
        width += 1
        rest //= 10
    for k in range(at + width - 1, at - 1, -1):
        out[k] = ZERO + value % 10
        value //= 10
    return at + width


@kernel
def print_links(offsets, source, target, out):
    """Write sentences of links as lines; return the number of bytes."""
    at = 0
    for k in range(len(offsets) - 1):
        for row in range(offsets[k], offsets[k + 1]):
            if row > offsets[k]:
                out[at] = SPACE
                at += 1
            at = print_digits(np.int64(source[row]), out, at)
            out[at] = HYPHEN
            at = print_digits(np.int64(target[row]), out, at + 1)
        out[at] = LINE_FEED
        at += 1
    return at
