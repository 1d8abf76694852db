"""Sampled PRO: a planted direction, bounds, storage, penalties, interpolation and which round is kept."""

import numpy as np
import pytest
from ranked import PLANTED, START, angle, check_bounds, check_learns, planted_problem, with_features
from test_pairs import as_sparse, slope_by_difference

from luthier.tuning.base import tuner
from luthier.tuning.ranking.rounds import top_of
from luthier.tuning.run import RunOptions, run
from small_problems import last

FEW = {"draws": 60, "kept": 10, "alpha": 1.0, "iterations": 4}


@pytest.mark.parametrize("gains", ["corpus", "sentence"])
def test_it_finds_a_planted_direction(gains):
    check_learns(tuner("pro", gains=gains, psi=1.0, **FEW))


def test_it_stays_within_bounds():
    check_bounds(tuner("pro", **FEW))


def test_another_seed_draws_other_pairs():
    problem = planted_problem(noise=20.0)
    found = {run(tuner("pro", **FEW), problem, START, RunOptions(seed=seed)).weights.tobytes() for seed in (0, 1)}
    assert len(found) == 2


def test_sparse_storage_changes_nothing():
    problem = planted_problem()
    dense = run(tuner("pro", **FEW), problem, START)
    sparse = run(tuner("pro", **FEW), with_features(problem, as_sparse(problem.pool.features, 2)), START)
    assert np.allclose(dense.weights, sparse.weights, rtol=1e-9)


def test_penalties_draw_to_zero_and_to_the_weights_before():
    problem = planted_problem()
    small = run(tuner("pro", c=1e6, psi=1.0, **FEW), problem, START).weights
    assert np.abs(small).max() < 1e-2
    near = run(tuner("pro", c=0.0, c_prev=1e6, psi=1.0, **FEW), problem, START).weights
    assert np.abs(near - START).max() < 1e-2


def test_interpolation_goes_a_part_of_the_way():
    problem, one = planted_problem(), {**FEW, "iterations": 1, "keep": "last", "falling": False}
    whole, part = (last(tuner("pro", psi=psi, **one), problem, START)[-1].weights for psi in (1.0, 0.25))
    assert np.allclose(part, 0.25 * whole + 0.75 * START)
    assert last(tuner("pro", psi=0.0, **one), problem, START)[-1].weights.tolist() == START.tolist()


@pytest.mark.compiled  # so many draws take half a minute in plain Python
def test_the_part_of_the_way_falls_from_all_of_it_to_psi():
    problem = planted_problem()
    for falling, psi, parts in ((True, 0.4, (1.0, 0.5, 0.4)), (False, 0.4, (0.4, 0.4, 0.4))):
        settings = {
            **FEW,
            "iterations": 3,
            "keep": "last",
            "top": 0,
            "select": "largest",
            "draws": 20_000,
            "kept": 1000,
        }
        one = {**settings, "iterations": 1, "psi": 1.0, "falling": False}
        states = last(tuner("pro", psi=psi, falling=falling, **settings), problem, START)
        weights = START
        for part, state in zip(parts, states[1:], strict=True):
            # with nearly all pairs kept, where a round goes hardly depends on the draw
            goal = last(tuner("pro", **one), problem, weights)[-1].weights
            assert np.allclose(state.weights, part * goal + (1 - part) * weights, rtol=0.1, atol=0.1)
            weights = state.weights


def test_the_top_of_lists_is_what_scores_highest():
    problem = planted_problem(noise=20.0)
    scores, (top, rows) = problem.pool.scores(START), top_of(problem, START, 3)
    for s, (first, end) in enumerate(zip(problem.offsets[:-1], problem.offsets[1:], strict=True)):
        highest = first + np.argsort(-scores[first:end], kind="stable")[:3]
        assert rows[top.offsets[s] : top.offsets[s + 1]].tolist() == sorted(highest.tolist())
    assert np.array_equal(top.stats, problem.stats[rows])
    assert np.array_equal(top.pool.scores(START), scores[rows])
    assert top_of(problem, START, 0)[0] is top_of(problem, START, 10_000)[0] is problem


def test_pairs_count_by_the_difference_of_their_gains():
    problem = planted_problem(noise=20.0)
    equal, by_gap = (
        tuner("pro", weighting=w, **FEW).loss_of(problem, START, problem.sentence_gains, np.random.default_rng(3))
        for w in ("equal", "difference")
    )
    gaps = by_gap.counts
    assert gaps.mean() == pytest.approx(1.0)
    assert gaps.std() > 0.1
    margins = equal.rows.scores(START)
    assert by_gap.value_and_gradient(START)[0] == pytest.approx(2 * np.sum(gaps * np.logaddexp(0.0, -margins)))
    check = slope_by_difference(by_gap, START)
    assert np.allclose(by_gap.value_and_gradient(START)[1], check, rtol=1e-5, atol=1e-4)


def test_the_best_round_is_kept_and_can_be_the_start():
    problem = planted_problem(noise=100.0)
    states = last(tuner("pro", **FEW), problem, PLANTED)
    assert states[-1].gain == max(state.gain for state in states)
    states = last(tuner("pro", keep="last", **FEW), problem, PLANTED)
    assert len(states) == 5


def test_nothing_to_learn_from_leaves_the_direction_alone():
    problem = planted_problem()
    result = run(tuner("pro", draws=10, kept=5, alpha=1000.0, c=0.0), problem, START)
    assert angle(result.weights, START) == pytest.approx(1.0)
