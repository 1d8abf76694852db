"""Online MIRA: its quadratic program against brute force, its choice of rows, its average."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from margins import check_tuner, run_states, split_features, text_problem

from luthier.core.arrays import flat
from luthier.tuning.margin import _mira_qp_kernels as kernels
from luthier.tuning.margin.steps import AveragedWeights
from small_problems import problem_of


def solve(rows, gains, weights, limit, *, oracle, scale, sparse=0, sweeps=100_000):
    f = split_features(rows, sparse)
    weights = weights.copy()
    k = len(rows)
    room = np.zeros(rows.shape[1])
    kernels.solve_list(
        np.arange(k), oracle, flat(gains), f.arrays, flat(scale), limit, 1e-11, sweeps, weights,
        kernels.Workspace(np.empty(k), np.empty(k, np.int64), room),
    )  # fmt: skip
    assert not room.any()
    return weights


def objective(new, old, rows, gains, limit, *, oracle, scale):
    slacks = np.maximum(0.0, (rows - rows[oracle]) @ new + gains[oracle] - gains)
    free = scale > 0
    return 0.5 * np.sum((new - old)[free] ** 2 / scale[free]) + limit * slacks.sum()


def dual_optimum(gaps, losses, scale, limit):
    """Return the largest a·losses − a·Q·a/2 for a in [0, limit]^k, and a: each at 0, at the limit or free."""
    quadratic, best = gaps @ (scale[:, None] * gaps.T), (-np.inf, None)
    for states in itertools.product((0.0, limit, np.nan), repeat=len(losses)):
        a = np.array(states)
        free = np.isnan(a)
        held = quadratic[np.ix_(free, ~free)] @ a[~free]
        a[free] = np.linalg.lstsq(quadratic[np.ix_(free, free)], losses[free] - held, rcond=None)[0]
        if np.all((a >= -1e-12) & (a <= limit + 1e-12)):
            best = max(best, (float(a @ losses - 0.5 * a @ quadratic @ a), a), key=lambda found: found[0])
    return best


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0, 1, 3]), st.sampled_from([0.01, 0.1, 10.0]))
def test_the_quadratic_program_against_all_active_sets(seed, sparse, limit):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 6)), 3
    rows = rng.integers(-2, 3, (k, n)).astype(float)
    gains, weights = rng.integers(0, 5, k).astype(float), rng.integers(-2, 3, n).astype(float)
    scale = rng.choice([0.0, 0.5, 1.0, 2.0], n)
    oracle = int(np.argmax(gains))
    gaps = rows - rows[oracle]
    losses = gains[oracle] - gains + gaps @ weights
    _, alphas = dual_optimum(gaps, losses, scale, limit)
    ours = solve(rows, gains, weights, limit, oracle=oracle, scale=scale, sparse=sparse)
    assert np.allclose(ours, weights - scale * (gaps.T @ alphas), atol=1e-7)
    # strong duality: conditions between rows that cannot be told apart are lost for all weights alike
    told = np.any(gaps[:, scale > 0] != 0, axis=1)
    lost = limit * np.maximum(0, losses)[~told].sum()
    value = objective(ours, weights, rows, gains, limit, oracle=oracle, scale=scale)
    assert value - lost == pytest.approx(dual_optimum(gaps[told], losses[told], scale, limit)[0], abs=1e-7)


@given(st.integers(0, 10**6), st.booleans(), st.integers(0, 7))
def test_the_rows_that_make_conditions(seed, hope, most):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-1, 2, (6, 2)).astype(float)
    gains, weights = rng.integers(0, 3, 6).astype(float), rng.integers(-1, 2, 2).astype(float)
    f = split_features(rows, 1)
    first, last = 1, 6
    out = np.empty(6, np.int64)
    oracle, n = kernels.pick(first, last, hope, most, flat(gains), f.arrays, weights, np.empty(6), out)
    scores = rows @ weights
    inside = range(first, last)
    assert oracle == max(inside, key=lambda r: (gains[r] + hope * scores[r], scores[r], -r))
    by_violation = sorted(inside, key=lambda r: (gains[r] - scores[r], r))
    assert sorted(out[:n]) == sorted(by_violation[: most or None])


def test_one_step_by_hand():
    # One list, two hypotheses: h = (1, 0) gains 0, h = (0, 1) gains 100, one word each; w = (1, 0).
    # The oracle is behind by 1 and should lead by 1; ‖d‖² = 2, so α = (1 + 1)/2 = 1 and w' = (0, 1).
    problem = problem_of([[[1, 0], [0, 1]]], [[0, 100]])
    options = {"oracle": "gain", "standardize": False, "average": "none", "epochs": 1, "background": False}
    assert np.allclose(run_states("mira", problem, [1, 0], c=10.0, **options)[1].weights, [0, 1])
    assert np.allclose(run_states("mira", problem, [1, 0], c=0.25, **options)[1].weights, [0.75, 0.25])


@pytest.mark.parametrize("oracle", ["gain", "hope"])
def test_it_finds_what_can_be_found(oracle):
    # feature 0 says which hypothesis is best in every list, feature 1 is noise
    rng = np.random.default_rng(1)
    worths = rng.permuted(np.tile(np.arange(0, 100, 20), (8, 1)), axis=1)
    lists = np.stack([worths / 50, rng.integers(-2, 3, worths.shape)], axis=2)
    problem = problem_of(list(lists), list(worths))
    found = run_states("mira", problem, [-1, 1], c=1.0, oracle=oracle, conditions=0, gain_weight=10.0)[-1]
    assert found.gain == 80.0


@given(st.integers(1, 12))
def test_the_mean_of_all_steps(count):
    rng = np.random.default_rng(count)
    path = rng.normal(size=(count, 3))
    averaged = AveragedWeights.of(rng.normal(size=3))
    assert np.array_equal(averaged.mean(), averaged.weights)
    for weights in path:
        averaged.put(weights)
    assert np.allclose(averaged.mean(), path.mean(axis=0))


@pytest.mark.parametrize("average", ["epoch", "all", "none"])
def test_storage_does_not_matter(average):
    one, two = (
        run_states("mira", text_problem(sparse=sparse), epochs=3, average=average, c=0.05)[-1] for sparse in (0, 3)
    )
    assert np.allclose(one.weights, two.weights)


@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf", "wer", "column:worth", "ter - 0.5*bleu"])
def test_it_keeps_to_the_contract(metric):
    check_tuner("mira", metric, sparse=2, epochs=2, c=0.1)
    check_tuner("mira", metric, epochs=2, oracle="gain", standardize=False, conditions=0, background=False)
