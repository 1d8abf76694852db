# mypy: ignore-errors
"""Kernel of confusion networks: texts are aligned to a row of slots one after another, and each slot votes."""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

NOTHING = -1  # the word of a text that has none in a slot


class Network(NamedTuple):
    """Slots in two buffers, each (S, W): `words` (2, S, W), `votes` (2, S, W), `counts` (2, S); `cost` and `step`.

    The network of one text after another is read from one buffer and written to the other. `cost` (n+1, S+1) and
    `step` (n+1, S+1) are of the alignment.
    """

    words: np.ndarray
    votes: np.ndarray
    counts: np.ndarray
    cost: np.ndarray
    step: np.ndarray


MATCH, INSERT, SKIP = 0, 1, 2


@inner_kernel
def has_word(words, counts, side, slot, word):
    """Return whether a word stands in a slot."""
    for k in range(counts[side, slot]):
        if words[side, slot, k] == word:
            return True
    return False


@inner_kernel
def vote(words, votes, counts, side, slot, word, weight):
    """Add a vote for a word in a slot."""
    k = 0
    while k < counts[side, slot] and words[side, slot, k] != word:
        k += 1
    if k == counts[side, slot]:
        counts[side, slot] += 1
        words[side, slot, k], votes[side, slot, k] = word, 0.0
    votes[side, slot, k] += weight


@kernel
def align_text(ids, start, n, side, n_slots, network):
    """Align a text to the slots with the fewest edits.

    A word is free in a slot that has it, and so is none; where costs are equal, a word takes a slot.
    """
    words, _, counts, cost, step = network
    cost[0, 0] = 0
    for i in range(n + 1):
        for j in range(n_slots + 1):
            if i == 0 and j == 0:
                continue
            best, way = 1 << 30, MATCH
            if i > 0 and j > 0:
                best = cost[i - 1, j - 1] + (not has_word(words, counts, side, j - 1, ids[start + i - 1]))
            if j > 0:
                value = cost[i, j - 1] + (not has_word(words, counts, side, j - 1, NOTHING))
                if value < best:
                    best, way = value, SKIP
            if i > 0 and cost[i - 1, j] + 1 < best:
                best, way = cost[i - 1, j] + 1, INSERT
            cost[i, j], step[i, j] = best, way


@kernel
def enter_text(ids, start, n, weight, before, side, n_slots, network):
    """Write the network with one more text into the other buffer; return its number of slots, −1 without space.

    `before` is how much the texts count that are in it: where the text opens a slot, they have no word there.
    """
    words, votes, counts, _, step = network
    other = 1 - side
    n_new, i, j = 0, n, n_slots
    while i > 0 or j > 0:  # count the slots first: the path is followed from its end
        i, j = i - (step[i, j] != SKIP), j - (step[i, j] != INSERT)
        n_new += 1
    if n_new > counts.shape[1]:
        return -1
    i, j, at = n, n_slots, n_new
    while i > 0 or j > 0:
        way = step[i, j]
        at -= 1
        counts[other, at] = 0
        if way == INSERT:
            if before > 0.0:
                vote(words, votes, counts, other, at, NOTHING, before)
        else:
            for k in range(counts[side, j - 1]):
                vote(words, votes, counts, other, at, words[side, j - 1, k], votes[side, j - 1, k])
        vote(words, votes, counts, other, at, NOTHING if way == SKIP else ids[start + i - 1], weight)
        i, j = i - (way != SKIP), j - (way != INSERT)
    return n_new


@kernel
def vote_list(starts, ids, weights, first, last, network, out):
    """Write the words that have most votes in their slots, ties to the one that came first; return how many.

    −1 if there are more slots than there is space for.
    """
    side, n_slots, before = 0, 0, 0.0
    for text in range(first, last):
        if weights[text] > 0.0:
            n = starts[text + 1] - starts[text]
            align_text(ids, starts[text], n, side, n_slots, network)
            n_slots = enter_text(ids, starts[text], n, weights[text], before, side, n_slots, network)
            if n_slots < 0:
                return -1
            side = 1 - side
            before += weights[text]
    used = 0
    for slot in range(n_slots):
        best = 0
        for k in range(1, network.counts[side, slot]):
            if network.votes[side, slot, k] > network.votes[side, slot, best]:
                best = k
        if network.words[side, slot, best] != NOTHING:
            out[used] = network.words[side, slot, best]
            used += 1
    return used
