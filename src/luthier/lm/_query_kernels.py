# mypy: ignore-errors
"""Kernels that look n-grams up, score a word after others, and join scored pieces; decoders call them.

A node is an n-gram. Its number is its place among the records: a word's number for a unigram, behind
them a slot of a hash table, whose key is the n-gram without its first word (again a node) and that word.
So a walk from the last word of an n-gram backwards is exact, and no number read from a record is ever
used as a place: whatever a file holds, a kernel stays within its arrays.

A state is a row of int32: four numbers, then for each of at most order − 1 words of the right context
(the last word first) the word, then as many bits of their back-offs, then as many nodes of the left state.
"""

import numpy as np

from luthier.core._hash_kernels import mixed
from luthier.core.jit import inner_kernel, lean_kernel

WORD_BITS = np.uint64(31)
KEY_MASK = np.uint64((1 << 62) - 1)
EXTENDS_LEFT = np.uint64(1 << 62)  # is the end of a longer n-gram
EXTENDS_RIGHT = np.uint64(1 << 63)  # is the beginning of one, or has a back-off other than 0

RIGHT_LENGTH, LEFT_LENGTH, FULL, CONTEXT, WORDS = 0, 1, 2, 3, 4
NO_NODE = -1
BEGIN = 1  # the number of <s>


@inner_kernel
def key_of(parent, word):
    """Return the key of the n-gram that puts `word` before the n-gram `parent`; never 0."""
    return (np.uint64(parent + 1) << WORD_BITS) | np.uint64(word)


