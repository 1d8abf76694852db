"""Small parallel texts, and plain-Python twins of what kernels compute on them."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from luthier.alignment.bitext import read_bitext
from luthier.alignment.cells import directions, number_cells
from luthier.alignment.table import Parameters

SENTENCE = st.lists(st.sampled_from("abc"), min_size=1, max_size=3)
PAIRS = st.lists(st.tuples(SENTENCE, SENTENCE), min_size=1, max_size=4)

# A text with enough to learn: repeated words, one-word sentences, unequal lengths.
TEXT = [
    ("das haus", "the house"), ("das buch", "the book"), ("ein buch", "a book"), ("das kleine haus", "the small house"),
    ("haus", "house"), ("ein kleines buch ist klein", "a small book is small"), ("das ist ein haus", "this is a house"),
    ("klein ist das buch", "the book is small"), ("ist es klein", "is it small"),
]  # fmt: skip


def ways(pairs):
    """Return the two directions of pairs of sentences (texts, or lists of words)."""
    texts = [[side if isinstance(side, str) else " ".join(side) for side in pair] for pair in pairs]
    bitext = read_bitext([s for s, _ in texts], [t for _, t in texts])
    return directions(number_cells(bitext)), bitext


def random_parameters(direction, own, seed):
    """Return parameters drawn at random, none of them zero."""
    rng = np.random.default_rng(seed)
    return Parameters(
        rng.random(len(direction.given_of_type)) + 0.01, rng.random(direction.n_predicted) + 0.01,
        np.ones(direction.n_given), own,
    )  # fmt: skip


def sentence_pairs(direction):
    """Yield (types (n, m), NULL words (m,)) of each pair, from the layout the documentation states."""
    text = direction.text
    for k in range(direction.n_pairs):
        n = text.given_offsets[k + 1] - text.given_offsets[k]
        m = text.predicted_offsets[k + 1] - text.predicted_offsets[k]
        cells = text.cells[text.cell_offsets[k] : text.cell_offsets[k + 1]]
        types = cells.reshape(n, m) if text.turned else cells.reshape(m, n).T
        yield types, text.predicted_ids[text.predicted_offsets[k] : text.predicted_offsets[k + 1]]


def posterior_by_place(types, nulls, parameters, *, tension, null):
    """Return q (n, m), q of NULL (m,) and the probability of each predicted word, by the formula."""
    n, m = types.shape
    q, none, total = np.zeros((n, m)), np.zeros(m), np.zeros(m)
    for j in range(m):
        prior = [math.exp(-tension * abs((i + 1) / n - (j + 1) / m)) for i in range(n)]
        weights = [(1 - null) * prior[i] / sum(prior) * parameters.probabilities[types[i, j]] for i in range(n)]
        alone = null * parameters.null[nulls[j]]
        total[j] = alone + sum(weights)
        q[:, j] = np.array(weights) / total[j]
        none[j] = alone / total[j]
    return q, none, total


def every_path(types, nulls, parameters, null):
    """Yield (probability, states) of all alignments of the hidden Markov model; a state is (place, linked)."""
    n, m = types.shape
    jumps = parameters.own
    reach = (len(jumps) - 1) // 2

    def jump(a, b):
        weights = [jumps[min(max(c - a, -reach), reach) + reach] for c in range(n)]
        return (1 - null) * weights[b] / sum(weights)

    states = [(place, linked) for place in range(n) for linked in (True, False)]
    for path in itertools.product(states, repeat=m):
        p, before = 1.0, -1
        for j, (place, linked) in enumerate(path):
            if linked:
                p *= jump(before, place) * parameters.probabilities[types[place, j]]
            elif j == 0:
                p *= null / n * parameters.null[nulls[j]]
            else:
                p *= (place == before) * null * parameters.null[nulls[j]]
            before = place
        if p > 0:
            yield p, path
