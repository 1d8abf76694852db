"""Repeated hypotheses against a set of tuples."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from small_pools import content, make_pool, small_lists

from luthier.core.errors import LuthierError, LuthierWarning
from luthier.kbest.building.frames import pool_from_frame
from luthier.kbest.building.lists import read_pool
from luthier.kbest.merge import drop_duplicates, first_of_equals, merge
from luthier.kbest.storage.pool_file import save_pool
from oracles import first_of_equals as plain_first_of_equals


@settings(max_examples=60)
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


DRAWN = [("a", 1), ("b", 1), ("a ", 1), ("a", 2), ("a", 1), ("b", 1)]


def write_samples(path, *, counts=None):
    more = [""] * len(DRAWN) if counts is None else [f', "n": {n}' for n in counts]
    rows = [f'{{"id": {i}, "hyp": "{text}", "lm": {lm}{rest}}}\n'
            for i in range(2) for (text, lm), rest in zip(DRAWN[i:], more[i:], strict=True)]  # fmt: skip
    path.write_text("".join(rows))
    return path


@settings(max_examples=40)
@given(small_lists(n_features=2, max_rows=12))
def test_repeats_are_counted_by_their_first(lists):
    rows = [(i, text, *numbers) for i, part in enumerate(lists) for text, numbers in part]
    if not rows:
        return
    frame = dict(zip(("id", "hyp", "a", "b"), zip(*rows, strict=True), strict=True))
    pool = pool_from_frame(frame, counts="n")
    wanted = Counter((i, tuple(text.split()), numbers) for i, part in enumerate(lists) for text, numbers in part)
    assert pool.columns["n"].tolist() == list(wanted.values())
    again = pool_from_frame({**frame, "n": [2] * len(rows)}, features=["a", "b"], counts="n")
    assert again.columns["n"].tolist() == [2 * n for n in wanted.values()]


def test_one_reading_adds_counts_up_and_a_merge_of_pools_does_not(tmp_path):
    path = write_samples(tmp_path / "a.jsonl")
    once = read_pool(path, counts="n")
    assert once.columns["n"].tolist() == [3, 2, 1, 2, 2, 1]
    assert once.features.names == ("lm",)
    assert read_pool(path, counts="n", keep_duplicates=True).columns["n"].tolist() == [1.0] * 11
    assert read_pool([path, path], counts="n", any_order=True).columns["n"].tolist() == [6, 4, 2, 4, 4, 2]
    own = write_samples(path, counts=[2, 0, 1, 1, 4, 3])
    assert read_pool(own, counts="n").columns["n"].tolist() == [7, 3, 1, 3, 5, 1]
    save_pool(once, str(tmp_path / "one.arrow"))
    other = write_samples(path, counts=[9] * 6)
    save_pool(read_pool(other, counts="n"), str(tmp_path / "two.arrow"))
    both = read_pool([tmp_path / "one.arrow", tmp_path / "two.arrow"])
    assert both.columns["n"].tolist() == once.columns["n"].tolist()
    assert drop_duplicates(merge([both, once])).columns["n"].tolist() == once.columns["n"].tolist()


@pytest.mark.parametrize("n", ["-1", "0.5"])
def test_counts_are_whole_numbers_on_every_row(tmp_path, n):
    path = tmp_path / "a.jsonl"
    with pytest.raises(LuthierError, match=r"expected whole numbers from 0 on in 'n', found"):
        read_pool(write_samples(path, counts=[1, n, 1, 1, 1, 1]), counts="n")
    path.write_text('{"id": 0, "hyp": "a", "lm": 1, "n": 2}\n{"id": 0, "hyp": "b", "lm": 1}\n')
    with pytest.warns(LuthierWarning, match="'n' is left out"), pytest.raises(LuthierError, match="found none"):
        read_pool(path, counts="n")
    with pytest.raises(LuthierError, match="'n' cannot be a column and be ignored"):
        read_pool(path, counts="n", ignore=["n"])
