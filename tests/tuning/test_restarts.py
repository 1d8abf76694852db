"""Starts of further runs, and the units they are drawn in."""

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.kbest.spread import spread_in_lists
from luthier.landscape.bounds import Bounds
from luthier.landscape.problem import effect_units
from luthier.tuning.restarts import draw_start
from small_problems import pool_of

START, SCALE = np.array([1.0, -2.0, 0.5, 0.0, 3.0]), np.array([1.0, 1.0, 2.0, 0.1, 1.0])


def drawn(kind, n=400, bounds=None):
    rng = np.random.default_rng(0)
    return np.array([draw_start(kind, START, SCALE, bounds or Bounds.none(5), rng) for _ in range(n)])


def test_few_moves_three_weights_and_each_as_often():
    moved = drawn("few") != START
    assert set(moved.sum(axis=1)) == {3}
    assert np.all(np.abs(moved.mean(axis=0) - 0.6) < 0.1)


def test_few_moves_what_is_free_where_less_than_three_are():
    bounds = Bounds(np.where([1, 1, 0, 1, 0], START, -np.inf), np.where([1, 1, 0, 1, 0], START, np.inf))
    moved = drawn("few", 20, bounds) != START
    assert moved.all(axis=0).tolist() == [False, False, True, False, True]


@pytest.mark.parametrize(("kind", "about"), [("random", np.zeros(5)), ("perturbed", START), ("walk", START)])
def test_the_others_move_all_in_units_of_the_scale(kind, about):
    moves = (drawn(kind, 4000) - about) / SCALE
    assert np.all(np.abs(moves.mean(axis=0)) < 0.08)
    assert np.all(np.abs(moves.std(axis=0) - 1) < 0.05)


@pytest.mark.parametrize("kind", ["random", "perturbed", "few", "walk"])
def test_bounds_hold_and_fixed_weights_stay(kind):
    bounds = Bounds(np.array([0.5, -2, 0, -0.05, -np.inf]), np.array([np.inf, -2, 1, 0.05, np.inf]))
    starts = drawn(kind, 50, bounds)
    assert all(bounds.allow(start) for start in starts)
    assert set(starts[:, 1]) == {-2.0}


def test_an_unknown_kind_is_refused():
    with pytest.raises(LuthierError, match="expected one of random, perturbed, few, walk, found 'far'"):
        drawn("far", 1)


def test_units_are_mean_effects():
    # Spreads within lists 1, 2 and 0 (5 and 7 differ between lists only). Effects at (2, 1, 9): 2, 2, 0, mean
    # 4/3; units 4/3, 2/3, and none for the feature that never differs.
    pool = pool_of([[[0, 0, 5], [2, 4, 5]], [[3, 9, 7], [5, 5, 7]]], [[0, 0], [0, 0]])
    assert effect_units(spread_in_lists(pool), np.array([2.0, 1.0, 9.0])) == pytest.approx([4 / 3, 2 / 3, 0.0])
    assert effect_units(spread_in_lists(pool), np.zeros(3)) == pytest.approx([1.0, 0.5, 0.0])


def test_a_constant_feature_with_rounding_has_no_unit():
    pool = pool_of([[[0, 0.1 + 0.2], [2, 0.3], [4, 0.3]]], [[0, 0, 0]])
    assert effect_units(spread_in_lists(pool), np.ones(2))[1] == 0.0


def test_where_nothing_differs_nothing_has_a_unit():
    pool = pool_of([[[1, 2]], [[3, 4]]], [[0], [0]])
    assert effect_units(spread_in_lists(pool), np.ones(2)).tolist() == [0.0, 0.0]
