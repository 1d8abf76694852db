# mypy: ignore-errors
"""Kernels of the aligner with fertilities: sweeps of Gibbs sampling over the links of one direction.

Every predicted word has a place or none. Its conditional probability, all other links given, has three factors: its
word beside the given word, the jumps to it and from it, and one more word for the place. In training they are ratios
of counts (the parameters are integrated out); afterwards they are the parameters.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, lean_kernel


class Links(NamedTuple):
    """The state of a chain: a link of each predicted word, and how many each given word has."""

    links: np.ndarray  # (T,) int32, −1 for none
    fertilities: np.ndarray  # (G,) int32
    given_ids: np.ndarray  # (G,) int32
    following: np.ndarray  # (m,) int32: room for the next linked place behind each word
    weights: np.ndarray  # (n + 1,) float64: room for the weights of the places, and of none
    random: np.ndarray  # (1,) uint64


class Counts(NamedTuple):
    """What the links of a chain come to."""

    types: np.ndarray  # (K,) int32
    given: np.ndarray  # (V,) int32: sums of `types`
    room: np.ndarray  # (V,) float64: α times the number of types of each given word
    null: np.ndarray  # (W,) int32
    jumps: np.ndarray  # (2R + 1,) int64
    fertilities: np.ndarray  # (V, F) int32
    sums: np.ndarray  # (2,) int64: words without a link, jumps


class Priors(NamedTuple):
    """What is added to counts, and the probability of no link."""

    alpha: float
    null_alpha: float
    null_room: float
    jump: float
    fertility: float
    null: float


class Chances(NamedTuple):
    """Parameters of the model."""

    types: np.ndarray  # (K,) float64
    null: np.ndarray  # (W,) float64
    jumps: np.ndarray  # (2R + 1,) float64
    fertilities: np.ndarray  # (V, F) float64


@inner_kernel
def draw(random):
    """Return a number from 0 to 1, by splitmix64."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inner_kernel
def jump_of(a, b, reach):
    """Return the number of the jump from place a to place b, those beyond the reach being the farthest."""
    return min(max(b - a, -reach), reach) + reach


@inner_kernel
def chosen(weights, n, total, random):
    """Return a place, drawn by weights, or n for none."""
    left = draw(random) * total
    for i in range(n):
        left -= weights[i]
        if left < 0.0:
            return i
    return n if weights[n] > 0.0 else max(0, n - 1)


@lean_kernel
def words_of_places(text, given_of_type, given_ids):
    """Write the given word of each given place."""
    for k in range(len(text.cell_offsets) - 1):
        n = text.given_offsets[k + 1] - text.given_offsets[k]
        m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
        step = m if text.turned else 1
        for i in range(n):
            cell = text.cells[text.cell_offsets[k] + i * step]
            given_ids[text.given_offsets[k] + i] = given_of_type[cell]


@lean_kernel
def begin(text, state, counts, null, reach, most):
    """Draw links, all places alike, and count them."""
    for k in range(len(text.cell_offsets) - 1):
        g0, p0, c0 = text.given_offsets[k], text.predicted_offsets[k], text.cell_offsets[k]
        n, m = text.given_offsets[k + 1] - g0, text.predicted_offsets[k + 1] - p0
        before = -1
        for j in range(m):
            if draw(state.random) < null:
                state.links[p0 + j] = -1
                counts.null[text.predicted_ids[p0 + j]] += 1
                counts.sums[0] += 1
                continue
            i = min(n - 1, int(draw(state.random) * n))
            state.links[p0 + j] = i
            cell = text.cells[c0 + (i * m + j if text.turned else j * n + i)]
            counts.types[cell] += 1
            counts.given[state.given_ids[g0 + i]] += 1
            state.fertilities[g0 + i] += 1
            counts.jumps[jump_of(before, i, reach)] += 1
            counts.sums[1] += 1
            before = i
        counts.jumps[jump_of(before, n, reach)] += 1
        counts.sums[1] += 1
        for i in range(n):
            counts.fertilities[state.given_ids[g0 + i], min(state.fertilities[g0 + i], most)] += 1


@inner_kernel
def next_places(links, first, m, n, following):
    """Write the next linked place behind each word of a sentence, n where there is none."""
    place = n
    for j in range(m - 1, -1, -1):
        following[j] = place
        if links[first + j] >= 0:
            place = links[first + j]


