"""Directions to search along: axes, random ones, the gradient of the expected gain."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.segments import segment_of_rows
from luthier.landscape.problem import Problem
from luthier.tuning.base import State

# A feature that spreads less than this, beside the one that spreads most, is constant but for rounding.
NEGLIGIBLE = 1e-12


def movable(problem: Problem) -> Int64:
    """Return the features whose weight may move, and does something if it does."""
    spread = problem.lines.spread
    return np.flatnonzero(~problem.bounds.fixed & (spread > NEGLIGIBLE * spread.max(initial=0.0)))


def axes(problem: Problem) -> tuple[Float64, list[str]]:
    """Return the axes of movable features, (Q, D), and their names."""
    columns = movable(problem)
    directions = np.zeros((len(columns), problem.n_features))
    directions[np.arange(len(columns)), columns] = 1.0
    return directions, [problem.names[d] for d in columns]


def random_directions(problem: Problem, count: int, rng: np.random.Generator) -> tuple[Float64, list[str]]:
    """Return random directions, (count, D): normal, in units in which all features spread alike."""
    columns = movable(problem)
    count = count if len(columns) else 0
    directions = np.zeros((count, problem.n_features))
    directions[:, columns] = rng.standard_normal((count, len(columns))) / problem.lines.spread[columns]
    return directions, [f"random {i}" for i in range(count)]


def conjugate(lines: Float64, names: Sequence[str], path: Sequence[State]) -> tuple[Float64, list[str], Float64]:
    """Return the lines with the one that gained most replaced by the whole move, and that move, (D,).

    `path` are the states before and after each step of a sweep, each named after its line [powell1964].
    """
    rises = [after.gain - before.gain for before, after in itertools.pairwise(path)]
    best = list(names).index(path[1 + int(np.argmax(rises))].did)
    whole = path[-1].weights - path[0].weights
    number = 1 + max((int(name.split()[-1]) for name in names if name.startswith("move ")), default=0)
    kept = [name for i, name in enumerate(names) if i != best]
    return np.concatenate([np.delete(lines, best, axis=0), whole[None]]), [*kept, f"move {number}"], whole


def expected_gain(problem: Problem, weights: Float64, sharpness: float) -> tuple[float, Float64]:
    """Return the mean expected sentence gain under a softmax over each list, and its gradient, (D,).

    With p_k ∝ exp(γ w·h_k) in a list, g_k the gain of hypothesis k as a corpus of its own and E = Σ p_k g_k:
    the value is the mean of E over lists, its gradient the mean of γ Σ p_k (g_k − E) h_k [galley2013].
    """
    offsets, features = problem.offsets, problem.pool.features
    segments, starts = segment_of_rows(offsets), offsets[:-1]
    scores = sharpness * problem.pool.scores(weights)
    chances = np.exp(scores - np.maximum.reduceat(scores, starts)[segments])
    chances /= np.add.reduceat(chances, starts)[segments]
    gains = problem.sentence_gains
    expected = np.add.reduceat(chances * gains, starts)  # (N,)
    slopes = sharpness / len(starts) * chances * (gains - expected[segments])  # (M,)
    dense = np.einsum("m,md->d", slopes, features.dense)
    if not len(features.indices):
        return float(expected.mean()), dense
    rows = np.repeat(np.arange(len(features)), np.diff(features.indptr))
    n_sparse = features.n_features - features.n_dense
    sparse = np.bincount(features.indices, weights=slopes[rows] * features.values, minlength=n_sparse)
    return float(expected.mean()), np.concatenate([dense, sparse])


def uphill(problem: Problem, weights: Float64, sharpness: float) -> tuple[Float64, list[str]]:
    """Return the gradient of the expected gain as a direction, (1, D), fixed weights left out; or none."""
    _, gradient = expected_gain(problem, weights, sharpness)
    gradient[problem.bounds.fixed] = 0.0
    return gradient[None][: int(np.any(gradient))], ["uphill"]
