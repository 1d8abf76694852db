"""Line search: curves against plain re-ranks, places by hand, promises kept."""

import dataclasses

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from luthier.kbest.features import Features
from luthier.landscape.bounds import Bounds
from luthier.landscape.curve import LineCurve
from luthier.landscape.lines.places import Choice, best_places, smoothed
from luthier.landscape.list_problem import ListProblem, expected_gain
from luthier.tuning.base import State, tuner
from luthier.tuning.search.line_search import (
    conjugate,
    kept_gain,
    random_directions,
    search_all,
    search_in_turn,
    seen_of,
    uphill,
)
from small_problems import last, problem_of, random_problem

FREE = (-np.inf, np.inf)


def as_sparse(problem):
    """Return the same problem with all features but the first in CSR form."""
    f = problem.pool.features
    rest = f.dense[:, 1:]
    rows, columns = np.nonzero(rest)
    indptr = np.searchsorted(rows, np.arange(len(f) + 1))
    features = Features(f.names, f.dense[:, :1], indptr, columns, rest[rows, columns])
    return ListProblem.of(problem.pool.with_features(features), problem.metric)


def inside(left, right):
    """Return a number between two with few binary digits, so that sums of products with it are exact.

    Rows whose lines are equal differ in rounding at other places: no re-rank could keep such a tie.
    """
    if np.isinf(left) or np.isinf(right):
        return 0.0 if left < 0 < right else (np.floor(left) + 1 if np.isinf(right) else np.ceil(right) - 1)
    return next(t for m in range(50) if (t := (np.floor(left * 2.0**m) + 1) / 2.0**m) < right)


def assert_curve_is_what_reranking_gives(problem, start, direction, curve):
    ends = np.concatenate([[-np.inf], curve.breakpoints, [np.inf]])
    assert np.all(np.diff(curve.breakpoints) > 0)
    for gain, left, right in zip(curve.gains, ends[:-1], ends[1:], strict=True):
        t = inside(left, right)
        assert problem.gain(start + t * direction) == pytest.approx(gain, abs=1e-9)
        assert curve.gain_at(t) == gain


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.sampled_from([1, 3, 9]))
@example(502, 9)
def test_every_interval_has_the_gain_of_a_plain_rerank(seed, k):
    problem = random_problem(seed, sentences=4, k=k)
    start = np.random.default_rng(seed).integers(-4, 5, 3).astype(float)
    directions = np.array([[1.0, 0, 0], [0, -1, 0], [1, -2, 3]])
    for other in (problem, as_sparse(problem)):
        for direction, curve in zip(directions, other.curves(start, directions), strict=True):
            assert_curve_is_what_reranking_gives(problem, start, direction, curve)


def test_long_lists_go_the_fast_way_to_the_same_curve():
    rng = np.random.default_rng(2)
    problem = problem_of([np.round(rng.normal(size=(90, 4)), 2) for _ in range(5)], rng.integers(0, 99, (5, 90)))
    start, directions = rng.normal(size=4), np.concatenate([np.eye(4), rng.normal(size=(2, 4))])
    for direction, curve in zip(directions, problem.curves(start, directions), strict=True):
        assert_curve_is_what_reranking_gives(problem, start, direction, curve)


def test_a_problem_is_made_ready_once():
    problem = random_problem(0)
    assert problem.lines is problem.lines


def curve_of(breakpoints, gains, bends=None):
    bends = np.ones(len(breakpoints)) if bends is None else np.array(bends, dtype=float)
    return LineCurve(np.array(breakpoints, dtype=float), np.array(gains, dtype=float), bends)


def test_of_equal_gains_the_widest_interval_then_the_nearest():
    curve = curve_of([-9, -7, 2, 4, 5, 9], [0, 5, 1, 5, 3, 7, 5])
    places = best_places(curve, Choice(), limits=FREE, reach=1.0, above=4.0)
    # 7 at (5, 9); then 5: beyond 9 (infinitely wide), by reach; (2, 4) and (−9, −7) are as wide, 3 is nearer
    assert places.positions.tolist() == [7.0, 10.0, 3.0, -8.0]
    assert places.gains.tolist() == [7, 5, 5, 5]
    # what ends at a bound has a width
    places = best_places(curve, Choice(), limits=(-3.0, 10.0), reach=1.0, above=4.0)
    assert places.positions.tolist() == [7.0, 3.0, 9.5]


def test_narrow_intervals_are_no_candidates():
    curve = curve_of([1.0, 1.0 + 1e-9, 3.0], [0, 9, 5, 0])
    places = best_places(curve, Choice(tolerance=1e-6), limits=FREE, reach=1.0, above=0.0)
    assert places.gains.tolist() == [5.0]


def test_what_begins_too_far_is_no_place_and_what_ends_there_is_open():
    curve = curve_of([-3e18, 2.0, 1e16, 3e18], [7, 0, 9, 10, 11])
    for point in ("midpoint", "margin"):
        places = best_places(curve, Choice(point=point), limits=FREE, reach=1.0, above=1.0, far=1e15)
        assert places.positions.tolist() == [3.0]
    places = best_places(curve, Choice(), limits=FREE, reach=1.0, above=1.0)
    assert places.gains.tolist() == [11, 10, 9, 7]


