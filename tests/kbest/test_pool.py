"""The pool: parts that fit, rows and sentences taken, nothing that can be changed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import assert_same, content, full_pool, make_features, make_pool, small_lists

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts
from luthier.kbest.pool import Statistics

quickly = settings(max_examples=40)


def test_counts():
    pool = full_pool()
    assert (pool.n_sentences, pool.n_hypotheses, pool.n_features) == (3, 3, 3)
    assert pool.list_lengths.tolist() == [2, 0, 1]
    assert pool.nbytes == sum(array.nbytes for array in pool.arrays().values())
    assert pool.references.of(2) == ["", "d", "e"]


def test_tokens_are_the_words_of_the_texts():
    pool = full_pool()
    assert [[pool.vocab[k] for k in pool.tokens[r]] for r in range(3)] == [["a", "b"], ["a", "b"], ["c", "d"]]


def test_no_array_can_be_written_to():
    pool = full_pool()
    for name, array in pool.arrays().items():
        assert not array.flags.writeable, name
    with pytest.raises(dataclasses.FrozenInstanceError):
        pool.offsets = pool.offsets


@pytest.mark.parametrize(
    "part, message",
    [
        ({"offsets": np.array([0, 2, 1, 3])}, "never descend"),
        ({"offsets": np.array([1, 2, 2, 3])}, "start at 0"),
        ({"offsets": np.zeros(0, np.int64)}, "start at 0"),
        ({"features": make_features([(1,)], ("a",))}, "expected 3 feature rows, found 1"),
        ({"texts": Texts.from_strings(["a"])}, "expected 3 texts, found 1"),
        ({"sentence_ids": Texts.from_strings(["a"])}, "expected 3 sentence ids, found 1"),
        ({"sources": Texts.from_strings(["a"])}, "expected 3 sources, found 1"),
        ({"columns": {"x": np.zeros(2)}}, "expected 3 values of column 'x', found 2"),
        ({"stats": {"m": Statistics(("s",), np.zeros((4, 1)))}}, "expected 3 statistics of 'm', found 4"),
        ({"references": full_pool().references.take([0])}, "sentences with references"),
        ({"derivations": full_pool().derivations.take([0])}, "expected 3 derivations, found 1"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_parts_that_do_not_fit_are_refused(part, message):
    with pytest.raises(LuthierError, match=message):
        full_pool(**part)


def test_statistics_are_whole_or_real_numbers_in_named_columns():
    for values in (np.zeros(3), np.zeros((3, 2)), np.zeros((3, 1), np.int32), np.zeros((3, 1), bool)):
        with pytest.raises(LuthierError):
            Statistics(("s",), values)


@quickly
@given(small_lists(), st.data(), st.integers(0, 3))
def test_taking_rows_keeps_all_sentences(lists, data, sparse):
    pool = make_pool(lists, sparse=sparse)
    chosen = sorted(data.draw(st.sets(st.integers(0, max(pool.n_hypotheses - 1, 0)), max_size=pool.n_hypotheses)))
    chosen = [row for row in chosen if row < pool.n_hypotheses]
    taken = pool.take(chosen)
    left = iter(range(pool.n_hypotheses))
    kept = [[row for row in rows if next(left) in chosen] for rows in lists]
    assert content(taken) == content(make_pool(kept))


def test_rows_must_ascend():
    pool = full_pool()
    for rows in ([1, 0], [1, 1]):
        with pytest.raises(LuthierError, match="rows must ascend"):
            pool.take(rows)


@quickly
@given(small_lists(), st.data(), st.integers(0, 3))
def test_taking_sentences_in_any_order(lists, data, sparse):
    pool = make_pool(lists, sparse=sparse, refs=[[f"r{i}"] * (i % 3) for i in range(len(lists))])
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=4, unique=True))
    taken = pool.take_sentences(chosen)
    expected = make_pool([lists[i] for i in chosen], ids=[str(i) for i in chosen])
    assert content(taken) == content(expected)
    assert [taken.references.of(k) for k in range(len(chosen))] == [[f"r{i}"] * (i % 3) for i in chosen]


def test_every_part_is_taken_along():
    taken = full_pool().take_sentences([2, 0])
    assert list(taken.sentence_ids) == ["ü ||| 3", "utt-1"]
    assert list(taken.sources) == ["r s", "q"]
    assert taken.columns["score"].tolist() == [0.5, 1, -2]
    assert taken.stats["ter|v:1"].values.tolist() == [[4, 5], [0, 1], [2, 3]]
    assert taken.stats["ter|v:1"].names == ("edits", "length")
    assert [taken.derivations.rules[a:b].tolist() for a, b in ((0, 1), (1, 3), (3, 3))] == [[1], [0, 1], []]
    assert taken.derivations.offsets.tolist() == [0, 1, 3, 3]
    assert taken.features.costs == {"new\nline"}
    assert_same(full_pool().take_sentences([0, 1, 2]), full_pool())


def test_other_features_and_statistics_leave_the_old_pool_alone():
    pool = full_pool()
    other = pool.with_features(make_features([(1,), (2,), (3,)], ("z",)))
    more = pool.with_stats("bleu", ("m",), np.zeros((3, 1)))
    assert (other.n_features, pool.n_features) == (1, 3)
    assert (len(more.stats), len(pool.stats)) == (3, 2)
    noted = pool.noting("cap", k=3)
    assert noted.provenance["operations"] == [{"operation": "cap", "k": 3}]
    assert pool.provenance["operations"] == []


def renamed_local(pool):
    derivations = pool.derivations
    features = derivations.features.rename({"p": "q"})
    return dataclasses.replace(pool, derivations=dataclasses.replace(derivations, features=features))


@pytest.mark.parametrize(
    "change",
    [
        lambda pool: pool.with_features(pool.features.rename({"x y": "x_y"})),
        lambda pool: pool.with_features(pool.features.call_costs([])),
        lambda pool: pool.with_features(pool.features.scale({"x y": 1 + 2**-52})),
        lambda pool: dataclasses.replace(pool, sentence_ids=Texts.from_strings(["utt-1", "ü", " ||| 3"])),
        lambda pool: dataclasses.replace(pool, sources=None),
        lambda pool: dataclasses.replace(pool, columns={}),
        renamed_local,
    ],
)
def test_the_digest_sees_every_change_of_content(change):
    pool = full_pool()
    assert change(pool).digest() != pool.digest()


def test_the_digest_does_not_see_history_nor_what_was_computed_from_the_rest():
    assert full_pool(provenance={}).digest() == full_pool().digest()
    assert full_pool(stats={}).digest() == full_pool().digest()
    assert len(full_pool().digest()) == 32
