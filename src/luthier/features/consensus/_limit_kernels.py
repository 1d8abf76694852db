# mypy: ignore-errors
"""Kernels over the summed n-grams of the evidence, in time linear in the texts: limits of sums, aggregated references.

The matches of a text with each reference are linear in the items that the reference has, so their weighted sum over
all references is the sum of the weights of its items. F-scores and geometric means are concave and homogeneous:
a sum of them is at most that of the sums (Jensen's inequality).
"""

import math

import numpy as np

from luthier.core.jit import kernel
from luthier.features.consensus._gram_kernels import number_list
from luthier.features.consensus._score_kernels import (
    BAG,
    BLEU,
    CHRF,
    CHRF_BY_ORDER,
    EXP_SMOOTHING,
    LOG_HALF,
    error_gain,
    f_mean,
    f_mean_of_order,
)


@kernel
def chrf_limits(s, lists, orders, scorer, order_of, shared, mass, limits):
    """Write a limit of each candidate's sum of chrF; infinity for texts that lack an order."""
    first, totals = lists.offsets[s], scorer.totals
    for e in range(lists.evid_offsets[s], lists.evid_offsets[s + 1]):
        text, effective = lists.evid[e], 0
        for n in range(orders):
            effective += totals[text, n] > 0
        for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
            item = shared.items[p]
            weight = lists.weights[e, 0] / effective
            mass[0, item] += weight
            mass[1, item] += weight * scorer.inverse[text, order_of[item]]
    for c in range(lists.cand_offsets[s], lists.cand_offsets[s + 1]):
        text, precision, recall, whole = lists.cand[c], 0.0, 0.0, True
        for n in range(orders):
            whole = whole and totals[text, n] > 0
        for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
            item = shared.items[p]
            precision += mass[0, item] * scorer.inverse[text, order_of[item]]
            recall += mass[1, item]
        limits[c] = 100.0 * f_mean(precision, recall, scorer.factor) if whole else np.inf


@kernel
def add_mass(s, length, lists, totals, shared, mass):
    """Write the weights of items times the brevity penalty of a hypothesis of `length` words; return their sum."""
    first, whole = lists.offsets[s], 0.0
    for e in range(lists.evid_offsets[s], lists.evid_offsets[s + 1]):
        text = lists.evid[e]
        for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
            mass[0, shared.items[p]] = 0.0
    for e in range(lists.evid_offsets[s], lists.evid_offsets[s + 1]):
        text = lists.evid[e]
        weight = lists.weights[e, 0] * math.exp(min(0.0, 1.0 - totals[text, 0] / length))
        whole += weight
        for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
            mass[0, shared.items[p]] += weight
    return whole


@kernel
def bleu_limits(s, lists, orders, scorer, values, order_of, shared, mass, limits):
    """Write a limit of each candidate's sum of sentence BLEU.

    `values` has what a smoothing adds to matches of order 1 and of higher orders, and what it puts in the place of
    none. A share of the references has no match, at most 1 − mean / most, because no pair has more than `most`.
    """
    first, totals, begin, end = lists.offsets[s], scorer.totals, lists.cand_offsets[s], lists.cand_offsets[s + 1]
    for c in range(begin, end):
        limits[c] = -1.0
    found = np.zeros(orders)
    for d in range(begin, end):
        length = totals[lists.cand[d], 0]
        if limits[d] >= 0.0:
            continue
        if length == 0:
            limits[d] = 0.0
            continue
        whole = add_mass(s, length, lists, totals, shared, mass)
        for c in range(d, end):
            text = lists.cand[c]
            if totals[text, 0] != length:
                continue
            found[:] = 0.0
            for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
                found[order_of[shared.items[p]]] += mass[0, shared.items[p]]
            total, reached, some = -scorer.parts[text, 0], scorer.parts[text, 1], whole > 0.0
            for n in range(orders):
                if some and n < reached:
                    mean, most = found[n] / whole, max(totals[text, n], 1)
                    mean += values[min(n, 1)] + values[2] * max(0.0, 1.0 - mean / most)
                    some = mean > 0.0
                    total += math.log(mean) if some else 0.0
            limits[c] = 100.0 * whole * math.exp(total / reached) if some else 0.0


@kernel
def bag_limits(s, lists, scorer, shared, mass, limits):
    """Write each candidate's sum of −100 · position-independent errors / length: a limit for every edit distance."""
    first, totals = lists.offsets[s], scorer.totals
    for e in range(lists.evid_offsets[s], lists.evid_offsets[s + 1]):
        text = lists.evid[e]
        for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
            mass[0, shared.items[p]] += 100.0 * lists.weights[e, 0] * scorer.inverse[text, 0]
    for c in range(lists.cand_offsets[s], lists.cand_offsets[s + 1]):
        text, limit = lists.cand[c], 0.0
        for e in range(lists.evid_offsets[s], lists.evid_offsets[s + 1]):
            length = totals[lists.evid[e], 0]
            limit += lists.weights[e, 0] * error_gain(max(totals[text, 0], length), length)
        for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
            limit += mass[0, shared.items[p]]
        limits[c] = limit


