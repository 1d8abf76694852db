"""Expected metrics: gradients by differences, limits of the softmax, the contract."""

import numpy as np
import pytest
from margins import check_tuner, feature_rows, run_states, text_problem

from luthier.metrics.loading import load_metric
from luthier.tuning.base import tuner
from luthier.tuning.margin.steps import step_scale
from luthier.tuning.ranking.expectation import Expectation, smooth_gain
from luthier.tuning.ranking.sentence_gains import Outcomes

METRICS = ["bleu", "bleu(smoothing='add-k')", "ter", "wer", "chrf", "column:worth", "ter - 0.5*bleu"]


def central(function, at, step=1e-5):
    """Return the gradient by differences of fourth order."""
    slopes = []
    for d in range(len(at)):
        e = np.zeros(len(at))
        e[d] = step * max(1.0, abs(at[d]))
        f = [function(at + k * e) for k in (-2, -1, 1, 2)]
        slopes.append((f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * e[d]))
    return np.array(slopes)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("temperature", "sparse", "brevity"), [(0.0, 0, 0.0), (0.3, 3, 20.0)])
def test_the_gradient_by_central_differences(metric, temperature, sparse, brevity):
    problem = text_problem(metric, sparse=sparse)
    expectation = Expectation(problem, Outcomes.of(problem), 0.7, temperature, brevity)
    method = tuner("expected", l2=0.01)
    scale = np.sqrt(step_scale(problem, standardize=True))
    for weights in np.random.default_rng(0).normal(size=(3, 4)):
        _, gradient = method.objective(expectation, weights, scale)
        theirs = central(lambda w: method.objective(expectation, w, scale)[0], weights, 1e-3)
        assert np.allclose(gradient, theirs, atol=1e-7, rtol=1e-6)
        assert np.abs(gradient).max() > 1e-4


@pytest.mark.parametrize("metric", METRICS[:2])
@pytest.mark.parametrize("brevity", [0.0, 50.0])
@pytest.mark.parametrize("hyp_len", [60.0, 80.0])
def test_slopes_by_statistics(metric, brevity, hyp_len):
    sums = np.array([hyp_len, 70.0, 40.5, 22.0, 11.25, 4.0, 60.0, 53.0, 46.0, 39.0])
    gain, slopes = smooth_gain(load_metric(metric), sums, brevity)
    theirs = central(lambda s: smooth_gain(load_metric(metric), s, brevity)[0], sums, 1e-4)
    assert np.allclose(slopes, theirs, rtol=1e-6, atol=1e-9)
    assert gain == pytest.approx(float(load_metric(metric).score(sums)), rel=0.01)


def test_a_smooth_brevity_penalty_has_the_true_one_as_its_limit():
    sums = np.array([70.0, 70.0, 40.0, 22.0, 11.0, 4.0, 60.0, 53.0, 46.0, 39.0])
    bleu = load_metric("bleu")
    gains = [smooth_gain(bleu, sums, brevity)[0] for brevity in (10.0, 100.0, 1e4, 0.0)]
    assert gains == sorted(gains)
    assert gains[-1] == pytest.approx(float(bleu.score(sums)))
    assert gains[-2] == pytest.approx(gains[-1], rel=1e-4)


def test_the_value_against_plain_python():
    problem = text_problem(sparse=1)
    weights = np.array([0.2, -0.3, 0.1, 0.4])
    sums, entropy = np.zeros(problem.stats.shape[1]), 0.0
    for first, last in zip(problem.offsets[:-1], problem.offsets[1:], strict=True):
        p = np.exp(1.5 * feature_rows(problem)[first:last] @ weights)
        p /= p.sum()
        sums += p @ problem.stats[first:last]
        entropy -= np.sum(p * np.log(p))
    value, _ = Expectation(problem, Outcomes.of(problem), 1.5, 0.2).value_and_gradient(weights)
    assert value == pytest.approx(problem.gain_of_sums(sums) / 100 + 0.2 * entropy / 7)


def test_a_sharp_softmax_is_the_selection_and_a_huge_one_is_finite():
    problem = text_problem()
    weights = np.array([1.0, 0.31, -0.17, 0.073])  # no ties
    for sharpness in (1e3, 1e300):
        value, gradient = Expectation(problem, Outcomes.of(problem), sharpness).value_and_gradient(weights)
        assert value == pytest.approx(problem.gain(weights) / 100)
        assert np.isfinite(gradient).all()


def test_it_raises_its_objective_and_keeps_the_best():
    problem = text_problem(sentences=15)
    states = run_states("expected", problem, np.array([-0.2, 0.5, 0.5, 0.5]))
    assert states[-1].gain == max(state.gain for state in states)
    assert states[-1].gain > states[0].gain
    method = tuner("expected")
    expectation = Expectation(problem, Outcomes.of(problem), brevity=method.brevity)
    scale = np.sqrt(step_scale(problem, standardize=True))
    before = method.objective(expectation, states[0].weights, scale)[0]
    weights, value = method.fit(expectation, states[0].weights, scale)
    assert value == pytest.approx(method.objective(expectation, weights, scale)[0])
    assert value > before


@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf", "column:worth", "ter - 0.5*bleu"])
def test_it_keeps_to_the_contract(metric):
    check_tuner("expected", metric, rounds=2, iterations=10)
    check_tuner("expected", metric, sparse=2, temperature=0.0, standardize=False)