def test_mert_keeps_weights_of_one_size_where_a_sum_is_rounded_in_two_ways():
    # two rows have the same second feature but for its last bit, so they cross at −1e16
    first, second = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    assert 0.0 < first - second < 1e-15
    lists = [[[0.0, first], [1.0, second], [-3.0, 2.0]]]
    bounds = Bounds(np.array([-1.0, -np.inf]), np.array([-1.0, np.inf]))
    problem = problem_of(lists, [[9.0, 0.0, 5.0]], bounds)
    (curve,) = problem.curves(np.array([-1.0, 1.0]), np.array([[0.0, 1.0]]))
    assert curve.breakpoints.min() < -1e15
    answer = last(tuner("mert"), problem, [-1.0, 1.0])[-1]
    assert answer.gain == 9.0
    assert -1e3 < answer.weights[1] < -2.0


def test_the_margin_point_is_where_both_neighbours_are_equally_far_in_score():
    # the list that changes at 0 gains 3 per step, that at 4 only 1: t·3 = (4 − t)·1 at t = 1
    curve = curve_of([0, 4], [0, 5, 0], bends=[3, 1])
    places = best_places(curve, Choice(point="margin"), limits=FREE, reach=1.0, above=0.0)
    assert places.positions.tolist() == [1.0]


def test_smoothing_by_hand():
    gains = np.array([4.0, 1.0, 1.0, 3.0, 3.0, 2.0])
    assert smoothed(gains, "worst", 1).tolist() == [1, 1, 1, 1, 2, 2]
    assert smoothed(gains, "mean", 1).tolist() == pytest.approx([2.5, 2, 5 / 3, 7 / 3, 8 / 3, 2.5])
    assert smoothed(gains, "none", 1) is gains
    # the peak stands alone; the plateau of 3 is preferred
    curve = curve_of([0, 1, 2, 3, 4], gains)
    places = best_places(curve, Choice("worst", 1), limits=FREE, reach=1.0, above=0.0)
    assert places.gains[0] == 3.0


def test_a_broken_promise_is_seen_and_the_next_place_taken():
    problem = random_problem(5)
    here = State(np.zeros(3), problem.gain(np.zeros(3)), "start")
    weights = [w for w in np.random.default_rng(0).normal(size=(50, 3)) if problem.gain(w) > here.gain][:2]
    lie = State(weights[0], 1e6, "lie")
    true = State(weights[1], problem.gain(weights[1]), "true")
    assert kept_gain(problem, here, [lie, true]).did == "true"
    rescued = kept_gain(problem, here, [lie])
    assert (rescued.did, rescued.gain) == ("lie", problem.gain(weights[0]))
    assert kept_gain(problem, dataclasses.replace(here, gain=1e5), [lie, true]) is None


def test_searching_in_turn_equals_one_line_at_a_time():
    problem = random_problem(11, sentences=9, k=12, features=5)
    start = State(np.ones(5), problem.gain(np.ones(5)), "start")
    names = list("abcde")
    found = list(search_in_turn(problem, seen_of(problem), start, np.eye(5), names, Choice()))
    here, expected = start, []
    for d in range(5):
        better = search_all(problem, problem, here, np.eye(5)[d : d + 1], names[d : d + 1], Choice())
        if better is not None:
            here = better
            expected.append(better)
    assert [s.did for s in found] == [s.did for s in expected]
    assert all(np.array_equal(x.weights, y.weights) for x, y in zip(found, expected, strict=True))
    assert found


def test_bounds_are_kept():
    bounds = Bounds(np.array([0.5, -np.inf, 1.0]), np.array([1.5, 0.0, 1.0]))
    problem = random_problem(8, bounds=bounds)
    here = State(np.array([1.0, -1.0, 1.0]), -np.inf, "start")
    directions, _ = random_directions(problem, 6, np.random.default_rng(0))
    assert not directions[:, 2].any()
    better = search_all(problem, problem, here, directions, ["r"] * 6, Choice())
    assert bounds.allow(better.weights)
    assert better.gain == problem.gain(better.weights)


def test_the_gradient_of_the_expected_gain():
    for problem in (random_problem(3), as_sparse(random_problem(3))):
        weights, step = np.array([0.3, -0.2, 0.5]), 1e-6
        _, gradient = expected_gain(problem.pool, problem.sentence_gains, weights, 0.7)
        for d, unit in enumerate(np.eye(3)):
            above, _ = expected_gain(problem.pool, problem.sentence_gains, weights + step * unit, 0.7)
            below, _ = expected_gain(problem.pool, problem.sentence_gains, weights - step * unit, 0.7)
            assert gradient[d] == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-7)


def test_there_is_no_way_uphill_where_all_gains_are_equal():
    problem = problem_of([[[1, 0], [0, 1]]], [[3, 3]])
    assert uphill(problem, np.ones(2), 1.0)[0].shape == (0, 2)


def test_powell_replaces_the_direction_that_gained_most():
    path = [State(np.array(w, dtype=float), g, n) for w, g, n in [([0, 0], 0, ""), ([1, 0], 1, "x"), ([1, 2], 5, "y")]]
    lines, names, whole = conjugate(np.eye(2), ["x", "y"], path)
    assert names == ["x", "move 1"]
    assert whole.tolist() == [1, 2]
    assert lines.tolist() == [[1, 0], [1, 2]]
