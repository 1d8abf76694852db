"""Nelder–Mead: against scipy's on a smooth error, its stops, its bounds, its batches."""

import numpy as np
import pytest
from scipy.optimize import minimize

from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import tuner
from luthier.tuning.search.simplices import Simplex, first_simplex
from small_problems import Surface, last, problem_of, random_problem


def bowl(w):
    return float((w[0] - 0.3) ** 2 + 2 * (w[1] + 0.7) ** 2 + 0.5 * (w[2] - 1.1) ** 2 + 0.8 * w[0] * w[1])


def valley(w):
    return float((1 - w[0]) ** 2 + 5 * (w[1] - w[0] ** 2) ** 2)


@pytest.mark.parametrize(("error", "start"), [(bowl, [1.0, 1.0, 1.0]), (valley, [-1.0, 0.8])])
@pytest.mark.parametrize("steps", [1, 7, 60])
def test_the_steps_are_those_of_scipy(error, start, steps):
    start = np.array(start)
    problem = Surface(error, len(start))
    simplex, _ = first_simplex(problem, start, 1.0)
    found = last(tuner("simplex", limit=steps, tolerance=0.0), problem, start)
    # scipy counts the first simplex as an iteration
    theirs = minimize(
        error, start, method="Nelder-Mead",
        options={"initial_simplex": simplex.vertices, "maxiter": steps + 1, "maxfev": 10**6, "xatol": 0, "fatol": 0},
    )  # fmt: skip
    assert np.allclose(found[-1].weights, theirs.x, atol=1e-9)
    assert found[-1].gain == pytest.approx(-100 * theirs.fun, abs=1e-9)
    assert found[-1].did == f"stopped: {steps} steps done"


def test_it_finds_the_lowest_point_and_says_that_the_simplex_is_small():
    states = last(tuner("simplex", tolerance=1e-14), Surface(valley, 2), [-1.0, 0.8])
    assert np.allclose(states[-1].weights, [1, 1], atol=1e-5)
    assert states[-1].did == "stopped: the simplex is smaller than 1e-14"
    assert {"reflection", "expansion", "inside contraction"} <= {state.did for state in states}


def test_on_lists_that_are_nearly_smooth_it_ends_where_scipy_does():
    # (2x, 2y, −x² − y²)·(u, v, 1) is highest at (x, y) = (u, v): on a fine grid of hypotheses the weights
    # select the nearest one, whose worth falls off about (.3, −.2); the third weight is fixed
    x, y = (axis.ravel() for axis in np.meshgrid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 81)))
    rows = np.column_stack([2 * x, 2 * y, -(x**2) - y**2])
    worth = 100 - 30 * (x - 0.3) ** 2 - 60 * (y + 0.2) ** 2 - 20 * (x - 0.3) * (y + 0.2)
    bounds = Bounds(np.array([-np.inf, -np.inf, 1]), np.array([np.inf, np.inf, 1]))
    problem = problem_of([rows], [worth], bounds)
    start = np.array([-0.6, 0.7, 1.0])
    states = last(tuner("simplex", size=0.3), problem, start)
    simplex, _ = first_simplex(problem, start, 0.3)
    theirs = minimize(
        lambda w: -problem.gain(np.append(w, 1.0)), start[:2], method="Nelder-Mead",
        options={"initial_simplex": simplex.vertices[:, :2]},
    )  # fmt: skip
    assert np.allclose(states[-1].weights[:2], [0.3, -0.2], atol=0.05)
    assert states[-1].gain >= -theirs.fun - 0.05
    assert states[-1].gain <= problem.stats[:, 0].max()


def test_every_move_by_hand():
    # One weight, start 0: its unit is 1/spread = 1, so the first simplex is {0, 1}, of error 4 and 1 for
    # (w − 2)²: best 1, worst 0, centre 1. Reflected 1 + (1 − 0) = 2, error 0 < 1; expanded 1 + 2·1 = 3,
    # error 1, not below 0: reflection. Now best 2, worst 1, centre 2: reflected 3, error 1, is not below
    # the second worst (the best itself, 0) nor below the worst (1); inside 2 − 0.5·(2 − 1) = 1.5, error
    # 0.25 < 1: inside contraction.
    states = last(tuner("simplex", limit=2), Surface(lambda w: (w[0] - 2) ** 2, 1), [0.0])
    assert [(state.did, state.weights[0]) for state in states[:4]] == [
        ("start", 0.0), ("first simplex", 1.0), ("reflection", 2.0), ("inside contraction", 2.0)
    ]  # fmt: skip
    # |w − 10|: {0, 1}, reflected 2 (error 8), expanded 3 (error 7): expansion.
    states = last(tuner("simplex", limit=1), Surface(lambda w: abs(w[0] - 10), 1), [0.0])
    assert (states[2].did, states[2].weights[0]) == ("expansion", 3.0)
    # Errors 0 at 1, 5 at 0, 3 at 2 (reflected: below the worst only), 2 at 1.5 (outside, not above 3).
    steps = {0.0: 0.05, 1.0: 0.0, 2.0: 0.03, 1.5: 0.02, 0.5: 0.04}
    states = last(tuner("simplex", limit=1), Surface(lambda w: steps.get(float(w[0]), 1.0), 1), [0.0])
    assert states[2].did == "outside contraction"
    # The same with 4 outside: all but the best move half-way to it, 0 → 0.5.
    states = last(tuner("simplex", limit=1), Surface(lambda w: {**steps, 1.5: 0.04}.get(float(w[0]), 1.0), 1), [0.0])
    assert states[2].did == "shrink"


