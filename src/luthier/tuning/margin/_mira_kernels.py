# mypy: ignore-errors
"""Kernels of the margin methods: hope, fear, and steps along the difference of two rows.

Rows are given by their numbers. The mean of all weights so far is ``weights − drift / clock``, so that a step costs
only what it changes.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel
from luthier.kbest._score_kernels import row_score


class Lists(NamedTuple):
    """Where lists begin, and gains, kept once for each distinct outcome; ``groups[row]`` is the outcome of a row."""

    offsets: np.ndarray
    groups: np.ndarray
    gains: np.ndarray


class Box(NamedTuple):
    """How weights may move: a step multiplies the difference of feature d by ``scale[d]`` and stays in low … high.

    The scale is 1, or the inverse square of the feature's unit, or 0 for a weight that is fixed.
    """

    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Past(NamedTuple):
    """Statistics of past hopes and their length, (S + 1,), each ageing by `decay`; where the next ones come from."""

    background: np.ndarray
    decay: float
    outcomes: np.ndarray
    lengths: np.ndarray


class Gap(NamedTuple):
    """Arrays for the features in which two rows can differ, and for the differences."""

    columns: np.ndarray
    gaps: np.ndarray


@kernel
def gap(dense, indptr, indices, values, up, down, columns, gaps):
    """Write the features in which two rows can differ and the differences; return how many there are."""
    n_dense = dense.shape[1]
    for d in range(n_dense):
        columns[d] = d
        gaps[d] = dense[up, d] - dense[down, d]
    n = n_dense
    i, j = indptr[up], indptr[down]
    while i < indptr[up + 1] or j < indptr[down + 1]:
        left = indices[i] if i < indptr[up + 1] else np.int32(2147483647)
        right = indices[j] if j < indptr[down + 1] else np.int32(2147483647)
        value = 0.0
        if left <= right:
            value += values[i]
            i += 1
        if right <= left:
            value -= values[j]
            j += 1
        columns[n] = n_dense + min(left, right)
        gaps[n] = value
        n += 1
    return n


@kernel
def squared_norm(n, columns, gaps, scale):
    """Return Σ scale·gap² over the n differences."""
    total = 0.0
    for k in range(n):
        total += scale[columns[k]] * gaps[k] * gaps[k]
    return total


@kernel
def move(n, columns, gaps, step, scale, low, high, clock, weights, drift):
    """Move the weights `step` along the n differences, inside the limits."""
    for k in range(n):
        d = columns[k]
        old = weights[d]
        weights[d] = min(max(old + step * scale[d] * gaps[k], low[d]), high[d])
        drift[d] += clock * (weights[d] - old)


@kernel
def in_background(sentences, offsets, outcomes, background, rows, sums):
    """Write the outcomes of some sentences, and their statistics, (S, n), added to those of the background."""
    n = 0
    for s in sentences:
        for row in range(offsets[s], offsets[s + 1]):
            rows[n] = row
            for c in range(len(sums)):
                sums[c, n] = outcomes[row, c] + background[c]
            n += 1


@kernel
def hope_fear_steps(order, lists, rows, box, limit, past, clock, weights, drift, room):
    """Take one step for each sentence of `order`, from its fear towards its hope; return the losses' sum.

    The background is only written here: the gains were computed with it before.
    """
    offsets, groups, gains = lists
    dense, indptr, indices, values = rows
    scale, low, high = box
    background, decay, outcomes, lengths = past
    columns, gaps = room
    total = 0.0
    n_stats = outcomes.shape[1]
    for s in order:
        hope = fear = offsets[s]
        most = worst = -np.inf
        hope_score = fear_score = 0.0
        for row in range(offsets[s], offsets[s + 1]):
            score = row_score(dense, indptr, indices, values, weights, row)
            gain = gains[groups[row]]
            if score + gain > most:
                most, hope, hope_score = score + gain, row, score
            if score - gain > worst:
                worst, fear, fear_score = score - gain, row, score
        loss = gains[groups[hope]] - gains[groups[fear]] - (hope_score - fear_score)
        if loss > 0.0:
            total += loss
            n = gap(dense, indptr, indices, values, hope, fear, columns, gaps)
            norm = squared_norm(n, columns, gaps, scale)
            if norm > 0.0:
                move(n, columns, gaps, min(limit, loss / norm), scale, low, high, clock, weights, drift)
        clock += 1.0
        for c in range(n_stats):
            background[c] = decay * background[c] + outcomes[groups[hope], c]
        background[n_stats] = decay * background[n_stats] + lengths[s]
    return total


@kernel
def ramp_steps(order, hopes, lists, rows, box, rate, pull, centre, weights, room):
    """Take one subgradient step for each sentence of `order`, its hope held; return the losses' sum.

    `pull` is the weight of the way back to `centre` in the step of one sentence. Losses count costs from
    the best gain of a list: max (s + cost) − (s − cost of the hope), never negative.
    """
    offsets, groups, gains = lists
    dense, indptr, indices, values = rows
    scale, low, high = box
    columns, gaps = room
    total = 0.0
    for s in order:
        fear = offsets[s]
        worst = top = -np.inf
        for row in range(offsets[s], offsets[s + 1]):
            top = max(top, gains[groups[row]])
            value = row_score(dense, indptr, indices, values, weights, row) - gains[groups[row]]
            if value > worst:
                worst, fear = value, row
        hope = hopes[s]
        hope_score = row_score(dense, indptr, indices, values, weights, hope)
        total += worst + top - (hope_score + gains[groups[hope]] - top)
        if pull > 0.0:
            for d in range(len(weights)):
                weights[d] -= rate * pull * (weights[d] - centre[d])
        n = gap(dense, indptr, indices, values, hope, fear, columns, gaps)
        for k in range(n):
            d = columns[k]
            weights[d] = min(max(weights[d] + rate * scale[d] * gaps[k], low[d]), high[d])
    return total


@kernel
def perceptron_steps(order, offsets, targets, rows, box, clock, weights, drift, room):
    """Take one perceptron step for each sentence of `order` whose target is not above the rest; return how many."""
    dense, indptr, indices, values = rows
    scale, low, high = box
    columns, gaps = room
    mistakes = 0
    for s in order:
        target = targets[s]
        own = row_score(dense, indptr, indices, values, weights, target)
        worst, rival = own, -1
        for row in range(offsets[s], offsets[s + 1]):
            score = row_score(dense, indptr, indices, values, weights, row)
            if row == target or score < worst or (score == worst and rival >= 0):
                continue
            n = gap(dense, indptr, indices, values, target, row, columns, gaps)
            if squared_norm(n, columns, gaps, scale) > 0.0:  # else it is the same point, where weights may move
                worst, rival = score, row
        if rival >= 0:
            mistakes += 1
            n = gap(dense, indptr, indices, values, target, rival, columns, gaps)
            move(n, columns, gaps, 1.0, scale, low, high, clock, weights, drift)
        clock += 1.0
    return mistakes
