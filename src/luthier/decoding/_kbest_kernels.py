# mypy: ignore-errors
"""Kernels of lazy K-best search in a forest ([huang2005], algorithm 3).

An *item* is a derivation of a node: an edge and, in each gap, an item. Those of a node that were found form a chain,
best first (`best`, `after`); those that could come next wait in a pairing heap (`child`, `sibling`). The next of an
item (e, i, j) are (e, i, after j) and, only where j is the best of its node, (e, after i, j): so each is made once.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

NONE = -1
FULL, DONE = 0, 1  # what `search` returns: there is no room for more items, or it is done
# Strings are polynomials in two bases modulo the prime 2⁶¹ − 1, with a word's number + 1 as coefficients.
PRIME = np.uint64((1 << 61) - 1)
BASES = (np.uint64(0x1B3A5D7C91E2F48D), np.uint64(0x0D94C2B6E7813A5F))
LOW31, LOW30 = np.uint64((1 << 31) - 1), np.uint64((1 << 30) - 1)


class Forest(NamedTuple):
    """What is searched."""

    edge_offsets: np.ndarray
    tails: np.ndarray
    rules: np.ndarray
    scores: np.ndarray  # (E,)
    target_offsets: np.ndarray
    target_symbols: np.ndarray


class Items(NamedTuple):
    """Derivations of nodes, in the order of their creation."""

    node: np.ndarray
    edge: np.ndarray
    left: np.ndarray
    right: np.ndarray
    score: np.ndarray
    after: np.ndarray
    child: np.ndarray
    sibling: np.ndarray
    n_edges: np.ndarray
    n_words: np.ndarray
    hashes: np.ndarray  # (n, 2); (1, 2) where strings do not matter


class Nodes(NamedTuple):
    """How far each node has come."""

    best: np.ndarray
    last: np.ndarray
    heap: np.ndarray
    pending: np.ndarray  # the item whose next ones have not been made
    started: np.ndarray
    done: np.ndarray


@inner_kernel
def product(a, b):
    """Return a·b modulo 2⁶¹ − 1, of two numbers below it, without a product of more than 64 bits."""
    a_high, a_low, b_high, b_low = a >> np.uint64(31), a & LOW31, b >> np.uint64(31), b & LOW31
    middle = a_low * b_high + a_high * b_low
    total = (
        a_high * b_high * np.uint64(2) + (middle >> np.uint64(30)) + ((middle & LOW30) << np.uint64(31)) + a_low * b_low
    )
    total = (total >> np.uint64(61)) + (total & PRIME)
    return total - PRIME if total >= PRIME else total


@inner_kernel
def total(a, b):
    """Return a + b modulo 2⁶¹ − 1."""
    c = a + b
    return c - PRIME if c >= PRIME else c


@kernel
def fill_powers(powers):
    """Write the powers of both bases, (n, 2), from the 0th on."""
    for k in range(2):
        powers[0, k] = np.uint64(1)
        for i in range(1, len(powers)):
            powers[i, k] = product(powers[i - 1, k], BASES[k])


@kernel
def hash_string(forest, items, item, powers):
    """Write the hashes of an item's string, joined from those of its parts."""
    rule = forest.rules[items.edge[item]]
    first, second = np.uint64(0), np.uint64(0)
    for i in range(forest.target_offsets[rule], forest.target_offsets[rule + 1]):
        symbol = forest.target_symbols[i]
        if symbol >= 0:
            word = np.uint64(symbol + 1)
            first = total(product(first, powers[1, 0]), word)
            second = total(product(second, powers[1, 1]), word)
        else:
            part = items.left[item] if symbol == -1 else items.right[item]
            length = items.n_words[part]
            first = total(product(first, powers[length, 0]), items.hashes[part, 0])
            second = total(product(second, powers[length, 1]), items.hashes[part, 1])
    items.hashes[item, 0], items.hashes[item, 1] = first, second


@kernel
def make_item(forest, items, n, node, edge, left, right):
    """Write item n."""
    items.node[n], items.edge[n], items.left[n], items.right[n] = node, edge, left, right
    items.after[n], items.child[n], items.sibling[n] = NONE, NONE, NONE
    rule = forest.rules[edge]
    score, n_edges = forest.scores[edge], 1
    n_words = forest.target_offsets[rule + 1] - forest.target_offsets[rule]
    if left >= 0:
        score += items.score[left]
        n_edges += items.n_edges[left]
        n_words += items.n_words[left] - 1
    if right >= 0:
        score += items.score[right]
        n_edges += items.n_edges[right]
        n_words += items.n_words[right] - 1
    items.score[n], items.n_edges[n], items.n_words[n] = score, n_edges, n_words