@kernel
def gram_limits(lists, chars, words, scorer, values, trie, shared, state, mass, limits):
    """Write for every candidate a limit of its weighted sum of scores, itself included, (C,)."""
    orders = chars.order + words.order
    for s in range(len(lists.offsets) - 1):
        n_items = number_list(chars, words, lists.offsets[s], lists.offsets[s + 1], trie, shared, state)
        for item in range(n_items):
            mass[0, item], mass[1, item] = 0.0, 0.0
        if scorer.kind == CHRF:
            chrf_limits(s, lists, orders, scorer, trie.order, shared, mass, limits)
        elif scorer.kind == BLEU:
            bleu_limits(s, lists, orders, scorer, values, trie.order, shared, mass, limits)
        elif scorer.kind == BAG:
            bag_limits(s, lists, scorer, shared, mass, limits)
        else:
            for c in range(lists.cand_offsets[s], lists.cand_offsets[s + 1]):
                limits[c] = np.inf


@kernel
def sum_references(s, lists, totals, base, shared, mass, lengths, t):
    """Write the mean count of every n-gram over the evidence, and the mean totals of each order."""
    first, whole = lists.offsets[s], 0.0
    for e in range(lists.evid_offsets[s], lists.evid_offsets[s + 1]):
        whole += lists.weights[e, t]
    lengths[:] = 0.0
    for e in range(lists.evid_offsets[s], lists.evid_offsets[s + 1]):
        text, weight = lists.evid[e], lists.weights[e, t] / whole
        for n in range(len(lengths)):
            lengths[n] += weight * totals[text, n]
        for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
            mass[0, base[shared.items[p]]] += weight


@kernel
def aggregated_chrf(text, found, lengths, scorer):
    """Return chrF of a text with mean n-gram counts as its reference."""
    precision, recall, total, effective = 0.0, 0.0, 0.0, 0
    for n in range(len(found)):
        hyp, ref = scorer.totals[text, n], lengths[n]
        total += f_mean_of_order(hyp, ref, found[n], scorer.factor, scorer.epsilon)
        if hyp > 0 and ref > 0.0:
            precision += found[n] / hyp
            recall += found[n] / ref
            effective += 1
    if scorer.kind == CHRF_BY_ORDER:
        return 100.0 * total / len(found)
    return 100.0 / max(effective, 1) * f_mean(precision, recall, scorer.factor)


@kernel
def aggregated_bleu(text, found, lengths, scorer, values):
    """Return BLEU of a text with mean n-gram counts and the mean length as its reference."""
    length, total, missed, some = scorer.totals[text, 0], -scorer.parts[text, 0], 0, 0.0
    if length == 0:
        return 0.0
    for n in range(len(found)):
        some += found[n]
        if n < scorer.parts[text, 1]:
            if found[n] > 0.0:
                total += math.log(found[n] + values[min(n, 1)])
            elif scorer.smoothing == EXP_SMOOTHING:
                missed += 1
                total += missed * LOG_HALF
            else:
                total += math.log(values[min(n, 1)] + values[2])
    return 100.0 * math.exp(min(0.0, 1.0 - lengths[0] / length) + total / scorer.parts[text, 1]) if some > 0.0 else 0.0


@kernel
def aggregated_scores(lists, chars, words, scorer, values, trie, shared, state, mass, out):
    """Write the score of every candidate with the mean n-gram counts of the evidence as its reference, (C, T)."""
    orders = chars.order + words.order
    found, lengths = np.zeros(orders), np.zeros(orders)
    for s in range(len(lists.offsets) - 1):
        first = lists.offsets[s]
        n_items = number_list(chars, words, first, lists.offsets[s + 1], trie, shared, state)
        for t in range(lists.weights.shape[1]):
            for item in range(n_items):
                mass[0, item] = 0.0
            sum_references(s, lists, scorer.totals, trie.base, shared, mass, lengths, t)
            for c in range(lists.cand_offsets[s], lists.cand_offsets[s + 1]):
                text = lists.cand[c]
                found[:] = 0.0
                for p in range(shared.starts[text - first], shared.starts[text - first + 1]):
                    item = shared.items[p]
                    count = mass[0, trie.base[item]] - (trie.occurrence[item] - 1)
                    found[trie.order[item]] += min(max(count, 0.0), 1.0)
                if scorer.kind == BLEU:
                    out[c, t] = aggregated_bleu(text, found, lengths, scorer, values)
                else:
                    out[c, t] = aggregated_chrf(text, found, lengths, scorer)
