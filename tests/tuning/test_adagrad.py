"""AdaGrad: first steps by hand, zeros by ℓ1, a planted direction, bounds, scales and storage."""

import numpy as np
import pytest
from ranked import START, check_bounds, check_learns, planted_problem, with_features
from test_pairs import as_sparse

from luthier.tuning.base import tuner
from luthier.tuning.run import run
from small_problems import last, problem_of

FEW = {"draws": 60, "kept": 10, "alpha": 1.0, "epochs": 6, "batch": 5}


@pytest.mark.parametrize("averaged", [False, True])
def test_it_finds_a_planted_direction(averaged):
    check_learns(tuner("adagrad", averaged=averaged, rate=1.0, **{**FEW, "epochs": 15}))


def test_it_stays_within_bounds():
    check_bounds(tuner("adagrad", **FEW))


def test_the_first_step_is_as_long_as_the_rate_whatever_the_scale():
    # one sentence, one pair: its difference is 4, so a first step in w is .1 / 4
    problem = problem_of([[[4.0, 0.0], [0.0, 0.0]]], [[90, 10]])
    method = tuner("adagrad", rate=0.1, l2=0.0, epochs=1, kept=1, averaged=False, keep="last")
    assert last(method, problem, [0.0, 1.0])[-1].weights.tolist() == pytest.approx([0.025, 1.0])


def test_l1_makes_zeros_and_l2_shrinks():
    problem = planted_problem(noise=5.0)
    plain, sparse, small = (
        run(tuner("adagrad", averaged=False, keep="last", **more, **FEW), problem, START).weights
        for more in ({"l2": 0.0}, {"l2": 0.0, "l1": 150.0}, {"l2": 1000.0})
    )
    assert np.count_nonzero(plain) == 4
    assert 0 < np.count_nonzero(sparse) < 4
    assert np.linalg.norm(small) < 0.5 * np.linalg.norm(plain)


def test_scaled_features_get_inversely_scaled_weights():
    problem, by = planted_problem(), {"f0": 100.0, "f2": 0.01}
    scaled = with_features(problem, problem.pool.features.scale(by))
    factor = np.array([100.0, 1.0, 0.01, 1.0])
    method = tuner("adagrad", l2=0.0, **FEW)
    one, other = run(method, problem, START), run(method, scaled, START / factor)
    assert np.allclose(one.weights, other.weights * factor, rtol=1e-6)


def test_sparse_storage_changes_nothing():
    problem = planted_problem()
    dense = run(tuner("adagrad", **FEW), problem, START).weights
    sparse = run(tuner("adagrad", **FEW), with_features(problem, as_sparse(problem.pool.features, 2)), START)
    assert np.allclose(dense, sparse.weights, rtol=1e-9)