@inner_kernel
def joined(items, a, b):
    """Return the heap of two; of equal scores the earlier item is on top."""
    if a < 0:
        return b
    if b < 0:
        return a
    if items.score[b] > items.score[a] or (items.score[b] == items.score[a] and b < a):
        a, b = b, a
    items.sibling[b] = items.child[a]
    items.child[a] = b
    return a


@kernel
def without_top(items, top):
    """Return the heap below its top: children are joined two by two, then all from the last to the first."""
    pairs, rest = np.int64(NONE), np.int64(items.child[top])
    while rest >= 0:
        a, b = rest, np.int64(items.sibling[rest])
        rest = np.int64(NONE)
        items.sibling[a] = NONE
        if b >= 0:
            rest = np.int64(items.sibling[b])
            items.sibling[b] = NONE
            a = np.int64(joined(items, a, b))
        items.sibling[a] = pairs
        pairs = a
    heap = np.int64(NONE)
    while pairs >= 0:
        rest = np.int64(items.sibling[pairs])
        items.sibling[pairs] = NONE
        heap = np.int64(joined(items, heap, pairs))
        pairs = rest
    return heap


@kernel
def find_best(forest, used, items, nodes):
    """Make the best item of each used node, of equal ones the earliest edge; return how many items there are."""
    n = 0
    for node in range(len(used)):
        if not used[node]:
            continue
        best, top = NONE, -np.inf
        for e in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
            score = forest.scores[e]
            for gap in range(2):
                if forest.tails[e, gap] >= 0:
                    score += items.score[nodes.best[forest.tails[e, gap]]]
            if best < 0 or score > top:
                best, top = e, score
        left, right = forest.tails[best, 0], forest.tails[best, 1]
        make_item(
            forest, items, n, node, best,
            nodes.best[left] if left >= 0 else NONE, nodes.best[right] if right >= 0 else NONE,
        )  # fmt: skip
        nodes.best[node] = nodes.last[node] = nodes.pending[node] = n
        n += 1
    return n


@kernel
def longest_string(forest, used, lengths, limit):
    """Write the length of each used node's longest string, at most `limit`; return the goal's."""
    for node in range(len(used)):
        if used[node]:
            longest = 0
            for e in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
                rule = forest.rules[e]
                length = forest.target_offsets[rule + 1] - forest.target_offsets[rule]
                for gap in range(2):
                    if forest.tails[e, gap] >= 0:
                        length += lengths[forest.tails[e, gap]] - 1
                longest = max(longest, length)
            lengths[node] = min(longest, limit)
    return lengths[len(used) - 1]


@kernel
def insert_string(items, item, table):
    """Put an item into the table of strings; return whether its node had the string already."""
    mask = len(table) - 1
    node, h = items.node[item], np.int64(items.hashes[item, 0])
    slot = (h ^ (h >> 29) ^ (node * 0x9E3779B1)) & mask
    while table[slot] >= 0:
        other = table[slot]
        if (
            items.node[other] == node
            and items.n_words[other] == items.n_words[item]
            and items.hashes[other, 0] == items.hashes[item, 0]
            and items.hashes[other, 1] == items.hashes[item, 1]
        ):
            return True
        slot = (slot + 1) & mask
    table[slot] = item
    return False


@kernel
def hash_best(forest, items, n, powers, table):
    """Hash the strings of the first n items, and put them into the table."""
    for item in range(n):
        hash_string(forest, items, item, powers)
        insert_string(items, item, table)


@kernel
def fill_table(items, nodes, table):
    """Put the items that were found, of all nodes, into an empty table."""
    for node in range(len(nodes.best)):
        item = nodes.best[node]
        while item >= 0:
            insert_string(items, item, table)
            item = items.after[item]


@kernel
def offer(forest, items, nodes, n, node, edge, left, right, powers, unique):
    """Make item n and put it into the heap of its node."""
    make_item(forest, items, n, node, edge, left, right)
    if unique:
        hash_string(forest, items, n, powers)
    nodes.heap[node] = joined(items, np.int64(nodes.heap[node]), np.int64(n))


