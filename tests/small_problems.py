"""Tiny problems: pools from plain lists of features and worths, and error surfaces given as functions."""

import numpy as np

from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.landscape.bounds import Bounds
from luthier.landscape.curve import LineCurve
from luthier.landscape.list_problem import ListProblem
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
    return ListProblem.of(pool_of(lists, worths, names), load_metric("column:worth"), bounds=bounds)


def random_problem(seed, *, sentences=6, k=8, features=3, bounds=None):
    """Return a problem with small whole numbers, so that ties happen."""
    rng = np.random.default_rng(seed)
    lists = rng.integers(-3, 4, (sentences, k, features))
    worths = rng.integers(0, 101, (sentences, k))
    return problem_of(list(lists), list(worths), bounds)


class Surface(Problem):
    """A problem without lists: its gain is −100 times an error given as a function of the weights.

    Every feature spreads by 1: a unit is the mean of |w|. It counts the evaluations, and how many vectors each had.
    """

    metric = load_metric("column:gain")

    def __init__(self, error, n_features, bounds=None):
        self.error, self.size = error, n_features
        self.bounds = bounds or Bounds.none(n_features)
        self.batches = []

    @property
    def names(self):
        return tuple(f"f{d}" for d in range(self.size))

    @property
    def spread(self):
        return np.ones(self.size)

    def gains(self, weights):
        self.batches.append(len(weights))
        return np.array([-100.0 * self.error(w) for w in weights])

    def curves(self, start, directions):
        raise NotImplementedError

    def with_bounds(self, bounds):
        return Surface(self.error, self.size, bounds)


class Steps(Surface):
    """A problem without lists whose curves are exact: each half-space ``a·w > c`` adds its worth to the gain."""

    def __init__(self, normals, offsets, worths, bounds=None):
        self.normals, self.offsets, self.worths = normals, offsets, worths
        super().__init__(lambda w: -float(worths[normals @ w > offsets].sum()) / 100.0, normals.shape[1], bounds)

    def curves(self, start, directions):
        for direction in directions:
            slopes = self.normals @ direction
            moving = slopes != 0
            times = np.unique((self.offsets - self.normals @ start)[moving] / slopes[moving])
            ends = np.concatenate([times[:1] - 2, times, times[-1:] + 2]) if len(times) else np.array([-1.0, 1.0])
            middles = (ends[:-1] + ends[1:]) / 2
            yield LineCurve(times, self.gains(start + middles[:, None] * direction), np.ones(len(times)))

    def with_bounds(self, bounds):
        return Steps(self.normals, self.offsets, self.worths, bounds)


def last(tuner, problem, start, seed=0):
    """Return all states of one run of a tuner."""
    return list(tuner.steps(problem, np.asarray(start, dtype=float), np.random.default_rng(seed)))