@inner_kernel
def shift(counts, state, place, change, most):
    """Give a place one word more or less."""
    word, now = state.given_ids[place], state.fertilities[place]
    counts.fertilities[word, min(now, most)] -= 1
    counts.fertilities[word, min(now + change, most)] += 1
    state.fertilities[place] = now + change


@inner_kernel
def count_jumps(counts, before, place, after, reach, change):
    """Count the jumps over one word, whose place is −1 for none."""
    if place >= 0:
        counts.jumps[jump_of(before, place, reach)] += change
        counts.jumps[jump_of(place, after, reach)] += change
        counts.sums[1] += 2 * change
    else:
        counts.jumps[jump_of(before, after, reach)] += change
        counts.sums[1] += change


@inner_kernel
def weigh(text, state, counts, priors, k, j, before, stage):
    """Write the weight of each place, and of none, for a word that is not counted; return their sum."""
    g0, n = text.given_offsets[k], text.given_offsets[k + 1] - text.given_offsets[k]
    m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
    reach, most = (len(counts.jumps) - 1) // 2, counts.fertilities.shape[1] - 1
    after, step = state.following[j], m if text.turned else 1
    at = text.cell_offsets[k] + (j if text.turned else j * n)
    jump_room = counts.sums[1] + priors.jump * len(counts.jumps)
    total = 0.0
    for i in range(n):
        cell, word = text.cells[at + i * step], state.given_ids[g0 + i]
        w = (1.0 - priors.null) * (counts.types[cell] + priors.alpha) / (counts.given[word] + counts.room[word])
        if stage > 0:
            here, there = jump_of(before, i, reach), jump_of(i, after, reach)
            w *= (counts.jumps[here] + priors.jump) / jump_room
            w *= (counts.jumps[there] + priors.jump + (1.0 if here == there else 0.0)) / (jump_room + 1.0)
        if stage > 1:
            now = min(state.fertilities[g0 + i], most)
            more = min(now + 1, most)
            if more != now:
                w *= (counts.fertilities[word, more] + priors.fertility) / (
                    counts.fertilities[word, now] - 1.0 + priors.fertility
                )
        state.weights[i] = w
        total += w
    word = text.predicted_ids[text.predicted_offsets[k] + j]
    w = priors.null * (counts.null[word] + priors.null_alpha) / (counts.sums[0] + priors.null_room)
    if stage > 0:
        w *= (counts.jumps[jump_of(before, after, reach)] + priors.jump) / jump_room
    state.weights[n] = w
    return total + w


@lean_kernel
def sweep(text, state, counts, priors, stage):
    """Draw the link of every word anew, all others given; `stage` 0 has words only, 1 jumps too, 2 fertilities."""
    reach, most = (len(counts.jumps) - 1) // 2, counts.fertilities.shape[1] - 1
    for k in range(len(text.cell_offsets) - 1):
        g0, p0, c0 = text.given_offsets[k], text.predicted_offsets[k], text.cell_offsets[k]
        n, m = text.given_offsets[k + 1] - g0, text.predicted_offsets[k + 1] - p0
        next_places(state.links, p0, m, n, state.following)
        before = -1
        for j in range(m):
            i, word = state.links[p0 + j], text.predicted_ids[p0 + j]
            count_jumps(counts, before, i, state.following[j], reach, -1)
            if i >= 0:
                counts.types[text.cells[c0 + (i * m + j if text.turned else j * n + i)]] -= 1
                counts.given[state.given_ids[g0 + i]] -= 1
                shift(counts, state, g0 + i, -1, most)
            else:
                counts.null[word] -= 1
                counts.sums[0] -= 1
            total = weigh(text, state, counts, priors, k, j, before, stage)
            i = chosen(state.weights, n, total, state.random)
            if i < n:
                counts.types[text.cells[c0 + (i * m + j if text.turned else j * n + i)]] += 1
                counts.given[state.given_ids[g0 + i]] += 1
                shift(counts, state, g0 + i, 1, most)
            else:
                counts.null[word] += 1
                counts.sums[0] += 1
                i = -1
            count_jumps(counts, before, i, state.following[j], reach, 1)
            state.links[p0 + j] = i
            before = i if i >= 0 else before


