"""The parts of a Minkowski sum's search: lists on the grid, their corners and edges; exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from luthier.core.errors import LuthierError
from luthier.geometry.minkowski import _space_kernels as kernels
from luthier.geometry.minkowski.grid import corner_pairs
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.polytopes.exact_cone import (
    dot,
    exact_rows,
    first_wall,
    is_positive_combination,
    nearest_to_origin,
    rank_columns,
)


def one_list(points):
    return Summands.of(np.array([0, len(points)]), np.asarray(points, np.float64))


def edges_of(summands):
    """Return the edges as pairs of rows, lower first."""
    ends = np.repeat(np.arange(len(summands.corner_rows)), np.diff(summands.edge_first))
    pairs = zip(summands.corner_rows[ends].tolist(), summands.corner_rows[summands.edge_to].tolist(), strict=True)
    return {(min(pair), max(pair)) for pair in pairs}


def margin(rows, equal=()):
    """Return by how much one vector of |w|∞ ≤ 1 can have products below 0 with rows, 0 with `equal`."""
    rows = np.asarray(rows, np.float64)
    n = rows.shape[1]
    equal = np.asarray(equal, np.float64).reshape(-1, n)
    answer = linprog(
        np.r_[np.zeros(n), -1.0], A_ub=np.c_[rows, np.ones(len(rows))], b_ub=np.zeros(len(rows)),
        A_eq=np.c_[equal, np.zeros(len(equal))], b_eq=np.zeros(len(equal)), bounds=[(-1, 1)] * n + [(0, 1)],
    )  # fmt: skip
    return answer.x[-1]


def on_segment(point, one, other):
    a, b = np.asarray(other) - one, np.asarray(point) - one
    return np.linalg.matrix_rank(np.stack([a, b])) < 2 and 0 <= a @ b <= a @ a


def brute_force(points):
    """Return vertices and edges by the definition, one linear program for each row and pair."""
    points = np.asarray(points, np.float64)
    rows = [i for i in range(len(points)) if not any(np.array_equal(points[i], points[j]) for j in range(i))]
    vertices = {i for i in rows if margin([points[j] - points[i] for j in rows if j != i] or [[0.0]]) > 1e-7}
    edges = set()
    for i, j in itertools.combinations(sorted(vertices), 2):
        others = [points[k] - points[i] for k in rows if not on_segment(points[k], points[i], points[j])]
        if not others or margin(others, [points[j] - points[i]]) > 1e-7:
            edges.add((i, j))
    return vertices, edges


def test_table_1():
    s = one_list([(-0.1, -1.2), (-1.2, -0.2), (-0.9, -1.6), (-0.9, -0.1), (-0.8, -0.9)])
    assert s.corner_rows.tolist() == [0, 1, 2, 3]
    assert edges_of(s) == {(0, 3), (0, 2), (1, 3), (1, 2)}


@pytest.mark.parametrize("seed", range(25))
def test_corners_and_edges_of_small_integer_lists(seed):
    rng = np.random.default_rng(seed)
    n_dims = int(rng.integers(1, 5))
    points = rng.integers(-2, 3, size=(int(rng.integers(2, 16)), n_dims))
    if seed % 3 == 0 and n_dims > 1:
        points[:, -1] = points[:, 0]  # flat
    vertices, edges = brute_force(points)
    s = one_list(points)
    assert set(s.corner_rows.tolist()) == (vertices if len(vertices) > 1 else set())
    assert edges_of(s) == edges


@pytest.mark.parametrize("n_dims", [2, 3, 4])
def test_the_hull_proposes_what_all_pairs_would_find(n_dims, monkeypatch):
    points = np.random.default_rng(n_dims).standard_normal((14, n_dims))
    fast = one_list(points)
    monkeypatch.setattr("luthier.geometry.minkowski.grid.FEW_ROWS", 100)
    slow = one_list(points)
    assert fast.corner_rows.tolist() == slow.corner_rows.tolist()
    assert edges_of(fast) == edges_of(slow)
    assert np.array_equal(fast.directions, slow.directions)


def test_parallel_edges_share_a_class_and_know_their_opposite():
    s = Summands.of(np.array([0, 2, 4, 6]), np.array([[0.0, 0], [1, 2], [5, 5], [3, 1], [0, 0], [2, -1]]))
    up, down, other = s.edge_class[0], s.edge_class[1], s.edge_class[4]
    assert s.edge_class.tolist() == [up, down, down, up, other, s.opposite[other]]
    assert (s.opposite[up], s.opposite[down]) == (down, up)


def test_the_grid_keeps_whole_numbers_and_products():
    rng = np.random.default_rng(0)
    points = rng.integers(-1000, 1000, size=(20, 3)) * [1, 7, 1000]
    s = one_list(points)
    exact = np.ldexp(s.corners, s.exponents + s.list_exponents[0])
    moved = exact - points[s.corner_rows]
    assert np.array_equal(moved, np.broadcast_to(moved[0], moved.shape))
    w = rng.standard_normal(3)
    leads = np.ldexp((s.corners - s.corners[0]) @ s.to_grid(w), s.list_exponents[0])
    assert leads == pytest.approx((points[s.corner_rows] - points[s.corner_rows[0]]) @ w)
    assert np.array_equal(s.from_grid(s.to_grid(w)), w)
    assert np.array_equal(np.rint(np.ldexp(s.directions, s.bits[0])), np.ldexp(s.directions, s.bits[0]))


def test_equal_rows_are_the_lowest_and_lists_without_choice_are_left_out():
    s = Summands.of(np.array([0, 2, 3, 7]), np.array([[1.0], [1], [4], [2], [5], [5], [2]]))
    assert s.active.tolist() == [2]
    assert s.corner_rows.tolist() == [3, 4]
    assert s.rows(np.array([1])).tolist() == [0, 2, 4]


def test_lists_with_too_many_edges_are_refused(monkeypatch):
    monkeypatch.setattr("luthier.geometry.minkowski.summands.MOST_PAIRS", 20)
    points = np.random.default_rng(0).standard_normal((16, 7))
    with pytest.raises(LuthierError, match="2 of 2 lists have 105 edges already, in 7 dimensions"):
        Summands.of(np.array([0, 1, 16]), points)


def test_lists_that_cannot_be():
    with pytest.raises(LuthierError, match="one row or more"):
        Summands.of(np.array([0, 0, 1]), np.zeros((1, 2)))
    with pytest.raises(LuthierError, match="finite"):
        one_list([[np.inf, 0.0]])


@pytest.mark.parametrize("seed", range(40))
def test_the_nearest_point_to_the_origin_is_exact(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-3, 4, size=(int(rng.integers(1, 9)), int(rng.integers(1, 5))))
    x = nearest_to_origin(exact_rows(rows))
    assert (x is None) == (margin(rows) < 1e-9)
    if x is not None:
        assert all(dot(x, row) >= dot(x, x) for row in exact_rows(rows)), "no point of the hull is nearer"
        assert min(dot(x, row) for row in exact_rows(rows)) == dot(x, x), "it belongs to the hull"


def test_a_walk_that_meets_walls_at_one_point_takes_one_of_them_for_good():
    rows = exact_rows(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 0, 0]]))
    x, goal = [Fraction(1)] * 3, [Fraction(1)] * 3
    walls = [first_wall(rows, [7, 8, 9, 7], x, goal, bytes([seed])) for seed in range(30)]
    assert set(walls) == {7, 8, 9}
    assert walls == [first_wall(rows, [7, 8, 9, 7], x, goal, bytes([seed])) for seed in range(30)]
    assert first_wall(rows, [7, 8, 9, 7], x, [Fraction(1), Fraction(3), Fraction(2)], b"") == 8
    assert first_wall(rows, [7, 8, 9, 7], x, [Fraction(-1)] * 3, b"") is None


def test_turns_are_exact_where_rounding_is_not():
    rng = np.random.default_rng(0)
    for _ in range(60):
        a, b = rng.integers(-(2**36), 2**36, size=(2, 3))
        p, q, nudge = (int(v) for v in (*rng.integers(1, 4, 2), rng.integers(-1, 2)))
        c = (p * a + q * b) // 4 + [0, 0, nudge]  # in the plane of a and b, or a hair beside it
        rows = np.ldexp(np.stack([a, b, c], axis=1).astype(np.float64), -36)
        (a0, a1, a2), (b0, b1, b2), (c0, c1, c2) = exact_rows(np.stack([a, b, c]))
        det = a0 * (b1 * c2 - b2 * c1) - a1 * (b0 * c2 - b2 * c0) + a2 * (b0 * c1 - b1 * c0)
        assert kernels.exact_turn(rows, 0, 1, 2) == (det > 0) - (det < 0)


@pytest.mark.parametrize("seed", range(20))
def test_positive_combinations_are_told_exactly(seed):
    rng = np.random.default_rng(seed)
    n_dims = int(rng.integers(2, 5))
    rows = rng.integers(-(2**30), 2**30, size=(int(rng.integers(1, n_dims + 1)), n_dims))
    factors = rng.integers(0, 5, len(rows))
    target = factors @ rows
    assert is_positive_combination(exact_rows(target[None])[0], exact_rows(rows))
    assert not is_positive_combination(exact_rows((target - rows[0] * (factors[0] + 1))[None])[0], exact_rows(rows))
    if len(rows) < n_dims:
        target[int(np.argmin(np.abs(rows[0])))] += 1  # a hair beside the plane
        assert not is_positive_combination(exact_rows(target[None])[0], exact_rows(rows))
    assert not is_positive_combination([1] * n_dims, [[0] * n_dims])


def test_ranks_are_exact():
    points = np.array([[0, 0, 0], [1, 2, 3], [2**36, 2**37, 3 * 2**36 + 1], [5, 10, 15]])
    assert rank_columns(points) == [0, 2]
    assert rank_columns(points[[0, 1, 3]]) == [0]


def test_pairs_of_a_flat_list_lie_within_it():
    square = np.array([(x, y, 2 * x - y) for x, y in itertools.product((0, 5), (0, 5))] + [(2, 2, 2)] * 1)
    more = np.array([(x, y, 2 * x - y) for x, y in itertools.product((1, 2), (1, 2, 3, 4))])
    points = np.concatenate([square, more[~np.all(more == [2, 2, 2], axis=1)]])
    assert sorted(map(tuple, corner_pairs(points).tolist())) == [(0, 1), (0, 2), (1, 3), (2, 3)]
