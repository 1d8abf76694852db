"""Repeated hypotheses against a set of tuples."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from small_pools import content, make_pool, small_lists

from luthier.kbest.building.lists import read_pool
from luthier.kbest.merge import drop_duplicates, first_of_equals
from oracles import first_of_equals as plain_first_of_equals


@settings(deadline=None, max_examples=60)
@given(small_lists(n_features=2, max_rows=12))
def test_the_first_of_each_kind_stays(lists):
    for sparse in (0, 1, 2):
        pool = make_pool(lists, ("a", "b"), sparse=sparse)
        both = plain_first_of_equals(lists, lambda row: (tuple(row[0].split()), row[1]))
        words = plain_first_of_equals(lists, lambda row: tuple(row[0].split()))
        assert first_of_equals(pool).tolist() == both
        assert first_of_equals(pool, by_features=False).tolist() == words


def test_minus_zero_is_zero():
    pool = make_pool([[("a", (0.0, 1)), ("a", (-0.0, 1)), ("a", (0.0, -1))]], ("a", "b"))
    assert first_of_equals(pool).tolist() == [True, False, True]


def test_equal_words_of_another_sentence_are_no_repeat():
    assert first_of_equals(make_pool([[("a", (1, 2, 3))], [("a", (1, 2, 3))]])).all()


def test_long_lists_with_few_kinds():
    rows = [(f"w{i % 7}", (i % 3, i % 5, 0)) for i in range(3000)]
    kept = first_of_equals(make_pool([rows, rows[::-1]]))
    assert np.count_nonzero(kept) == 2 * 7 * 3 * 5
    assert kept[: 7 * 3 * 5].all()


def test_dropping_says_how_many():
    pool = make_pool([[("a", (1, 0, 0)), ("a ", (1, 0, 0)), ("a", (2, 0, 0))]])
    dropped = drop_duplicates(pool)
    assert content(dropped) == {"0": [("a", {"lm": 1}), ("a", {"lm": 2})]}
    assert dropped.provenance["operations"] == [
        {"operation": "drop duplicates", "equal": "words, features and columns", "dropped": 1}
    ]
    fewer = drop_duplicates(pool, by_features=False)
    assert content(fewer) == {"0": [("a", {"lm": 1})]}
    assert drop_duplicates(dropped) is dropped


def test_rows_whose_columns_differ_are_no_repeats():
    rows = [("a", (1, 0, 0))] * 5
    comet = np.array([0.5, 0.7, 0.5, np.nan, np.nan])
    pool = make_pool([rows], columns={"comet": comet, "score": np.zeros(5)})
    assert first_of_equals(pool).tolist() == [True, True, False, True, False]
    assert first_of_equals(pool, by_features=False).tolist() == [True, False, False, False, False]
    assert drop_duplicates(pool).columns["comet"].tolist()[:2] == [0.5, 0.7]


def test_readers_keep_rows_whose_columns_differ(tmp_path):
    row = '{"id": 0, "hyp": "a", "features": {"lm": 1}, "comet": %s}\n'
    (tmp_path / "list.jsonl").write_text(row % 0.5 + row % 0.7 + row % 0.5)
    assert read_pool(tmp_path / "list.jsonl").columns["comet"].tolist() == [0.5, 0.7]
