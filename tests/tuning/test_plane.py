"""Planes: their optimum is brute force's, bounds cut them exactly, and the tuner never goes down."""

import dataclasses
import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest

from luthier.geometry.plane.overlay import Overlay
from luthier.geometry.subspace import Subspace
from luthier.landscape.bounds import Bounds
from luthier.landscape.nearby import Nearby
from luthier.landscape.planes import best_cells as module
from luthier.landscape.planes.best_cells import best_cells, cells_of_window, fitting_window
from luthier.tuning.base import State, tuner
from luthier.tuning.search.planes import distinct_subsets, search_plane, search_space
from small_problems import last, problem_of, random_problem

SMALL = {"coordinates": 6, "random": 4, "window": 0.5}
METHODS = (("plane", SMALL), ("mert", {}))
VARIANTS = [
    {}, {"planes": "random"}, {"planes": "coordinates"}, {"conjugate": False}, {"lines": False}, {"doublings": 0},
    {"window": 0.0, "cells": 50}, {"dims": 3, "visits": 20, "coordinates": 2, "random": 1},
]  # fmt: skip


def lines_of(points, offsets):
    """Yield (c, p, q) of every line c + px + qy = 0 on which two rows of a list are equal."""
    for low, high in itertools.pairwise(offsets):
        for i, j in itertools.combinations(range(low, high), 2):
            line = [a - b for a, b in zip(points[i], points[j], strict=True)]
            if line[1] or line[2]:
                yield line


def sides_of_cells(lines, size):
    """Yield a point of each piece between crossings of lines, and the two directions away from the line, exactly."""
    for line in lines:
        c, p, q = line
        foot, along = (-c * p / (p * p + q * q), -c * q / (p * p + q * q)), (-q, p)
        times = []
        for a, b, d in lines:
            slope = b * along[0] + d * along[1]
            if slope:
                times.append(-(a + b * foot[0] + d * foot[1]) / slope)
        for s, t in itertools.pairwise(sorted(set(times))):
            x, y = (foot[k] + (s + t) / 2 * along[k] for k in (0, 1))
            if abs(x) <= size and abs(y) <= size:
                yield (x, y), (p, q)
                yield (x, y), (-p, -q)


def brute_force(problem, plane, size):
    """Return the highest gain of the window's cells: re-ranked in fractions beside every piece of every boundary."""
    matrix = [[Fraction(v) for v in row] for row in plane.matrix.tolist()]
    features = [[Fraction(v) for v in row] for row in problem.pool.features.dense.tolist()]
    points = [[sum(a * h for a, h in zip(row, hyp, strict=True)) for row in matrix] for hyp in features]
    offsets = problem.offsets.tolist()
    window = [[Fraction(size), s * (k == 0), s * (k == 1)] for k in (0, 1) for s in (1, -1)]
    walls = []
    for d, (low, high) in enumerate(zip(problem.bounds.low.tolist(), problem.bounds.high.tolist(), strict=True)):
        for bound, sign in ((low, 1), (high, -1)):
            if np.isfinite(bound):
                walls.append([sign * (matrix[0][d] - Fraction(bound)), sign * matrix[1][d], sign * matrix[2][d]])
    lines = [*lines_of(points, offsets), *window, *(wall for wall in walls if wall[1] or wall[2])]

    def height(line, place, way):  # a step beside the line counts where nothing else decides
        return line[0] + line[1] * place[0] + line[2] * place[1], line[1] * way[0] + line[2] * way[1]

    best = -np.inf
    for place, way in sides_of_cells(lines, size):
        if all(height(wall, place, way) > (0, 0) for wall in [*window, *walls]):
            rows = [max(range(*span), key=lambda k: (height(points[k], place, way), -k))
                    for span in itertools.pairwise(offsets)]  # fmt: skip
            best = max(best, problem.gain_of_sums(problem.stats[rows].sum(axis=0)[None])[0])
    return best


def nearby(problem, plane, size):
    """Return the rows near a plane's start, enough for its window."""
    units = Nearby.of(problem, plane.start, 0.0).units
    free = units > 0
    reach = size * np.linalg.norm(plane.directions[:, free] / units[free], axis=1).sum()
    return Nearby.of(problem, plane.start, reach)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_cell_is_that_of_brute_force(seed):
    problem = random_problem(seed, sentences=3, k=4, features=3)
    rng = np.random.default_rng(seed)
    plane = Subspace(rng.integers(-3, 4, 3).astype(float), [[1.0, 0.0, rng.integers(-1, 2)], [0.0, 1.0, 0.0]])
    for size in (0.5, 2.0):
        pieces = best_cells(problem, nearby(problem, plane, size), plane, size, above=-1e6)
        assert pieces[0].gain == brute_force(problem, plane, size)
        assert all(a.gain >= b.gain for a, b in itertools.pairwise(pieces))
        for piece in pieces:
            assert problem.gain(plane.weights(piece.position)) == piece.gain
            around = piece.position + 0.9 * piece.radius * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
            assert np.all(problem.gains(plane.weights(around)) == piece.gain)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_cut_cells_exactly(seed):
    rng = np.random.default_rng(seed)
    start = rng.integers(-2, 3, 4).astype(float)
    low, high = start - rng.integers(0, 2, 4), start + rng.integers(1, 3, 4)  # some starts stand on a bound
    bounds = Bounds(np.where(rng.random(4) < 0.7, low, -np.inf), np.where(rng.random(4) < 0.7, high, np.inf))
    problem = random_problem(seed, sentences=2, k=4, features=4, bounds=bounds)
    plane = Subspace(start, [[1.0, 0.0, 1.0, -1.0], [0.0, 1.0, 1.0, 2.0]])
    pieces = best_cells(problem, nearby(problem, plane, 2.0), plane, 2.0, above=-1e6)
    assert (pieces[0].gain if pieces else -np.inf) == brute_force(problem, plane, 2.0)
    for piece in pieces:
        assert bounds.allow(plane.weights(piece.position))


