"""What a tuner works on: selections and gains against plain re-ranking."""

import pickle

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.kbest.groups import FeatureGroup
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.tuning.base import State
from small_problems import pool_of, problem_of, random_problem


def plain_gain(problem, weights):
    """Select by Python's max (the first of equals), and take the mean worth."""
    pool, worths = problem.pool, []
    for first, last in zip(pool.offsets[:-1], pool.offsets[1:], strict=True):
        scores = [sum(w * x for w, x in zip(weights, row, strict=True)) for row in pool.features.dense[first:last]]
        worths.append(pool.columns["worth"][first + scores.index(max(scores))])
    return np.mean(worths)


@pytest.mark.parametrize("seed", range(5))
def test_many_vectors_at_once_are_each_alone(seed):
    problem = random_problem(seed)
    weights = np.random.default_rng(seed).integers(-2, 3, (19, 3)).astype(float)
    gains = problem.gains(weights)
    assert gains.tolist() == [problem.gain(w) for w in weights]
    assert np.allclose(gains, [plain_gain(problem, w) for w in weights])
    assert problem.select(weights).tolist() == [problem.select(w).tolist() for w in weights]


def test_a_gain_is_better_when_higher():
    pool = pool_of([[[1.0], [-1.0]]], [[3, 5]])
    up, down = (ListProblem.of(pool, load_metric(f"column('worth', maximize={way})")) for way in (True, False))
    assert (up.gain(np.ones(1)), down.gain(np.ones(1))) == (3.0, -3.0)
    assert up.sentence_gains.tolist() == [3.0, 5.0]
    assert down.gain_of_sums(np.array([[8.0, 2.0]])).tolist() == [-4.0]


def test_sentences_without_hypotheses_are_left_out():
    pool = pool_of([[[1.0], [2.0]], np.zeros((0, 1)), [[3.0]]], [[1, 2], [], [6]])
    problem = ListProblem.of(pool, load_metric("column:worth"))
    assert problem.offsets.tolist() == [0, 2, 3]
    assert problem.gain(np.ones(1)) == 4.0


def test_what_cannot_be_tuned_is_refused():
    empty = pool_of([np.zeros((0, 1))], [[]])
    with pytest.raises(LuthierError, match="an empty one"):
        ListProblem.of(empty, load_metric("column:worth"))
    with pytest.raises(LuthierError, match="no direction"):
        ListProblem.of(pool_of([[[1.0]]], [[1]]), load_metric("length"))


def test_the_default_start_is_inside_the_bounds():
    problem = random_problem(0)
    assert problem.default_start().tolist() == [1.0, 1.0, 1.0]
    bounded = problem.with_bounds(Bounds(np.array([-1.0, 2, -5]), np.array([0.5, 3, -4])))
    assert bounded.default_start().tolist() == [0.5, 2.0, -4.0]
    assert bounded.names == ("f0", "f1", "f2")


def test_states_are_frozen_copies_and_pickle():
    weights = np.ones(2)
    state = State(weights, 1.0, "x", 0.5)
    weights[0] = 7.0
    assert state.weights.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        state.weights[0] = 3.0
    again = pickle.loads(pickle.dumps(state))
    assert (again.weights.tolist(), again.gain, again.did, again.objective) == ([1.0, 1.0], 1.0, "x", 0.5)


def test_ties_go_to_the_first():
    problem = problem_of([[[1.0], [1.0], [0.0]]], [[3, 5, 9]])
    assert problem.gain(np.ones(1)) == 3.0
    assert problem.gain(np.zeros(1)) == 3.0


def test_groups_are_those_of_the_features():
    problem = random_problem(0)
    assert problem.groups == ()
    bins = FeatureGroup("bins", (problem.names[2], problem.names[0]))
    pool = problem.pool.with_features(problem.pool.features.group([bins]))
    assert ListProblem.of(pool, problem.metric).groups == (bins,)
