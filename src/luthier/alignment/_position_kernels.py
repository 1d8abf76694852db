# mypy: ignore-errors
"""Kernels of the aligners whose links do not depend on each other: Model 1 and the diagonal.

Every predicted word j of m chooses a given word i of n, or none, with probability
(1 − p0)·exp(−λ·|i/n − j/m|)/Z_j, or p0; at λ = 0 that is Model 1.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel


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
