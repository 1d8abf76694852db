# mypy: ignore-errors
"""Kernels that count the n-grams every pair of texts of a list shares.

An item is an n-gram with the number of its occurrence in the text: the second "a" of a text is another item than the
first. Clipped matches of two texts are then the items that both have. The items of a list are numbered by a trie. An
item that many texts have is a bit, so that matches are bits that two texts share; one that few texts have is a list of
those texts. With f of K texts, a bit takes K² / 64 steps and a list f², so an item is a bit where f ≥ K / 8.
"""

from typing import NamedTuple

import numpy as np

from luthier.core._bit_kernels import WORD_BITS, count_bits
from luthier.core._hash_kernels import FREE, find_slot
from luthier.core.jit import inner_kernel, kernel

# Pairs of texts that a word of bits compares in the time of one step through a list.
BIT_PAIRS = 64
RARE, UNSHARED = -1, -2


class Lists(NamedTuple):
    """The distinct texts of N sentences: which are candidates, which are evidence, and how much they count.

    Attributes
    ----------
    offsets : (N+1,) int64
        Texts ``offsets[s]:offsets[s+1]`` are of sentence s.
    cand_offsets, cand : (N+1,), (C,) int64
        The texts of each sentence to be scored, ascending.
    evid_offsets, evid : (N+1,), (E,) int64
        The texts of each sentence to score them with, ascending.
    same : (C,) int64
        Which evidence of its sentence a candidate itself is, counted from 0; −1 if none.
    symmetric : (N,) bool
        Whether candidates and evidence are the same texts.
    weights : (E, T) float64
        How much each text counts as evidence, in T ways.
    """

    offsets: np.ndarray
    cand_offsets: np.ndarray
    cand: np.ndarray
    evid_offsets: np.ndarray
    evid: np.ndarray
    same: np.ndarray
    symmetric: np.ndarray
    weights: np.ndarray


class Level(NamedTuple):
    """Tokens of all texts, `starts` (D+1,) and `ids`; the orders of n-grams ``left … left + order − 1``."""

    starts: np.ndarray
    ids: np.ndarray
    order: int
    left: int


class Trie(NamedTuple):
    """Workspace of the trie: `words` (V,), −1 throughout and left so; slots `keys`, `values`; the rest per item.

    `key_of`, `link` (the n-gram without its first token), `again` (the next occurrence of the n-gram, −1 if none),
    `order`, `seen` (the text that had the n-gram last), `current` (its last occurrence there); `base` and `occurrence`
    (the n-gram, and which occurrence of it the item is).
    """

    words: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    key_of: np.ndarray
    link: np.ndarray
    again: np.ndarray
    order: np.ndarray
    seen: np.ndarray
    current: np.ndarray
    base: np.ndarray
    occurrence: np.ndarray


class Shared(NamedTuple):
    """Workspace of one list's items.

    `starts` (texts + 1,), `items`: those of each text; per item `in_cand`, `in_evid` (how many texts have it), `place`
    (its bit, RARE or UNSHARED), `posts` (where its list begins, with one more behind the last), `next`; `listed`: texts
    with rare items; `cand_bits`, `evid_bits`; `word_starts` (orders + 1,); `matches` (evidence, orders).
    """

    starts: np.ndarray
    items: np.ndarray
    in_cand: np.ndarray
    in_evid: np.ndarray
    place: np.ndarray
    posts: np.ndarray
    next: np.ndarray
    listed: np.ndarray
    cand_bits: np.ndarray
    evid_bits: np.ndarray
    word_starts: np.ndarray
    matches: np.ndarray


@inner_kernel
def new_item(n_items, order_of, link, again, seen, base, occurrence, order, root, which):
    """Write an item that is linked to nothing yet; return how many there are."""
    order_of[n_items], link[n_items], again[n_items], seen[n_items] = order, -1, -1, -1
    base[n_items], occurrence[n_items] = n_items if root < 0 else root, which
    return n_items + 1


@kernel
def grown(trie, n_items, bits):
    """Put all n-grams with a key into a table of 2^bits slots; return its shift."""
    shift = np.uint64(64 - bits)
    for slot in range(np.int64(1) << bits):
        trie.keys[slot] = FREE
    for item in range(n_items):
        if trie.key_of[item] >= 0:
            slot = find_slot(trie.key_of[item], trie.keys, shift)
            trie.keys[slot], trie.values[slot] = trie.key_of[item], item
    return shift


@kernel
def number_text(level, text, stamp, trie, items, at, state):
    """Write the items of a text to ``items[at:]``; return where they end.

    `state` has the number of items, of keys, and the bits of the table.
    """
    words, keys, values, key_of, link, again, order_of, seen, current, base, occurrence = trie
    n_items, n_keys, bits = state[0], state[1], state[2]
    shift, n_words = np.uint64(64 - bits), len(words)
    longest, depth = np.int64(-1), 0
    for i in range(level.starts[text], level.starts[text + 1]):
        word = level.ids[i]
        if 2 * (n_keys + level.order) > (np.int64(1) << bits):
            bits += 1
            shift = grown(trie, n_items, bits)
        parent, length = longest, depth
        if depth == level.order:
            parent, length = link[longest], depth - 1
        depth = length + 1
        top, child = np.int64(-1), np.int64(-1)
        while True:
            if length == 0:
                node = np.int64(words[word])
                known = node >= 0
                if not known:
                    node, words[word], key_of[n_items] = n_items, n_items, -1
            else:
                key = parent * n_words + word
                slot = find_slot(key, keys, shift)
                known = keys[slot] != FREE
                if not known:
                    keys[slot], values[slot], key_of[n_items] = key, n_items, key
                    n_keys += 1
                node = np.int64(values[slot])
            if not known:
                n_items = new_item(
                    n_items, order_of, link, again, seen, base, occurrence, level.left + length, np.int64(-1), 1
                )
            if child >= 0:
                link[child] = node
            if top < 0:
                top = node
            if known or length == 0:
                break
            child, parent, length = node, np.int64(link[parent]), length - 1
        longest = node = top
        while node >= 0:
            if seen[node] != stamp:
                seen[node], current[node] = stamp, node
            else:
                before = current[node]
                if again[before] < 0:
                    again[before], key_of[n_items] = n_items, -1
                    n_items = new_item(
                        n_items, order_of, link, again, seen, base, occurrence,
                        order_of[node], node, occurrence[before] + 1,
                    )  # fmt: skip
                current[node] = again[before]
            items[at] = current[node]
            at += 1
            node = np.int64(link[node])
    state[0], state[1], state[2] = n_items, n_keys, bits
    return at


