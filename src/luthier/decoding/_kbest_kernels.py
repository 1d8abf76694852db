# mypy: ignore-errors
"""Kernels of lazy K-best search in a forest ([huang2005], algorithm 3).

An *item* is a derivation of a node: an edge and, in each gap, an item. Those of a node that were found form a chain,
best first (BEST, AFTER); those that could come next wait in a pairing heap (CHILD, SIBLING). The next of an item
(e, i, j) are (e, i, after j) and, only where j is the best of its node, (e, after i, j): so each is made once.

Only items that leave a heap, and the best of each node, have hashes. `nodes` (V, 6) int32 has the columns BEST … DONE.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, lean_kernel

NONE = -1
NODE, EDGE, LEFT, RIGHT, AFTER, CHILD, SIBLING, N_EDGES, N_WORDS = range(9)
BEST, LAST, HEAP, PENDING, STARTED, DONE = range(6)  # PENDING: the item whose next ones have not been made
BEGIN, END = 2, 3  # columns of `edges`
# Strings are polynomials in two bases modulo the prime 2⁶¹ − 1, with a word's number + 1 as coefficients.
PRIME = np.uint64((1 << 61) - 1)
FIRST_BASE, SECOND_BASE = np.uint64(0x1B3A5D7C91E2F48D), np.uint64(0x0D94C2B6E7813A5F)
LOW31, LOW30 = np.uint64((1 << 31) - 1), np.uint64((1 << 30) - 1)


class Forest(NamedTuple):
    """A forest: `edges` (E, 4) int64, the nodes in both gaps, and where the target side is among `symbols`.

    The edges of node v are ``edge_offsets[v]:edge_offsets[v + 1]``; `scores` (E,) are theirs.
    """

    edge_offsets: np.ndarray
    edges: np.ndarray
    scores: np.ndarray
    symbols: np.ndarray


class Items(NamedTuple):
    """Items so far: `columns` (n, 9) int32 with NODE … N_WORDS, scores, (n,) float64, and hashes of their strings.

    The hashes are (n, 2) uint64, or (0, 2) where strings do not matter; `powers` are those of the two bases.
    """

    columns: np.ndarray
    totals: np.ndarray
    hashes: np.ndarray
    powers: np.ndarray


@inner_kernel
def product(a, b):
    """Return a·b modulo 2⁶¹ − 1, of two numbers below it, without a product of more than 64 bits."""
    a_high, a_low, b_high, b_low = a >> np.uint64(31), a & LOW31, b >> np.uint64(31), b & LOW31
    middle = a_low * b_high + a_high * b_low
    c = a_high * b_high * np.uint64(2) + (middle >> np.uint64(30)) + ((middle & LOW30) << np.uint64(31)) + a_low * b_low
    c = (c >> np.uint64(61)) + (c & PRIME)
    return c - PRIME if c >= PRIME else c


@inner_kernel
def total(a, b):
    """Return a + b modulo 2⁶¹ − 1."""
    c = a + b
    return c - PRIME if c >= PRIME else c


@lean_kernel
def fill_powers(powers):
    """Write the powers of both bases, (n, 2), from the 0th on."""
    powers[0, 0] = powers[0, 1] = np.uint64(1)
    for i in range(1, len(powers)):
        powers[i, 0] = product(powers[i - 1, 0], FIRST_BASE)
        powers[i, 1] = product(powers[i - 1, 1], SECOND_BASE)


@inner_kernel
def hash_string(edges, symbols, items, hashes, powers, n):
    """Write the hashes of an item's string, joined from those of its parts."""
    first, second = np.uint64(0), np.uint64(0)
    for i in range(edges[items[n, EDGE], BEGIN], edges[items[n, EDGE], END]):
        symbol = symbols[i]
        length, next_first, next_second = 1, np.uint64(symbol + 1), np.uint64(symbol + 1)
        if symbol < 0:
            part = items[n, LEFT] if symbol == -1 else items[n, RIGHT]
            length, next_first, next_second = items[part, N_WORDS], hashes[part, 0], hashes[part, 1]
        first = total(product(first, powers[length, 0]), next_first)
        second = total(product(second, powers[length, 1]), next_second)
    hashes[n, 0], hashes[n, 1] = first, second


@lean_kernel
def make_item(forest, found, n, node, edge, left, right):
    """Write item n."""
    edges, scores, items, totals = forest.edges, forest.scores, found.columns, found.totals
    items[n, NODE], items[n, EDGE], items[n, LEFT], items[n, RIGHT] = node, edge, left, right
    items[n, AFTER] = items[n, CHILD] = items[n, SIBLING] = NONE
    score, n_edges, n_words = scores[edge], 1, edges[edge, END] - edges[edge, BEGIN]
    if left >= 0:
        score += totals[left]
        n_edges += items[left, N_EDGES]
        n_words += items[left, N_WORDS] - 1
    if right >= 0:
        score += totals[right]
        n_edges += items[right, N_EDGES]
        n_words += items[right, N_WORDS] - 1
    totals[n], items[n, N_EDGES], items[n, N_WORDS] = score, n_edges, n_words


