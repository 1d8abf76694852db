"""Penalties on neighbouring bins: values by hand, gradients by differences, the fit and its units, shapes, limits."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.kbest.features import Features
from luthier.kbest.groups import FeatureGroup
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.base import tuner
from luthier.tuning.neighbours import fit as fitting
from luthier.tuning.neighbours.fit import BandedUnits, minimize_with_neighbours
from luthier.tuning.neighbours.penalty import Neighbours, damping
from luthier.tuning.neighbours.smooth_fit import Ridge, minimize, objective
from luthier.tuning.ranking.pairs import PairLoss
from luthier.tuning.run import run
from small_problems import last, random_problem

NAMES = tuple("abcdefghij")
GROUPS = (FeatureGroup("X", ("c", "a", "e", "b")), FeatureGroup("Y", ("j", "h", "g")), FeatureGroup("Z", ("d", "f")))


def penalty(kind, strength=3.0, gamma=2.0, groups=GROUPS):
    return Neighbours.of(groups, NAMES, kind=kind, strength=strength, gamma=gamma)


def by_hand(kind, weights, strength, gamma, groups=GROUPS):
    """Return the penalty as the paper writes it, term by term, in plain Python."""
    w, total = dict(zip(NAMES, weights, strict=True)), 0.0
    for group in groups:
        for left, middle, right in zip(group.columns, group.columns[1:], group.columns[2:], strict=False):
            a, b = 0.5 * (w[left] + w[right]) - w[middle], 0.5 * (w[left] - w[right])
            d = 1.0 if kind == "lnr" or b == 0 else math.tanh(abs(a / b)) ** (2 * gamma)
            total += strength * d * a * a
    return total


def by_differences(term, weights, step=1e-6):
    out = np.zeros(len(weights))
    for d in range(len(weights)):
        move = np.zeros(len(weights))
        move[d] = step
        out[d] = (term.value_and_gradient(weights + move)[0] - term.value_and_gradient(weights - move)[0]) / (2 * step)
    return out


@settings(max_examples=60)
@given(
    st.sampled_from(["lnr", "mnr"]),
    st.sampled_from([0.5, 1.0, 2.0, 7.0]),
    st.lists(st.integers(-3, 3), min_size=10, max_size=10),
)
def test_values_are_those_of_the_paper_with_ties(kind, gamma, weights):
    w = np.array(weights, float)
    value, gradient = penalty(kind, gamma=gamma).value_and_gradient(w)
    assert value == pytest.approx(by_hand(kind, w, 3.0, gamma), rel=1e-12, abs=1e-12)
    assert gradient[[3, 5, 8]].tolist() == [0.0, 0.0, 0.0]  # a pair of bins, and no bin at all


@pytest.mark.parametrize("kind", ["lnr", "mnr"])
@pytest.mark.parametrize("gamma", [1.0, 2.0, 3.5])
def test_gradients_by_central_differences(kind, gamma):
    rng = np.random.default_rng(0)
    term = penalty(kind, gamma=gamma)
    for _ in range(30):
        w = rng.normal(size=10) * 10.0 ** rng.uniform(-2, 2)
        exact = term.value_and_gradient(w)[1]
        slope = by_differences(term, w, 1e-6 * np.abs(w).max())
        assert np.allclose(exact, slope, rtol=1e-5, atol=1e-6 * np.abs(exact).max())


def own_terms_only(term, weights):
    """Return a gradient in which each bin sees its own term and not those of its neighbours: a common mistake."""
    out = np.zeros(len(weights))
    for j, column in enumerate(term.columns[1:-1]):
        alone = dataclasses.replace(term, inner=np.where(np.arange(len(term.inner)) == j, term.inner, 0.0))
        out[column] = alone.value_and_gradient(weights)[1][column]
    return out


def test_a_gradient_without_the_neighbours_terms_is_found_out():
    rng, term = np.random.default_rng(1), penalty("mnr")
    errors = []
    for _ in range(50):
        w = rng.normal(size=10)
        exact = by_differences(term, w)
        errors.append(np.linalg.norm(own_terms_only(term, w) - exact) / np.linalg.norm(exact))
    assert np.median(errors) > 0.3


@pytest.mark.parametrize("around", [0.0, 1e-9, 1e-3])
def test_it_is_smooth_where_neighbours_are_equal(around):
    # bins c, a, e: the outer two alike, the middle one away from them
    w = np.zeros(10)
    w[[2, 0, 4]] = 1.0, 3.0, 1.0 + around
    term = penalty("mnr", groups=(FeatureGroup("X", ("c", "a", "e")),))
    assert term.value_and_gradient(w)[0] == pytest.approx(12.0, rel=2e-3)
    assert np.allclose(term.value_and_gradient(w)[1], by_differences(term, w), rtol=1e-4, atol=1e-4)
    level = np.full(10, 2.5)  # all three equal: no term, no slope
    value, slope = penalty("mnr").value_and_gradient(level)
    assert value == 0.0
    assert not slope.any()
    assert np.abs(by_differences(penalty("mnr"), level, 1e-7)).max() < 1e-5


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-160, 1.0, 1e6])
@pytest.mark.parametrize("kind", ["lnr", "mnr"])
def test_everything_is_finite_for_tiny_and_huge_weights(kind, size):
    for seed in range(20):
        w = size * np.random.default_rng(seed).choice([-1.0, -0.3, 0.0, 1e-8, 0.5, 1.0], 10)
        value, gradient = penalty(kind, strength=5e6).value_and_gradient(w)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert np.isfinite(penalty(kind, strength=5e6).band(w, 0.01)).all()


def test_the_damping_and_its_derivatives():
    u = np.array([1e-9, 0.1, 1.0, 3.0, 40.0, 1e9, np.inf])
    found = damping(u, np.ones(len(u)), 2.0)
    assert found.itself[2] == pytest.approx(math.tanh(1.0) ** 4)  # 0.34 at a neighbour's own value
    assert found.itself[-3:].tolist() == [1.0, 1.0, 1.0]
    step = 1e-5
    for x, slope, bend in list(zip(u, found.slope, found.bend, strict=True))[1:4]:
        f = [math.tanh(x + k * step) ** 4 for k in (-1, 0, 1)]
        assert slope == pytest.approx(x * (f[2] - f[0]) / (2 * step), rel=1e-6)
        assert bend == pytest.approx(x * x * (f[2] - 2 * f[1] + f[0]) / step**2, rel=1e-3)
    assert np.isfinite(found.slope).all()
    assert np.isfinite(found.bend).all()


@pytest.mark.parametrize("kind", ["lnr", "mnr"])
def test_the_band_is_positive_and_that_of_lnr_is_exact(kind):
    rng = np.random.default_rng(3)
    term = penalty(kind)
    w = rng.normal(size=10)
    band, b = term.band(w, 0.01), len(term.columns)
    full = np.zeros((b, b))
    for k in range(3):
        full[np.arange(k, b), np.arange(b - k)] = full[np.arange(b - k), np.arange(k, b)] = band[k, : b - k]
    assert np.linalg.eigvalsh(full).min() > -1e-9
    if kind == "lnr":
        assert w[term.columns] @ full @ w[term.columns] / 2 == pytest.approx(term.value_and_gradient(w)[0])


def test_units_there_and_back_and_bounds():
    rng, term = np.random.default_rng(4), penalty("lnr")
    bounds = Bounds(np.where(np.arange(10) == 4, -1.0, -np.inf), np.where(np.arange(10) == 0, 2.0, np.inf))
    units = BandedUnits.of(rng.random(10) + 0.1, term, term.band(np.zeros(10), 0.0), bounds)
    w, g = rng.normal(size=10), rng.normal(size=10)
    assert np.allclose(units.weights(units.inner(w)), w)
    assert units.gradient(g) @ units.inner(w) == pytest.approx(g @ w)
    limits = units.limits(bounds, 1.0)
    at = units.order.tolist().index(4)
    moved = w.copy()
    moved[4] = -1.0
    assert units.inner(moved)[at] == pytest.approx(limits[at, 0])
    assert np.delete(units.inner(moved) - units.inner(w), at).any() == False  # noqa: E712 - held weights stand alone


class Pull:
    """Σ ½ s_d (w_d − t_d)²: an optimum known by a linear system."""

    def __init__(self, target, strength):
        self.target, self.strength = target, strength

    def value_and_gradient(self, weights):
        away = weights - self.target
        return 0.5 * float(away @ (self.strength * away)) + 1.0, self.strength * away

    def curvature(self, weights=None):
        return self.strength


def chain(n, rng):
    """Return a penalty on one feature of n bins, and noisy targets on a rising line."""
    names = [f"b{j}" for j in range(n)]
    groups = (FeatureGroup("F", tuple(names)),)
    return (lambda kind, beta: Neighbours.of(groups, names, kind=kind, strength=beta, gamma=2.0)), Pull(
        np.linspace(-1, 1, n) ** 3 + 0.3 * rng.normal(size=n), rng.uniform(0.5, 50.0, n)
    )


def test_the_fit_of_lnr_is_that_of_its_linear_system():
    make, pull = chain(40, np.random.default_rng(5))
    for beta in (1e-3, 1.0, 1e5, 5e6):
        term = make("lnr", beta)
        band = term.band(np.zeros(40), 0.0)
        full = np.diag(pull.strength + band[0])
        for k in (1, 2):
            full += np.diag(band[k, : 40 - k], k) + np.diag(band[k, : 40 - k], -k)
        expected = np.linalg.solve(full, pull.strength * pull.target)
        fit = minimize_with_neighbours([pull], term, np.ones(40), Bounds.none(40), raised=True)
        assert fit.converged
        assert fit.iterations < 12
        assert np.allclose(fit.weights, expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["lnr", "mnr"])
def test_bounds_hold_and_fixed_weights_stay(kind):
    make, pull = chain(30, np.random.default_rng(6))
    low, high = np.full(30, -np.inf), np.full(30, np.inf)
    low[5] = high[5] = 0.25
    high[20:] = 0.1
    bounds, term = Bounds(low, high), make(kind, 100.0)
    fit = minimize_with_neighbours([pull], term, bounds.clip(np.zeros(30)), bounds, raised=True)
    assert fit.converged
    assert bounds.allow(fit.weights)
    assert fit.weights[5] == 0.25
    value, slope = objective([pull, term], fit.weights)
    free = (fit.weights < high) & (fit.weights > low)
    assert np.abs(slope[free]).max() < 0.05
    assert (slope[~free & (low < high)] < 0).all()  # held by their bound
    assert value == pytest.approx(fit.value, rel=1e-9)


def log_response(n, n_pairs):
    """Return the values of n bins, and pairs of hypotheses of eight rules whose better one is told by log x."""
    rng, x = np.random.default_rng(0), (np.arange(n) + 0.5) / n
    counts = np.zeros((n_pairs, n))
    for sign in (1.0, -1.0):
        for _ in range(8):
            counts[np.arange(n_pairs), rng.integers(0, n, n_pairs)] += sign
    likely = 1.0 / (1.0 + np.exp(-counts @ np.log(x)))
    counts *= np.where(rng.random(n_pairs) < likely, 1.0, -1.0)[:, None]
    return x, PairLoss(Features.from_dense([f"b{j}" for j in range(n)], counts))


def share_explained(x, w):
    """Return R² of the best a + b·x."""
    return np.corrcoef(x, w)[0, 1] ** 2


@pytest.mark.compiled
def test_shapes_by_beta():
    x, loss = log_response(32, 4000)
    names, free, terms = loss.rows.names, Bounds.none(32), [loss, Ridge(1.0, np.zeros(32))]

    def fitted(kind, beta):
        term = Neighbours.of((FeatureGroup("F", names),), names, kind=kind, strength=beta, gamma=2.0)
        fit = minimize_with_neighbours(terms, term, np.zeros(32), free, raised=True)
        assert fit.converged
        return fit.weights

    plain = minimize(terms, np.zeros(32), free, iterations=1000).weights
    assert (np.diff(plain) < -0.05).any()
    assert (np.diff(fitted("mnr", 1e4)) > -0.01).all()  # monotone at a moderate β, of weights that span 4
    straight = [share_explained(np.arange(32), fitted("lnr", beta)) for beta in (1e3, 1e5, 1e7, 1e11)]
    assert straight == sorted(straight)
    assert straight[-1] > 0.99999 > 0.9 > straight[0]
    curved = [share_explained(np.log(x), fitted("mnr", beta)) for beta in (1e5, 1e7, 1e9, 1e11)]
    assert curved == sorted(curved, reverse=True)  # MNR tends to a line too, but slowly
    assert curved[0] > 0.99
    assert curved[-1] > share_explained(np.log(x), fitted("lnr", 1e11)) + 0.05


@pytest.mark.compiled
def test_a_factor_saves_steps():
    x, loss = log_response(64, 1000)
    names, free, terms = loss.rows.names, Bounds.none(len(x)), [loss, Ridge(1.0, np.zeros(len(x)))]
    term = Neighbours.of((FeatureGroup("F", names),), names, kind="lnr", strength=5e6, gamma=2.0)
    plain = minimize([*terms, term], np.zeros(64), free, iterations=10_000, tolerance=0.0)
    factored = minimize_with_neighbours(terms, term, np.zeros(64), free, raised=True)
    assert factored.value <= plain.value * (1 + 1e-9)
    assert factored.iterations < 20 < 200 < plain.iterations


def test_ways_to_mnr_end_at_minima_much_alike_and_say_when_they_give_up(monkeypatch):
    make, pull = chain(40, np.random.default_rng(0))
    term, free = make("mnr", 300.0), Bounds.none(40)
    starts = [
        np.zeros(40),
        pull.target,
        minimize_with_neighbours([pull], make("lnr", 300.0), np.zeros(40), free, raised=True).weights,
    ]
    fits = [minimize_with_neighbours([pull], term, start, free, raised=start is starts[0]) for start in starts]
    for fit in fits:
        assert fit.converged
        assert np.abs(objective([pull, term], fit.weights)[1]).max() < 0.2  # curvatures are some hundreds
        assert fit.value < 1.03 * min(other.value for other in fits)
    monkeypatch.setattr(fitting, "MOST_STEPS", 3)
    assert not minimize_with_neighbours([pull], term, pull.target, free, raised=False).converged


# the same in tuners


def binned_problem(seed=4, bounds=None):
    problem = random_problem(seed, sentences=12, k=10, features=5, bounds=bounds)
    groups = [FeatureGroup("f", ("f0", "f2", "f3", "f4"))]
    return ListProblem.of(problem.pool.with_features(problem.pool.features.group(groups)), problem.metric)


ROUND = {"keep": "last", "psi": 1.0, "gains": "sentence", "iterations": 2}


def ranking(name, **more):
    """Return a ranking tuner of two rounds; one that draws pairs draws few."""
    return tuner(name, **ROUND, **({"draws": 200} if name == "pro" else {}), **more)


@pytest.mark.parametrize("name", ["pro", "pro-all", "listwise"])
def test_no_beta_is_plain_bit_for_bit(name):
    problem = binned_problem()
    plain, none = (
        last(ranking(name, **more), problem, np.ones(5)) for more in ({}, {"beta": 0.0, "neighbours": "mnr"})
    )
    assert [s.weights.tobytes() for s in plain] == [s.weights.tobytes() for s in none]
    assert [s.did for s in plain] == [s.did for s in none]


@pytest.mark.parametrize("name", ["pro", "pro-all", "listwise"])
@pytest.mark.parametrize("kind", ["lnr", "mnr"])
def test_bins_come_into_line_and_the_record_says_what_beta_was(name, kind):
    problem, columns = binned_problem(), [0, 2, 3, 4]
    plain = last(ranking(name), problem, np.ones(5))[-1].weights[columns]
    state = last(ranking(name, neighbours=kind, beta=1e7), problem, np.ones(5))[-1]
    w = state.weights[columns]
    assert np.abs(np.diff(plain, 2)).max() > 1e-2
    if kind == "lnr":
        assert np.abs(np.diff(w, 2)).max() < 1e-3
    else:
        assert len(set(np.sign(np.diff(w)[np.abs(np.diff(w)) > 1e-3]))) <= 1
    pairs = state.record["pairs"]
    assert state.record == {"beta": 1e7, "pairs": pairs, "beta_per_pair": 1e7 / pairs}
    assert 100 <= pairs <= 600
    assert f"for each of {pairs:,.0f} pairs" in state.note
    assert "converge" not in state.note


def test_a_problem_without_bins_is_refused():
    with pytest.raises(
        LuthierError, match=r"no features are known to be such bins\. hint: 'luthier engine discretize'"
    ):
        run(tuner("pro", neighbours="mnr"), random_problem(0), np.ones(3))


def test_a_fit_that_is_given_up_is_said(monkeypatch):
    monkeypatch.setattr(fitting, "MOST_STEPS", 1)
    state = last(ranking("pro", neighbours="mnr", beta=1e4), binned_problem(), np.ones(5))[-1]
    assert "not converged" in state.did
    assert "did not converge" in state.note


def test_ridge_and_neighbours_add_up():
    term, ridge = penalty("mnr"), Ridge(2.0, np.zeros(10))
    w = np.arange(10.0)
    assert objective([term, ridge], w)[0] == pytest.approx(term.value_and_gradient(w)[0] + 2.0 * w @ w)
