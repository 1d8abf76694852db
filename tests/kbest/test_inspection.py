"""What a pool is said to be, against brute force on small pools."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import full_pool, make_features, make_pool, small_lists

from luthier.kbest import inspect as inspection
from luthier.kbest.inspect import inspect, linear_relations, summarize_features
from oracles import first_of_equals

quickly = settings(max_examples=50)


@quickly
@given(small_lists(), st.integers(0, 3))
def test_features_against_brute_force(lists, sparse):
    rows = [features for some in lists for _, features in some]
    for d, found in enumerate(summarize_features(make_pool(lists, sparse=sparse))):
        column = [row[d] for row in rows]
        assert found.storage == ("dense" if d < 3 - sparse else "sparse")
        assert (found.low, found.high) == ((min(column), max(column)) if rows else (0, 0))
        assert found.mean == pytest.approx(sum(column) / len(rows) if rows else 0)
        assert found.zeros == pytest.approx(column.count(0) / len(rows) if rows else 0)
        assert found.constant == (len(set(column)) <= 1)
        assert found.constant_in_lists == all(len({row[d] for _, row in some}) <= 1 for some in lists)


@quickly
@given(small_lists())
def test_lists_against_brute_force(lists):
    refs = [["r"] * (1 + i % 3) for i in range(len(lists))]
    found = inspect(make_pool(lists, refs=refs))
    lengths = [len(rows) for rows in lists]
    assert (found.n_sentences, found.n_hypotheses, found.n_features) == (len(lists), sum(lengths), 3)
    assert found.n_empty == lengths.count(0)
    assert found.list_lengths == {
        "min": min(lengths), "median": np.median(lengths), "mean": np.mean(lengths), "max": max(lengths),
    }  # fmt: skip
    assert found.n_references == {"min": 1, "max": min(3, len(lists))}
    both = first_of_equals(lists, lambda row: (tuple(row[0].split()), row[1]))
    words = first_of_equals(lists, lambda row: tuple(row[0].split()))
    assert (found.repeated_hypotheses, found.repeated_texts) == (both.count(False), words.count(False))


def test_names_of_what_else_there_is():
    found = inspect(full_pool())
    assert found.columns == ("score", "com\net")
    assert found.stats == ("ter|v:1", "given")
    assert found.groups == {"x": 2}
    assert [feature.kind for feature in found.features] == ["score", "score", "cost"]
    assert found.megabytes == full_pool().nbytes / 1e6
    nothing = inspect(full_pool().take_sentences([]))
    assert (nothing.n_hypotheses, nothing.list_lengths["max"], nothing.n_references["max"]) == (0, 0, 0)


def spread(columns, lengths=(6, 1, 8), **options):
    """Return a pool of given columns over lists of the given lengths."""
    rows = iter(zip(*columns.values(), strict=True))
    return make_pool([[("a", next(rows)) for _ in range(n)] for n in lengths], tuple(columns), **options)


@pytest.mark.parametrize("sparse", range(6))
def test_combinations_are_found_up_to_a_constant_per_sentence(sparse):
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 15))
    sentence = np.repeat([100.0, -5.0, 7.0], [6, 1, 8])
    columns = {
        "a": a,
        "b": b,
        "twice": 2 * a + sentence,
        "sum": a - 3 * b,
        "c": c,
        "near": a + 1e-3 * rng.normal(size=15),
    }
    assert linear_relations(spread(columns, sparse=sparse)) == {"twice": "+2·a", "sum": "+1·a -3·b"}


def test_the_first_of_a_redundant_set_counts_as_given():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 15))
    assert linear_relations(spread({"sum": a + b, "a": a, "b": b})) == {"b": "+1·sum -1·a"}


def test_what_is_the_same_within_each_list_is_no_combination_and_in_none():
    # means of equal numbers round: what is left of them must not be taken for a direction
    rng = np.random.default_rng(3)
    columns = {
        "fixed": np.repeat([0.1, 0.3, 1e8 / 3], [6, 1, 8]),
        "also fixed": np.repeat([0.7, 1.1, 0.2], [6, 1, 8]),
        "a": rng.normal(size=15),
        "b": 1e-20 * rng.normal(size=15),
        "copy": np.full(15, 0.1),
    }
    pool = spread(columns)
    assert linear_relations(pool) == {}
    assert [feature.constant_in_lists for feature in summarize_features(pool)] == [True, True, False, False, True]


def test_features_of_very_unlike_sizes():
    rng = np.random.default_rng(4)
    a, b = 1e-9 * rng.normal(size=15), 1e9 * rng.normal(size=15)
    assert linear_relations(spread({"a": a, "b": b, "c": -a})) == {"c": "-1·a"}


def test_beyond_the_limit_only_the_first_are_searched(monkeypatch):
    monkeypatch.setattr(inspection, "RELATION_LIMIT", 3)
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 15))
    pool = spread({"a": a, "b": b, "c": a + b, "d": a - b}, sparse=2)
    assert linear_relations(pool) == {"c": "+1·a +1·b"}
    assert summarize_features(pool)[3].relation == ""


def test_a_sparse_feature_that_all_rows_of_a_list_share_and_others_lack():
    pool = make_pool([[("a", (0, 5)), ("b", (0, 5))], [("c", (0, 0))]], ("x", "y"), sparse=2)
    x, y = summarize_features(pool)
    assert (x.constant, x.constant_in_lists) == (True, True)
    assert (y.constant, y.constant_in_lists, y.low, y.high) == (False, True, 0, 5)
    halved = pool.with_features(make_features([(0, 5), (0, 0), (0, 0)], ("x", "y"), sparse=2))
    assert not summarize_features(halved)[1].constant_in_lists
