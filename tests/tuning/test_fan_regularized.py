"""Regularisation on the fan: the nearest good cone of brute force, a step inside it, and never beyond bounds."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from luthier.geometry.joint_selection.nearest_cone import JointCones
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.best_cells import ScoredCell
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import State, tuner
from luthier.tuning.methods import fan_regularized
from luthier.tuning.search.line_search import Penalty, penalized_search
from small_problems import last, problem_of, random_problem

WHOLE = {"cells": 0, "candidates": 100_000, "climbs": 2}


def margin_of(rows):
    """Return max t with rows·w ≤ −t and |w_k| ≤ 1."""
    m, n = rows.shape
    table, bounds = np.column_stack([rows, np.ones(m)]), [(-1, 1)] * n + [(None, 100)]
    return -linprog(np.append(np.zeros(n), -1.0), A_ub=table, b_ub=np.zeros(m), bounds=bounds).fun


def foot_of(rows, start):
    """Return the member of {rows·w ≤ 0} nearest to start: what is left of it beside the cone of the rows (Moreau)."""
    shares, _ = nnls(rows.T, start)
    return start - rows.T @ shares


def cones(problem):
    """Yield gain and sides of every selection that some weights make strictly."""
    features = problem.pool.features.dense
    lists = [range(a, b) for a, b in itertools.pairwise(problem.offsets.tolist())]
    lowest = [[r for r in own if not np.any(np.all(features[own.start : r] == features[r], axis=1))] for own in lists]
    for rows in itertools.product(*lowest):
        sides = np.concatenate([features[own] - features[r] for own, r in zip(lists, rows, strict=True)])
        sides = sides[np.any(sides != 0, axis=1)]
        if margin_of(sides) > 1e-7:
            yield float(problem.gain_of_sums(problem.stats[list(rows)].sum(axis=0))), sides, list(rows)


def angle_of(one, other):
    return math.acos(min(1.0, float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))))


def nearest_by_brute_force(problem, start, epsilon):
    """Return the least angle to a cone within epsilon of the best, those behind left out, and the best gain."""
    found = []
    for gain, sides, _ in cones(problem):
        foot = foot_of(sides, start)
        if np.linalg.norm(foot) > 1e-9 * np.linalg.norm(start):
            found.append((gain, angle_of(start, foot)))
    best = max(gain for gain, _ in found)
    return min(angle for gain, angle in found if gain >= best - epsilon - 1e-9), best


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 5.0])
@pytest.mark.parametrize("seed", range(6))
def test_with_few_weights_it_finds_the_nearest_good_cone_of_all(seed, epsilon):
    d = 2 + seed % 2
    rng = np.random.default_rng(seed)
    lists = [rng.integers(-2, 3, (k, d)) for k in rng.integers(1, 5, 4)]
    problem = problem_of(lists, [rng.integers(0, 9, len(rows)) for rows in lists])
    start = rng.standard_normal(d)
    answer = last(tuner("fan-regularized", epsilon=epsilon, **WHOLE), problem, start)[-1]
    nearest, best = nearest_by_brute_force(problem, start, epsilon)
    assert answer.gain >= best - epsilon - 1e-9
    assert math.radians(answer.objective) == pytest.approx(nearest, abs=1e-6)
    assert answer.gain == problem.gain(answer.weights)


@pytest.mark.parametrize("seed", range(4))
def test_the_answer_is_strictly_inside_and_next_to_the_foot(seed):
    problem = random_problem(seed, sentences=5, k=5, features=3)
    start = np.array([0.3, -1.1, 0.7])
    answer = last(tuner("fan-regularized", epsilon=1.0, step=1e-3, **WHOLE), problem, start)[-1]
    if answer.objective == 0.0:
        assert np.array_equal(answer.weights, start)
        return
    scores = problem.pool.scores(answer.weights)
    rows = problem.select(answer.weights)
    for (a, b), r in zip(itertools.pairwise(problem.offsets.tolist()), rows, strict=True):
        others = np.any(problem.pool.features.dense[a:b] != problem.pool.features.dense[r], axis=1)
        assert np.all(scores[a:b][others] < scores[r])
    # a step of a thousandth of the way, whose end is less than 90° off
    assert math.degrees(angle_of(start, answer.weights)) <= answer.objective + math.degrees(2e-3)
    assert np.linalg.norm(answer.weights) == pytest.approx(np.linalg.norm(start))


def test_a_start_that_is_good_enough_is_the_answer():
    problem = random_problem(2, sentences=6, features=4)
    start = np.array([0.9, 0.2, -0.4, 0.6])  # on no boundary: there the better of two cones that touch it would be
    states = last(tuner("fan-regularized", epsilon=100.0, planes=2), problem, start)
    assert np.array_equal(states[-1].weights, start)
    assert states[-1].objective == 0.0


def test_more_tolerance_is_never_farther_away():
    problem = random_problem(5, sentences=6, k=6, features=3)
    start = np.array([1.0, 0.2, -0.4])
    epsilons = (0.0, 1.0, 4.0, 10.0, 100.0)
    angles = [last(tuner("fan-regularized", epsilon=e, **WHOLE), problem, start)[-1].objective for e in epsilons]
    assert angles == sorted(angles, reverse=True)
    assert angles[0] > angles[-1] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_planes_find_what_is_nearer_than_where_line_searches_end(seed):
    pool = SyntheticLists(sentences=12, k=12, n_features=5, mean_length=8.0).generate(seed)
    problem = ListProblem.of(pool, load_metric("bleu"))
    start = np.array([0.5, 0.2, 0.3, -0.1, 0.4])
    states = last(tuner("fan-regularized", epsilon=1.0, planes=4, climbs=3), problem, start)
    answer, climbed = states[-1], states[1]
    assert answer.gain >= states[0].gain
    assert answer.objective <= climbed.objective or answer.gain >= climbed.gain
    best = max(state.gain for state in states)
    assert answer.gain >= best - 1.0 - 1e-9
    assert "from the start" in answer.note


def test_a_line_cannot_see_the_cone_that_the_fan_holds():
    # Rows on a circle: the cone of each reaches half-way to its neighbours. From w0 at 45° the line along the
    # first axis stays above 0°: it meets the good cone from 141° on, and never the one below -5°.
    directions = np.radians([45.0, 10.0, -20.0, -100.0, 172.0, 110.0])
    problem = problem_of([np.column_stack([np.cos(directions), np.sin(directions)])], [[0, 0, 10, 0, 10, 0]])
    start, axis = np.array([1.0, 1.0]), np.array([1.0, 0.0])
    here = State(start, problem.gain(start), objective=problem.gain(start))
    curve = next(problem.curves(start, axis[None]))
    line = penalized_search(problem, problem, here, axis, curve, Penalty("l2", 0.01, start), tolerance=1e-7)
    fan = last(tuner("fan-regularized", epsilon=0.0, **WHOLE), problem, start)[-1]
    assert line.gain == fan.gain == 10.0
    assert problem.select(line.weights).tolist() == [4]
    assert problem.select(fan.weights).tolist() == [2]
    assert math.degrees(angle_of(start, line.weights)) > 96.0
    assert fan.objective == pytest.approx(50.0)


@pytest.mark.parametrize("seed", range(8))
def test_sides_that_join_lazily_give_the_same_foot(seed):
    problem = random_problem(seed, sentences=3, k=4, features=3)
    start = np.random.default_rng(seed).standard_normal(3)
    joint = JointCones(problem.offsets, problem.pool.features.dense, np.empty((0, 3)))
    for _, sides, rows in itertools.islice(cones(problem), 12):
        foot = foot_of(sides, start)
        found = joint.nearest(np.array(rows), start)
        if np.linalg.norm(foot) < 1e-9:
            assert found is None
            continue
        np.testing.assert_allclose(found.weights, foot, atol=1e-8)
        assert found.angle == pytest.approx(angle_of(start, foot), abs=1e-6)
        assert joint.nearest(np.array(rows), start, limit=found.angle * 0.99) is None


BOUNDS = [
    ([0.0, -np.inf, -np.inf], [np.inf, 0.0, np.inf]),
    ([0.5, -np.inf, -np.inf], [0.5, np.inf, 0.7]),
    ([0.0, -np.inf, -1.0], [np.inf, 0.0, 1.0]),  # walls that run side by side in the plane
]


@pytest.mark.parametrize("bounds", BOUNDS)
def test_bounds_hold(bounds):
    problem = random_problem(4, sentences=8, features=3, bounds=Bounds(*map(np.array, bounds)))
    for state in last(tuner("fan-regularized", epsilon=0.5, **WHOLE), problem, [0.5, -0.45, 0.6]):
        assert problem.bounds.allow(state.weights)


def test_nothing_to_choose_is_the_end():
    constant = problem_of([[[1, 2], [1, 2]], [[3, 4]]], [[5, 9], [7]])
    assert len(last(tuner("fan-regularized"), constant, [1.0, 1.0])) == 1


def test_a_start_on_a_tie_is_left_for_the_inside_of_a_cell():
    # at (1, 1) rows 0 and 1 are tied; the first wins, and its cell lies to the right
    problem = problem_of([np.array([[1.0, 0.0], [0.0, 1.0]])], [[5, 1]])
    answer = last(tuner("fan-regularized", epsilon=0.0, **WHOLE), problem, [1.0, 1.0])[-1]
    assert answer.gain == 5.0
    assert answer.weights[0] > answer.weights[1]
    assert answer.objective == pytest.approx(0.0, abs=1e-9)


def test_a_cell_whose_point_lies_on_its_side_is_entered_by_its_middle():
    lists = [
        np.array([[0.0, -2048.0, 2048.0], [0.0, 0.0, 2048.0], [2048.0, 2048.0, -2048.0]]),
        np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
    ]
    problem = problem_of(lists, [[4, 1, 7], [2, 0]])
    search = fan_regularized._Search(tuner("fan-regularized"), problem, State(np.ones(3), 0.0, objective=0.0))
    selection = problem.select(np.array([1.0, -0.1, 0.2]))
    foot = search.cones.nearest(selection, search.origin)
    near = search.step_inside(ScoredCell(0.0, foot.weights, selection=selection), foot)
    assert search.clear.is_clear(near.state.weights, selection)
