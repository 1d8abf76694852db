"""All pairs: both losses against brute force with ties, gradients by differences, lists without pairs."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import START, check_bounds, check_learns, planted_problem, with_features
from test_pairs import as_sparse, slope_by_difference

from luthier.tuning.base import tuner
from luthier.tuning.ranking.ordered import AllPairsLoss, OrderedLists
from luthier.tuning.run import RunOptions, run
from small_problems import problem_of, random_problem

CASES = [(loss, by_gap) for loss in ("logistic", "hinge") for by_gap in (False, True)]


def brute_force(problem, weights, loss, by_gap):
    """Return 100 · Σ over lists of the mean loss over pairs of different gain, pair by pair."""
    total = 0.0
    scores, gains = problem.pool.scores(weights), problem.sentence_gains
    for a, b in zip(problem.offsets[:-1], problem.offsets[1:], strict=True):
        value = weight = 0.0
        for i in range(a, b):
            for j in range(a, b):
                if gains[i] > gains[j]:
                    u = gains[i] - gains[j] if by_gap else 1.0
                    margin = scores[i] - scores[j]
                    one = np.logaddexp(0.0, -margin) if loss == "logistic" else max(0.0, 1.0 - margin) ** 2
                    value, weight = value + u * one, weight + u
        total += 100.0 * value / weight if weight else 0.0
    return total


def tied_problem(seed):
    """Return lists of unlike lengths with few different worths and scores."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 12, 5)
    lists = [rng.integers(-2, 3, (k, 3)) for k in lengths]
    return problem_of(lists, [10.0 * rng.integers(0, rng.integers(1, 8), k) for k in lengths])


def loss_of(problem, loss, by_gap):
    lists = OrderedLists.of(problem.offsets, problem.sentence_gains)
    return AllPairsLoss(problem, lists, loss=loss, by_gap=by_gap)


@pytest.mark.parametrize(("loss", "by_gap"), CASES)
@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 1.0, 30.0, 400.0]))
def test_losses_are_those_of_brute_force_even_for_wide_scores(loss, by_gap, seed, size):
    problem = tied_problem(seed)
    w = size * np.random.default_rng(seed).normal(size=3)
    value, gradient = loss_of(problem, loss, by_gap).value_and_gradient(w)
    expected = brute_force(problem, w, loss, by_gap)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize(("loss", "by_gap"), CASES)
@pytest.mark.parametrize("size", [0.3, 200.0])
def test_gradients_by_central_differences(loss, by_gap, size):
    problem = random_problem(3, k=9)
    term = loss_of(problem, loss, by_gap)
    w = size * np.array([1.0, 0.7, -0.31])
    slope = slope_by_difference(term, w, step=1e-5 * size)
    assert np.allclose(term.value_and_gradient(w)[1], slope, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_lists_longer_than_a_block(loss):
    rng = np.random.default_rng(0)
    problem = problem_of([rng.normal(size=(300, 2))], [np.round(100 * rng.random(300))])
    w = np.array([2.0, -1.0])
    scores, gains = problem.pool.scores(w), problem.sentence_gains
    margins, above = scores[:, None] - scores, gains[:, None] > gains
    each = np.logaddexp(0.0, -margins) if loss == "logistic" else np.maximum(0.0, 1.0 - margins) ** 2
    assert loss_of(problem, loss, False).value_and_gradient(w)[0] == pytest.approx(100 * each[above].mean())


def test_the_order_of_lists_by_hand():
    # worths 5 7 7 1: places are rows 1, 2 (tied), 0, 3
    lists = OrderedLists.of(np.array([0, 4, 5]), np.array([5.0, 7.0, 7.0, 1.0, 3.0]))
    assert lists.order.tolist() == [1, 2, 0, 3, 4]
    assert lists.lower.tolist() == [2, 2, 3, 4, 1]
    assert lists.higher.tolist() == [0, 0, 2, 3, 0]
    assert lists.levels().tolist() == [3, 1]
    assert lists.pair_weights(by_gap=False).tolist() == [5.0, 0.0]
    # 7−5, 7−1 twice each, 5−1: 2 + 6 + 2 + 6 + 4
    assert lists.pair_weights(by_gap=True).tolist() == [20.0, 0.0]


@pytest.mark.parametrize(("loss", "weighting"), [("hinge", "difference"), ("logistic", "equal")])
def test_it_finds_a_planted_direction(loss, weighting):
    check_learns(tuner("pro-all", loss=loss, weighting=weighting, iterations=3, psi=1.0))


def test_it_stays_within_bounds():
    check_bounds(tuner("pro-all", iterations=3))


def test_sparse_storage_and_the_order_of_candidates_change_nothing():
    problem, method = planted_problem(), tuner("pro-all", iterations=2)
    dense = run(method, problem, START).weights
    sparse = run(method, with_features(problem, as_sparse(problem.pool.features, 1)), START).weights
    assert np.allclose(dense, sparse, rtol=1e-9)
    rows = np.arange(problem.pool.n_hypotheses).reshape(25, 12)[:, ::-1].ravel()
    pool = problem.pool.with_features(problem.pool.features.take(rows))
    turned = dataclasses.replace(problem, pool=pool, stats=problem.stats[rows])
    assert np.allclose(run(method, turned, START).weights, dense, rtol=1e-5)


def test_nothing_is_random():
    problem = planted_problem(noise=30.0)
    assert len({run(tuner("pro-all", iterations=1), problem, START, RunOptions(seed=s)).gain for s in range(3)}) == 1


def test_lists_that_say_nothing_only_shrink_the_weights():
    problem = problem_of([np.eye(3), np.eye(3)[:1]], [[5, 5, 5], [1]])
    assert run(tuner("pro-all", c=0.0), problem, START[:3]).weights.tolist() == START[:3].tolist()