@inner_kernel
def weigh_fixed(text, state, chances, null, k, j, before):
    """Write the weight of each place, and of none, under parameters; return their sum."""
    g0, n = text.given_offsets[k], text.given_offsets[k + 1] - text.given_offsets[k]
    m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
    reach, most = (len(chances.jumps) - 1) // 2, chances.fertilities.shape[1] - 1
    after, step = state.following[j], m if text.turned else 1
    at = text.cell_offsets[k] + (j if text.turned else j * n)
    total = 0.0
    for i in range(n):
        now = min(state.fertilities[g0 + i], most)
        more, word = min(now + 1, most), state.given_ids[g0 + i]
        w = (1.0 - null) * chances.types[text.cells[at + i * step]]
        w *= chances.jumps[jump_of(before, i, reach)] * chances.jumps[jump_of(i, after, reach)]
        w *= chances.fertilities[word, more] / chances.fertilities[word, now]
        state.weights[i] = w
        total += w
    word = text.predicted_ids[text.predicted_offsets[k] + j]
    state.weights[n] = null * chances.null[word] * chances.jumps[jump_of(before, after, reach)]
    return total + state.weights[n]


@lean_kernel
def sweep_fixed(text, first, last, state, chances, null, posterior):
    """Draw the links of pairs first to last under parameters; add the conditional probability of each place.

    `posterior` has a number for each cell of these pairs; one without room is not written.
    """
    for k in range(first, last):
        g0, p0, c0 = text.given_offsets[k], text.predicted_offsets[k], text.cell_offsets[k]
        n, m = text.given_offsets[k + 1] - g0, text.predicted_offsets[k + 1] - p0
        next_places(state.links, p0, m, n, state.following)
        before = -1
        for j in range(m):
            i = state.links[p0 + j]
            if i >= 0:
                state.fertilities[g0 + i] -= 1
            total = weigh_fixed(text, state, chances, null, k, j, before)
            i = chosen(state.weights, n, total, state.random)
            if len(posterior):
                for c in range(n):
                    posterior[c0 - text.cell_offsets[first] + j * n + c] += state.weights[c] / total
            if i < n:
                state.fertilities[g0 + i] += 1
            else:
                i = -1
            state.links[p0 + j] = i
            before = i if i >= 0 else before


@lean_kernel
def likeliest(text, first, last, posterior, chances, links, scores):
    """Write the place of largest posterior probability of each word, −1 where none has a larger one.

    A sentence's score is Σ log Σ q·t: what the words are worth under the posterior q of their links.
    """
    for k in range(first, last):
        p0, c0, at = text.predicted_offsets[k], text.cell_offsets[k], text.cell_offsets[k] - text.cell_offsets[first]
        n, m = text.given_offsets[k + 1] - text.given_offsets[k], text.predicted_offsets[k + 1] - p0
        scores[k] = 0.0
        for j in range(m):
            best, left, worth = 0, 1.0, 0.0
            for i in range(n):
                p = posterior[at + j * n + i]
                left -= p
                worth += p * chances.types[text.cells[c0 + (i * m + j if text.turned else j * n + i)]]
                if p > posterior[at + j * n + best]:
                    best = i
            worth += max(0.0, left) * chances.null[text.predicted_ids[p0 + j]]
            scores[k] += math.log(worth)
            links[p0 + j] = best if posterior[at + j * n + best] >= left else -1


@lean_kernel
def begin_fixed(text, state, chances, null):
    """Link each word to the place whose word predicts it best, or to none."""
    for k in range(len(text.cell_offsets) - 1):
        g0, p0, c0 = text.given_offsets[k], text.predicted_offsets[k], text.cell_offsets[k]
        n, m = text.given_offsets[k + 1] - g0, text.predicted_offsets[k + 1] - p0
        for j in range(m):
            best, most = -1, null * chances.null[text.predicted_ids[p0 + j]]
            for i in range(n):
                p = (1.0 - null) / n * chances.types[text.cells[c0 + (i * m + j if text.turned else j * n + i)]]
                if p > most:
                    best, most = i, p
            state.links[p0 + j] = best
            if best >= 0:
                state.fertilities[g0 + best] += 1
