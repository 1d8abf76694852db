"""Names of features: plain ones, and positions under a label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luthier.core.errors import InputError
from luthier.corpus.texts import Texts
from luthier.kbest.reading.names import NameTable


def numbered(table, pairs):
    texts = Texts.from_strings(label for label, _ in pairs)
    positions = np.array([position for _, position in pairs], dtype=np.int32)
    return table.from_spans(texts.data, texts.offsets[:-1], texts.offsets[1:], positions).tolist()


def resolved(*pairs):
    table = NameTable()
    numbered(table, pairs)
    names, mapping = table.resolve("list")
    return [names[index] for index in mapping]


pair = st.tuples(st.sampled_from(["", "a", "b", "a_0", "ü"]), st.integers(-1, 4))


@given(st.lists(st.lists(pair, max_size=6), max_size=4))
def test_numbers_are_those_of_a_dictionary(batches):
    table, known = NameTable(), {}
    for batch in batches:
        assert numbered(table, batch) == [known.setdefault(item, len(known)) for item in batch]
    assert len(table) == len(known)
    assert [table.label_of(number) for number in range(len(table))] == list(known)


def test_one_value_makes_the_label_the_name_and_several_are_counted():
    assert resolved(("lm", 0), ("tm", 0), ("tm", 1), ("tm", 2), ("x", -1)) == ["lm", "tm_0", "tm_1", "tm_2", "x"]


def test_a_label_with_one_value_and_the_plain_name_are_one_feature():
    assert resolved(("lm", 0), ("lm", -1)) == ["lm", "lm"]


def test_a_label_with_several_values_and_the_plain_name_are_not():
    assert resolved(("lm", 0), ("lm", 1), ("lm", -1)) == ["lm_0", "lm_1", "lm"]


def test_values_without_a_name_are_called_f():
    assert resolved(("", 0), ("", 1)) == ["f_0", "f_1"]
    assert resolved(("", 0)) == ["f"]


@pytest.mark.parametrize(
    "pairs", [[("a", 0), ("a", 1), ("a_0", -1)], [("a", 0), ("a", 1), ("a_1", 0)], [("", 0), ("f", -1)]]
)
def test_names_that_come_to_the_same_are_refused(pairs):
    with pytest.raises(InputError, match="two that come to") as caught:
        resolved(*pairs)
    assert caught.value.kind == "names-collide"


def test_what_is_not_in_use_names_nothing_and_no_other_differently():
    table = NameTable()
    numbered(table, [("lm", 0), ("lm", 1), ("lm_0", -1), ("x", -1)])
    names, mapping = table.resolve("list", np.array([True, False, False, True]))
    assert (names, mapping.tolist()) == (["lm", "x"], [0, -1, -1, 1])


def test_plain_names_from_strings():
    table = NameTable()
    assert table.from_strings(["a", "b", "a"]).tolist() == [0, 1, 0]
    assert table.from_strings([]).tolist() == []
    assert table.resolve("list")[0] == ["a", "b"]
