# mypy: ignore-errors
"""Kernels that fill the table of n-grams which queries walk through."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.lm._query_kernels import EXTENDS_LEFT, EXTENDS_RIGHT, KEY_MASK, NO_NODE, key_of, slot_of

DONE, TWICE, NO_ROOM = 0, 1, 2


@inner_kernel
def slot_for(records, n_words, key):
    """Return (node, steps): where a key stands or belongs, and how many slots were looked at.

    The table has a free slot: whoever inserts leaves one in four.
    """
    n_slots = len(records) - n_words
    slot = slot_of(key, n_slots)
    steps = 1
    found = records[n_words + slot]["key"] & KEY_MASK
    while found != key and found != np.uint64(0):
        slot += 1
        if slot == n_slots:
            slot = 0
        steps += 1
        found = records[n_words + slot]["key"] & KEY_MASK
    return n_words + slot, steps


@inner_kernel
def node_of(records, n_words, words, first, last):
    """Return the node of the n-gram words[first] … words[last], or NO_NODE."""
    node = np.int64(words[last])
    for q in range(last - 1, first - 1, -1):
        node, _ = slot_for(records, n_words, key_of(node, words[q]))
        if records[node]["key"] == np.uint64(0):
            return np.int64(NO_NODE)
    return node


@inner_kernel
def occupy(records, node, key, prob, backoff):
    """Write a record."""
    record = records[node]
    record["key"] = key | (EXTENDS_RIGHT if backoff != 0.0 else np.uint64(0))
    record["prob"] = prob
    record["backoff"] = backoff


@kernel
def insert_missing(records, n_words, words, used, longest):
    """Insert what is missing of an n-gram's shorter n-grams, with the probability that backing off gives.

    A model may lack the beginning or the end of an n-gram it has. With both in the table a walk finds every
    n-gram, and scores stay what they were: the new n-grams have back-offs of 0. Returns (used, longest).
    """
    order = len(words)
    for length in range(2, order):
        for first in range(order - length + 1):
            last = first + length - 1
            suffix = node_of(records, n_words, words, first + 1, last)
            prefix = node_of(records, n_words, words, first, last - 1)
            key = key_of(suffix, words[first])
            node, steps = slot_for(records, n_words, key)
            if records[node]["key"] == np.uint64(0):
                occupy(records, node, key, records[prefix]["backoff"] + records[suffix]["prob"], np.float32(0.0))
                used += 1
                longest = max(longest, steps)
            records[suffix]["key"] |= EXTENDS_LEFT
            records[prefix]["key"] |= EXTENDS_RIGHT
    return used, longest


@kernel
def insert_ngrams(records, n_words, ids, probs, backoffs, used, limit):
    """Insert n-grams of one order, all shorter ones being there; mark what they extend.

    Returns
    -------
    (status, row, used, longest)
        TWICE: the n-gram of that row stands in the table already. NO_ROOM: more than `limit` slots are used.
    """
    order = ids.shape[1]
    longest = 0
    for r in range(len(ids)):
        if used + order * order > limit:
            return NO_ROOM, r, used, longest
        words = ids[r]
        suffix = node_of(records, n_words, words, 1, order - 1)
        prefix = node_of(records, n_words, words, 0, order - 2)
        if suffix < 0 or prefix < 0:
            used, longest = insert_missing(records, n_words, words, used, longest)
            suffix = node_of(records, n_words, words, 1, order - 1)
            prefix = node_of(records, n_words, words, 0, order - 2)
        key = key_of(suffix, words[0])
        node, steps = slot_for(records, n_words, key)
        if records[node]["key"] != np.uint64(0):
            return TWICE, r, used, longest
        occupy(records, node, key, probs[r], backoffs[r])
        used += 1
        longest = max(longest, steps)
        records[suffix]["key"] |= EXTENDS_LEFT
        records[prefix]["key"] |= EXTENDS_RIGHT
    return DONE, len(ids), used, longest


@kernel
def records_fault(records):
    """Return the first record whose numbers no model has, or −1."""
    for i in range(len(records)):
        prob, backoff = records[i]["prob"], records[i]["backoff"]
        if not (-np.inf < prob <= 0.0 and -np.inf < backoff < np.inf):
            return i
    return -1
