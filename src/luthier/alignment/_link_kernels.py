# mypy: ignore-errors
"""Kernels over links as text: ``0-0 1-2``, a sentence a line, read and printed."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

# Kernels that merge the links of two directions, one sentence pair at a time.
#
# The points of a pair are the union of both, ascending by (source, target); `sides` says of each whether it is in
# the forward links (1), the backward links (2) or both (3).


FORWARD, BACKWARD, BOTH = 1, 2, 3


@kernel
def unite(first, second, offsets, source, target, sides):
    """Merge the links of two alignments, each as (offsets, source, target); return how many there are."""
    n = 0
    for k in range(len(first[0]) - 1):
        offsets[k] = n
        a, b = first[0][k], second[0][k]
        while a < first[0][k + 1] or b < second[0][k + 1]:
            if b == second[0][k + 1]:
                order = -1
            elif a == first[0][k + 1]:
                order = 1
            else:
                order = first[1][a] - second[1][b]
                if order == 0:
                    order = first[2][a] - second[2][b]
            if order <= 0:
                source[n], target[n] = first[1][a], first[2][a]
                a += 1
            else:
                source[n], target[n] = second[1][b], second[2][b]
            sides[n] = BOTH if order == 0 else FORWARD if order < 0 else BACKWARD
            if order >= 0:
                b += 1
            n += 1
    offsets[len(first[0]) - 1] = n
    return n


@inner_kernel
def find(source, target, low, high, s, t):
    """Return where point (s, t) stands among the points ``low:high``, or −1."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if source[middle] < s or (source[middle] == s and target[middle] < t):
            low = middle + 1
        else:
            high = middle
    return low if low < end and source[low] == s and target[low] == t else -1


@inner_kernel
def touches(source, target, taken, low, high, row):
    """Return whether one of the eight neighbours of a point is taken."""
    for ds in range(-1, 2):
        for dt in range(-1, 2):
            if ds != 0 or dt != 0:
                at = find(source, target, low, high, source[row] + ds, target[row] + dt)
                if at >= 0 and taken[at]:
                    return True
    return False


@inner_kernel
def take(row, source, target, taken, source_linked, target_linked, stamp):
    """Take a point: its two words have a link now."""
    taken[row] = True
    source_linked[source[row]] = stamp
    target_linked[target[row]] = stamp


@kernel
def grow_pair(low, high, source, target, taken, source_linked, target_linked, stamp):
    """Take, pass by pass, points that touch a taken one and have a word without link."""
    grown = True
    while grown:
        grown = False
        for row in range(low, high):
            s, t = source[row], target[row]
            if taken[row] or (source_linked[s] == stamp and target_linked[t] == stamp):
                continue
            if touches(source, target, taken, low, high, row):
                take(row, source, target, taken, source_linked, target_linked, stamp)
                grown = True


@kernel
def grow(offsets, source, target, sides, least_free, taken, source_linked, target_linked):
    """Grow all pairs from the points that are taken; then take points of which `least_free` words have no link.

    ``source_linked[i] == k + 1`` says that word i of pair k has a link: so nothing is cleared between pairs.
    `least_free` is 2 or 1; 3 takes no further points.
    """
    for k in range(len(offsets) - 1):
        low, high, stamp = offsets[k], offsets[k + 1], k + 1
        for row in range(low, high):
            if taken[row]:
                take(row, source, target, taken, source_linked, target_linked, stamp)
        grow_pair(low, high, source, target, taken, source_linked, target_linked, stamp)
        for side in (FORWARD, BACKWARD):
            for row in range(low, high):
                if sides[row] & side and not taken[row]:
                    free = int(source_linked[source[row]] != stamp) + int(target_linked[target[row]] != stamp)
                    if free >= least_free:
                        take(row, source, target, taken, source_linked, target_linked, stamp)


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
