"""Pairs, their differences and losses, the fit: against plain Python, brute force and differences."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.corpus.texts import Tokens
from luthier.kbest.features import Features
from luthier.landscape.bounds import Bounds
from luthier.tuning.neighbours.smooth_fit import Ridge, minimize, objective
from luthier.tuning.ranking.pairs import (
    PairLoss,
    Pairs,
    PairSampling,
    count_entries,
    differences,
    sample_pairs,
    sum_rows,
    sum_squares,
)
from luthier.tuning.ranking.sentence_gains import corpus_gains, hypothesis_gains
from small_problems import problem_of, random_problem


def as_sparse(features, n_dense):
    """Return the same features, all but the first few of them sparse."""
    tail = features.dense[:, n_dense:]
    rows, columns = np.nonzero(tail)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(tail)))])
    return Features(features.names, features.dense[:, :n_dense], indptr, columns, tail[rows, columns])


def slope_by_difference(term, weights, step=1e-5):
    """Return the gradient by central differences."""
    return np.array([
        (term.value_and_gradient(weights + d)[0] - term.value_and_gradient(weights - d)[0]) / (2 * step)
        for d in step * np.eye(len(weights))
    ])  # fmt: skip


def draw(problem, rng=0, **options):
    sampling = PairSampling(**{"draws": 50, "kept": 10, "least_gap": 5.0, **options})
    return sample_pairs(problem, problem.sentence_gains, sampling, np.random.default_rng(rng))


@pytest.mark.parametrize("select", ["largest", "first"])
@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_of_one_list_in_the_right_order_and_far_enough_apart(seed, select):
    problem = random_problem(seed)
    pairs = draw(problem, seed, select=select, least_gap=30.0)
    gaps = problem.sentence_gains[pairs.better] - problem.sentence_gains[pairs.worse]
    assert len(pairs)
    assert gaps.min() >= 30.0
    sentence = np.repeat(np.arange(6), np.diff(pairs.offsets))
    for rows in (pairs.better, pairs.worse):
        assert np.array_equal(np.searchsorted(problem.offsets, rows, side="right") - 1, sentence)
    assert np.diff(pairs.offsets).max() <= 10


def test_the_largest_gaps_of_all_draws_are_kept():
    problem = random_problem(1, sentences=3, k=30)
    every, few = draw(problem, kept=400, draws=300, least_gap=0.0), draw(problem, kept=7, draws=300, least_gap=0.0)

    def gaps(pairs, s):
        rows = slice(pairs.offsets[s], pairs.offsets[s + 1])
        return np.sort(problem.sentence_gains[pairs.better[rows]] - problem.sentence_gains[pairs.worse[rows]])

    for s in range(3):
        assert np.array_equal(gaps(few, s), gaps(every, s)[-7:])


def test_draws_are_uniform_over_pairs():
    # 5 different worths: of 25 ordered draws 20 differ, each unordered pair twice: 10 pairs of 1/12.5 each
    problem = problem_of([np.zeros((5, 1))], [[0, 10, 20, 30, 40]])
    pairs = draw(problem, draws=20_000, kept=20_000, least_gap=0.0, select="first")
    counts = np.bincount(pairs.better * 5 + pairs.worse, minlength=25)
    assert np.count_nonzero(counts) == 10
    assert len(pairs) == pytest.approx(16_000, abs=6 * 57)  # σ = √(20000 · .8 · .2)
    expected = len(pairs) / 10
    assert ((counts[counts > 0] - expected) ** 2 / expected).sum() < 27.9  # χ², 9 degrees, p = .001


def test_pairs_of_a_sentence_do_not_depend_on_other_lists():
    lists, worths = [np.zeros((6, 1))] * 3, [list(range(0, 60, 10))] * 3
    one = draw(problem_of(lists, worths))
    other = draw(problem_of([np.zeros((2, 1)), *lists[1:]], [[0, 50], *worths[1:]]))
    last = one.better[one.offsets[2] :], one.worse[one.offsets[2] :]
    assert np.array_equal(last[0] - 12, other.better[other.offsets[2] :] - 8)
    assert np.array_equal(last[1] - 12, other.worse[other.offsets[2] :] - 8)


def test_no_pairs_without_difference():
    problem = problem_of([np.ones((4, 2)), np.ones((1, 2))], [[50] * 4, [10]])
    assert len(draw(problem, least_gap=0.0)) == 0


def test_the_length_filter_leaves_out_long_worse_ones():
    problem = problem_of([np.zeros((3, 1))], [[90, 50, 10]])
    tokens = Tokens(np.array([0, 2, 9, 10]), np.zeros(10, np.int32))  # lengths 2, 7, 1
    problem = dataclasses.replace(problem, pool=dataclasses.replace(problem.pool, tokens=tokens))
    pairs = draw(problem, length_gap=4, draws=300, kept=300)
    assert set(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)) == {(0, 2), (1, 2)}
    everything = draw(problem, length_gap=5, draws=300, kept=300)
    assert (0, 1) in set(zip(everything.better.tolist(), everything.worse.tolist(), strict=True))


@settings(max_examples=25)
@given(st.integers(0, 1000), st.integers(0, 4))
def test_differences_sums_and_squares_are_the_same_in_dense_and_sparse_storage(seed, n_dense):
    rng = np.random.default_rng(seed)
    table = rng.integers(-2, 3, (12, 4)).astype(float)
    features = as_sparse(Features.from_dense(list("abcd"), table), n_dense)
    better, worse = rng.integers(0, 12, (2, 9))
    rows = differences(features, Pairs(better, worse, np.array([0, 9])))
    plain = table[better] - table[worse]
    w, c = rng.normal(size=4), rng.normal(size=9)
    assert np.allclose(rows.scores(w), plain @ w)
    assert np.allclose(sum_rows(rows, c), c @ plain)
    assert np.allclose(sum_squares(rows), (plain**2).sum(axis=0))
    assert np.array_equal(count_entries(rows), np.count_nonzero(plain, axis=0))
    assert np.all(rows.values != 0)


def test_the_loss_of_pairs_by_hand_and_its_gradient():
    # margins 1 and −2: 2 · (log(1 + e⁻¹) + log(1 + e²))
    loss = PairLoss(Features.from_dense(["a", "b"], np.array([[1.0, 0.0], [0.0, 2.0]])))
    assert loss.value_and_gradient(np.array([1.0, -1.0]))[0] == pytest.approx(2 * (0.31326168751822 + 2.1269280110429))
    rng = np.random.default_rng(0)
    loss = PairLoss(Features.from_dense(list("abcd"), rng.normal(size=(30, 4))))
    for term in (loss, Ridge(3.0, rng.normal(size=4))):
        w = rng.normal(size=4)
        assert np.allclose(term.value_and_gradient(w)[1], slope_by_difference(term, w), rtol=1e-6, atol=1e-6)


def test_huge_margins_neither_overflow_nor_vanish():
    loss = PairLoss(Features.from_dense(["a"], np.array([[1e4], [-1e4]])))
    value, gradient = loss.value_and_gradient(np.array([1.0]))
    assert value == 2e4
    assert gradient.tolist() == [2e4]


def test_a_fit_finds_the_minimum_within_bounds_and_in_any_units():
    # (w − 3)² · s + 5 w² · s has its minimum at 0.5, whatever the units
    for size in (1e-3, 1.0, 1e3):
        terms = [Ridge(1.0 * size, np.full(3, 3.0)), Ridge(5.0 * size, np.zeros(3))]
        free = minimize(terms, np.ones(3), Bounds.none(3), iterations=50)
        assert np.allclose(free.weights, 0.5, atol=1e-4)
        assert free.converged
        assert free.value == pytest.approx(objective(terms, free.weights)[0])
        bounds = Bounds(np.array([1.0, -np.inf, -1.0]), np.array([1.0, 0.2, 4.0]))
        held = minimize(terms, np.array([1.0, 0.0, 0.0]), bounds, iterations=50)
        assert np.allclose(held.weights, [1.0, 0.2, 0.5], atol=1e-4)
        assert bounds.allow(held.weights)


def test_a_fit_stays_where_nothing_can_move_or_nothing_is_lost():
    fixed = Bounds(np.ones(2), np.ones(2))
    assert minimize([Ridge(1.0, np.zeros(2))], np.ones(2), fixed, iterations=5).weights.tolist() == [1, 1]
    assert minimize([Ridge(1.0, np.ones(2))], np.ones(2), Bounds.none(2), iterations=5).iterations == 0


def test_corpus_gains_are_what_an_exchange_brings():
    # the metric is the mean worth: exchanging one of 6 selections changes it by a 6th of the difference
    problem, w = random_problem(0), np.array([1.0, 0.5, -0.3])
    gains, selected = corpus_gains(problem, w), problem.select(w)
    for row in range(0, 48, 5):
        other = selected.copy()
        other[row // 8] = row
        change = problem.gain_of_sums(problem.stats[other].sum(0)) - problem.gain(w)
        assert 6 * change == pytest.approx(gains[row] - gains[selected[row // 8]], abs=1e-9)
    assert hypothesis_gains(problem, w, "sentence") is problem.sentence_gains