@inner_kernel
def joined(items, totals, a, b):
    """Return the heap of two; if scores are equal, the earlier item is on top."""
    if a < 0:
        return b
    if b < 0:
        return a
    if totals[b] > totals[a] or (totals[b] == totals[a] and b < a):
        a, b = b, a
    items[b, SIBLING] = items[a, CHILD]
    items[a, CHILD] = b
    return a


@lean_kernel
def without_top(items, totals, top):
    """Return the heap below its top: children are joined two by two, then all from the last to the first."""
    pairs, rest = np.int64(NONE), np.int64(items[top, CHILD])
    while rest >= 0:
        a, b = rest, np.int64(items[rest, SIBLING])
        rest = np.int64(NONE)
        items[a, SIBLING] = NONE
        if b >= 0:
            rest = np.int64(items[b, SIBLING])
            items[b, SIBLING] = NONE
            a = np.int64(joined(items, totals, a, b))
        items[a, SIBLING] = pairs
        pairs = a
    heap = np.int64(NONE)
    while pairs >= 0:
        rest = np.int64(items[pairs, SIBLING])
        items[pairs, SIBLING] = NONE
        heap = np.int64(joined(items, totals, heap, pairs))
        pairs = rest
    return heap


@inner_kernel
def best_in(nodes, node):
    """Return the best item of a node; none for none."""
    return nodes[node, BEST] if node >= 0 else NONE


@lean_kernel
def find_best(forest, used, found, nodes):
    """Make the best item of each used node, by the earliest of the best edges; return how many items there are."""
    edge_offsets, edges, scores, symbols = forest
    items, totals, hashes, powers = found
    n = 0
    for node in range(len(used)):
        if not used[node]:
            continue
        best, top = NONE, -np.inf
        for e in range(edge_offsets[node], edge_offsets[node + 1]):
            score = scores[e]
            if edges[e, 0] >= 0:
                score += totals[nodes[edges[e, 0], BEST]]
            if edges[e, 1] >= 0:
                score += totals[nodes[edges[e, 1], BEST]]
            if best < 0 or score > top:
                best, top = e, score
        left, right = best_in(nodes, edges[best, 0]), best_in(nodes, edges[best, 1])
        make_item(forest, found, n, node, best, left, right)
        if len(hashes) > 0:
            hash_string(edges, symbols, items, hashes, powers, n)
        nodes[node, BEST] = nodes[node, LAST] = nodes[node, PENDING] = n
        n += 1
    return n


@lean_kernel
def longest_string(edge_offsets, edges, used, lengths, limit):
    """Write the length of each used node's longest string, at most `limit`; return the goal's."""
    for node in range(len(used)):
        if used[node]:
            longest = 0
            for e in range(edge_offsets[node], edge_offsets[node + 1]):
                length = edges[e, END] - edges[e, BEGIN]
                for gap in range(2):
                    if edges[e, gap] >= 0:
                        length += lengths[edges[e, gap]] - 1
                longest = max(longest, length)
            lengths[node] = min(longest, limit)
    return lengths[len(used) - 1]


@lean_kernel
def insert_string(items, hashes, item, table):
    """Put an item into the table of strings; return whether its node had the string already."""
    mask = len(table) - 1
    node, h = np.int64(items[item, NODE]), np.int64(hashes[item, 0])
    slot = (h ^ (h >> 29) ^ (node * 0x9E3779B1)) & mask
    while table[slot] >= 0:
        other = table[slot]
        if (
            hashes[other, 0] == hashes[item, 0]
            and hashes[other, 1] == hashes[item, 1]
            and items[other, NODE] == node
            and items[other, N_WORDS] == items[item, N_WORDS]
        ):
            return True
        slot = (slot + 1) & mask
    table[slot] = item
    return False


@lean_kernel
def fill_table(items, hashes, nodes, table):
    """Put the items that were found, of all nodes, into an empty table."""
    for node in range(len(nodes)):
        item = nodes[node, BEST]
        while item >= 0:
            insert_string(items, hashes, item, table)
            item = items[item, AFTER]


@lean_kernel
def start_node(forest, found, nodes, n, node):
    """Make the best item by each edge but the one found, and a heap of them; return how many items there are."""
    edge_offsets, edges, items, totals = forest.edge_offsets, forest.edges, found.columns, found.totals
    heap = np.int64(NONE)
    for e in range(edge_offsets[node], edge_offsets[node + 1]):
        if e != items[nodes[node, BEST], EDGE]:
            left, right = best_in(nodes, edges[e, 0]), best_in(nodes, edges[e, 1])
            make_item(forest, found, n, node, e, left, right)
            heap = np.int64(joined(items, totals, heap, np.int64(n)))
            n += 1
    nodes[node, HEAP], nodes[node, STARTED] = heap, 1
    return n