def test_cells_without_area_are_none():
    # From weights of 0 all boundaries meet in one point, in which rows tie: 70 is promised there, and nowhere kept.
    problem = random_problem(6, sentences=3, k=4, features=3)
    plane = Subspace(np.zeros(3), np.eye(3)[:2])
    near = nearby(problem, plane, 1.0)
    assert best_cells(problem, near, plane, 1.0, above=68.0) == []


def test_rows_beyond_reach_are_nowhere_selected():
    problem = random_problem(3, sentences=8, k=30, features=4)
    here = np.array([1.0, -0.5, 0.25, 2.0])
    near, every = Nearby.of(problem, here, 0.4), Nearby.of(problem, here, 1e9)
    assert problem.n_features < len(near.stats) < len(every.stats) == problem.pool.n_hypotheses
    moves = np.random.default_rng(0).standard_normal((500, 4))
    moves *= 0.4 / np.linalg.norm(moves, axis=1, keepdims=True) * near.units
    for move in moves:
        full = problem.stats[problem.select(here + move)].sum(axis=0)
        scores = near.features.scores(here + move)
        rows = [low + int(np.argmax(scores[low:high])) for low, high in itertools.pairwise(near.offsets)]
        np.testing.assert_array_equal(near.stats[rows].sum(axis=0), full)


def test_directions_are_at_right_angles_in_units():
    problem = random_problem(0, features=4)
    near = Nearby.of(problem, np.ones(4), 1.0)
    space = near.subspace(np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]]))
    np.testing.assert_allclose(
        (space.directions / near.units) @ (space.directions / near.units).T, np.eye(2), atol=1e-12
    )
    assert near.subspace(np.array([[1.0, 2.0, 0.0, 1.0], [2.0, 4.0, 0.0, 2.0]])) is None
    assert near.subspace(np.zeros((2, 4))) is None


def test_a_window_grows_while_its_border_cuts_the_best_cell():
    # worth rises with the weight of the first feature, at 1, 4 and 16 times the third, which is fixed
    rows = [[0, 0, 0], [1, 0, -1], [2, 0, -5], [3, 0, -21]]
    bounds = Bounds(np.array([-np.inf, -np.inf, 1.0]), np.array([np.inf, np.inf, 1.0]))
    problem = problem_of([rows, [[0, 1, 0], [0, 2, 0]]], [[0, 1, 2, 3], [0, 0]], bounds)
    here = State(np.array([0.0, 1.0, 1.0]), problem.gain(np.array([0.0, 1.0, 1.0])))
    near = Nearby.of(problem, here.weights, 2.0**0.5)
    near = dataclasses.replace(Nearby.of(problem, here.weights, 2.0 * 2**0.5 / near.units[0]), units=near.units)
    vectors = np.eye(3)[:2]
    assert search_plane(problem, here, near, vectors, "", doublings=0).weights[0] < 2.0 + 1e-9
    gains = [search_plane(problem, here, near, vectors, "", doublings=k).gain for k in range(6)]
    assert gains == sorted(gains)
    assert gains[0] == problem.gain(np.array([1.5, 1.0, 1.0]))
    assert gains[-1] == problem.gain(np.array([100.0, 1.0, 1.0]))


@pytest.mark.parametrize("seed", range(3))
def test_a_whole_space_is_not_below_any_of_its_points(seed):
    bounds = Bounds(np.array([-np.inf, 1.0, -np.inf, 0.0]), np.array([np.inf, np.inf, 1.2, np.inf]))
    problem = random_problem(seed, sentences=3, k=5, features=4, bounds=bounds)
    start = np.ones(4)
    near = Nearby.of(problem, start, 0.5 * 3**0.5)
    vectors = np.random.default_rng(seed).standard_normal((3, 4))
    found = search_space(problem, State(start, -1e6), near, vectors, "", visits=10_000)
    assert found.gain == problem.gain(found.weights)
    assert bounds.allow(found.weights)
    places = near.subspace(vectors).weights(np.random.default_rng(0).uniform(-0.5, 0.5, (3000, 3)))
    allowed = np.all((places >= bounds.low) & (places <= bounds.high), axis=1)
    assert allowed.sum() > 100
    assert found.gain >= problem.gains(places[allowed]).max() - 1e-9


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_every_step_improves_and_reports_its_gain(options):
    problem = random_problem(1, sentences=10, k=8, features=4)
    states = last(tuner("plane", **SMALL | options), problem, np.ones(4))
    gains = [state.gain for state in states]
    assert len(states) > 1
    assert all(after > before for before, after in itertools.pairwise(gains))
    assert [problem.gain(state.weights) for state in states] == gains


