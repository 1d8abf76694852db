# mypy: ignore-errors
"""Kernels that number the pairs of words which stand in a sentence pair together.

A *cell* is a source place and a target place of one sentence pair; a *type* is a source word and a target
word that share a cell somewhere. Cells of pair k are ``cells[cell_offsets[k]:]``, target by target, and in
each the n source places.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

# Kernels of the translation table: from expected counts to probabilities.


FAR = 8.0  # from here on six terms of the series give thirteen digits


@inner_kernel
def digamma(x):
    """Return ψ(x) for x > 0, by recurrence and the asymptotic series."""
    shift = 0.0
    while x < FAR:
        shift += 1.0 / x
        x += 1.0
    y = 1.0 / x
    z = y * y
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760))))))
    return math.log(x) - 0.5 * y - series - shift


@kernel
def estimate(counts, given_of_type, alpha, least, totals, unseen, out):
    """Write the probability of each type, and of a type never seen for each given word.

    c/Σc for α = 0, else exp(ψ(c + α) − ψ(Σ(c + α))); nothing below `least`. `totals` comes as zeros; a given
    word without a type leaves `unseen` as it is.
    """
    for t in range(len(counts)):
        totals[given_of_type[t]] += counts[t] + alpha
    nothing = digamma(alpha) if alpha > 0.0 else -math.inf
    for g in range(len(totals)):
        if totals[g] > 0.0:
            if alpha > 0.0:
                totals[g] = digamma(totals[g])
            unseen[g] = max(math.exp(nothing - totals[g]), least)
    for t in range(len(counts)):
        if alpha > 0.0:
            p = math.exp(digamma(counts[t] + alpha) - totals[given_of_type[t]])
        else:
            p = counts[t] / totals[given_of_type[t]]
        out[t] = max(p, least)


# Kernels of the aligners whose links do not depend on each other: Model 1 and the diagonal.
#
# Every predicted word j of m chooses a given word i of n, or none, with probability
# (1 − p0)·exp(−λ·|i/n − j/m|)/Z_j, or p0; at λ = 0 that is Model 1.


class Text(NamedTuple):
    """Cells read one way, as kernels take them.

    Cell (i, j) of pair k, i given and j predicted, is ``cells[cell_offsets[k] + j·n + i]``; or, if `turned`
    is 1, ``cells[cell_offsets[k] + i·m + j]``.
    """

    given_offsets: np.ndarray  # (P+1,) int64
    predicted_offsets: np.ndarray  # (P+1,) int64
    predicted_ids: np.ndarray  # (T,) int32
    cell_offsets: np.ndarray  # (P+1,) int64
    cells: np.ndarray  # (C,) int32
    turned: int


@inner_kernel
def diagonal_prior(j, n, m, tension, ratio, prior):
    """Write exp(−λ·|i/n − j/m|) for the given places; return their sum.

    From the diagonal outwards each is the one before times ``ratio`` = exp(−λ/n): two exponentials instead
    of n. Places count from 1 in the formula.
    """
    here = (j + 1) / m
    below = min(int(here * n), n)  # places 1 … below are not beyond the diagonal
    z = 0.0
    value = math.exp(-tension * (here - below / n))
    for i in range(below - 1, -1, -1):
        prior[i] = value
        z += value
        value *= ratio
    value = math.exp(-tension * ((below + 1) / n - here))
    for i in range(below, n):
        prior[i] = value
        z += value
        value *= ratio
    return z


@inner_kernel
def joint(text, k, j, n, m, tension, ratio, null, probabilities, prior):
    """Write p(a_j = i)·t(e_j|f_i) for the given places; return their sum.

    The first cell and the step between cells are computed here, so that callers know nothing of `turned`.
    """
    first = text.cell_offsets[k] + (j if text.turned else j * n)
    step = m if text.turned else 1
    scale = (1.0 - null) / diagonal_prior(j, n, m, tension, ratio, prior)
    total = 0.0
    for i in range(n):
        prior[i] *= scale * probabilities[text.cells[first + i * step]]
        total += prior[i]
    return total


@kernel
def expect(text, probabilities, null_probabilities, tension, null, prior, counts, null_counts):
    """Add the expected number of uses of each type; return the log-likelihood."""
    likelihood = 0.0
    for k in range(len(text.cell_offsets) - 1):
        n = text.given_offsets[k + 1] - text.given_offsets[k]
        m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
        ratio = math.exp(-tension / n)
        for j in range(m):
            e = text.predicted_ids[text.predicted_offsets[k] + j]
            alone = null * null_probabilities[e]
            total = alone + joint(text, k, j, n, m, tension, ratio, null, probabilities, prior)
            null_counts[e] += alone / total
            first = text.cell_offsets[k] + (j if text.turned else j * n)
            step = m if text.turned else 1
            share = 1.0 / total
            for i in range(n):
                counts[text.cells[first + i * step]] += prior[i] * share
            likelihood += math.log(total)
    return likelihood


@kernel
def link(text, probabilities, null_probabilities, tension, null, prior, links, scores):
    """Write the likeliest given place of each predicted word, −1 for none, and log p of each sentence."""
    for k in range(len(text.cell_offsets) - 1):
        n = text.given_offsets[k + 1] - text.given_offsets[k]
        m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
        ratio = math.exp(-tension / n)
        scores[k] = 0.0
        for j in range(m):
            at = text.predicted_offsets[k] + j
            best = null * null_probabilities[text.predicted_ids[at]]
            total = best + joint(text, k, j, n, m, tension, ratio, null, probabilities, prior)
            links[at] = -1
            for i in range(n):
                if prior[i] > best:
                    best = prior[i]
                    links[at] = i
            scores[k] += math.log(total)


@kernel
def weigh_slants(text, probabilities, null_probabilities, tension, null, prior, shapes, weights):
    """Add to ``weights[shapes[k] + j]`` the probability that word j has a link; return Σ q·h, q without NULL.

    h = −|i/n − j/m|. All sentence pairs of one shape n × m share their weights: what a tension expects depends
    on the shape alone.
    """
    slant = 0.0
    for k in range(len(text.cell_offsets) - 1):
        n = text.given_offsets[k + 1] - text.given_offsets[k]
        m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
        ratio = math.exp(-tension / n)
        for j in range(m):
            e = text.predicted_ids[text.predicted_offsets[k] + j]
            linked = joint(text, k, j, n, m, tension, ratio, null, probabilities, prior)
            total = linked + null * null_probabilities[e]
            weights[shapes[k] + j] += linked / total
            for i in range(n):
                slant -= prior[i] / total * abs((i + 1) / n - (j + 1) / m)
    return slant


@kernel
def expected_slant(given, predicted, starts, weights, tension, prior):
    """Return Σ w·E_λ[h] and Σ w·Var_λ[h] over shapes n × m, whose weights begin at `starts`."""
    mean = variance = 0.0
    for s in range(len(given)):
        n, m = given[s], predicted[s]
        ratio = math.exp(-tension / n)
        for j in range(m):
            z = diagonal_prior(j, n, m, tension, ratio, prior)
            first = second = 0.0
            for i in range(n):
                h = -abs((i + 1) / n - (j + 1) / m)
                first += prior[i] * h
                second += prior[i] * h * h
            first /= z
            mean += weights[starts[s] + j] * first
            variance += weights[starts[s] + j] * (second / z - first * first)
    return mean, variance


class Places(NamedTuple):
    """The places of source words grouped by word, where each group starts, and the sentence of each place."""

    order: np.ndarray
    word_starts: np.ndarray
    sentence_of: np.ndarray


class Types(NamedTuple):
    """The type of each cell; the types of source word f are ``offsets[f]:offsets[f + 1]``, with their target words."""

    cells: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray


@kernel
def order_by_word(ids, starts, order):
    """Write the places of all words grouped by word, in text order within a group.

    `starts` holds, and loses, the first free place of each group.
    """
    for p in range(len(ids)):
        word = ids[p]
        order[starts[word]] = p
        starts[word] += 1


@kernel
def number_cells(places, source_offsets, target_offsets, target_ids, cell_offsets, stamps, slots, out):
    """Give each cell the number of its type; return how many types there are.

    One source word at a time: `stamps[e]` says whether target word e was met beside it already, `slots[e]`
    the number the two got. No sorting, no hashing: each cell is visited once.
    """
    order, word_starts, sentence_of = places
    cells, type_offsets, type_targets = out
    n_types = 0
    for word in range(len(word_starts) - 1):
        for r in range(word_starts[word], word_starts[word + 1]):
            p = order[r]
            k = sentence_of[p]
            n = source_offsets[k + 1] - source_offsets[k]
            at = cell_offsets[k] + p - source_offsets[k]
            for q in range(target_offsets[k], target_offsets[k + 1]):
                e = target_ids[q]
                if stamps[e] != word:
                    stamps[e] = word
                    slots[e] = n_types
                    type_targets[n_types] = e
                    n_types += 1
                cells[at] = slots[e]
                at += n
        type_offsets[word + 1] = n_types
    return n_types


@kernel
def find_types(type_offsets, type_targets, kept_offsets, kept_targets, stamps, slots, found):
    """Write the number that each type has in a kept table, or −1."""
    for word in range(len(type_offsets) - 1):
        known = word < len(kept_offsets) - 1
        if known:
            for t in range(kept_offsets[word], kept_offsets[word + 1]):
                stamps[kept_targets[t]] = word
                slots[kept_targets[t]] = t
        for t in range(type_offsets[word], type_offsets[word + 1]):
            e = type_targets[t]
            found[t] = slots[e] if known and stamps[e] == word else -1