@inner_kernel
def slot_of(key, n_slots):
    """Return where the search for a key begins."""
    return np.int64(((mixed(key) >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32))


@inner_kernel
def find_child(tables, parent, word):
    """Return the node of the n-gram that puts `word` before the n-gram `parent`, or NO_NODE."""
    key = key_of(parent, word)
    n_slots = len(tables.records) - tables.n_words
    slot = slot_of(key, n_slots)
    node = NO_NODE
    for _ in range(tables.probes):
        found = tables.records[tables.n_words + slot]["key"] & KEY_MASK
        if found == key:
            node = tables.n_words + slot
            break
        if found == np.uint64(0):
            break
        slot += 1
        if slot == n_slots:
            slot = 0
    return node


@inner_kernel
def float_of(bits):
    """Return the float32 whose bits a state holds."""
    return np.int32(bits).view(np.float32)


@inner_kernel
def bits_of(number):
    """Return the bits of a float32, as a state holds them."""
    return np.float32(number).view(np.int32)


@inner_kernel
def clear_state(states, row):
    """Make a state that of no words at all."""
    states[row, RIGHT_LENGTH] = 0
    states[row, LEFT_LENGTH] = 0
    states[row, FULL] = 0
    states[row, CONTEXT] = NO_NODE


@inner_kernel
def begin_sentence(tables, states, row):
    """Make a state that of a sentence's beginning: nothing can come before it."""
    clear_state(states, row)
    states[row, FULL] = 1
    width = (states.shape[1] - WORDS) // 3
    record = tables.records[BEGIN]
    if width > 0 and record["key"] & EXTENDS_RIGHT != np.uint64(0):
        states[row, RIGHT_LENGTH] = 1
        states[row, CONTEXT] = BEGIN
        states[row, WORDS] = BEGIN
        states[row, WORDS + width] = bits_of(record["backoff"])


@inner_kernel
def copy_state(source, from_row, target, to_row):
    """Copy a state into another array of the same width."""
    for i in range(source.shape[1]):
        target[to_row, i] = source[from_row, i]


@inner_kernel
def state_key(states, row):
    """Return a number that two states of one model share only if they are equal.

    A node tells all its words, so the longest n-gram on the left, the context and the mark are enough.
    """
    length = states[row, LEFT_LENGTH]
    width = (states.shape[1] - WORDS) // 3
    left = 0
    if length > 0:
        left = states[row, WORDS + 2 * width + length - 1] + 1
    right = states[row, CONTEXT] + 1
    return (np.uint64(left) << np.uint64(32)) | (np.uint64(right) << np.uint64(1)) | np.uint64(states[row, FULL])


@inner_kernel
def append_word(tables, states, row, word):
    """Put a word behind a state; return its log10 probability given the words the state knows."""
    width = (states.shape[1] - WORDS) // 3
    backoffs, left = WORDS + width, WORDS + 2 * width
    known = states[row, RIGHT_LENGTH]
    node = np.int64(word)
    record = tables.records[node]
    prob, backoff, key = record["prob"], record["backoff"], record["key"]
    used, length, context = 0, 0, np.int64(NO_NODE)
    if key & EXTENDS_RIGHT != np.uint64(0) and width > 0:
        length, context = 1, node
    while used < known and key & EXTENDS_LEFT != np.uint64(0):
        longer = find_child(tables, node, states[row, WORDS + used])
        if longer < 0:
            key = np.uint64(0)
            break
        states[row, backoffs + used] = bits_of(backoff)
        node = longer
        record = tables.records[node]
        prob, backoff, key = record["prob"], record["backoff"], record["key"]
        used += 1
        if key & EXTENDS_RIGHT != np.uint64(0) and used < width:
            length, context = used + 1, node
    total = np.float64(prob)
    for q in range(used, known):
        total += float_of(states[row, backoffs + q])
    if used < width:
        states[row, backoffs + used] = bits_of(backoff)
    for q in range(length - 1, 0, -1):
        states[row, WORDS + q] = states[row, WORDS + q - 1]
    if length > 0:
        states[row, WORDS] = word
    states[row, RIGHT_LENGTH] = length
    states[row, CONTEXT] = context
    if states[row, FULL] == 0:
        # all words so far are in the context: `known` is their number
        if known < width and key & EXTENDS_LEFT != np.uint64(0):
            states[row, left + known] = node
            states[row, LEFT_LENGTH] = known + 1
            states[row, FULL] = length != known + 1 or length == width
        else:
            states[row, FULL] = 1
    return total


@inner_kernel
def take_right(states, row, others, other):
    """Give a state the right context of another."""
    width = (states.shape[1] - WORDS) // 3
    length = others[other, RIGHT_LENGTH]
    states[row, RIGHT_LENGTH] = length
    states[row, CONTEXT] = others[other, CONTEXT]
    for q in range(length):
        states[row, WORDS + q] = others[other, WORDS + q]
        states[row, WORDS + width + q] = others[other, WORDS + width + q]


@inner_kernel
def push_right(states, row, others, other, kept):
    """Put another's words (all of them are its context) behind the last `kept` ones of a state."""
    width = (states.shape[1] - WORDS) // 3
    length = others[other, RIGHT_LENGTH]
    for q in range(kept - 1, -1, -1):
        states[row, WORDS + length + q] = states[row, WORDS + q]
        states[row, WORDS + width + length + q] = states[row, WORDS + width + q]
    for q in range(length):
        states[row, WORDS + q] = others[other, WORDS + q]
        states[row, WORDS + width + q] = others[other, WORDS + width + q]
    states[row, RIGHT_LENGTH] = length + kept


@inner_kernel
def join_state(tables, states, row, others, other):
    """Put a scored piece behind a state; return what the words of the piece gain by knowing the state's.

    Only the n-grams of the piece's left state are looked up again: new − old for each word, and where they
    end (full), the back-offs that the next word of the piece must now pay. The two states are not the same row.
    """
    fresh = others[other, LEFT_LENGTH]
    known = np.int64(states[row, RIGHT_LENGTH])
    piece_full = others[other, FULL] != 0
    if fresh == 0 and not piece_full:
        return 0.0
    if known == 0 and states[row, FULL] == 0:
        copy_state(others, other, states, row)
        return 0.0
    width = (states.shape[1] - WORDS) // 3
    backoffs, left = WORDS + width, WORDS + 2 * width
    gain, kept, context = 0.0, known, np.int64(NO_NODE)
    for e in range(fresh):
        if kept == 0:
            break
        node = np.int64(others[other, left + e])
        record = tables.records[node]
        old, prob, key = record["prob"], record["prob"], EXTENDS_LEFT
        used, still = 0, 0
        while used < kept and key & EXTENDS_LEFT != np.uint64(0):
            longer = find_child(tables, node, states[row, WORDS + used])
            if longer < 0:
                key = np.uint64(0)
                break
            node = longer
            record = tables.records[node]
            prob, key = record["prob"], record["key"]
            states[row, backoffs + used] = bits_of(record["backoff"])
            used += 1
            if key & EXTENDS_RIGHT != np.uint64(0) and e + 1 + used <= width:
                still, context = used, node
        gain += np.float64(prob) - np.float64(old)
        for q in range(used, kept):
            gain += float_of(states[row, backoffs + q])
        if states[row, FULL] == 0:
            if key & EXTENDS_LEFT != np.uint64(0):
                states[row, left + known + e] = node
                states[row, LEFT_LENGTH] = known + e + 1
                states[row, FULL] = still != known or known + e + 1 == width
            else:
                states[row, FULL] = 1
        kept = still
    if piece_full:
        for q in range(kept):
            gain += float_of(states[row, backoffs + q])
        states[row, FULL] = 1
    if piece_full or kept == 0:
        take_right(states, row, others, other)
    else:
        push_right(states, row, others, other, kept)
        states[row, CONTEXT] = context
    return gain


@lean_kernel
def score_sentences(tables, offsets, ids, states, probs):
    """Write the log10 probability of each word and of the end of each sentence (`states`: one row to work in)."""
    at = 0
    for s in range(len(offsets) - 1):
        begin_sentence(tables, states, 0)
        for i in range(offsets[s], offsets[s + 1]):
            probs[at] = append_word(tables, states, 0, ids[i])
            at += 1
        probs[at] = append_word(tables, states, 0, BEGIN + 1)
        at += 1