@inner_kernel
def count_items(level, text):
    """Return how many n-grams of a level a text has."""
    length, total = level.starts[text + 1] - level.starts[text], 0
    for n in range(level.order):
        total += max(length - n, 0)
    return total


@kernel
def number_list(chars, words, first, last, trie, shared, state):
    """Number the items of the texts ``first … last − 1``, those of characters first; return how many there are."""
    state[0], state[1], state[2] = 0, 0, 4
    grown(trie, 0, 4)
    at = 0
    for text in range(first, last):
        shared.starts[text - first] = at
        at += count_items(chars, text) + count_items(words, text)
    shared.starts[last - first] = at
    if chars.order:
        for text in range(first, last):
            number_text(chars, text, text - first, trie, shared.items, shared.starts[text - first], state)
        for i in range(chars.starts[first], chars.starts[last]):
            trie.words[chars.ids[i]] = -1
    if words.order:
        for text in range(first, last):
            begin = shared.starts[text - first] + count_items(chars, text)
            number_text(words, text, text - first, trie, shared.items, begin, state)
        for i in range(words.starts[first], words.starts[last]):
            trie.words[words.ids[i]] = -1
    return state[0]


@kernel
def place_items(n_items, cand, evid, first, symmetric, orders, order_of, shared):
    """Say for every item whether it is a bit, rare, or shared by no pair; return the words of bits of a text."""
    for item in range(n_items):
        shared.in_cand[item], shared.in_evid[item] = 0, 0
    for c in range(len(cand)):
        for p in range(shared.starts[cand[c] - first], shared.starts[cand[c] - first + 1]):
            shared.in_cand[shared.items[p]] += 1
    for e in range(len(evid)):
        for p in range(shared.starts[evid[e] - first], shared.starts[evid[e] - first + 1]):
            shared.in_evid[shared.items[p]] += 1
    counts = shared.word_starts
    for n in range(orders + 1):
        counts[n] = 0
    for item in range(n_items):
        pairs = np.int64(shared.in_cand[item]) * np.int64(shared.in_evid[item])
        shared.place[item] = UNSHARED
        if pairs > 1 or (pairs == 1 and not symmetric):
            if pairs * BIT_PAIRS >= len(cand) * len(evid):
                shared.place[item] = counts[order_of[item] + 1]
                counts[order_of[item] + 1] += 1
            else:
                shared.place[item] = RARE
    for n in range(orders):
        counts[n + 1] = counts[n] + (counts[n + 1] + WORD_BITS - 1) // WORD_BITS
    for item in range(n_items):
        if shared.place[item] >= 0:
            shared.place[item] += counts[order_of[item]] * WORD_BITS
    return counts[orders]


@kernel
def write_bits(texts, first, width, shared, bits):
    """Write the bits of the items that each of some texts has."""
    for at in range(len(texts) * width):
        bits[at] = np.uint64(0)
    for t in range(len(texts)):
        for p in range(shared.starts[texts[t] - first], shared.starts[texts[t] - first + 1]):
            place = shared.place[shared.items[p]]
            if place >= 0:
                bits[t * width + place // WORD_BITS] |= np.uint64(1) << np.uint64(place % WORD_BITS)


@kernel
def list_rare(n_items, evid, first, shared):
    """List for every rare item the evidence that has it, ascending."""
    at = 0
    for item in range(n_items):
        shared.posts[item] = at
        shared.next[item] = at
        if shared.place[item] == RARE:
            at += shared.in_evid[item]
    shared.posts[n_items] = at
    for e in range(len(evid)):
        for p in range(shared.starts[evid[e] - first], shared.starts[evid[e] - first + 1]):
            item = shared.items[p]
            if shared.place[item] == RARE:
                shared.listed[shared.next[item]] = e
                shared.next[item] += 1
    for item in range(n_items):
        shared.next[item] = shared.posts[item]


@kernel
def match_row(c, text, begin, n_evid, orders, width, symmetric, order_of, shared):
    """Write to `matches` what candidate c, a text of the list, shares with the evidence from `begin` on.

    Rows of a symmetric list come in their order, one after another, so that lists of rare items are passed once.
    """
    matches, word_starts, cand_bits, evid_bits = shared.matches, shared.word_starts, shared.cand_bits, shared.evid_bits
    for e in range(begin, n_evid):
        for n in range(orders):
            total = np.int64(0)
            for w in range(word_starts[n], word_starts[n + 1]):
                total += count_bits(cand_bits[c * width + w] & evid_bits[e * width + w])
            matches[e, n] = total
    for p in range(shared.starts[text], shared.starts[text + 1]):
        item = shared.items[p]
        if shared.place[item] == RARE:
            if symmetric:
                shared.next[item] += 1
            n = order_of[item]
            for k in range(shared.next[item], shared.posts[item + 1]):
                matches[shared.listed[k], n] += 1
