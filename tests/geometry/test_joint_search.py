"""Joint searches: what they find is what brute force over all selections finds, and their bounds hold."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from luthier.geometry.joint_selection import _margin_kernels as margin_kernels
from luthier.geometry.joint_selection.corners import Corners, make_workspace
from luthier.geometry.joint_selection.joint_halves import best_by_halves
from luthier.geometry.joint_selection.joint_search import best_selection


def margin_by_highs(rows):
    """Return max t with rows·w ≤ −t and |w_k| ≤ 1."""
    m, n = rows.shape
    result = linprog(
        np.append(np.zeros(n), -1.0), A_ub=np.column_stack([rows, np.ones(m)]), b_ub=np.zeros(m),
        bounds=[(-1, 1)] * n + [(None, 4.0 * n)],
    )  # fmt: skip
    return -result.fun


def drawn_lists(seed, *, sentences=3, k=4, n=3, integers=True):
    """Return offsets, points and values; small whole numbers, so that rows repeat, tie and are flat."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, k + 1, sentences)
    total = int(lengths.sum())
    points = rng.integers(-2, 3, (total, n)).astype(float) if integers else rng.standard_normal((total, n))
    return np.append(0, np.cumsum(lengths)), points, rng.integers(0, 6, total).astype(float)


def brute_force(offsets, points, values, walls=None):
    """Return the highest value of all selections that some weights make strictly; −inf without any."""
    ranges = [range(a, b) for a, b in itertools.pairwise(offsets.tolist())]
    best = -np.inf
    for rows in itertools.product(*ranges):
        value = sum(values[row] for row in rows)
        if value <= best or any(_repeats_an_earlier(points, own, row) for own, row in zip(ranges, rows, strict=True)):
            continue
        others = [points[own] - points[row] for own, row in zip(ranges, rows, strict=True)]
        needed = np.concatenate([*others, np.empty((0, points.shape[1])) if walls is None else walls])
        needed = needed[np.any(needed != 0, axis=1)]
        if margin_by_highs(needed) > 1e-7:
            best = value
    return best


def _repeats_an_earlier(points, own, row):
    return any(np.array_equal(points[j], points[row]) for j in range(own.start, row))


def last(progress):
    *_, end = progress
    assert end.finished
    return end


@pytest.mark.parametrize("seed", range(12))
def test_the_kernel_solves_programmes_as_highs_does(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    rows = rng.integers(-3, 4, (int(rng.integers(1, 15)), n)).astype(float)
    rows = rows[np.any(rows != 0, axis=1)]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    room = make_workspace(n, len(rows), 1)
    room.rows[:] = rows
    margin = margin_kernels.widest(len(rows), room)
    assert margin == pytest.approx(margin_by_highs(rows), abs=1e-8)
    assert np.all(rows @ room.point[:n] <= -margin + 1e-9)
    assert np.all(np.abs(room.point[:n]) <= 1 + 1e-9)


@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_the_optimum_is_that_of_brute_force(seed, integers):
    n = 1 + seed % 4
    lists = drawn_lists(seed, n=n, integers=integers)
    corners = Corners.of(*lists)
    found = last(best_selection(corners))
    assert found.value == found.bound == brute_force(*lists)
    assert corners.is_strict(found.weights)
    assert corners.values[corners.select(found.weights)].sum() == found.value


@pytest.mark.parametrize("seed", range(6))
def test_walls_hold(seed):
    offsets, points, values = drawn_lists(seed, sentences=3, n=3)
    walls = np.random.default_rng(seed).integers(-1, 2, (2, 3)).astype(float)
    walls = walls[np.any(walls != 0, axis=1)]
    found = last(best_selection(Corners.of(offsets, points, values, walls)))
    expected = brute_force(offsets, points, values, walls)
    assert found.value == expected
    if np.isfinite(expected):
        assert np.all(walls @ found.weights < 0)


def test_walls_that_leave_nothing():
    offsets, points, values = drawn_lists(0, n=2)
    found = last(best_selection(Corners.of(offsets, points, values, np.array([[1.0, 0.0], [-1.0, 0.0]]))))
    assert found.weights is None
    assert found.value == -np.inf


@pytest.mark.parametrize("seed", range(4))
def test_a_limit_ends_the_search_with_a_bound_that_holds(seed):
    lists = drawn_lists(seed, sentences=12, k=12, n=3, integers=False)
    corners = Corners.of(*lists)
    optimum = last(best_selection(corners)).value
    bounds = []
    for most in (1, 20, 100, 400):
        cut = last(best_selection(corners, most=most))
        assert cut.value <= optimum <= cut.bound
        bounds.append(cut.bound)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] > optimum


def test_a_good_start_shortens_the_proof_and_changes_nothing():
    corners = Corners.of(*drawn_lists(3, sentences=15, k=15, n=3, integers=False))
    cold = last(best_selection(corners))
    warm = last(best_selection(corners, cold.weights))
    assert warm.value == cold.value
    assert warm.lps <= cold.lps


def test_progress_only_improves():
    corners = Corners.of(*drawn_lists(5, sentences=15, k=15, n=3, integers=False))
    steps = list(best_selection(corners, every=50))
    assert len(steps) > 3
    for before, after in itertools.pairwise(steps):
        assert after.value >= before.value
        assert after.bound <= before.bound + 1e-9
        assert after.lps >= before.lps


def test_corners_are_vertices_by_value_and_know_their_rows():
    offsets = np.array([0, 4, 5])
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0], [0.0, 1.0], [7.0, 7.0]])
    corners = Corners.of(offsets, points, np.array([1.0, 3.0, 9.0, 2.0, 4.0]))
    assert corners.rows.tolist() == [1, 3, 0, 4]
    assert corners.highest == 7.0
    weights, margin = corners.widest(np.array([0, 3]))
    assert margin > 0
    assert corners.select(weights).tolist() == [0, 3]


@pytest.mark.parametrize("seed", range(12))
def test_halves_find_the_same(seed):
    lists = drawn_lists(seed, sentences=2 + seed % 4, n=1 + seed % 4, integers=seed % 3 > 0)
    corners = Corners.of(*lists)
    found = best_by_halves(corners)
    assert found.value == found.bound == last(best_selection(corners)).value
    assert corners.values[corners.select(found.weights)].sum() == found.value


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_a_beam_never_claims_more_than_there_is(beam):
    corners = Corners.of(*drawn_lists(8, sentences=6, k=8, n=3, integers=False))
    optimum = last(best_selection(corners)).value
    found = best_by_halves(corners, beam=beam)
    assert found.value <= optimum <= found.bound
    assert found.bound == corners.highest or found.value == optimum
    assert corners.values[corners.select(found.weights)].sum() == found.value


def test_a_beam_tests_fewer_pairs():
    corners = Corners.of(*drawn_lists(8, sentences=8, k=8, n=3, integers=False))
    whole, narrow = best_by_halves(corners), best_by_halves(corners, beam=2)
    assert narrow.bound > narrow.value
    assert narrow.visited < whole.visited


def test_a_limit_ends_halves_with_a_bound_that_holds():
    corners = Corners.of(*drawn_lists(8, sentences=8, k=8, n=3, integers=False))
    optimum = last(best_selection(corners)).value
    for most in (10, 100, 400):
        found = best_by_halves(corners, most=most)
        assert found.value <= optimum <= found.bound
        assert found.lps <= most
