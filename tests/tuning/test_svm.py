"""The structured SVM: against a general solver over all conditions, with and without bounds."""

import numpy as np
import pytest
from margins import check_tuner, feature_rows, run_states, text_problem
from scipy.optimize import minimize

from luthier.landscape.bounds import Bounds
from luthier.tuning.margin.steps import best_rows, oracle_rows, step_scale
from luthier.tuning.ranking.sentence_gains import Outcomes, outcome_gains

ONE_ROUND = {"rounds": 1, "background": False, "rescale": False, "keep": "last"}


def parts(problem, start, oracle, *, background=False):
    """Return what the objective is made of: differences (M, D) to oracles, losses (M,), the list of each row."""
    rows, outcomes = feature_rows(problem), Outcomes.of(problem)
    gains = outcome_gains(problem, outcomes, start if background else None)[outcomes.groups]
    scores = rows @ start
    chosen = best_rows(scores + gains, problem.offsets)
    if oracle == "gain":
        chosen = oracle_rows(gains, scores, problem.offsets)
    each = np.repeat(np.arange(len(chosen)), np.diff(problem.offsets))
    return rows[chosen][each] - rows, gains[chosen][each] - gains, each


def objective(problem, start, weights, *, c, centre, scale, oracle, background=False):
    gaps, losses, _ = parts(problem, start, oracle, background=background)
    slacks = np.maximum.reduceat(losses - gaps @ weights, problem.offsets[:-1])
    return 0.5 * np.sum((weights - centre) ** 2 / scale) + c * slacks.mean()


def brute_force(problem, start, *, c, centre, scale, oracle):
    """Return the least objective: a program in the weights and a slack for each list, all conditions at once."""
    gaps, losses, each = parts(problem, start, oracle)
    n, d = problem.pool.n_sentences, problem.n_features
    pick = np.eye(n)[each]
    jacobian = np.concatenate([gaps, pick], axis=1)
    x0 = np.concatenate([centre, np.maximum.reduceat(losses - gaps @ centre, problem.offsets[:-1])])
    found = minimize(
        lambda x: 0.5 * np.sum((x[:d] - centre) ** 2 / scale) + c * x[d:].mean(),
        x0,
        jac=lambda x: np.concatenate([(x[:d] - centre) / scale, np.full(n, c / n)]),
        constraints={"type": "ineq", "fun": lambda x: jacobian @ x - losses, "jac": lambda x: jacobian},
        bounds=[*zip(problem.bounds.low, problem.bounds.high, strict=True), *[(None, None)] * n],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return found.fun


@pytest.mark.parametrize(("c", "oracle", "bounded"), [(0.3, "gain", False), (3.0, "hope", False), (3.0, "gain", True)])
@pytest.mark.parametrize(("centre", "sparse", "standardize"), [("zero", 0, True), ("start", 2, False)])
def test_the_objective_is_the_least(c, oracle, bounded, centre, sparse, standardize):
    bounds = Bounds(np.array([-0.1, -0.05, -np.inf, 0.0]), np.array([0.1, 0.05, 0.0, np.inf])) if bounded else None
    problem = text_problem(sparse=sparse, bounds=bounds)
    start = problem.bounds.clip(np.array([0.05, 0.2, -0.1, 0.1]))
    last = run_states(
        "svm", problem, start, c=c, oracle=oracle, centre=centre, tolerance=1e-7, standardize=standardize, **ONE_ROUND
    )[-1]
    how = {
        "c": c, "oracle": oracle, "centre": start if centre == "start" else np.zeros(4),
        "scale": step_scale(problem, standardize=standardize),
    }  # fmt: skip
    assert objective(problem, start, last.weights, **how) == pytest.approx(last.objective, abs=1e-9)
    assert last.objective == pytest.approx(brute_force(problem, start, **how), abs=1e-5)


def test_it_stops_within_the_tolerance():
    problem = text_problem(sentences=15)
    exact = run_states("svm", problem, c=2.0, tolerance=1e-9, **ONE_ROUND)[-1].objective
    rough = run_states("svm", problem, c=2.0, tolerance=0.05, **ONE_ROUND)
    assert exact <= rough[-1].objective + 1e-9 <= exact + 2.0 * 0.05 + 1e-9
    assert run_states("svm", problem, tolerance=1e-9, limit=3, **ONE_ROUND)[-1].did.endswith("3 planes, not converged")


@pytest.mark.parametrize("oracle", ["gain", "hope"])
def test_rounds_find_gains_and_oracles_anew_and_later_ones_count_more(oracle):
    problem, start = text_problem(sentences=12), np.array([0.05, 0.2, -0.1, 0.1])
    how = {"c": 2.0, "centre": np.zeros(4), "scale": step_scale(problem, standardize=True), "oracle": oracle}
    same = {"c": 2.0, "oracle": oracle, "rescale": False, "keep": "last", "tolerance": 1e-7}
    states = run_states("svm", problem, start, rounds=3, **same)
    before = start
    for number, state in enumerate(states[1:], start=1):
        answer = before + (state.weights - before) * (number + 1) / 2
        found = objective(problem, before, answer, background=True, **how)
        assert found == pytest.approx(state.objective, abs=1e-6)
        moves = np.random.default_rng(number).normal(size=(30, 4)) * 0.01
        assert found <= min(objective(problem, before, answer + m, background=True, **how) for m in moves) + 1e-6
        before = state.weights


def test_a_longer_start_changes_nothing():
    problem, start = text_problem(sentences=12), np.array([0.05, 0.2, -0.1, 0.1])
    one, other = (run_states("svm", problem, scale * start, rounds=3)[-1].weights for scale in (1.0, 1024.0))
    assert np.array_equal(one, other)


@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf", "column:worth", "ter - 0.5*bleu"])
def test_it_keeps_to_the_contract(metric):
    check_tuner("svm", metric)
    check_tuner("svm", metric, sparse=2, oracle="gain", centre="start", standardize=False)
