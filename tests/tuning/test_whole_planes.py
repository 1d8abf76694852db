"""Planes searched whole, against the gain beside every crossing of two lists' lines and far out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from luthier.landscape.bounds import Bounds
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.tuning.base import tuner
from luthier.tuning.search.planes import whole_planes
from small_problems import last, random_problem

EPSILON = 1e-5


def best_of_plane(problem, base, free, allowed=lambda w: True):
    """Return the best gain of the weights ``base + x·a + y·b``: every cell has a corner, or goes on for ever."""
    rows, lines = problem.pool.features.dense, []
    for first, stop in itertools.pairwise(problem.offsets):
        for a, b in itertools.combinations(range(first, stop), 2):
            difference = rows[a] - rows[b]
            lines.append((difference @ base, *difference[list(free)]))
    circle = [(np.cos(t), np.sin(t)) for t in np.linspace(0, 2 * np.pi, 64, endpoint=False) + 0.01]
    places = [(x * far, y * far) for x, y in circle for far in (1e-3, 1.0, 1e4)]
    for (c, p, q), (d, r, s) in itertools.combinations(lines, 2):
        cross = p * s - q * r
        if abs(cross) > 1e-12:
            x, y = (q * d - c * s) / cross, (c * r - p * d) / cross
            places += [(x + EPSILON * u, y + EPSILON * v) for u, v in circle[::2]]
    weights = np.repeat(base[None], len(places), axis=0)
    weights[:, list(free)] += np.array(places)
    return max(problem.gains(weights[[allowed(w) for w in weights]]))


@pytest.mark.parametrize("seed", range(4))
def test_two_free_weights_are_one_plane(seed):
    problem, start = random_problem(seed, sentences=4, k=4), np.array([1.0, 0.5, -0.25])
    low, high = np.array([-np.inf, -np.inf, -0.25]), np.array([np.inf, np.inf, -0.25])
    problem = problem.with_bounds(Bounds(low, high))
    answer = last(tuner("plane"), problem, start)[-1]
    # the start may stand on a border, where ties select what no cell does
    expected = max(problem.gain(start), best_of_plane(problem, start * [0, 0, 1], (0, 1)))
    assert answer.gain == problem.gain(answer.weights) == pytest.approx(expected)
    assert answer.weights[2] == -0.25
    assert answer.note.startswith("proven: the best of all ")
    (plane,) = whole_planes(problem, start)
    surface = look_at_plane(plane, SurfaceOptions(check=0))
    assert problem.metric.gain(np.array(surface.optimum.score)) <= answer.gain + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_three_free_weights_are_two_planes_if_nothing_else_counts(seed):
    problem, start = random_problem(seed, sentences=4, k=4), np.array([1.0, 0.5, -0.25])
    answer = last(tuner("plane"), problem, start)[-1]
    expected = max(
        problem.gain(start), *(best_of_plane(problem, np.array([0.0, 0.0, sign]), (0, 1)) for sign in (1.0, -1.0))
    )
    assert answer.gain == problem.gain(answer.weights) == pytest.approx(expected)
    positive = problem.with_bounds(Bounds(np.zeros(3), np.full(3, np.inf)))
    answer = last(tuner("plane"), positive, np.ones(3))[-1]
    assert (answer.weights >= 0).all()
    inside = best_of_plane(positive, np.array([0.0, 0.0, 1.0]), (0, 1), lambda w: (w >= 0).all())
    assert answer.gain == pytest.approx(max(inside, positive.gain(np.ones(3))))


def test_what_is_more_than_a_plane_is_searched_as_before():
    problem, start = random_problem(1), np.array([1.0, 0.5, -0.25])
    limited = problem.with_bounds(Bounds(np.full(3, -1.0), np.ones(3)))  # a multiple may be beyond
    assert whole_planes(limited, start) == []
    assert "proven" not in last(tuner("plane", random=2), limited, start)[-1].note
    assert "proven" not in last(tuner("plane", random=2, whole=False), problem, start)[-1].note