@lean_kernel
def search(forest, found, nodes, table, stack, state, k):
    """Extend the goal's chain to k items, or to all there are; return whether there was room for it.

    `state` has the number of items, of nodes on the stack, which wait for one more item, and of items in the chain.
    Where there is no room, another call with more of it goes on.
    """
    edge_offsets, edges, _, symbols = forest
    items, totals, hashes, powers = found
    goal, room = len(nodes) - 1, len(items)
    n, size, length = state[0], state[1], state[2]
    while length < k and not (size == 0 and nodes[goal, DONE]):
        if size == 0:
            stack[0], size = goal, 1
        node = stack[size - 1]
        if n + 2 + edge_offsets[node + 1] - edge_offsets[node] > room:
            state[0], state[1], state[2] = n, size, length
            return False
        if not nodes[node, STARTED]:
            n = start_node(forest, found, nodes, n, node)
        item = nodes[node, PENDING]
        if item >= 0:
            edge, left, right = items[item, EDGE], items[item, LEFT], items[item, RIGHT]
            upper = left >= 0 and (right < 0 or right == nodes[items[right, NODE], BEST])
            if upper and items[left, AFTER] < 0 and not nodes[items[left, NODE], DONE]:
                stack[size] = items[left, NODE]
                size += 1
                continue
            if right >= 0 and items[right, AFTER] < 0 and not nodes[items[right, NODE], DONE]:
                stack[size] = items[right, NODE]
                size += 1
                continue
            heap = np.int64(nodes[node, HEAP])
            if upper and items[left, AFTER] >= 0:
                next_left = items[left, AFTER]
                make_item(forest, found, n, node, edge, next_left, right)
                heap = np.int64(joined(items, totals, heap, np.int64(n)))
                n += 1
            if right >= 0 and items[right, AFTER] >= 0:
                next_right = items[right, AFTER]
                make_item(forest, found, n, node, edge, left, next_right)
                heap = np.int64(joined(items, totals, heap, np.int64(n)))
                n += 1
            nodes[node, HEAP], nodes[node, PENDING] = heap, NONE
        top = np.int64(nodes[node, HEAP])
        if top < 0:
            nodes[node, DONE] = 1
            size -= 1
            continue
        nodes[node, HEAP], nodes[node, PENDING] = without_top(items, totals, top), top
        if len(table) > 0:
            hash_string(edges, symbols, items, hashes, powers, top)
            if insert_string(items, hashes, top, table):
                continue
        items[nodes[node, LAST], AFTER] = top
        nodes[node, LAST] = top
        length += node == goal
        size -= 1
    state[0], state[1], state[2] = n, size, length
    return True


@lean_kernel
def write_derivations(items, first, offsets, edges, parents, stack):
    """Write the edges of the chain from `first` on, the upper before the lower, and where the one above stands."""
    item, row = first, 0
    while row < len(offsets) - 1:
        stack[0, 0], stack[0, 1], size, at = item, NONE, 1, 0
        while size > 0:
            size -= 1
            here, parent = stack[size, 0], stack[size, 1]
            edges[offsets[row] + at], parents[offsets[row] + at] = items[here, EDGE], parent
            for part in (items[here, RIGHT], items[here, LEFT]):
                if part >= 0:
                    stack[size, 0], stack[size, 1] = part, at
                    size += 1
            at += 1
        item = items[item, AFTER]
        row += 1


@lean_kernel
def write_words(edges, symbols, items, first, offsets, words, stack):
    """Write the target words of the chain from `first` on."""
    item, row = first, 0
    while row < len(offsets) - 1:
        stack[0, 0], stack[0, 1], size, at = item, edges[items[item, EDGE], BEGIN], 1, offsets[row]
        while size > 0:
            here, i = stack[size - 1, 0], stack[size - 1, 1]
            if i == edges[items[here, EDGE], END]:
                size -= 1
                continue
            stack[size - 1, 1] += 1
            symbol = symbols[i]
            if symbol >= 0:
                words[at] = symbol
                at += 1
            else:
                part = items[here, LEFT] if symbol == -1 else items[here, RIGHT]
                stack[size, 0], stack[size, 1] = part, edges[items[part, EDGE], BEGIN]
                size += 1
        item = items[item, AFTER]
        row += 1


@lean_kernel
def follow(items, first, chain):
    """Write the chain of items that begins with `first`."""
    item = first
    for i in range(len(chain)):
        chain[i] = item
        item = items[item, AFTER]
