"""Sampled PRO: a planted direction, bounds, storage, penalties, interpolation and which round is kept."""

import numpy as np
import pytest
from ranked import PLANTED, START, angle, check_bounds, check_learns, planted_problem, with_features
from test_pairs import as_sparse

from luthier.tuning.base import tuner
from small_problems import last

FEW = {"draws": 60, "kept": 10, "alpha": 1.0, "iterations": 4}


@pytest.mark.parametrize("gains", ["corpus", "sentence"])
def test_it_finds_a_planted_direction(gains):
    check_learns(tuner("pro", gains=gains, psi=1.0, **FEW))


def test_it_stays_within_bounds():
    check_bounds(tuner("pro", **FEW))


def test_another_seed_draws_other_pairs():
    problem = planted_problem(noise=20.0)
    found = {tuner("pro", **FEW).tune(problem, START, seed=seed).weights.tobytes() for seed in (0, 1)}
    assert len(found) == 2


def test_sparse_storage_changes_nothing():
    problem = planted_problem()
    dense = tuner("pro", **FEW).tune(problem, START)
    sparse = tuner("pro", **FEW).tune(with_features(problem, as_sparse(problem.pool.features, 2)), START)
    assert np.allclose(dense.weights, sparse.weights, rtol=1e-9)


def test_penalties_draw_to_zero_and_to_the_weights_before():
    problem = planted_problem()
    small = tuner("pro", c=1e6, psi=1.0, **FEW).tune(problem, START).weights
    assert np.abs(small).max() < 1e-2
    near = tuner("pro", c=0.0, c_prev=1e6, psi=1.0, **FEW).tune(problem, START).weights
    assert np.abs(near - START).max() < 1e-2


def test_interpolation_goes_a_part_of_the_way():
    problem, one = planted_problem(), {**FEW, "iterations": 1, "keep": "last"}
    whole, part = (last(tuner("pro", psi=psi, **one), problem, START)[-1].weights for psi in (1.0, 0.25))
    assert np.allclose(part, 0.25 * whole + 0.75 * START)
    assert last(tuner("pro", psi=0.0, **one), problem, START)[-1].weights.tolist() == START.tolist()


def test_the_best_round_is_kept_and_can_be_the_start():
    problem = planted_problem(noise=100.0)
    states = last(tuner("pro", **FEW), problem, PLANTED)
    assert states[-1].gain == max(state.gain for state in states)
    states = last(tuner("pro", keep="last", **FEW), problem, PLANTED)
    assert len(states) == 5


def test_nothing_to_learn_from_leaves_the_direction_alone():
    problem = planted_problem()
    result = tuner("pro", draws=10, kept=5, alpha=1000.0, c=0.0).tune(problem, START)
    assert angle(result.weights, START) == pytest.approx(1.0)
