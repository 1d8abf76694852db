"""Cutting values into bins: worked by hand, against all ways to cut, and what holds for any multiset."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.features import bins as binning
from luthier.features.bins import bin_feature, cap, cut_values
from luthier.features.counts import ValueCounts, as_printed, count_values, first_printed

HEAVY = st.lists(st.sampled_from([1, 1, 1, 2, 3, 5, 8, 50, 51, 99, 1000]), min_size=1, max_size=40)


def slow_cap(frequencies, n_bins):
    """Return the capped frequencies as fractions, by the closed form tried for every k."""
    ordered = sorted(frequencies, reverse=True)
    for k in range(n_bins):
        ideal = Fraction(sum(ordered[k:]), n_bins - k)
        if all(f <= ideal for f in ordered[k:]):
            return [min(Fraction(f), ideal) for f in frequencies], ideal
    raise AssertionError


def slow_fill(masses, ideal, n_bins):
    """Return the sizes of bins by the words of the paper, with fractions."""
    n, sizes, i, filled = len(masses), [], 0, Fraction(0)
    for j in range(1, n_bins):
        size = 0
        while i < n:
            wanted = j * ideal - filled
            room = i + 1 <= n - (n_bins - j)
            fits = masses[i] <= wanted or (masses[i] - wanted) / masses[i] < Fraction(1, 2)
            if size and not (room and fits):
                break
            filled += masses[i]
            size, i = size + 1, i + 1
        sizes.append(size)
    return [*sizes, n - i]


def cost(masses, ideal, starts):
    return sum(abs(sum(masses[a:b]) - ideal) for a, b in itertools.pairwise(starts))


@settings(max_examples=80)
@given(HEAVY, st.integers(1, 12))
def test_the_greedy_fill_is_the_algorithm(frequencies, n_bins):
    n = min(n_bins, len(frequencies))
    masses, ideal = slow_cap(frequencies, n)
    found = cut_values(np.array(frequencies), n_bins)
    assert np.diff(found.starts).tolist() == slow_fill(masses, ideal, n)
    assert found.ideal == float(ideal)
    assert sum(masses) == n * ideal
    for j, (a, b) in enumerate(itertools.pairwise(found.starts.tolist())):
        assert b > a  # contiguous, none empty
        assert found.populations[j] == sum(frequencies[a:b])
        assert found.capped[j] == pytest.approx(float(sum(masses[a:b])), rel=1e-12)
    assert found.error == pytest.approx(float(cost(masses, ideal, found.starts.tolist()) / (n * ideal)), abs=1e-12)


@settings(max_examples=40)
@given(st.lists(st.sampled_from([1, 2, 3, 50, 99]), min_size=1, max_size=12), st.integers(1, 12))
def test_the_exact_cut_is_the_best_of_all(frequencies, n_bins):
    frequencies = frequencies[:10]
    n = min(n_bins, len(frequencies))
    masses, ideal = slow_cap(frequencies, n)
    ways = itertools.combinations(range(1, len(frequencies)), n - 1)
    best = min(cost(masses, ideal, [0, *way, len(frequencies)]) for way in ways)
    exact = cut_values(np.array(frequencies), n_bins, exact=True)
    assert len(exact.populations) == n
    assert (np.diff(exact.starts) > 0).all()
    assert cost(masses, ideal, exact.starts.tolist()) == best
    greedy = cut_values(np.array(frequencies), n_bins)
    assert exact.error <= greedy.error + 1e-12


def test_the_exact_cut_of_twelve_values_is_the_best_of_all():
    rng = np.random.default_rng(3)
    for _ in range(4):
        frequencies = rng.integers(1, 30, 12).tolist()
        masses, ideal = slow_cap(frequencies, 5)
        ways = [[0, *way, 12] for way in itertools.combinations(range(1, 12), 4)]
        exact = cut_values(np.array(frequencies), 5, exact=True)
        assert cost(masses, ideal, exact.starts.tolist()) == min(cost(masses, ideal, way) for way in ways)


@settings(max_examples=60)
@given(HEAVY, st.integers(1, 20))
def test_exact_is_never_worse_than_greedy(frequencies, n_bins):
    greedy, exact = (cut_values(np.array(frequencies), n_bins, exact=exact) for exact in (False, True))
    assert exact.error <= greedy.error + 1e-12
    assert len(greedy.populations) == len(exact.populations) == min(n_bins, len(frequencies))


def test_worked_by_hand():
    # f = 1 1 98 in two bins: k = 0 gives u = 50 < 98; k = 1 gives u = (1 + 1) / 1 = 2: masses 1 1 2, each bin 2
    masses, ideal, scale = cap(np.array([1, 1, 98]), 2)
    assert (masses.tolist(), ideal, scale) == ([1, 1, 2], 2, 1)
    found = cut_values(np.array([1, 1, 98]), 2)
    assert found.starts.tolist() == [0, 2, 3]
    assert found.populations.tolist() == [2, 98]
    assert found.capped.tolist() == [2, 2]
    # f = 3 3 3 3 in three bins, u = 4: the second 3 would be 2 over, 2/3 of it: not taken. Then C(2) = 8 − 3 − 3 = 2
    # and the third value is 1 over, a third of it: taken. The last has one.
    assert np.diff(cut_values(np.array([3, 3, 3, 3]), 3).starts).tolist() == [1, 2, 1]
    # exactly half of a value over: not taken. f = 2 2 4 … in two bins: u = 5, C = 5 − 2 − 2 = 1; 4 is 3 over
    assert np.diff(cut_values(np.array([2, 2, 4, 2]), 2).starts).tolist() == [2, 2]
    assert np.diff(cut_values(np.array([1, 2, 1]), 2).starts).tolist() == [1, 2]  # 2 is 1 over: half of it


def test_the_excess_of_greedy_is_real():
    frequencies = np.array([50, 99, 1, 99, 99, 51])
    greedy, exact = cut_values(frequencies, 4), cut_values(frequencies, 4, exact=True)
    # u = 99.75, nothing is capped: the first 99 is not quite half over and goes in: 149, 1, 198, 51. Better is
    # 149, 100, 99, 51
    assert 0.4 < greedy.error - exact.error < 0.5, f"excess {greedy.error - exact.error:.3f}"


def test_one_bin_one_value_and_what_is_refused(monkeypatch):
    assert cut_values(np.array([7]), 16).starts.tolist() == [0, 1]
    assert cut_values(np.array([7, 1, 3]), 1, exact=True).populations.tolist() == [11]
    assert cut_values(np.array([10**12, 1]), 2).populations.tolist() == [10**12, 1]
    for bad in ([], [0, 1], [-1]):
        with pytest.raises(LuthierError, match="frequency above 0"):
            cut_values(np.array(bad, dtype=np.int64), 4)
    with pytest.raises(LuthierError, match="from 1 to 65536 bins, found 0"):
        cut_values(np.array([1]), 0)
    with pytest.raises(LuthierError, match="instances in 2 bins, found more"):
        cut_values(np.array([2**61, 1]), 2)
    monkeypatch.setattr(binning, "MOST_CELLS", 11)
    with pytest.raises(LuthierError, match=r"4 values and 3 bins\. hint: fill them from the left"):
        cut_values(np.ones(4, np.int64), 3, exact=True)


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.1, 1 / 3, 0.5, 2.0, 1e6]), min_size=1, max_size=60), st.integers(1, 8)
)
def test_an_increasing_transform_has_the_same_bins(values, n_bins):
    values = np.array(values)
    plain = bin_feature("f", count_values(values), n_bins)
    cubed = bin_feature("f", count_values(values**3 + 2 * values), n_bins)
    assert plain.place(values).tolist() == cubed.place(values**3 + 2 * values).tolist()
    assert plain.populations.tolist() == cubed.populations.tolist()
    assert len(plain) == min(n_bins, len(np.unique(values)))
    bins = plain.place(values)
    assert np.bincount(bins, minlength=len(plain)).tolist() == plain.populations.tolist()
    for value in set(values.tolist()):  # no value straddles
        assert len(set(bins[values == value].tolist())) == 1


def test_values_that_are_printed_alike_are_one():
    third = 1 / 3
    seen = count_values(np.array([third, as_printed(third), np.nextafter(third, 1), 2 / 3, -0.0, 0.0]))
    assert seen.values.tolist() == [0.0, 0.333333333333, 0.666666666667]
    assert seen.counts.tolist() == [2, 3, 1]
    bins = bin_feature("p", seen, 3)
    # 2/3 is printed above itself: the bin of 0.666666666667 begins below it
    assert bins.place(np.array([2 / 3, 0.666666666667, 0.6666666666, third, 0.3333333333])).tolist() == [2, 2, 1, 1, 0]


@settings(max_examples=120)
@given(
    st.floats(allow_nan=False, allow_infinity=False, width=64)
    | st.sampled_from([1.0, 10.0, 1e-5, -1e-5, 1e300, 5e-324, -5e-324, 1e-310, 0.1, -1.0])
)
def test_the_first_double_that_is_printed_so(value):
    printed = as_printed(value)
    first = first_printed(printed)
    assert as_printed(first) >= printed
    if printed:
        assert as_printed(math.nextafter(first, -math.inf)) < printed


def test_values_that_count_nothing_are_not_there():
    seen = count_values(np.array([1.0, 2.0, 1.0]), np.array([3, 0, 2]))
    assert (seen.values.tolist(), seen.counts.tolist()) == ([1.0], [5])
    with pytest.raises(LuthierError, match="finite values"):
        count_values(np.array([1.0, np.nan]))
    with pytest.raises(LuthierError, match="found none with 'f'"):
        bin_feature("f", ValueCounts(np.zeros(0), np.zeros(0, np.int64)), 4)
