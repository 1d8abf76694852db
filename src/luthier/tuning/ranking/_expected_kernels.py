# mypy: ignore-errors
"""Kernels of expectations under a softmax over each list."""

import math

import numpy as np

from luthier.core.jit import kernel


@kernel
def soften(scores, offsets, groups, chances, logs, mass):
    """Write p = softmax(scores) of each list and log p, add p to ``mass[group]``; return the entropies' sum."""
    total = 0.0
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        top = -np.inf
        for row in range(first, last):
            top = max(top, scores[row])
        whole = 0.0
        for row in range(first, last):
            chances[row] = math.exp(scores[row] - top)
            whole += chances[row]
        log_whole = math.log(whole)
        for row in range(first, last):
            p = chances[row] / whole
            chances[row] = p
            logs[row] = scores[row] - top - log_whole
            total -= p * logs[row]
            mass[groups[row]] += p
    return total


@kernel
def score_slopes(offsets, groups, chances, logs, worth, temperature, out):
    """Write the derivative of Σ p·worth + temperature·entropy by the score of each row.

    Within a list it is p_j (v_j − Σ_k p_k v_k) with v = worth − temperature·log p: the derivative of log p
    adds nothing, its mean being 0. A row of no chance has no slope.
    """
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        mean = 0.0
        for row in range(first, last):
            mean += chances[row] * (worth[groups[row]] - temperature * logs[row])
        for row in range(first, last):
            out[row] = chances[row] * (worth[groups[row]] - temperature * logs[row] - mean)
