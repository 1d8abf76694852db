"""Penalties on neighbouring bins where the objective is not smooth: the SVM against a general solver, and MERT."""

import itertools
import math

import numpy as np
import pytest
from margins import feature_rows, text_problem
from scipy.optimize import minimize

from luthier.kbest.groups import FeatureGroup
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import tuner
from luthier.tuning.margin.steps import oracle_rows
from luthier.tuning.ranking.sentence_gains import Outcomes, outcome_gains
from luthier.tuning.run import run
from small_problems import last, random_problem


def by_hand(kind, w):
    """Return the penalty of the bins of one feature at β = 1, as the paper writes it."""
    total = 0.0
    for left, middle, right in zip(w, w[1:], w[2:], strict=False):
        a, b = 0.5 * (left + right) - middle, 0.5 * (left - right)
        total += (1.0 if kind == "lnr" or b == 0 else math.tanh(abs(a / b)) ** 4) * a * a
    return total


def binned(problem, bounds=None):
    """Return the problem whose features but the first are bins of one."""
    names = problem.names
    pool = problem.pool.with_features(problem.pool.features.group([FeatureGroup("F", names[1:])]))
    return ListProblem.of(pool, problem.metric, bounds=bounds)


ONE_ROUND = {
    "c": 3.0,
    "tolerance": 1e-7,
    "rounds": 1,
    "background": False,
    "oracle": "gain",
    "rescale": False,
    "keep": "last",
}


def svm_objective(problem, kind, c, beta):
    """Return the SVM's objective from start 0 as a function of weights, by plain sums; and its unit of the bins."""
    rows, outcomes = feature_rows(problem), Outcomes.of(problem)
    gains = outcome_gains(problem, outcomes, None)[outcomes.groups]
    chosen = oracle_rows(gains, np.zeros(len(gains)), problem.offsets)
    each = np.repeat(np.arange(len(chosen)), np.diff(problem.offsets))
    gaps, losses = rows[chosen][each] - rows, gains[chosen][each] - gains
    spread = problem.spread.copy()
    spread[1:] = math.sqrt(np.mean(spread[1:] ** 2))
    beside, n = beta * c / (100.0 * problem.pool.n_sentences), problem.pool.n_sentences

    def ridge(w):
        return 0.5 * np.sum((w * spread) ** 2) + beside * by_hand(kind, w[1:])

    def value(w):
        return ridge(w) + c * np.maximum.reduceat(losses - gaps @ w, problem.offsets[:-1]).mean()

    def least():
        jacobian = np.concatenate([gaps, np.eye(n)[each]], axis=1)
        x0 = np.concatenate([np.zeros(len(spread)), np.maximum.reduceat(losses, problem.offsets[:-1])])
        found = minimize(
            lambda x: ridge(x[: len(spread)]) + c * x[len(spread) :].mean(), x0, method="SLSQP",
            constraints={"type": "ineq", "fun": lambda x: jacobian @ x - losses, "jac": lambda x: jacobian},
            options={"maxiter": 1000, "ftol": 1e-12},
        )  # fmt: skip
        return found.fun

    return value, least


@pytest.mark.parametrize("beta", [10.0, 1e3, 1e5])
def test_the_svm_with_lnr_is_the_least(beta):
    problem = binned(text_problem(sentences=8))
    state = last(tuner("svm", **ONE_ROUND, neighbours="lnr", beta=beta), problem, np.zeros(4))[-1]
    value, least = svm_objective(problem, "lnr", 3.0, beta)
    assert value(state.weights) == pytest.approx(state.objective, abs=1e-9)
    assert state.objective == pytest.approx(least(), abs=1e-4)
    plain = last(tuner("svm", **ONE_ROUND, neighbours="lnr", beta=0.0), problem, np.zeros(4))[-1]
    assert plain.objective < state.objective


@pytest.mark.parametrize("beta", [10.0, 1e3])
def test_the_svm_with_mnr_ends_in_a_minimum_no_higher_than_lnr_s_answer(beta):
    problem = binned(text_problem(sentences=8))
    states = {
        kind: last(tuner("svm", **ONE_ROUND, neighbours=kind, beta=beta), problem, np.zeros(4))[-1]
        for kind in ("lnr", "mnr")
    }
    value, _ = svm_objective(problem, "mnr", 3.0, beta)
    here = states["mnr"].weights
    assert value(here) == pytest.approx(states["mnr"].objective, abs=1e-9)
    assert value(here) <= value(states["lnr"].weights) + 1e-9
    rng, size = np.random.default_rng(0), np.abs(here).max()
    for step in (1e-2, 1e-3):
        moves = rng.normal(size=(100, 4)) * step * size
        assert min(value(here + move) for move in moves) >= value(here) - 1e-5


def test_the_svm_says_what_it_cannot_do():
    bounds = Bounds(np.array([-np.inf, -np.inf, 0.0, -np.inf]), np.full(4, np.inf))
    method = tuner("svm", neighbours="lnr")
    assert "some of them have bounds" in method.refuses(binned(text_problem(), bounds))
    first = Bounds(np.array([0.0, -np.inf, -np.inf, -np.inf]), np.full(4, np.inf))
    assert not method.refuses(binned(text_problem(), first))
    assert run(method, binned(text_problem(), first), np.zeros(4)).weights[0] >= 0.0
    assert "no features are known to be such bins" in method.refuses(text_problem())


@pytest.mark.parametrize("kind", ["lnr", "mnr"])
@pytest.mark.parametrize("seed", [0, 1])
def test_mert_pays_for_bins_out_of_line(kind, seed):
    problem, start = binned(random_problem(seed, sentences=12, k=10, features=5)), np.array([1.0, 0.3, -0.5, 0.8, 0.1])
    states = last(tuner("mert-regularized", penalty=kind, strength=200.0), problem, start, seed)
    for state in states:
        price = 200.0 * by_hand(kind, state.weights[1:] / np.abs(state.weights).sum())
        assert state.gain == problem.gain(state.weights)
        assert state.objective == pytest.approx(state.gain - price)
    assert all(after.objective > before.objective for before, after in itertools.pairwise(states))
    assert len(states) > 1
    free = last(tuner("mert-regularized", penalty=kind, strength=0.0), problem, start, seed)[-1]
    held = last(tuner("mert-regularized", penalty=kind, strength=1e6), problem, start, seed)[-1]
    costs = [by_hand(kind, s.weights[1:] / np.abs(s.weights).sum()) for s in (held, free)]
    assert costs[0] < 0.02 * costs[1]
    assert "no features are known to be such bins" in tuner("mert-regularized", penalty=kind).refuses(
        random_problem(seed)
    )


def test_the_price_does_not_know_the_length_of_weights():
    from luthier.tuning.neighbours.penalty import Neighbours
    from luthier.tuning.search.line_search import NeighbourPrice

    names = tuple("abcd")
    price = NeighbourPrice(Neighbours.of((FeatureGroup("F", names),), names, kind="mnr", strength=2.0, gamma=2.0))
    weights = np.array([[1.0, 3.0, 2.0, -1.0], [0.0, 0.0, 0.0, 0.0]])
    assert price.of(weights) == pytest.approx(price.of(1e9 * weights))
    assert price.of(weights)[1] == 0.0
    # along b, the second bin comes to the mean of 1 and 2 at −1.5, and the third to that of b and −1 at b = 5, +2
    assert price.favourites(weights[0], np.array([0.0, 1.0, 0.0, 0.0])).tolist() == [-1.5, 2.0]
