"""MERT with a price on the distance from its start."""

import itertools

import numpy as np
import pytest

from luthier.landscape.bounds import Bounds
from luthier.tuning.base import State, tuner
from luthier.tuning.search.line_search import Penalty, penalized_search
from small_problems import last, problem_of, random_problem

OPTIONS = [
    {}, {"penalty": "l0", "strength": 2.0}, {"gradient": False, "strength": 0.0}, {"random": 3, "strength": 5.0},
]  # fmt: skip


def price(options, moved):
    strength = options.get("strength", 0.1)
    return strength * (np.count_nonzero(moved) if options.get("penalty") == "l0" else float(moved @ moved))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_objective_rises_and_is_what_it_says(options, seed):
    problem, start = random_problem(seed, sentences=12, k=10, features=4), np.ones(4)
    states = last(tuner("mert-regularized", rescale=False, **options), problem, start, seed)
    objectives = [state.objective for state in states]
    assert all(after > before for before, after in itertools.pairwise(objectives))
    for state in states:
        assert state.gain == problem.gain(state.weights)
        assert state.objective == pytest.approx(state.gain - price(options, state.weights - start))
    assert states[-1].gain >= states[0].gain


def test_the_dearer_the_nearer():
    problem, start = random_problem(3, sentences=12, k=10, features=4), np.ones(4)
    far = [
        np.linalg.norm(last(tuner("mert-regularized", strength=s, rescale=False), problem, start)[-1].weights - start)
        for s in (0.0, 1.0, 1000.0)
    ]
    assert far[0] > far[1] > far[2]
    changed = [
        np.count_nonzero(
            last(tuner("mert-regularized", penalty="l0", strength=s, rescale=False), problem, start)[-1].weights
            != start
        )
        for s in (0.0, 3.0, 200.0)
    ]
    assert changed[0] >= changed[1] >= changed[2] == 0


@pytest.mark.parametrize("penalty", ["l2", "l0"])
def test_the_length_of_the_start_changes_nothing(penalty):
    problem, start = random_problem(3, sentences=12, k=10, features=4), np.array([1.0, -0.3, 0.5, 0.2])
    one, other = (
        last(tuner("mert-regularized", penalty=penalty), problem, scale * start)[-1] for scale in (2.0**-20, 2.0**20)
    )
    assert np.array_equal(one.weights, other.weights)
    assert one.gain > problem.gain(start)


def test_a_place_on_a_line_by_hand():
    # one list: row 0 wins for w1 < 2, row 1 (worth 10 more) beyond; from 0 the price of 2² is 4·strength
    problem = problem_of([[[2.0, 0.0], [0.0, 1.0]]], [[0, 10]])
    start = np.array([1.0, 0.0])
    here = State(start, 0.0, "start", objective=0.0)
    direction = np.array([0.0, 1.0])
    curve = next(problem.curves(start, direction[None]))
    assert (curve.breakpoints.tolist(), curve.gains.tolist()) == ([2.0], [0.0, 10.0])
    cheap = penalized_search(problem, problem, here, direction, curve, Penalty("l2", 2.0, start), tolerance=1e-7)
    assert cheap.weights[1] == pytest.approx(2.0, abs=0.01)  # just inside, no further
    assert cheap.weights[1] > 2.0
    assert cheap.objective == pytest.approx(2.0, abs=0.1)
    assert penalized_search(problem, problem, here, direction, curve, Penalty("l2", 2.6, start), tolerance=1e-7) is None


def test_l0_takes_a_weight_back_exactly():
    # feature 1 does nothing here: from (1, 0.3) the way back to the origin (1, 0.1) saves one change
    problem = problem_of([[[1.0, 0.0], [0.0, 0.0]]], [[5, 0]])
    weights, origin = np.array([1.0, 0.3]), np.array([1.0, 0.1])
    penalty = Penalty("l0", 1.0, origin)
    here = State(weights, 5.0, objective=4.0)
    direction = np.array([0.0, 1.0])
    curve = next(problem.curves(weights, direction[None]))
    better = penalized_search(problem, problem, here, direction, curve, penalty, tolerance=1e-7)
    assert better.weights.tolist() == [1.0, 0.1]
    assert better.objective == 5.0


def test_bounds_are_kept():
    bounds = Bounds(np.array([1.0, -np.inf, 0.0]), np.array([1.0, 0.0, np.inf]))
    problem = random_problem(2, sentences=10, bounds=bounds)
    for options in OPTIONS:
        for state in last(tuner("mert-regularized", **options), problem, [1.0, 0.0, 0.0]):
            assert bounds.allow(state.weights)