@kernel
def start_node(forest, items, nodes, n, node, powers, unique):
    """Offer the best derivation by each edge but the one found; return how many items there are."""
    for e in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
        if e != items.edge[nodes.best[node]]:
            left, right = forest.tails[e, 0], forest.tails[e, 1]
            offer(
                forest, items, nodes, n, node, e, nodes.best[left] if left >= 0 else NONE,
                nodes.best[right] if right >= 0 else NONE, powers, unique,
            )  # fmt: skip
            n += 1
    nodes.started[node] = True
    return n


@kernel
def search(forest, items, nodes, n, k, powers, table, stack, state):
    """Extend the goal's chain to k items, or to all there are.

    `state` has the size of the stack of nodes that wait for one more item, and the number of items in the chain; it
    is 0, 1 at first. Where there is no room, FULL is returned, and another call with more of it goes on.
    Returns that, and how many items there are.
    """
    unique, goal, room = len(table) > 0, len(nodes.best) - 1, len(items.node)
    size, found = state[0], state[1]
    while found < k and not (size == 0 and nodes.done[goal]):
        if size == 0:
            stack[0], size = goal, 1
        node = stack[size - 1]
        if n + 2 + forest.edge_offsets[node + 1] - forest.edge_offsets[node] > room:
            state[0], state[1] = size, found
            return FULL, n
        if not nodes.started[node]:
            n = start_node(forest, items, nodes, n, node, powers, unique)
        item = nodes.pending[node]
        if item >= 0:
            edge, left, right = items.edge[item], items.left[item], items.right[item]
            upper = left >= 0 and (right < 0 or right == nodes.best[items.node[right]])
            waits = NONE
            if upper and items.after[left] < 0 and not nodes.done[items.node[left]]:
                waits = items.node[left]
            elif right >= 0 and items.after[right] < 0 and not nodes.done[items.node[right]]:
                waits = items.node[right]
            if waits >= 0:
                stack[size] = waits
                size += 1
                continue
            if upper and items.after[left] >= 0:
                offer(forest, items, nodes, n, node, edge, items.after[left], right, powers, unique)
                n += 1
            if right >= 0 and items.after[right] >= 0:
                offer(forest, items, nodes, n, node, edge, left, items.after[right], powers, unique)
                n += 1
            nodes.pending[node] = NONE
        top = nodes.heap[node]
        if top < 0:
            nodes.done[node] = True
            size -= 1
            continue
        nodes.heap[node] = without_top(items, top)
        nodes.pending[node] = top
        if unique and insert_string(items, top, table):
            continue
        items.after[nodes.last[node]] = top
        nodes.last[node] = top
        found += node == goal
        size -= 1
    state[0], state[1] = size, found
    return DONE, n


@kernel
def write_derivations(items, first, offsets, edges, parents, stack):
    """Write the edges of the chain from `first` on, the upper before the lower, and where the one above stands."""
    item, row = first, 0
    while row < len(offsets) - 1:
        stack[0, 0], stack[0, 1], size, at = item, NONE, 1, 0
        while size > 0:
            size -= 1
            here, parent = stack[size, 0], stack[size, 1]
            edges[offsets[row] + at], parents[offsets[row] + at] = items.edge[here], parent
            for part in (items.right[here], items.left[here]):
                if part >= 0:
                    stack[size, 0], stack[size, 1] = part, at
                    size += 1
            at += 1
        item = items.after[item]
        row += 1


@kernel
def write_words(forest, items, first, offsets, words, stack):
    """Write the target words of the chain from `first` on."""
    item, row = first, 0
    while row < len(offsets) - 1:
        rule = forest.rules[items.edge[item]]
        stack[0, 0], stack[0, 1], size, at = item, forest.target_offsets[rule], 1, offsets[row]
        while size > 0:
            here, i = stack[size - 1, 0], stack[size - 1, 1]
            if i == forest.target_offsets[forest.rules[items.edge[here]] + 1]:
                size -= 1
                continue
            stack[size - 1, 1] += 1
            symbol = forest.target_symbols[i]
            if symbol >= 0:
                words[at] = symbol
                at += 1
            else:
                part = items.left[here] if symbol == -1 else items.right[here]
                stack[size, 0] = part
                stack[size, 1] = forest.target_offsets[forest.rules[items.edge[part]]]
                size += 1
        item = items.after[item]
        row += 1


@kernel
def follow(after, first, chain):
    """Write the chain of items that begins with `first`."""
    for i in range(len(chain)):
        chain[i] = first
        first = after[first]
