# mypy: ignore-errors
"""Kernels of the upper envelopes of forests along lines of weights ([macherey2008], [kumar2009]).

Along ``w + t·d`` a derivation has the height a + t·b, the sums of its edges' w·h and d·h. A node keeps the lines of
its derivations that are highest somewhere, by ascending slope: `lines` (n, 3) with the columns START (from where a line
is highest), SLOPE and INTERCEPT, `links` (n, 3) with the edge and the lines in its gaps; those of node v are
``offsets[v]:offsets[v + 1]``.

The envelope of a node grows edge by edge. `own` (5, m) has the rows A, B and FROM, its lines so far, and PLACE and
FLOOR, where one hands over to the next, with a height that is not above it; `ways` (m, 3) has the links of its lines.
The sum of the envelopes in an edge's gaps is convex: if it is lower at all those places, and no line of it is less or
more steep than all others, it is lower everywhere, and none of its lines is looked at.

Kernels are lean: counting references would take a tenth of the time.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, lean_kernel
from luthier.geometry.lines._envelope_kernels import stack_lines

START, SLOPE, INTERCEPT = range(3)
A, B, FROM, PLACE, FLOOR = range(5)
ORDER, KEPT = range(2)
NONE = -1
MARGIN = 2.0**-48  # of the size of the numbers in a height: more than it is rounded by, some ten times 2⁻⁵³


class Workspace(NamedTuple):
    """Scratch for the envelope of one node: its lines and their links, and twice that to make one of two."""

    own: np.ndarray
    ways: np.ndarray
    whole: np.ndarray
    other: np.ndarray
    other_ways: np.ndarray


class Sides(NamedTuple):
    """The rules of edges, and the target sides of rules."""

    rules: np.ndarray
    target_offsets: np.ndarray
    target_symbols: np.ndarray


class Goal(NamedTuple):
    """Where lines of goals are written: start and slope, (n, 2), where the words of each end, and all words."""

    tops: np.ndarray
    bounds: np.ndarray
    words: np.ndarray


@lean_kernel
def next_edge(e, stop, tails, scores, lines, offsets, own, n):
    """Return the first edge from e on that is not below the n lines of its node for certain, or `stop`."""
    places = max(n - 1, 1)
    while e < stop:
        first, second, p, q, p_stop, q_stop = tails[e, 0], tails[e, 1], NONE, NONE, 0, 0
        low = high = scores[1, e]
        if first >= 0:
            p, p_stop = offsets[first], offsets[first + 1]
            low, high = low + lines[p, SLOPE], high + lines[p_stop - 1, SLOPE]
        if second >= 0:
            q, q_stop = offsets[second], offsets[second + 1]
            low, high = low + lines[q, SLOPE], high + lines[q_stop - 1, SLOPE]
        if low < own[B, 0] or high > own[B, n - 1]:
            return e
        for i in range(places):  # from left to right, so that p and q only go forward
            t = own[PLACE, i]
            height, size = scores[0, e] + t * scores[1, e], abs(scores[0, e]) + abs(t * scores[1, e])
            if first >= 0:
                while p + 1 < p_stop and lines[p + 1, START] <= t:
                    p += 1
                a, b = lines[p, INTERCEPT], t * lines[p, SLOPE]
                height, size = height + a + b, size + abs(a) + abs(b)
            if second >= 0:
                while q + 1 < q_stop and lines[q + 1, START] <= t:
                    q += 1
                a, b = lines[q, INTERCEPT], t * lines[q, SLOPE]
                height, size = height + a + b, size + abs(a) + abs(b)
            if not height + MARGIN * size < own[FLOOR, i]:
                return e
        e += 1
    return e


@lean_kernel
def lay_edge(e, tails, scores, lines, offsets, own, ways, n):
    """Write the lines of an edge behind n others: sums of lines that are highest at the same place, by ascending slope.

    Returns how many lines there are then, −1 where there is no room.
    """
    first, second, p, q, p_stop, q_stop = tails[e, 0], tails[e, 1], NONE, NONE, 0, 0
    if first >= 0:
        p, p_stop = offsets[first], offsets[first + 1]
    if second >= 0:
        q, q_stop = offsets[second], offsets[second + 1]
    if n + p_stop + q_stop - p - q + 2 > own.shape[1]:
        return -1
    left = right = 0.0
    while min(left, right) < np.inf:
        a, b, left, right = scores[0, e], scores[1, e], np.inf, np.inf
        ways[n, 0], ways[n, 1], ways[n, 2] = e, p, q
        if p >= 0:
            a, b = a + lines[p, INTERCEPT], b + lines[p, SLOPE]
            left = lines[p + 1, START] if p + 1 < p_stop else np.inf
        if q >= 0:
            a, b = a + lines[q, INTERCEPT], b + lines[q, SLOPE]
            right = lines[q + 1, START] if q + 1 < q_stop else np.inf
        own[A, n], own[B, n] = a, b
        n += 1
        p += left <= right and left < np.inf
        q += right <= left and right < np.inf
    return n


@lean_kernel
def join_lines(n, total, own, ways, whole, other, other_ways):
    """Make one envelope of the first n lines and those up to `total`; return how many lines it has.

    Both are sorted; if lines are equal, the first stays.
    """
    i, j = 0, n
    for at in range(total):
        if j == total or (i < n and own[B, i] <= own[B, j]):
            whole[ORDER, at] = i
            i += 1
        else:
            whole[ORDER, at] = j
            j += 1
    n = stack_lines(own[A], own[B], whole[ORDER], total, other[FROM], whole[KEPT])
    for i in range(n):
        k = whole[KEPT, i]
        other[A, i], other[B, i] = own[A, k], own[B, k]
        other_ways[i, 0], other_ways[i, 1], other_ways[i, 2] = ways[k, 0], ways[k, 1], ways[k, 2]
    for i in range(n):
        own[A, i], own[B, i], own[FROM, i] = other[A, i], other[B, i], other[FROM, i]
        ways[i, 0], ways[i, 1], ways[i, 2] = other_ways[i, 0], other_ways[i, 1], other_ways[i, 2]
    for i in range(max(n - 1, 1)):
        above = i + 1 if n > 1 else i
        t = own[FROM, above] if n > 1 else 0.0
        before, after = own[A, i] + t * own[B, i], own[A, above] + t * own[B, above]
        size = abs(own[A, i]) + abs(own[A, above]) + abs(t * own[B, i]) + abs(t * own[B, above])
        own[PLACE, i], own[FLOOR, i] = t, min(before, after) - MARGIN * size
    return n


@lean_kernel
def envelope_of_forest(edge_offsets, tails, scores, lines, links, offsets, room):
    """Write the lines of all nodes; return how many there are, or −1 where there is no room for them.

    `scores` (2, E) are the edges' intercepts and slopes.
    """
    own, ways, whole, other, other_ways = room
    total = 0
    offsets[0] = 0
    for node in range(len(edge_offsets) - 1):
        e, stop, n = edge_offsets[node], edge_offsets[node + 1], 0
        while e < stop:
            more = lay_edge(e, tails, scores, lines, offsets, own, ways, n)
            if more < 0:
                return -1
            n = join_lines(n, more, own, ways, whole, other, other_ways)
            e = next_edge(e + 1, stop, tails, scores, lines, offsets, own, n)
        if total + n > len(lines):
            return -1
        for i in range(n):
            lines[total, START], lines[total, SLOPE], lines[total, INTERCEPT] = own[FROM, i], own[B, i], own[A, i]
            links[total, 0], links[total, 1], links[total, 2] = ways[i, 0], ways[i, 1], ways[i, 2]
            total += 1
        offsets[node + 1] = total
    return total


@inner_kernel
def write_string(line, links, rules, target_offsets, target_symbols, words, at, stack):
    """Write the words of a line's derivation from `at` on; return where they end, or −1 where there is no room."""
    stack[0, 0], stack[0, 1], size = line, target_offsets[rules[links[line, 0]]], 1
    while size > 0:
        here, i = stack[size - 1, 0], stack[size - 1, 1]
        if i == target_offsets[rules[links[here, 0]] + 1]:
            size -= 1
            continue
        stack[size - 1, 1] += 1
        symbol = target_symbols[i]
        if symbol >= 0:
            if at == len(words):
                return -1
            words[at] = symbol
            at += 1
        else:
            part = links[here, 1] if symbol == -1 else links[here, 2]
            stack[size, 0], stack[size, 1] = part, target_offsets[rules[links[part, 0]]]
            size += 1
    return at


@lean_kernel
def write_goal(first, stop, lines, links, sides, mark, goal, stack, used):
    """Append the lines `first:stop`, of the goal, and their words behind a mark; return whether there was room.

    `used` counts lines and words.
    """
    rules, target_offsets, target_symbols = sides
    tops, bounds, words = goal
    n, at = used[0], used[1]
    if n + stop - first > len(tops):
        return False
    for line in range(first, stop):
        if at == len(words):
            return False
        words[at] = mark
        at = write_string(line, links, rules, target_offsets, target_symbols, words, at + 1, stack)
        if at < 0:
            return False
        tops[n, 0], tops[n, 1] = lines[line, START], lines[line, SLOPE]
        bounds[n] = at
        n += 1
    used[0], used[1] = n, at
    return True