def test_a_step_asks_for_one_or_two_points_and_a_shrink_for_all_but_the_best():
    problem = Surface(valley, 2)
    states = last(tuner("simplex", limit=30), problem, [-1.0, 0.8])
    shrinks = sum(state.did == "shrink" for state in states)
    assert problem.batches[:2] == [1, 3]  # the start, the first simplex
    assert 30 < problem.batches[2:].count(1) <= 60
    assert problem.batches[2:].count(2) == shrinks
    assert set(problem.batches[2:]) <= {1, 2}


def test_a_plateau_is_a_stop():
    states = last(tuner("simplex"), Surface(lambda w: 0.5, 2), [1.0, 1.0])
    assert [state.did for state in states] == ["start", "first simplex", "stopped: all vertices have the same error"]


def test_patience_is_a_stop():
    # the best vertex (of error 0) is there from the start on; the others only come nearer
    problem = Surface(lambda w: float(np.sum(np.abs(w - 1))), 2)
    states = last(tuner("simplex", patience=5), problem, [1.0, 1.0])
    assert states[-1].did == "stopped: 5 steps without a better vertex"
    assert len(states) == 2 + 5 + 1


def test_bounds_hold_at_every_step_and_fixed_weights_stay():
    bounds = Bounds(np.array([0.0, 0.7, -1.0]), np.array([0.5, 0.7, 1.0]))
    problem = Surface(bowl, 3, bounds)
    states = last(tuner("simplex"), problem, [0.5, 0.7, 1.0])
    assert all(bounds.allow(state.weights) for state in states)
    assert len({state.weights[1] for state in states}) == 1
    assert problem.batches[1] == 3  # two weights are free: three vertices
    assert states[-1].gain > states[0].gain


def test_nothing_to_move():
    fixed = Bounds(np.ones(2), np.ones(2))
    assert last(tuner("simplex"), Surface(valley, 2, fixed), [1, 1])[-1].did == "stopped: no weight can move"


def test_a_feature_that_never_differs_in_a_list_does_not_move():
    problem = problem_of([[[0, 5, 1], [1, 5, 0]], [[2, 7, 0], [0, 7, 1]]], [[0, 1], [1, 0]])
    states = last(tuner("simplex"), problem, [0.1, 0.1, 0.2])
    assert {state.weights[1] for state in states} == {0.1}


@pytest.mark.parametrize("seed", range(5))
def test_never_worse_than_the_start_exact_and_the_same_again(seed):
    problem = random_problem(seed)
    states, again = (last(tuner("simplex"), problem, [1.0, 0.5, -0.2]) for _ in range(2))
    gains = [state.gain for state in states]
    assert gains == sorted(gains)
    assert gains[-1] == problem.gain(states[-1].weights)
    assert [s.weights.tobytes() for s in states] == [s.weights.tobytes() for s in again]


def test_the_spread_is_the_sum_over_all_pairs():
    vertices = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    simplex = Simplex(vertices, np.zeros(3))
    # ordered pairs: 2·(9 + 16 + 25) = 100; with units 3 and 4 and distances 1, 1, √2: 2·(1 + 1 + 2) = 8
    assert simplex.spread(np.ones(2)) == pytest.approx(100.0)
    assert simplex.spread(np.array([3.0, 4.0])) == pytest.approx(8.0)
    # a weight without a unit does not count: 2·(9 + 0 + 9) / 9
    assert simplex.spread(np.array([3.0, 0.0])) == pytest.approx(4.0)


def test_the_first_simplex_goes_where_there_is_room():
    # start 1, 1, 1, 1: a unit is 1. Free: up to 2. At the upper bound: down to 0. Little room above, more
    # below: down by all of the step. Workspace on neither side for a whole step: as far as the wider side goes.
    bounds = Bounds(np.array([-np.inf, -5, -5, 0.75]), np.array([np.inf, 1.0, 1.25, 1.125]))
    simplex, units = first_simplex(Surface(lambda w: 0.0, 4, bounds), np.ones(4), 1.0)
    assert units.tolist() == [1, 1, 1, 1]
    moved = np.diag(simplex.vertices[1:])
    assert moved.tolist() == [2.0, 0.0, 0.0, 0.75]


@pytest.mark.parametrize("method", ["simplex", "armijo", "cma"])
@pytest.mark.parametrize("seed", range(3))
def test_fewer_rows_change_nothing(method, seed, monkeypatch):
    problem, start = random_problem(seed, sentences=20, k=50, features=4), [1.0, -0.5, 0.25, 0.0]
    few = last(tuner(method), problem, start)
    monkeypatch.setattr(ListProblem, "within", lambda self, low, high: self)
    assert [(s.weights.tolist(), s.gain, s.did) for s in few] == [
        (s.weights.tolist(), s.gain, s.did) for s in last(tuner(method), problem, start)
    ]
