"""Columns of texts and of tokens behave as lists do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts, Tokens

strings = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=6)
quickly = settings(max_examples=40)


def tokens_of(rows):
    return Tokens(np.cumsum([0, *map(len, rows)]), np.array([i for row in rows for i in row], dtype=np.int32))


def rows_of(tokens):
    return [tokens[i].tolist() for i in range(len(tokens))]


@quickly
@given(strings)
def test_a_column_is_the_list_it_was_made_of(strings):
    texts = Texts.from_strings(strings)
    assert list(texts) == strings
    assert [texts[i] for i in range(-len(texts), len(texts))] == strings + strings
    assert texts.lengths.tolist() == [len(string.encode()) for string in strings]
    with pytest.raises(IndexError):
        texts[len(strings)]


@quickly
@given(strings.filter(len), st.data())
def test_taking_rows_in_any_order(strings, data):
    rows = data.draw(st.lists(st.integers(0, len(strings) - 1), max_size=8))
    assert list(Texts.from_strings(strings).take(rows)) == [strings[row] for row in rows]


def test_texts_are_told_apart():
    column = Texts.from_strings(["a b", "a c", "a b", "", "ab", "é", ""])
    rows, others = np.array([0, 0, 0, 3, 0, 5, 5]), np.array([1, 2, 0, 6, 4, 4, 5])
    assert column.differ(rows, others).tolist() == [True, False, False, False, True, True, False]
    assert column.strings([5, 1]) == ["é", "a c"]
    with pytest.raises(LuthierError):
        column.differ(rows, others + 3)


@quickly
@given(st.lists(strings, max_size=4))
def test_columns_one_behind_another(parts):
    columns = [Texts.from_strings(part) for part in parts]
    # a stretch that does not begin at byte 0 of its data
    columns = [Texts(column.offsets[1:], column.data) if len(column) > 1 else column for column in columns]
    expected = [text for part in parts for text in (part[1:] if len(part) > 1 else part)]
    assert list(Texts.concatenate(columns)) == expected


def test_equality_is_of_content():
    whole = Texts.from_strings(["x", "ab", "c"])
    stretch = Texts(whole.offsets[1:], whole.data)
    assert stretch == Texts.from_strings(["ab", "c"])
    assert stretch != Texts.from_strings(["a", "bc"])
    assert stretch != Texts.from_strings(["ab"])
    assert stretch != ["ab", "c"]


def test_columns_cannot_be_changed():
    for array in (Texts.from_strings(["a"]).data, tokens_of([[1]]).ids, tokens_of([[1]]).offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


rows_strategy = st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=5)


@quickly
@given(rows_strategy, rows_strategy, st.permutations(range(6)))
def test_token_columns(first, second, mapping):
    together = Tokens.concatenate([tokens_of(first), tokens_of(second)])
    assert rows_of(together) == first + second
    assert together.lengths.tolist() == [len(row) for row in first + second]
    chosen = list(range(len(together)))[::-1]
    assert rows_of(together.take(chosen)) == (first + second)[::-1]
    renumbered = together.renumbered(np.array(mapping, dtype=np.int32))
    assert rows_of(renumbered) == [[mapping[i] for i in row] for row in first + second]
    assert renumbered.ids.dtype == np.int32


def test_no_columns_make_an_empty_one():
    assert len(Texts.concatenate([])) == len(Tokens.concatenate([])) == 0
