"""MERT: improves with every step, finds what brute force finds on a line, keeps to its bounds."""

import itertools

import numpy as np
import pytest

from luthier.landscape.bounds import Bounds
from luthier.tuning.base import tuner
from small_problems import last, problem_of, random_problem

VARIANTS = [
    {}, {"order": "greedy"}, {"directions": "random"}, {"directions": "both", "order": "greedy", "random": 3},
    {"directions": "powell"}, {"smoothing": "mean"}, {"smoothing": "worst", "window": 1}, {"point": "margin"},
]  # fmt: skip


@pytest.mark.parametrize("options", VARIANTS, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_every_step_improves_and_reports_its_gain(options, seed):
    problem = random_problem(seed, sentences=12, k=10, features=4)
    states = last(tuner("mert", **options), problem, np.ones(4), seed)
    gains = [state.gain for state in states]
    assert len(states) > 1
    assert all(after > before for before, after in itertools.pairwise(gains))
    assert [problem.gain(state.weights) for state in states] == gains


def test_no_axis_improves_the_answer():
    problem = random_problem(4, sentences=10, k=10)
    answer = last(tuner("mert"), problem, np.ones(3))[-1]
    for d in range(3):
        for t in np.random.default_rng(d).normal(size=200) * 5:
            moved = answer.weights + t * np.eye(3)[d]
            assert problem.gain(moved) <= answer.gain + 1e-9


def test_two_features_are_solved_by_one_line():
    # With two features the first line sees every direction with w1 = 1 > 0: the best of them is found.
    rng = np.random.default_rng(6)
    problem = problem_of(list(rng.normal(size=(8, 10, 2))), list(rng.integers(0, 101, (8, 10))))
    best = max(problem.gain(np.array([t, 1.0])) for t in np.tan(np.linspace(-1.57, 1.57, 500)))
    assert last(tuner("mert"), problem, [0.0, 1.0])[1].gain >= best


def test_fixed_and_signed_weights():
    bounds = Bounds(np.array([1.0, -np.inf, 0.0]), np.array([1.0, 0.0, np.inf]))
    problem = random_problem(2, sentences=10, bounds=bounds)
    for options in VARIANTS:
        for state in last(tuner("mert", **options), problem, [1.0, 0.0, 0.0]):
            assert bounds.allow(state.weights)


def test_nothing_to_choose_is_the_end():
    constant = problem_of([[[1, 2], [1, 2]], [[3, 4]]], [[5, 9], [7]])
    for options in VARIANTS:
        assert len(last(tuner("mert", **options), constant, [1.0, 1.0])) == 1


def test_the_limit_of_sweeps():
    problem = random_problem(1, sentences=30, k=20, features=6)
    every = last(tuner("mert", order="greedy"), problem, np.ones(6))
    assert len(every) > 3
    assert len(last(tuner("mert", order="greedy", sweeps=2), problem, np.ones(6))) == 3
