"""Vertices along the gradient: its direction by brute force, scales, and lists that have no direction."""

import dataclasses

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import effect_units
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from luthier.tuning.search.gradient import REACHES, SHARPNESS, GradientVertices
from luthier.tuning.search.simplices import first_simplex
from small_problems import Surface, last, problem_of, random_problem

BOTH = pytest.mark.parametrize("name", ["simplex", "armijo"])


def expected_gain(problem, weights, sharpness):
    """The gain of mean statistics under a softmax, list by list: no code of the product's."""
    sums = 0.0
    for first, last_row in zip(problem.offsets[:-1], problem.offsets[1:], strict=True):
        rows = problem.pool.features.dense[first:last_row]
        scores = sharpness * rows @ weights
        chances = np.exp(scores - scores.max())
        sums = sums + (chances / chances.sum()) @ problem.stats[first:last_row]
    return float(problem.metric.gain(problem.metric.score(sums)))


def slow_direction(problem, weights, units):
    deviations = []
    for first, last_row in zip(problem.offsets[:-1], problem.offsets[1:], strict=True):
        scores = problem.pool.features.dense[first:last_row] @ weights
        deviations += list((scores - scores.mean()) ** 2)
    sharpness = SHARPNESS / np.sqrt(np.mean(deviations))
    slopes = []
    for d, unit in enumerate(units):
        step = np.zeros(len(units))
        step[d] = 1e-6 * unit
        there, back = (expected_gain(problem, weights + sign * step, sharpness) for sign in (1, -1))
        slopes.append((there - back) / 2e-6)
    return units * np.array(slopes) / np.linalg.norm(slopes)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_points_lie_along_the_gradient_of_the_expected_metric(seed):
    rng = np.random.default_rng(seed)
    rows = [rng.normal(size=(6, 3)) for _ in range(8)]
    problem = problem_of(rows, [rng.uniform(0, 100, 6) for _ in rows])
    start = rng.normal(size=3)
    simplex, units = first_simplex(problem, start, 1.0)
    best, gain = simplex.vertices[0], simplex.gains[0]
    distance = np.sqrt(np.mean(np.sum(((simplex.vertices[1:] - best) / units) ** 2, axis=1)))
    points = best + distance * REACHES[:, None] * slow_direction(problem, best, units)
    gains = [problem.gain(point) for point in points]
    found = GradientVertices(problem).better(simplex.vertices, gain, units)
    if max(gains) > gain:
        assert found[1] == max(gains)
        assert np.allclose(found[0], points[int(np.argmax(gains))], rtol=1e-3, atol=1e-4)
    else:
        assert found is None


def lists(n_features=8):
    generator = SyntheticLists(sentences=40, k=30, n_features=n_features, vocabulary=200)
    problem = ListProblem.of(generator.generate(3), load_metric("bleu"))
    return problem, np.array([generator.decoder_weights[name] for name in problem.names])


@BOTH
@pytest.mark.slow
def test_steps_along_the_gradient_are_taken_and_never_lower_the_gain(name):
    problem, start = lists()
    states = last(tuner(name, gradient=True), problem, start)
    gains = [state.gain for state in states]
    assert "gradient" in {state.did for state in states}
    assert all(np.diff(gains) >= 0)
    assert gains[-1] == problem.gain(states[-1].weights)
    assert "gradient" not in {state.did for state in last(tuner(name), problem, start)}


@BOTH
@pytest.mark.slow
@pytest.mark.parametrize("power", [-40, 40])
def test_scales_of_weights_and_of_features_change_nothing(name, power):
    problem, start = lists()
    method = tuner(name, gradient=True)
    usual = last(method, problem, start)
    longer = last(method, problem, np.ldexp(start, power))
    assert [(s.did, s.gain) for s in longer] == [(s.did, s.gain) for s in usual]
    assert np.array_equal(longer[-1].weights, np.ldexp(usual[-1].weights, power))
    names = problem.names
    half = power // 2  # features a million times the size of others: far more would count as constant
    features = problem.pool.features.scale({names[0]: 2.0**half})
    scaled = dataclasses.replace(problem, pool=problem.pool.with_features(features), file=None, once=None)
    factors = np.ones(len(names))
    factors[0] = 2.0**-half
    other = last(method, scaled, start * factors)
    assert [(s.did, s.gain) for s in other] == [(s.did, s.gain) for s in usual]


@BOTH
def test_bounds_and_fixed_weights_are_kept(name):
    problem, start = lists()
    low, high = np.full(len(start), -np.inf), np.full(len(start), np.inf)
    low[0], high[0] = start[0], start[0]
    low[1], high[1] = start[1] - 0.01, start[1] + 0.01
    for state in last(tuner(name, gradient=True, limit=40), problem.with_bounds(Bounds(low, high)), start):
        assert np.all(state.weights >= low)
        assert np.all(state.weights <= high)


@BOTH
@pytest.mark.parametrize(
    ("rows", "worth"),
    [
        ([np.ones((1, 2))], [[5.0]]),  # one list of one row
        ([np.ones((3, 2)), np.zeros((2, 2))], [[1.0, 2.0, 3.0], [4.0, 5.0]]),  # nothing differs
        ([np.eye(2), np.eye(2)], [[3.0, 3.0], [3.0, 3.0]]),  # all worth the same
        ([np.eye(2)[[0, 0, 1]], np.eye(2)], [[1.0, 1.0, 2.0], [2.0, 1.0]]),  # whole numbers, duplicates, ties
        ([1e12 * np.eye(2), 1e-12 * np.eye(2)], [[1.0, 2.0], [2.0, 1.0]]),
    ],
)
@pytest.mark.parametrize("start", [[0.0, 0.0], [1.0, 1.0], [1e12, -1e-12]])
def test_lists_without_a_direction(name, rows, worth, start):
    problem = problem_of(rows, worth)
    states = last(tuner(name, gradient=True), problem, np.array(start))
    assert states[-1].gain >= states[0].gain
    assert np.isfinite(states[-1].weights).all()


def test_it_needs_lists():
    surface = Surface(lambda w: float(w @ w), 2)
    with pytest.raises(LuthierError, match="its `gradient` needs lists"):
        last(tuner("simplex", gradient=True), surface, [1.0, 1.0])


@BOTH
def test_a_vertex_is_tried_once(name):
    problem = random_problem(np.random.default_rng(1))
    start = np.ones(problem.n_features)
    simplex, units = first_simplex(problem, start, 1.0)
    gradient = GradientVertices(problem)
    gradient.better(simplex.vertices, simplex.gains[0], units)
    assert gradient.better(simplex.vertices, -np.inf, units) is None
    assert np.array_equal(units, effect_units(problem.spread, start))
    assert tuner(name, published=True).gradient is False
