# mypy: ignore-errors
"""Kernels that count the n-grams hypotheses share with references.

The n-grams of a sentence's references form a trie: a node is an n-gram, its parent the n-gram without
the last word. First words are found by an array over the vocabulary, children by an open-addressing
table whose keys are exactly (parent, word), so nothing is left to chance. A hypothesis walks its words
once and keeps the longest n-gram that ends there; a node's link, the n-gram without its first word,
leads to the shorter ones, so that mostly one search serves all orders.
"""

from typing import NamedTuple

import numpy as np

from luthier.core._hash_kernels import FREE, find_slot, table_shift
from luthier.core.jit import inner_kernel, kernel

# Kernels over lengths: which length of several references counts for a hypothesis.


CLOSEST = 0
SHORTEST = 1
MEAN = 2


@kernel
def effective_lengths(hyp_offsets, offsets, ref_token_offsets, ref_offsets, how, out):
    """Write the reference length of every hypothesis: closest (a tie: the shorter), shortest or mean."""
    for s in range(len(offsets) - 1):
        first, last = ref_offsets[s], ref_offsets[s + 1]
        for row in range(offsets[s], offsets[s + 1]):
            length = hyp_offsets[row + 1] - hyp_offsets[row]
            best, total = ref_token_offsets[first + 1] - ref_token_offsets[first], 0
            for r in range(first, last):
                other = ref_token_offsets[r + 1] - ref_token_offsets[r]
                total += other
                gap, other_gap = abs(best - length), abs(other - length)
                if how == CLOSEST:
                    nearer = other_gap < gap or (other_gap == gap and other < best)
                else:
                    nearer = other < best
                if nearer:
                    best = other
            out[row] = total / (last - first) if how == MEAN else best


# A node's `used` is epoch · 2^24 + count: counts of an older epoch are 0 without being cleared.
COUNT_BITS = 24


class Workspace(NamedTuple):
    """Arrays of the trie: `words` (V,), −1 throughout and again in the end; `links` and `used` are 0."""

    words: np.ndarray
    keys: np.ndarray
    links: np.ndarray
    counts: np.ndarray
    used: np.ndarray


@inner_kernel
def count_up(node, base, used):
    """Return how often `node` was met in this epoch, this time included."""
    used[node] = max(used[node], base) + 1
    return used[node] - base


@inner_kernel
def add_reference(ids, start, stop, order, column, base, trie, previous, n_first):
    """Put the n-grams of one reference into the trie; return the number of first words.

    `counts[node, column]` becomes the largest count in any reference of that column. Nodes are slots of
    the table, first words come behind them.
    """
    words, keys, shift, links, counts, used = trie
    size = np.int64(1) << (np.int64(64) - np.int64(shift))
    for i in range(start, stop):
        word = ids[i]
        node = np.int64(words[word])
        if node < 0:
            node = size + n_first
            n_first += 1
            words[word] = node
            counts[node] = 0
        parent, previous[0] = previous[0], node
        counts[node, column] = max(counts[node, column], count_up(node, base, used))
        for n in range(1, min(order, i - start + 1)):
            key = parent * len(words) + word
            shorter, node = node, find_slot(key, keys, shift)
            if keys[node] == FREE:
                keys[node] = key
                links[node] = shorter
                counts[node] = 0
            parent, previous[n] = previous[n], node
            counts[node, column] = max(counts[node, column], count_up(node, base, used))
    return n_first


@inner_kernel
def match_row(ids, start, stop, order, width, base, trie, out, at, left):
    """Add to out[at + c, left + n] the clipped matches of order n + 1 with column c, of `width` columns."""
    words, keys, shift, links, counts, used = trie
    longest, depth = np.int64(0), 0
    for i in range(start, stop):
        word = ids[i]
        first = np.int64(words[word])
        if first < 0:
            depth = 0
            continue
        if depth == order:
            longest = links[longest]
            depth -= 1
        while depth > 0:
            slot = find_slot(longest * len(words) + word, keys, shift)
            if keys[slot] != FREE:
                longest = slot
                break
            longest = links[longest]
            depth -= 1
        if depth == 0:
            longest = first
        depth += 1
        node = longest
        for n in range(depth - 1, -1, -1):
            met = count_up(node, base, used)
            for c in range(width):
                out[at + c, left + n] += met <= counts[node, c]
            node = links[node]


@kernel
def match_all(hyps, refs, order, merged, left, room, out):
    """Count the clipped matches of every hypothesis with its sentence's references.

    Merged references clip by the largest count in any of them and fill one row of `out` for each
    hypothesis; otherwise each hypothesis has a row for each of its references, one behind another.
    """
    offsets, hyp_starts, hyp_ids = hyps
    ref_offsets, ref_starts, ref_ids = refs
    words, keys, links, counts, used = room
    previous = np.zeros(order, np.int64)
    epoch = 0
    at = 0
    for s in range(len(offsets) - 1):
        first, last = ref_offsets[s], ref_offsets[s + 1]
        left_token, right_token = ref_starts[first], ref_starts[last]
        shift = table_shift((right_token - left_token) * (order - 1))
        keys[: np.int64(1) << (np.int64(64) - np.int64(shift))] = FREE
        trie = (words, keys, shift, links, counts, used)
        n_first = 0
        for r in range(first, last):
            epoch += 1
            column = 0 if merged else r - first
            n_first = add_reference(
                ref_ids, ref_starts[r], ref_starts[r + 1], order, column,
                epoch << COUNT_BITS, trie, previous, n_first,
            )  # fmt: skip
        width = 1 if merged else last - first
        for row in range(offsets[s], offsets[s + 1]):
            epoch += 1
            match_row(
                hyp_ids, hyp_starts[row], hyp_starts[row + 1], order, width,
                epoch << COUNT_BITS, trie, out, at, left,
            )  # fmt: skip
            at += width
        for i in range(left_token, right_token):
            words[ref_ids[i]] = -1


@kernel
def write_totals(offsets, order, left, out):
    """Write to out[row, left + n] how many n-grams of order n + 1 a sequence has."""
    for row in range(len(offsets) - 1):
        length = offsets[row + 1] - offsets[row]
        for n in range(order):
            out[row, left + n] = max(length - n, 0)
