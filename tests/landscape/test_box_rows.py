"""Rows that can win in a box of weights: no weights of the box select another, on ties and at every scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luthier.kbest.features import Features
from luthier.landscape.box_rows import rows_in_box
from luthier.tuning.search.focus import Focus
from small_problems import pool_of, problem_of, random_problem


@given(st.integers(0, 10**6), st.sampled_from([1e-12, 1.0, 1e12]), st.sampled_from([0.0, 1e-9, 0.3, 2.0]))
def test_every_row_that_weights_of_the_box_select_is_there(seed, scale, side):
    rng = np.random.default_rng(seed)
    lists = rng.integers(-3, 4, (4, 7, 3)) * np.array([1.0, scale, 1.0])
    problem = problem_of(list(lists), list(rng.integers(0, 101, (4, 7))))
    low = rng.integers(-2, 3, 3) / np.array([1.0, scale, 1.0])
    high = low + side * rng.integers(0, 2, 3) / np.array([1.0, scale, 1.0])
    inside = problem.within(low, high)
    rows = set(rows_in_box(problem.pool, low, high).tolist())
    # corners, where whole numbers tie, and places between them
    shares = np.concatenate([rng.integers(0, 2, (20, 3)), rng.random((20, 3))])
    points = np.clip(low + shares * (high - low), low, high)
    assert rows.issuperset(problem.select(points).ravel().tolist())
    assert problem.gains(points).tolist() == inside.gains(points).tolist()
    assert [problem.gain(point) for point in points] == [inside.gain(point) for point in points]


def test_a_point_keeps_the_rows_that_tie_and_no_others():
    problem = problem_of([[[1, 0], [0, 1], [0, 0], [1, 0]]], [[1, 2, 3, 4]])
    one = np.ones(2)
    assert rows_in_box(problem.pool, one, one).tolist() == [0, 1, 3]
    assert problem.within(one, one) is problem  # most rows: nothing would be gained
    assert rows_in_box(problem.pool, np.array([1.0, 0.0]), np.array([2.0, 0.5])).tolist() == [0, 3]


@pytest.mark.parametrize("lists", [[[[1, 2]]], [[[1, 2], [1, 2]]], [[[1, 2]], [[0, 0], [0, 0], [3, 1]]]])
def test_one_row_one_list_and_duplicates(lists):
    problem = problem_of(lists, [list(range(len(rows))) for rows in lists])
    points = np.array([[1.0, -1.0], [1.0, -0.9], [1.1, -1.0]])
    inside = problem.within(points.min(axis=0), points.max(axis=0))
    assert inside.gains(points).tolist() == problem.gains(points).tolist()


def test_scores_that_underflow_decide_nothing():
    problem = problem_of([[[1, 0], [0, 1], [0, 2], [0, 3]]], [[1, 2, 3, 4]])
    tiny = np.full(2, 5e-324)
    assert rows_in_box(problem.pool, -tiny, tiny).tolist() == [0, 1, 2, 3]


def test_a_smaller_problem_has_the_lines_of_the_box():
    problem = random_problem(3, sentences=20, k=40)
    low, high = np.array([0.9, -0.4, 0.1]), np.array([1.0, -0.3, 0.2])
    inside = problem.within(low, high)
    assert inside.pool.n_hypotheses < problem.pool.n_hypotheses
    steps = np.linspace(0.01, 0.99, 37)
    assert problem.gains_along(low, high - low, steps).tolist() == inside.gains_along(low, high - low, steps).tolist()


def test_sparse_features_and_boxes_without_end_leave_the_problem_as_it_is():
    pool = pool_of([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]], [[1, 2, 3]])
    features = Features.from_dense(("a",), pool.features.dense[:, :1])
    sparse = Features(("a", "b"), features.dense, np.array([0, 0, 1, 2]), np.zeros(2, np.int32), np.ones(2))
    assert rows_in_box(pool.with_features(sparse), np.zeros(2), np.ones(2)) is None
    edge = np.full(2, 1.7e308)
    assert rows_in_box(pool, -edge, edge) is None


@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_closes_in_and_leaves_again_has_the_gains_of_all_rows(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, sentences=15, k=60)
    focus, centre, side, fewest = Focus(problem), np.array([1.0, 0.5, -0.5]), 1.0, problem.pool.n_hypotheses
    for step in range(60):
        side *= 3.0 if step % 13 == 12 else 0.7
        centre = centre + side * rng.normal(size=3)
        points = centre + side * rng.random((5, 3))
        inside = focus.within(points.min(axis=0), points.max(axis=0))
        assert inside.gains(points).tolist() == problem.gains(points).tolist()
        fewest = min(fewest, inside.pool.n_hypotheses)
    assert fewest <= problem.pool.n_hypotheses / 4
