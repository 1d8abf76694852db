"""Plackett–Luce: by hand, against plain Python with ties and wide scores, and on a planted direction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranked import check_bounds, check_learns
from test_pairs import slope_by_difference
from test_pro_all import tied_problem

from luthier.tuning.base import tuner
from luthier.tuning.ranking.ordered import OrderedLists, OrderLoss
from small_problems import problem_of


def loss_of(problem, stages):
    return OrderLoss(problem, OrderedLists.of(problem.offsets, problem.sentence_gains), stages)


def plain_loss(problem, weights, stages):
    """Return the loss stage by stage: the best level against all that is left."""
    total = 0.0
    scores, gains = problem.pool.scores(weights), problem.sentence_gains
    for a, b in zip(problem.offsets[:-1], problem.offsets[1:], strict=True):
        levels = sorted(set(gains[a:b].tolist()), reverse=True)[:-1][:stages]
        for level in levels:
            s, g = scores[a:b], gains[a:b]
            value = np.logaddexp.reduce(s[g <= level]) - np.logaddexp.reduce(s[g == level])
            total += 100.0 * value / len(levels)
    return total


def test_three_in_order_by_hand():
    # scores 0, 1, 2 for worths 3, 2, 1: log(1 + e + e²) − 0, then log(e + e²) − 1; the mean of both
    problem = problem_of([[[0.0], [1.0], [2.0]]], [[3, 2, 1]])
    first, second = np.log(1 + np.e + np.e**2), np.log(1 + np.e)
    assert loss_of(problem, 9).value_and_gradient(np.ones(1))[0] == pytest.approx(50 * (first + second))
    assert loss_of(problem, 1).value_and_gradient(np.ones(1))[0] == pytest.approx(100 * first)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 100]), st.sampled_from([0.5, 5.0, 400.0]))
def test_the_loss_with_ties_and_wide_scores(seed, stages, size):
    problem = tied_problem(seed)
    w = size * np.random.default_rng(seed).normal(size=3)
    value, gradient = loss_of(problem, stages).value_and_gradient(w)
    assert value == pytest.approx(plain_loss(problem, w, stages), rel=1e-9, abs=1e-9)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("size", [0.4, 150.0])
@pytest.mark.parametrize("stages", [1, 3, 100])
def test_gradients_by_central_differences(stages, size):
    term, w = loss_of(tied_problem(5), stages), size * np.array([1.0, -0.6, 0.37])
    slope = slope_by_difference(term, w, step=1e-5 * size)
    assert np.allclose(term.value_and_gradient(w)[1], slope, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("stages", [1, 1000])
def test_it_finds_a_planted_direction(stages):
    check_learns(tuner("listwise", stages=stages, iterations=3, psi=1.0))


def test_it_stays_within_bounds():
    check_bounds(tuner("listwise", iterations=3))