@pytest.mark.parametrize("seed", range(4))
def test_it_is_never_below_mert_from_the_same_start(seed):
    problem = random_problem(seed, sentences=10, k=8, features=4)
    ours, lines = (last(tuner(name, **options), problem, np.ones(4))[-1] for name, options in METHODS)
    assert ours.gain >= lines.gain


def test_two_features_that_must_move_together():
    # Either weight alone loses the worth of one list; both together select the best of both.
    lists = [[[0, 0], [3, 3], [-4, 1]], [[0, 0], [3, 3], [1, -4]]]
    problem = problem_of(lists, [[5, 9, 0], [5, 9, 0]])
    start = np.array([-1.0, -1.0])
    found = last(tuner("plane", **SMALL | {"window": 10.0, "lines": False}), problem, start)[-1]
    assert found.gain == problem.gain(np.array([1.0, 1.0]))


def test_fixed_and_signed_weights():
    bounds = Bounds(np.array([1.0, -np.inf, 0.0, -np.inf]), np.array([1.0, 0.0, np.inf, np.inf]))
    problem = random_problem(2, sentences=8, features=4, bounds=bounds)
    for options in VARIANTS:
        for state in last(tuner("plane", **SMALL | options), problem, [1.0, 0.0, 0.0, 1.0]):
            assert bounds.allow(state.weights)


def test_nothing_to_choose_is_the_end():
    constant = problem_of([[[1, 2, 0], [1, 2, 0]], [[3, 4, 0]]], [[5, 9], [7]])
    one_feature = problem_of([[[1, 2], [2, 2]]], [[5, 9]])
    for options in VARIANTS:
        assert len(last(tuner("plane", **SMALL | options), constant, [1.0, 1.0, 1.0])) == 1
        assert len(last(tuner("plane", **SMALL | options), one_feature, [1.0, 1.0])) == 1


def test_a_window_has_about_as_many_cells_as_asked_for():
    problem = random_problem(5, sentences=10, k=10, features=4)
    here = np.ones(4)
    planes = list(np.random.default_rng(0).standard_normal((3, 2, 4)))

    def counts(size):
        return [cells_of_window(Nearby.of(problem, here, 2**0.5 * size), vectors, size) for vectors in planes]

    small, large = (fitting_window(problem, here, planes, cells) for cells in (10, 100))
    assert small < large
    for size, cells in ((small, 10), (large, 100)):
        assert np.exp(np.mean(np.log(counts(size)))) <= cells < np.exp(np.mean(np.log(counts(4 * size))))
    every = fitting_window(problem, here, planes, 10**9)
    assert counts(2 * every) == counts(every)
    assert fitting_window(problem, here, [], 100) > 0.0


def test_a_plane_without_a_cell_that_has_an_area_counts_as_one_cell(monkeypatch):
    # so it is where a weight is so large that all others are lost to rounding: then lists tie all over a window
    problem = random_problem(5, sentences=10, k=10, features=4)
    planes = list(np.random.default_rng(0).standard_normal((2, 2, 4)))
    alone = fitting_window(problem, np.ones(4), planes[:1], 16)
    monkeypatch.setattr(
        module, "cells_of_window",
        lambda near, vectors, size: 0 if vectors is planes[1] else cells_of_window(near, vectors, size) ** 2,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitting_window(problem, np.ones(4), planes, 16) == alone  # the mean of n² and 1 is n


def test_subsets_are_drawn_once():
    rng = np.random.default_rng(0)
    drawn = distinct_subsets(30, 3, 50, rng)
    assert len(drawn) == len({tuple(chosen) for chosen in drawn}) == 50
    assert all(0 <= a < b < c < 30 for a, b, c in drawn)


def test_two_whole_numbered_features_have_one_plane_and_it_is_searched_a_few_times(monkeypatch):
    """Every pair of directions spans the same plane: a hundred random ones would cost a hundred times as much."""
    rng = np.random.default_rng(5)
    lists = [rng.integers(-8, 9, (30, 2)).astype(float) for _ in range(20)]
    problem = problem_of(lists, [rng.integers(0, 9, 30).astype(float) for _ in lists])
    searched: list[int] = []
    stream = Overlay.stream

    def counted(overlay, values, visit, **options):
        searched.append(sum(stream(overlay, values, len)))
        return stream(overlay, values, visit, **options)

    monkeypatch.setattr(Overlay, "stream", counted)
    for planes in ("both", "random"):
        searched.clear()
        state = last(tuner("plane", planes=planes, whole=False), problem, np.ones(2))[-1]
        assert state.gain > problem.gain(np.ones(2))
        assert 0 < len(searched) <= 30
        assert max(searched) < 10_000  # cells, most of them without area: no more than pairs of edges
