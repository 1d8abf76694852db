"""Pools put together, sentence by sentence."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import assert_same, content, full_pool, make_features, make_pool, small_lists

from luthier.core.errors import LuthierError, LuthierWarning
from luthier.corpus.texts import Texts
from luthier.kbest.merge import merge
from luthier.kbest.pool import Statistics

ID_SETS = st.permutations(["0", "1", "x 1", "", "ü", "2"])


@settings(max_examples=20)
@given(st.lists(st.tuples(small_lists(), ID_SETS, st.integers(0, 3)), min_size=1, max_size=3))
def test_lists_are_joined_by_id_and_earlier_pools_stand_first(drawn):
    names = [("a", "b", "c"), ("c", "d", "a"), ("e", "a", "d")]
    pools = [
        make_pool(lists, names[k], sparse=sparse, ids=ids[: len(lists)]) for k, (lists, ids, sparse) in enumerate(drawn)
    ]
    expected = {}
    for pool in pools:
        for ident, rows in content(pool).items():
            expected.setdefault(ident, []).extend(rows)
    merged = merge(pools)
    assert content(merged) == expected
    assert list(merged.sentence_ids) == list(expected)  # the first pool's sentences come first
    assert set(merged.features.names) == {name for pool in pools for name in pool.features.names}


def test_tokens_are_renumbered():
    merged = merge([make_pool([[("b a", (0, 0, 0))]]), make_pool([[("c a", (0, 0, 0)), ("a", (1, 0, 0))]])])
    spelled = [[merged.vocab[k] for k in merged.tokens[r]] for r in range(3)]
    assert spelled == [["b", "a"], ["c", "a"], ["a"]]
    assert list(merged.vocab) == ["b", "a", "c"]


def test_ids_are_texts_and_not_numbers():
    merged = merge([make_pool([[("a", (0, 0, 0))]], ids=["1"]), make_pool([[("b", (0, 0, 0))]], ids=["01"])])
    assert list(merged.sentence_ids) == ["1", "01"]


def references_of(pool):
    return {ident: pool.references.of(i) for i, ident in enumerate(pool.sentence_ids)}


def test_references_come_from_the_first_pool_that_has_them():
    one = make_pool([[("a", (0, 0, 0))], []], ids=["x", "y"], refs=[["r one"], ["r two", "b"]])
    two = make_pool([[("b", (0, 0, 0))]], ids=["y"])
    three = make_pool([[("c", (0, 0, 0))]], ids=["z"], refs=[["c"]])
    merged = merge([two, one, three])
    assert references_of(merged) == {"y": ["r two", "b"], "x": ["r one"], "z": ["c"]}
    for r in range(len(merged.references.texts)):
        spelled = " ".join(merged.vocab[k] for k in merged.references.tokens[r])
        assert spelled == merged.references.texts[r]


def test_what_contradicts_itself_is_refused():
    row = [[("a", (0, 0, 0))]]
    one, two = make_pool(row, refs=[["r"]]), make_pool(row, refs=[["s"]])
    with pytest.raises(LuthierError, match="different references for sentence '0'"):
        merge([one, two])
    assert references_of(merge([one, one])) == {"0": ["r"]}
    with pytest.raises(LuthierError, match="1 of 2 sentences would have no reference"):
        merge([one, make_pool(row, ids=["other"])])
    sources = [make_pool(row, sources=Texts.from_strings([text])) for text in ("p", "q")]
    with pytest.raises(LuthierError, match="different sources: 'p' and 'q'"):
        merge(sources)
    with pytest.raises(LuthierError, match="at least one pool"):
        merge([])
    cost = one.with_features(one.features.call_costs(["lm"]))
    with pytest.raises(LuthierError, match="'lm' is called a cost in one part"):
        merge([one, cost])


def test_everything_else_is_kept():
    pool = full_pool()
    merged = merge([pool, pool])
    rows = [0, 1, 0, 1, 2, 2]
    assert merged.columns["score"].tolist() == pool.columns["score"][rows].tolist()
    for signature, part in pool.stats.items():
        assert merged.stats[signature].names == part.names
        assert merged.stats[signature].values.dtype == part.values.dtype
        assert merged.stats[signature].values.tolist() == part.values[rows].tolist()
    assert list(merged.sources) == list(pool.sources)
    used = [
        [merged.derivations.texts[rule] for rule in merged.derivations.rules[a:b]]
        for a, b in zip(merged.derivations.offsets, merged.derivations.offsets[1:], strict=False)
    ]
    assert used == [["X → a", "X → b"], [], ["X → a", "X → b"], [], ["X → b"], ["X → b"]]
    assert len(merged.derivations.texts) == 2  # one table of rules
    assert merged.features.costs == pool.features.costs
    assert merged.provenance["lists"] == 2 * pool.provenance["lists"]
    assert merged.provenance["operations"][-1] == {"operation": "merge", "pools": 2}


def test_rules_of_one_text_with_other_features_are_two_rules():
    pool = full_pool()
    features = make_features([(7, 0), (2, 5)], ("p", "local name"))
    other = dataclasses.replace(pool, derivations=dataclasses.replace(pool.derivations, features=features))
    table = merge([pool, other]).derivations
    assert list(table.texts) == ["X → a", "X → b", "X → a"]
    assert table.features.column("p").tolist() == [1, 2, 7]


def test_what_not_all_pools_have_is_left_out_with_a_warning():
    pool = full_pool()
    row = [[("a", (0,))]]
    plain = make_pool(row, ("x y",), ids=["utt-1"], columns={"score": np.zeros(1)})
    with pytest.warns(LuthierWarning) as caught:
        merged = merge([pool, plain])
    assert merged.derivations is None
    assert list(merged.columns) == ["score"]
    assert merged.stats == {}
    messages = sorted(str(warning.message) for warning in caught)
    assert messages[0].startswith("derivations are left out")
    assert "'com\\net' is left out" in messages[1]


def test_a_pool_without_rows_takes_nothing_away():
    pool = full_pool()
    empty = make_pool([[], []], (), ids=["utt-1", "new"], refs=[["a b", "b"], ["n"]])
    for pools in ([pool, empty], [empty, pool]):
        merged = merge(pools)
        assert merged.derivations is not None
        assert (list(merged.columns), list(merged.stats)) == (list(pool.columns), list(pool.stats))
        assert references_of(merged) == {**references_of(pool), "new": ["n"]}


def test_one_pool_stays_what_it_was():
    pool = full_pool()
    merged = dataclasses.replace(merge([pool]), provenance=pool.provenance)
    assert_same(merged, pool)


def test_statistics_of_one_metric_only_in_some_pools_are_dropped():
    values = Statistics(("s",), np.zeros((1, 1)))
    one = make_pool([[("a", (0, 0, 0))]], stats={"m": values, "n": values})
    two = make_pool([[("b", (0, 0, 0))]], stats={"n": values})
    assert list(merge([one, two]).stats) == ["n"]
