# mypy: ignore-errors
"""Kernels of chrF: words with punctuation split off, and the best reference of each hypothesis."""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

# Kernels that read texts as code points, with or without their white space.


DROP_SPACE = 0
KEEP_SPACE = 1
SINGLE_SPACE = 2


@inner_kernel
def is_space(c):
    """Return whether a code point is white space, as str.isspace says."""
    if c <= 32:
        return c == 32 or 9 <= c <= 13 or 28 <= c <= 31
    if c < 0x1680:
        return c == 0x85 or c == 0xA0
    if 0x2000 <= c <= 0x205F:
        return c <= 0x200A or c == 0x2028 or c == 0x2029 or c == 0x202F or c == 0x205F
    return c == 0x1680 or c == 0x3000


@inner_kernel
def decode_at(data, i):
    """Return (code point, width in bytes) of the character at `i` of valid UTF-8."""
    c = np.int32(data[i])
    if c < 0x80:
        return c, 1
    if c < 0xE0:
        return ((c & 0x1F) << 6) | (np.int32(data[i + 1]) & 0x3F), 2
    low = ((np.int32(data[i + 1]) & 0x3F) << 6) | (np.int32(data[i + 2]) & 0x3F)
    if c < 0xF0:
        return ((c & 0x0F) << 12) | low, 3
    return ((c & 0x07) << 18) | (low << 6) | (np.int32(data[i + 3]) & 0x3F), 4


@kernel
def code_points(data, offsets, mode, out_offsets, out):
    """Write the code points of every text; return how many there are.

    White space is left out, kept as it stands, or made one space between words, by `mode`.
    """
    n = 0
    for row in range(len(offsets) - 1):
        out_offsets[row] = n
        first, i, end = n, offsets[row], offsets[row + 1]
        pending = False
        while i < end:
            c, width = decode_at(data, i)
            i += width
            if mode != KEEP_SPACE and is_space(c):
                pending = mode == SINGLE_SPACE and n > first
                continue
            if pending:
                out[n] = 32
                n += 1
                pending = False
            out[n] = c
            n += 1
    out_offsets[len(offsets) - 1] = n
    return n


class Side(NamedTuple):
    """Where the texts of each sentence begin, and the characters and words of each text."""

    offsets: np.ndarray
    chars: np.ndarray
    words: np.ndarray


@kernel
def split_words(ids, offsets, firsts, seconds, out_offsets, out):
    """Replace each word k by `firsts[k]` and, where it is not negative, `seconds[k]`; return how many."""
    n = 0
    for row in range(len(offsets) - 1):
        out_offsets[row] = n
        for i in range(offsets[row], offsets[row + 1]):
            word = ids[i]
            out[n] = firsts[word]
            n += 1
            if seconds[word] >= 0:
                out[n] = seconds[word]
                n += 1
    out_offsets[len(offsets) - 1] = n
    return n


@inner_kernel
def f_score(stats, factor, by_order, epsilon):
    """Return chrF of one vector of (hypothesis, reference, matches) per order, on 0–1.

    The sums run in sacrebleu's order, so that references that tie there tie here, to the last bit.
    """
    orders = len(stats) // 3
    score, precision_sum, recall_sum, effective = 0.0, 0.0, 0.0, 0
    for n in range(orders):
        hyp, ref, matches = stats[3 * n], stats[3 * n + 1], stats[3 * n + 2]
        precision = matches / hyp if hyp > 0 else epsilon
        recall = matches / ref if ref > 0 else epsilon
        below = factor * precision + recall
        score += (1 + factor) * precision * recall / below if below > 0 else epsilon
        if hyp > 0 and ref > 0:
            precision_sum += precision
            recall_sum += recall
            effective += 1
    if by_order:
        return score / orders
    if precision_sum + recall_sum == 0:
        return 0.0
    precision, recall = precision_sum / effective, recall_sum / effective
    return (1 + factor) * precision * recall / (factor * precision + recall)


@kernel
def choose_references(hyps, refs, char_order, matches, factor, by_order, epsilon, out):
    """Write for every hypothesis its statistics with the first of its best references.

    `matches` has a row for each pair of hypothesis and reference of these sentences.
    """
    offsets, hyp_chars, hyp_words = hyps
    ref_offsets, ref_chars, ref_words = refs
    orders = matches.shape[1]
    stats = np.zeros(3 * orders, np.int64)
    at = 0
    for s in range(len(offsets) - 1):
        for row in range(offsets[s], offsets[s + 1]):
            best = -1.0
            for r in range(ref_offsets[s], ref_offsets[s + 1]):
                for n in range(orders):
                    if n < char_order:
                        hyp = hyp_chars[row + 1] - hyp_chars[row] - n
                        ref = ref_chars[r + 1] - ref_chars[r] - n
                    else:
                        hyp = hyp_words[row + 1] - hyp_words[row] - (n - char_order)
                        ref = ref_words[r + 1] - ref_words[r] - (n - char_order)
                    # An order that the reference does not have is not held against the hypothesis.
                    stats[3 * n] = max(hyp, 0) if ref > 0 else 0
                    stats[3 * n + 1] = max(ref, 0)
                    stats[3 * n + 2] = matches[at, n]
                at += 1
                score = f_score(stats, factor, by_order, epsilon)
                if score > best:
                    best = score
                    for i in range(3 * orders):
                        out[row, i] = stats[i]
