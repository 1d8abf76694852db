"""The path in β: points and bounds against cold minimisations of SciPy, both ends, the gap, and MNR by continuation."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from luthier.core.errors import LuthierError
from luthier.jobs.lab.pairs import newton, penalty_path
from luthier.jobs.lab.pairs.penalty_path import trace_lnr, trace_mnr
from luthier.kbest.features import Features
from luthier.kbest.groups import FeatureGroup
from luthier.tuning.neighbours.penalty import Neighbours
from luthier.tuning.ranking.pairs import PairLoss

# two features of bins, one of a pair of bins, two that are none; columns are not in the order of bins
NAMES = tuple("abcdefghijk")
GROUPS = (FeatureGroup("X", tuple("caeb")), FeatureGroup("Y", tuple("jhg")), FeatureGroup("Z", ("d", "f")))


def problem(seed, n_pairs=60, scale=1.0):
    """Return the differences of pairs, how much they count, the loss, and the penalty."""
    rng = np.random.default_rng(seed)
    rows = scale * rng.integers(-3, 4, (n_pairs, len(NAMES))).astype(float)
    counts = rng.uniform(0.2, 3.0, n_pairs)
    neighbours = Neighbours.of(GROUPS, NAMES, kind="lnr", strength=1.0, gamma=2.0)
    return rows, counts, PairLoss(Features.from_dense(NAMES, rows), counts), neighbours


def bends():
    """Yield the places of each three neighbours."""
    for group in GROUPS:
        yield from zip(*([NAMES.index(c) for c in group.columns[k:]] for k in range(3)), strict=False)


def by_hand(rows, counts, ridge, beta, kind="lnr"):
    """Return the objective as the paper writes it, in NumPy alone."""

    def value(w):
        total = 2.0 * float(counts @ np.logaddexp(0.0, -rows @ w)) + ridge * float(w @ w)
        for left, middle, right in bends():
            a, b = 0.5 * (w[left] + w[right]) - w[middle], 0.5 * (w[left] - w[right])
            total += beta * a * a * (1.0 if kind == "lnr" or b == 0 else math.tanh(abs(a / b)) ** 4)
        return total

    return value


def cold(value, n=11):
    """Return where SciPy ends from 0, and again from there: no code is shared, and no gradient."""
    found = minimize(value, np.zeros(n), method="BFGS", options={"gtol": 1e-9})
    return minimize(value, found.x, method="BFGS", jac="3-point", options={"gtol": 1e-9})


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "ridge"), [(0, 0.5), (1, 3.0), (2, 0.05)])
def test_points_and_bounds_between_them_are_those_of_cold_searches(seed, ridge):
    rows, counts, loss, neighbours = problem(seed)
    path = trace_lnr(loss, ridge, neighbours, gap=1e-3)
    betas = [point.beta for point in path.points]
    assert (betas[0], betas[-1]) == (0.0, math.inf)
    assert betas == sorted(set(betas))
    assert 0.0 < path.gap <= 1e-3
    for point in path.points[1:-1:3]:
        least = cold(by_hand(rows, counts, ridge, point.beta))
        assert point.value == pytest.approx(by_hand(rows, counts, ridge, point.beta)(point.weights), rel=1e-12)
        assert point.low <= least.fun * (1 + 1e-10)
        assert point.low >= least.fun * (1 - 2e-5)
        assert np.allclose(point.weights, least.x, atol=2e-2)
    between = [math.sqrt(a * b) for a, b in itertools.pairwise(betas[1:-1])]
    for beta in [0.3 * betas[1], *between[::2], 10.0 * betas[-2]]:
        low, high = path.bounds_at(beta)
        least = cold(by_hand(rows, counts, ridge, beta)).fun
        assert low <= least * (1 + 1e-10)
        assert least <= high * (1 + 1e-10)
        assert high - low <= 1.0001e-3 * low


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_small_gap_finds_the_weights_themselves(seed):
    rows, counts, loss, neighbours = problem(seed)
    for point in trace_lnr(loss, 1.0, neighbours, gap=1e-5).points[1:-1:8]:
        least = cold(by_hand(rows, counts, 1.0, point.beta))
        # c‖w − w*‖² is at most what the objective is above the least one
        assert np.linalg.norm(point.weights - least.x) <= math.sqrt(1e-7 * least.fun) + 1e-6


def test_both_ends():
    rows, counts, loss, neighbours = problem(3)
    path = trace_lnr(loss, 1.0, neighbours, gap=1e-4)
    first, last = path.points[0], path.points[-1]
    assert first.value == pytest.approx(cold(by_hand(rows, counts, 1.0, 0.0)).fun, rel=1e-6)
    # β = ∞: a constant and a slope for X and for Y, the other four weights by themselves
    basis = np.zeros((len(NAMES), 8))
    for k, name in enumerate("dfik"):
        basis[NAMES.index(name), k] = 1.0
    for k, group in enumerate(GROUPS[:2]):
        for j, column in enumerate(group.columns):
            basis[NAMES.index(column), 4 + 2 * k : 6 + 2 * k] = 1.0, j
    plain = by_hand(rows, counts, 1.0, 0.0)
    straight = cold(lambda v: plain(basis @ v), 8)
    assert last.value == pytest.approx(straight.fun, rel=1e-6)
    assert np.allclose(last.weights, basis @ straight.x, atol=5e-3)
    assert last.bent == 0.0
    assert path.bounds_at(math.inf) == (last.low, last.value)
    assert path.bounds_at(0.0)[0] == first.low


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_the_path_is_concave_and_its_bends_fall(scale):
    _, _, loss, neighbours = problem(4, n_pairs=200, scale=scale)
    path = trace_lnr(loss, 1.0, neighbours, gap=1e-4)
    values, bent = ([getattr(point, name) for point in path.points] for name in ("value", "bent"))
    assert path.gap <= 1e-4
    assert all(b >= a * (1 - 1e-6) for a, b in itertools.pairwise(values))
    assert all(b <= a + 1e-4 * bent[0] for a, b in itertools.pairwise(bent))
    for left, middle, right in zip(path.points, path.points[1:], path.points[2:-1], strict=False):
        share = (middle.beta - left.beta) / (right.beta - left.beta)
        assert middle.value >= (1 - share) * left.low + share * right.low


def test_a_smaller_gap_takes_more_points_as_its_root():
    _, _, loss, neighbours = problem(5, n_pairs=200)
    sizes = [len(trace_lnr(loss, 1.0, neighbours, gap=gap).points) for gap in (1e-2, 1e-4, 1e-6)]
    assert sizes[0] < sizes[1] < sizes[2]
    assert sizes[2] <= 15 * sizes[1]  # ten, were it exactly the root


def test_bounds_hold_even_where_points_are_not_solved(monkeypatch):
    rows, counts, loss, neighbours = problem(6)
    monkeypatch.setattr(newton, "MOST_STEPS", 2)
    monkeypatch.setattr(penalty_path, "MOST_POINTS", 12)
    path = trace_lnr(loss, 1.0, neighbours, gap=1e-6)
    assert path.gap > 1e-6  # and it says so
    for beta in (0.0, 0.5, 5.0, 50.0, 5e3):
        low, high = path.bounds_at(beta)
        assert low <= cold(by_hand(rows, counts, 1.0, beta)).fun <= high
        assert high / low - 1.0 <= path.gap * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_mnr_is_local_and_between_its_bounds(seed):
    rows, counts, loss, neighbours = problem(seed)
    path = trace_lnr(loss, 1.0, neighbours, gap=1e-3)
    fits = trace_mnr(path, loss, 1.0, neighbours)
    assert len(fits) == len(path.points) - 1
    assert fits[0].weights.tolist() == path.points[0].weights.tolist()
    for point, fit in list(zip(path.points, fits, strict=False))[1::4]:
        value = by_hand(rows, counts, 1.0, point.beta, "mnr")
        assert fit.value == pytest.approx(value(fit.weights), rel=1e-9)
        assert path.points[0].low <= fit.value <= point.value * (1 + 1e-9)
        around = minimize(value, fit.weights, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
        assert fit.value == pytest.approx(around.fun, rel=1e-5)  # no way down nearby


def test_what_cannot_be_traced():
    _, _, loss, neighbours = problem(0)
    for ridge, gap in ((0.0, 1e-3), (math.inf, 1e-3), (1.0, 0.0), (1.0, 1.0)):
        with pytest.raises(LuthierError, match="expected a ridge above 0 and a gap between 0 and 1"):
            trace_lnr(loss, ridge, neighbours, gap=gap)
    none = Neighbours.of(GROUPS[2:], NAMES, kind="lnr", strength=1.0, gamma=2.0)
    with pytest.raises(LuthierError, match="expected bins that have neighbours on both sides, found none"):
        trace_lnr(loss, 1.0, none)
    with pytest.raises(LuthierError, match="expected a β from 0 on, found -1"):
        trace_lnr(loss, 1.0, neighbours).bounds_at(-1.0)
