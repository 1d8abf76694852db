"""What every file in tuning/methods must keep to; a new tuner is tested without a new test."""

import dataclasses
import functools
import pickle

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.params import ParameterError
from luthier.core.plugins import available
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import PACKAGE, State, tuner
from luthier.tuning.run import RunOptions, run
from small_problems import Steps

TUNERS = tuple(available(PACKAGE))
START = np.array([0.5, 0.2, 0.3, -0.1])
GARBAGE = (object(), "garbage", float("nan"), float("inf"), -1e300, None)


@pytest.fixture(params=TUNERS)
def name(request):
    return request.param


@functools.cache
def make_problem(seed=3):
    pool = SyntheticLists(sentences=8, k=12, n_features=4, mean_length=8.0).generate(seed)
    return ListProblem.of(pool, load_metric("bleu"))


def able(method, problem):
    if method.refuses(problem):
        pytest.skip(f"{method.name}: {method.refuses(problem)}")
    return method


@functools.cache
def states_of(name, seed=0):
    method = able(tuner(name), make_problem())
    return tuple(method.steps(make_problem(), START, np.random.default_rng(seed)))


def bytes_of(result):
    states = [state for trace in result.traces for state in trace.states]
    return result.weights.tobytes(), [(s.weights.tobytes(), s.gain, s.did, s.objective) for s in states]


def test_it_has_a_line_of_help_and_says_its_name(name):
    assert available(PACKAGE)[name].help
    assert tuner(name).name == name
    assert tuner(name).spec.startswith(f"{name}(")


def test_the_first_state_is_the_start(name):
    first = states_of(name)[0]
    assert isinstance(first, State)
    np.testing.assert_array_equal(first.weights, START)


def test_gains_are_the_gains_at_the_weights(name):
    for state in states_of(name):
        assert np.isfinite(state.weights).all()
        assert state.gain == make_problem().gain(state.weights)


def test_it_is_never_worse_than_its_start_or_says_so(name):
    states = states_of(name)
    if tuner(name).monotone:
        assert states[-1].gain >= states[0].gain


def test_it_says_whether_it_draws(name):
    method = able(tuner(name), make_problem())
    rng = np.random.default_rng(5)
    before = rng.bit_generator.state, rng.bit_generator.seed_seq.n_children_spawned
    list(method.steps(make_problem(), START, rng))
    assert ((rng.bit_generator.state, rng.bit_generator.seed_seq.n_children_spawned) != before) == method.is_random


def test_same_seed_same_bytes_whatever_the_threads(name):
    method, problem = able(tuner(name), make_problem()), make_problem()
    one, two = (run(method, problem, START, RunOptions(seed=7, restarts=1, threads=threads)) for threads in (1, 2))
    assert bytes_of(one) == bytes_of(two)


def test_it_changes_nothing_that_it_is_given(name):
    start = START.copy()
    method = able(tuner(name), make_problem())
    before = pickle.dumps(method)
    next(iter(method.steps(make_problem(), start, np.random.default_rng(0))))
    for _ in zip(range(3), method.steps(make_problem(), start, np.random.default_rng(0)), strict=False):
        pass
    np.testing.assert_array_equal(start, START)
    assert pickle.dumps(method) == before
    assert pickle.loads(before) == method


def test_states_and_answers_survive_a_trip_between_processes(name):
    state = pickle.loads(pickle.dumps(states_of(name)[-1]))
    np.testing.assert_array_equal(state.weights, states_of(name)[-1].weights)


def test_the_answer_does_not_rest_on_the_last_digits_of_its_weights(name):
    """It is inside a cell, not on its edge: written with ten digits, or made longer, it selects the same."""
    weights, problem = states_of(name)[-1].weights, make_problem()
    for others in (3.0 * weights, np.array([float(f"{w:.10g}") for w in weights])):
        np.testing.assert_array_equal(problem.select(others), problem.select(weights))


def test_bounds_hold_in_every_state(name):
    bounds = Bounds(np.array([0.5, 0.0, -np.inf, -1.0]), np.array([0.5, np.inf, 1.0, 0.0]))
    problem = make_problem().with_bounds(bounds)
    method = able(tuner(name), problem)
    for state in method.steps(problem, START, np.random.default_rng(0)):
        assert bounds.allow(state.weights)


def hills():
    """Return a problem of forty half-spaces, and no list."""
    rng = np.random.default_rng(5)
    return Steps(rng.normal(size=(40, 4)), rng.normal(size=40), rng.integers(-10, 11, 40).astype(float))


def test_it_works_without_lists_or_says_that_it_needs_them(name):
    method, problem = tuner(name), hills()
    if method.needs_lists:
        assert "needs lists" in method.refuses(problem)
        with pytest.raises(LuthierError, match="needs lists"):
            method.steps(problem, START, np.random.default_rng(0))
        return
    result = run(method, problem, START, RunOptions(seed=1, restarts=2))
    assert result.gain == problem.gain(result.weights)
    assert result.gain > problem.gain(START)
    bounds = Bounds(np.array([0.5, -1.0, -np.inf, -0.5]), np.array([0.5, 1.0, np.inf, 0.0]))
    bounded = run(method, problem.with_bounds(bounds), START, RunOptions(seed=1))
    assert bounds.allow(bounded.weights)
    assert bounded.gain >= bounded.start_gain


@pytest.mark.parametrize("bad", GARBAGE, ids=lambda bad: "object" if type(bad) is object else repr(bad))
def test_every_parameter_refuses_garbage(name, bad):
    for field in dataclasses.fields(tuner(name)):
        free_text = isinstance(bad, str) and isinstance(field.default, str) and not field.metadata["choices"]
        in_domain = bad is None or bad in (field.metadata["low"], field.metadata["high"])
        complaint = complaint_about(name, field.name, bad)
        if complaint or not (free_text or in_domain):
            assert f"the '{field.name}' parameter" in complaint
            assert "must be" in complaint


def complaint_about(name, parameter, value):
    try:
        tuner(name, **{parameter: value})
    except ParameterError as error:
        return str(error)
    return ""


def test_unknown_parameters_are_errors(name):
    with pytest.raises(LuthierError, match="has no parameter"):
        tuner(name, no_such_parameter=1)


def test_the_order_of_sentences_does_not_matter(name):
    method, problem = able(tuner(name), make_problem()), make_problem()
    if not method.order_free:
        return
    turned = ListProblem.of(problem.pool.take_sentences(np.arange(problem.pool.n_sentences)[::-1]), problem.metric)
    one, other = (run(method, p, START).weights for p in (problem, turned))
    np.testing.assert_allclose(one, other, rtol=1e-9)
