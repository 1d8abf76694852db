# mypy: ignore-errors
"""Kernels that score pairs of texts where their shared n-grams are counted: chrF, BLEU, and bags of words.

A score is a gain: more is better. Sums run over the evidence in its order, in every kernel, so that a text has the same
sum to the last bit whether all texts are scored or a few.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.features.consensus._gram_kernels import list_rare, match_row, number_list, place_items, write_bits

CHRF, CHRF_BY_ORDER, BLEU, BAG = 0, 1, 2, 3
EXP_SMOOTHING, OTHER_SMOOTHING = 0, 1
LOG_HALF = -math.log(2.0)


class Scorer(NamedTuple):
    """What a score is computed of.

    Attributes
    ----------
    kind, smoothing : int
    factor, epsilon : float
        chrF's β², and what stands for an order without n-grams.
    totals : (D, orders) int64
        The n-grams of each text.
    inverse : (D, orders) float64
        1 / totals, 0 where there are none.
    logs : (2, L) float64
        BLEU's logarithms of matches, of order 1 and of higher orders.
    parts : (D, 2) float64
        BLEU's sum of the logarithms of a hypothesis' totals, and the number of its orders.
    """

    kind: int
    smoothing: int
    factor: float
    epsilon: float
    totals: np.ndarray
    inverse: np.ndarray
    logs: np.ndarray
    parts: np.ndarray


@inner_kernel
def f_mean(precision, recall, factor):
    """Return (1 + β²) P R / (β² P + R), 0 where both are 0."""
    below = factor * precision + recall
    return (1.0 + factor) * precision * recall / below if below > 0.0 else 0.0


@inner_kernel
def f_mean_of_order(hyp, ref, m, factor, epsilon):
    """Return the F-score of one order, as chrF++.py smooths it."""
    precision = m / hyp if hyp > 0 and ref > 0 else epsilon
    recall = m / ref if ref > 0 else epsilon
    below = factor * precision + recall
    return (1.0 + factor) * precision * recall / below if below > 0.0 else epsilon


@inner_kernel
def bleu_score(matches, e, h, r, orders, smoothing, totals, logs, parts):
    """Return BLEU of text h with text r as its reference, on 0–100."""
    length = totals[h, 0]
    if length == 0:
        return 0.0
    found, missed, total = 0, 0, -parts[h, 0]
    for n in range(orders):
        m = matches[e, n]
        found += m
        if n < parts[h, 1]:
            if smoothing == EXP_SMOOTHING and m == 0:
                missed += 1
                total += missed * LOG_HALF
            else:
                total += logs[min(n, 1), m]
    if found == 0:
        return 0.0
    return 100.0 * math.exp(min(0.0, 1.0 - totals[r, 0] / length) + total / parts[h, 1])


@inner_kernel
def error_gain(edits, length):
    """Return −100 · edits / length; without a length −100 where there are edits."""
    if length > 0:
        return -100.0 * edits / length
    return -100.0 if edits > 0 else 0.0


@inner_kernel
def chrf_scores(matches, e, h, r, orders, by_order, factor, epsilon, totals, inverse):
    """Return chrF of h with r as its reference, and of r with h as its reference."""
    forth, back, effective = 0.0, 0.0, 0
    if by_order:
        for n in range(orders):
            m = matches[e, n]
            forth += f_mean_of_order(totals[h, n], totals[r, n], m, factor, epsilon)
            back += f_mean_of_order(totals[r, n], totals[h, n], m, factor, epsilon)
        return 100.0 * forth / orders, 100.0 * back / orders
    precision, recall = 0.0, 0.0
    for n in range(orders):
        precision += matches[e, n] * inverse[h, n]
        recall += matches[e, n] * inverse[r, n]
        effective += totals[h, n] > 0 and totals[r, n] > 0
    if effective == 0:
        return 0.0, 0.0
    scale = 100.0 / effective
    return scale * f_mean(precision, recall, factor), scale * f_mean(recall, precision, factor)


@inner_kernel
def both_scores(matches, e, h, r, orders, scorer):
    """Return the score of text h with r as its reference, and of r with h as its reference."""
    kind, smoothing, factor, epsilon, totals, inverse, logs, parts = scorer
    if kind == BLEU:
        return (
            bleu_score(matches, e, h, r, orders, smoothing, totals, logs, parts),
            bleu_score(matches, e, r, h, orders, smoothing, totals, logs, parts),
        )
    if kind == BAG:
        edits = max(totals[h, 0], totals[r, 0]) - matches[e, 0]
        return error_gain(edits, totals[r, 0]), error_gain(edits, totals[h, 0])
    return chrf_scores(matches, e, h, r, orders, kind == CHRF_BY_ORDER, factor, epsilon, totals, inverse)


@inner_kernel
def score_row(c, h, e, r, symmetric, orders, weights, matches, scorer, sums, begin, ebegin):
    """Add the score of candidate c (text h) with evidence e (text r) to its sum, and the other way round."""
    forth, back = both_scores(matches, e, h, r, orders, scorer)
    for t in range(weights.shape[1]):
        sums[begin + c, t] += weights[ebegin + e, t] * forth
        if symmetric:
            sums[begin + e, t] += weights[ebegin + c, t] * back


@kernel
def score_itself(text, orders, scorer, matches):
    """Return the score of a text with itself as its reference."""
    for n in range(orders):
        matches[0, n] = scorer.totals[text, n]
    return both_scores(matches, 0, text, text, orders, scorer)[0]


@kernel
def prepare_list(s, lists, chars, words, trie, shared, state):
    """Number the items of a list and write its bits and lists; return the number of words of bits."""
    first = lists.offsets[s]
    orders = chars.order + words.order
    cand = lists.cand[lists.cand_offsets[s] : lists.cand_offsets[s + 1]]
    evid = lists.evid[lists.evid_offsets[s] : lists.evid_offsets[s + 1]]
    n_items = number_list(chars, words, first, lists.offsets[s + 1], trie, shared, state)
    width = place_items(n_items, cand, evid, first, lists.symmetric[s], orders, trie.order, shared)
    write_bits(evid, first, width, shared, shared.evid_bits)
    write_bits(cand, first, width, shared, shared.cand_bits)
    list_rare(n_items, evid, first, shared)
    return width


@kernel
def gram_sums(lists, chars, words, scorer, trie, shared, state, sums, itself):
    """Add to `sums` (C, T) the scores of every candidate with the evidence other than itself, times its weights.

    `itself` (C,) is given the score of each candidate with itself.
    """
    offsets, cand_offsets, cand, evid_offsets, evid, same, symmetric, weights = lists
    orders = chars.order + words.order
    for s in range(len(offsets) - 1):
        if cand_offsets[s] == cand_offsets[s + 1]:
            continue
        width = prepare_list(s, lists, chars, words, trie, shared, state)
        begin, ebegin = cand_offsets[s], evid_offsets[s]
        n_evid = evid_offsets[s + 1] - ebegin
        for c in range(cand_offsets[s + 1] - begin):
            h, own = cand[begin + c], same[begin + c]
            from_e = c if symmetric[s] else 0
            match_row(
                c, h - offsets[s], from_e, n_evid, orders, width, symmetric[s], trie.order, shared,
            )  # fmt: skip
            for e in range(from_e, n_evid):
                if e != own:
                    score_row(
                        c, h, e, evid[ebegin + e], symmetric[s], orders, weights, shared.matches, scorer,
                        sums, begin, ebegin,
                    )  # fmt: skip
            itself[begin + c] = score_itself(h, orders, scorer, shared.matches)
