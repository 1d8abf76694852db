# mypy: ignore-errors
"""Kernels of the hidden Markov aligner: forward, backward, and what they expect, one sentence pair at a time.

A state is a given place and whether the predicted word is linked to it or to NULL; NULL keeps the place. So the
future depends on the place alone: backward values are kept once for both.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import fast_kernel


class Chart(NamedTuple):
    """Arrays for the longest sentences, n given and m predicted words."""

    emissions: np.ndarray  # (m, n): t(e_j | f_i)
    alone: np.ndarray  # (m,): t(e_j | NULL)
    moves: np.ndarray  # (n+1, n): from the start (row 0) or from place a (row a+1) to place b
    linked: np.ndarray  # (m, n): forward, word j linked to place b; scaled
    unlinked: np.ndarray  # (m, n): forward, word j linked to NULL at place b; scaled
    behind: np.ndarray  # (m, n): backward, from place b on; scaled
    scale: np.ndarray  # (m,): p(e_j | the words before it)
    flow: np.ndarray  # (n+1, n): Σ_j (forward at a) × (what awaits at b)


@fast_kernel
def emit(text, k, probabilities, null_probabilities, chart):
    """Look up the translation probabilities of a sentence pair."""
    n = text.given_offsets[k + 1] - text.given_offsets[k]
    m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
    for j in range(m):
        first = text.cell_offsets[k] + (j if text.turned else j * n)
        step = m if text.turned else 1
        chart.alone[j] = null_probabilities[text.predicted_ids[text.predicted_offsets[k] + j]]
        for i in range(n):
            chart.emissions[j, i] = probabilities[text.cells[first + i * step]]


@fast_kernel
def move(n, jumps, null, moves):
    """Write p(b | a) = (1 − p0)·jump(b − a)/Σ, jumps being clipped, for a from −1 (the start) on."""
    reach = (len(jumps) - 1) // 2
    for row in range(n + 1):
        z = 0.0
        for b in range(n):
            d = min(max(b - row + 1, -reach), reach)
            moves[row, b] = jumps[d + reach]
            z += moves[row, b]
        for b in range(n):
            moves[row, b] *= (1.0 - null) / z


@fast_kernel
def forward(n, m, null, chart):
    """Fill the forward values, scaled to sum to one at each word; return the log-likelihood."""
    likelihood = 0.0
    for j in range(m):
        linked, unlinked = chart.linked[j], chart.unlinked[j]
        if j == 0:
            for b in range(n):
                linked[b] = chart.moves[0, b]
                unlinked[b] = null / n
        else:
            for b in range(n):
                linked[b] = 0.0
                unlinked[b] = null * (chart.linked[j - 1, b] + chart.unlinked[j - 1, b])
            for a in range(n):
                here = chart.linked[j - 1, a] + chart.unlinked[j - 1, a]
                row = chart.moves[a + 1]
                for b in range(n):
                    linked[b] += here * row[b]
        total = 0.0
        for b in range(n):
            linked[b] *= chart.emissions[j, b]
            unlinked[b] *= chart.alone[j]
            total += linked[b] + unlinked[b]
        for b in range(n):
            linked[b] /= total
            unlinked[b] /= total
        chart.scale[j] = total
        likelihood += math.log(total)
    return likelihood


@fast_kernel
def backward(n, m, null, chart):
    """Fill the backward values, scaled so that forward times backward is the posterior."""
    for b in range(n):
        chart.behind[m - 1, b] = 1.0
    for j in range(m - 2, -1, -1):
        later, emissions, scale = chart.behind[j + 1], chart.emissions[j + 1], chart.scale[j + 1]
        for a in range(n):
            row = chart.moves[a + 1]
            total = 0.0
            for b in range(n):
                total += row[b] * emissions[b] * later[b]
            chart.behind[j, a] = (total + null * chart.alone[j + 1] * later[a]) / scale


@fast_kernel
def count_words(text, k, chart, counts, null_counts):
    """Add the posterior of every link of a sentence pair to its type."""
    n = text.given_offsets[k + 1] - text.given_offsets[k]
    m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
    for j in range(m):
        first = text.cell_offsets[k] + (j if text.turned else j * n)
        step = m if text.turned else 1
        none = 0.0
        for b in range(n):
            counts[text.cells[first + b * step]] += chart.linked[j, b] * chart.behind[j, b]
            none += chart.unlinked[j, b] * chart.behind[j, b]
        null_counts[text.predicted_ids[text.predicted_offsets[k] + j]] += none


@fast_kernel
def count_jumps(n, m, chart, jump_counts):
    """Add the expected jumps of a sentence pair: row 0 from the start, row a+1 from place a."""
    reach = (jump_counts.shape[1] - 1) // 2
    flow = chart.flow
    for b in range(n):
        flow[0, b] = chart.emissions[0, b] * chart.behind[0, b] / chart.scale[0]
    for a in range(n):
        for b in range(n):
            flow[a + 1, b] = 0.0
    for j in range(1, m):
        for b in range(n):  # the last use of these values: they become what awaits at b
            chart.emissions[j, b] *= chart.behind[j, b] / chart.scale[j]
        ahead = chart.emissions[j]
        for a in range(n):
            here = chart.linked[j - 1, a] + chart.unlinked[j - 1, a]
            row = flow[a + 1]
            for b in range(n):
                row[b] += here * ahead[b]
    for row in range(n + 1):
        for b in range(n):
            d = min(max(b - row + 1, -reach), reach)
            jump_counts[row, d + reach] += flow[row, b] * chart.moves[row, b]


@fast_kernel
def expect(text, probabilities, null_probabilities, jumps, null, chart, counts, null_counts, jump_rows, jump_counts):
    """Add the expected uses of types and jumps; return the log-likelihood.

    Jumps of sentences with n given words are counted from row ``jump_rows[n]`` on.
    """
    likelihood = 0.0
    for k in range(len(text.cell_offsets) - 1):
        n = text.given_offsets[k + 1] - text.given_offsets[k]
        m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
        emit(text, k, probabilities, null_probabilities, chart)
        move(n, jumps, null, chart.moves)
        likelihood += forward(n, m, null, chart)
        backward(n, m, null, chart)
        count_words(text, k, chart, counts, null_counts)
        count_jumps(n, m, chart, jump_counts[jump_rows[n] : jump_rows[n] + n + 1])
    return likelihood


@fast_kernel
def link(text, probabilities, null_probabilities, jumps, null, chart, links, scores):
    """Write the given place of the largest posterior of each predicted word, or −1 where NULL's is larger."""
    for k in range(len(text.cell_offsets) - 1):
        n = text.given_offsets[k + 1] - text.given_offsets[k]
        m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
        emit(text, k, probabilities, null_probabilities, chart)
        move(n, jumps, null, chart.moves)
        scores[k] = forward(n, m, null, chart)
        backward(n, m, null, chart)
        for j in range(m):
            none, best, at = 0.0, 0.0, -1
            for b in range(n):
                none += chart.unlinked[j, b] * chart.behind[j, b]
                posterior = chart.linked[j, b] * chart.behind[j, b]
                if posterior > best:
                    best, at = posterior, b
            links[text.predicted_offsets[k] + j] = at if best > none else -1
