"""Tiny problems: pools from plain lists of features and worths, and error surfaces given as functions."""

import numpy as np

from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.landscape.bounds import Bounds
from luthier.landscape.problem import Problem
from luthier.metrics.loading import load_metric


def pool_of(lists, worths, names=None):
    """Return a pool: for each sentence (K, D) features, and K worths in the column "worth"."""
    dense = np.concatenate([np.asarray(rows, dtype=float) for rows in lists])
    names = names or [f"f{d}" for d in range(dense.shape[1])]
    m, n = len(dense), len(lists)
    return Pool(
        offsets=offsets_from_counts([len(rows) for rows in lists]),
        features=Features.from_dense(names, dense),
        sentence_ids=Texts.from_strings([str(i) for i in range(n)]),
        texts=Texts.from_strings(["x"] * m),
        tokens=Tokens(np.arange(m + 1), np.zeros(m, np.int32)),
        vocab=Texts.from_strings(["x"]),
        columns={"worth": np.concatenate([np.asarray(row, dtype=float) for row in worths])},
    )


def problem_of(lists, worths, bounds=None, names=None):
    """Return the problem of selecting hypotheses of the highest mean worth."""
    return Problem.make(pool_of(lists, worths, names), load_metric("column:worth"), bounds=bounds)


def random_problem(seed, *, sentences=6, k=8, features=3, bounds=None):
    """Return a problem with small whole numbers, so that ties happen."""
    rng = np.random.default_rng(seed)
    lists = rng.integers(-3, 4, (sentences, k, features))
    worths = rng.integers(0, 101, (sentences, k))
    return problem_of(list(lists), list(worths), bounds)


class Surface:
    """A stand-in for a problem: its gain is −100 times an error given as a function of the weights.

    It counts the re-ranks, and how many vectors each of them had.
    """

    def __init__(self, error, n_features, bounds=None):
        self.error, self.n_features = error, n_features
        self.bounds = bounds or Bounds.none(n_features)
        # every feature spreads by 1 within its list: a unit is the mean of |w|
        self.pool = pool_of([np.vstack([np.ones(n_features), -np.ones(n_features)])], [[0, 0]])
        self.batches = []

    def gains(self, weights):
        self.batches.append(len(weights))
        return np.array([-100.0 * self.error(w) for w in weights])

    def gain(self, weights):
        return float(self.gains(weights[None])[0])


def last(tuner, problem, start, seed=0):
    """Return all states of one run of a tuner."""
    return list(tuner.steps(problem, np.asarray(start, dtype=float), np.random.default_rng(seed)))
