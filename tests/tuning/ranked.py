"""What tests of the ranking tuners share: lists whose worth is a planted direction's score."""

import dataclasses

import numpy as np

from luthier.landscape.bounds import Bounds
from luthier.tuning.run import run
from small_problems import problem_of

PLANTED = np.array([1.0, -2.0, 0.5, 0.0])


def planted_problem(seed=0, *, sentences=25, k=12, noise=0.0, bounds=None):
    """Return lists of normal features whose worth follows PLANTED·h, on 0–100."""
    rng = np.random.default_rng(seed)
    lists = rng.normal(size=(sentences, k, len(PLANTED)))
    worth = 50 + 10 * (lists @ PLANTED) + noise * rng.normal(size=(sentences, k))
    return problem_of(list(lists), list(np.clip(worth, 0, 100)), bounds)


def with_features(problem, features):
    """Return the problem with other features of the same rows."""
    return dataclasses.replace(problem, pool=problem.pool.with_features(features))


def angle(a, b):
    """Return the cosine of the angle between two vectors."""
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


START = np.array([0.1, 0.1, 0.1, 0.1])
HALF = Bounds(np.array([-np.inf, -0.5, 0.1, 0.0]), np.array([0.2, np.inf, 0.1, 1.0]))


def check_learns(tuner):
    """Check what every ranking tuner does on lists with a planted direction."""
    problem = planted_problem()
    result = run(tuner, problem, START)
    assert angle(result.weights, PLANTED) > 0.98
    assert result.gain == problem.gain(result.weights) > result.start_gain
    again = run(tuner, problem, START)
    assert again.weights.tobytes() == result.weights.tobytes()


def check_bounds(tuner):
    """Check that no state leaves the bounds."""
    problem = planted_problem(bounds=HALF)
    result = run(tuner, problem, START)
    assert all(HALF.allow(state.weights) for state in result.traces[0].states)
    assert result.weights[2] == 0.1
    assert result.gain > result.start_gain
