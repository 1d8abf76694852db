"""Tests between replicas, against SciPy and by hand."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from luthier.core.errors import LuthierError
from luthier.evaluation import comparison as replicas
from luthier.evaluation.comparison import compare_replicas, optimizer_spread

unhurried = settings(max_examples=60)
scores = st.lists(st.integers(0, 400).map(lambda n: n / 8), min_size=2, max_size=5)


@unhurried
@given(scores, scores)
def test_welch_is_scipys(first, second):
    assume(np.ptp(first) > 0 and np.ptp(second) > 0)  # else SciPy warns
    found = compare_replicas(first, second)
    right = stats.ttest_ind(first, second, equal_var=False)
    assert found.welch_p == pytest.approx(right.pvalue, rel=1e-9, abs=1e-300)
    # A system shifted by what is needed is significant at exactly 5 %.
    needed = found.least_significant_difference
    shifted = np.asarray(second) - np.mean(second) + np.mean(first) + needed
    assert compare_replicas(first, shifted).welch_p == pytest.approx(0.05, rel=1e-6)


@unhurried
@given(scores, scores)
def test_permutation_of_runs_is_the_enumeration(first, second):
    every, size = [*first, *second], len(first)
    observed = abs(np.mean(first) - np.mean(second))
    count = total = 0
    for chosen in itertools.combinations(range(len(every)), size):
        inside = [every[i] for i in chosen]
        outside = [every[i] for i in range(len(every)) if i not in chosen]
        count += abs(np.mean(inside) - np.mean(outside)) >= observed - 1e-12
        total += 1
    found = compare_replicas(first, second)
    assert found.permutation_p == pytest.approx(count / total)
    assert found.splits == total
    assert found.permutation_p >= found.smallest_p - 1e-15
    assert found.permutation_p == pytest.approx(compare_replicas(second, first).permutation_p)


@pytest.mark.parametrize(
    "sizes, smallest", [((1, 1), 1.0), ((2, 2), 1 / 3), ((3, 3), 0.1), ((4, 4), 2 / 70), ((3, 5), 1 / 56)]
)
def test_the_smallest_p_is_reached_by_the_clearest_case(sizes, smallest):
    # squares: no two splits of unequal sizes differ by the same
    first = np.arange(sizes[0]) ** 2.0
    second = 1000 + np.arange(sizes[1]) ** 2.0
    found = compare_replicas(first, second)
    assert found.smallest_p == pytest.approx(smallest)
    assert found.permutation_p == pytest.approx(smallest)


def test_many_replicas_are_sampled(monkeypatch):
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=6), rng.normal(0.8, size=6)
    exact = compare_replicas(first, second)
    monkeypatch.setattr(replicas, "MAX_SPLITS", 10)
    sampled = compare_replicas(first, second, seed=1)
    assert sampled.permutation_p == pytest.approx(exact.permutation_p, abs=0.006)
    assert sampled == compare_replicas(first, second, seed=1)
    assert sampled.smallest_p == exact.smallest_p == 2 / math.comb(12, 6)


def test_what_cannot_be_said_is_none():
    for pair in (([1.0], [2.0, 3.0]), ([1.0, 1.0], [2.0, 2.0])):
        found = compare_replicas(*pair)
        assert found.welch_p is None
        assert found.least_significant_difference is None
    assert compare_replicas([1.0], [2.0]).permutation_p == 1.0


def test_the_spread_has_n_minus_one():
    assert optimizer_spread([1.0, 2.0, 3.0]) == 1.0  # √((1 + 0 + 1) / 2)
    assert optimizer_spread([1.0]) is None


def test_faults():
    for pair in (([], [1.0]), ([[1.0]], [1.0])):
        with pytest.raises(LuthierError, match="scores of replicas"):
            compare_replicas(*pair)


def test_replica_effects_are_no_reason_to_reject():
    rng, trials = np.random.default_rng(3), 1500
    found = [compare_replicas(rng.normal(size=4), rng.normal(size=4)) for _ in range(trials)]
    for name, level in (("permutation_p", 2 / 35), ("welch_p", 0.05)):
        rate = np.mean([getattr(test, name) <= level + 1e-12 for test in found])
        assert rate < level + 3 * np.sqrt(level * (1 - level) / trials)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_unit_of_scores_changes_no_test(scale):
    first, second = np.array([18.4, 18.5, 18.6]), np.array([18.8, 18.9, 19.1])
    once, scaled = compare_replicas(first, second), compare_replicas(scale * first, scale * second)
    assert scaled.permutation_p == once.permutation_p == 0.1
    assert scaled.welch_p == pytest.approx(once.welch_p)
    assert compare_replicas(scale * first, scale * first[[2, 0, 1]]).permutation_p == 1.0
    assert compare_replicas([scale] * 3, [scale] * 3).welch_p is None
