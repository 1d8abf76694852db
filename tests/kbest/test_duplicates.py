"""Repeated hypotheses against a set of tuples."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from small_pools import content, make_pool, small_lists

from luthier.kbest.duplicates import drop_duplicates, first_of_equals
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
        {"operation": "drop duplicates", "equal": "words and features", "dropped": 1}
    ]
    fewer = drop_duplicates(pool, by_features=False)
    assert content(fewer) == {"0": [("a", {"lm": 1})]}
    assert drop_duplicates(dropped) is dropped
