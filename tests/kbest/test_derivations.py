"""Rules: numbered once each, whatever order their features come in, against a dictionary; and their trees."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import full_pool, make_features

from luthier.core.errors import LuthierError, LuthierWarning
from luthier.corpus.texts import Texts
from luthier.kbest.building.builder import RuleTable
from luthier.kbest.derivations import Derivations, Tree, unique_rules
from luthier.kbest.merge import merge
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import RuleUses

RULE = st.tuples(
    st.sampled_from(["", "a", "b", "é", "X → a b c d e f"]),
    st.dictionaries(st.sampled_from("pqr"), st.sampled_from([0.0, 1.0, -1.0, 1e-300]), max_size=3),
)


def content(derivations):
    features = derivations.features
    table = []
    for r, text in enumerate(derivations.texts):
        mine = {name: value for name, value in zip(features.names, features.dense[r].tolist(), strict=False) if value}
        for e in range(features.indptr[r], features.indptr[r + 1]):  # a written 0 is there
            mine[features.names[features.n_dense + features.indices[e]]] = features.values[e]
        table.append((text, mine))
    bounds = derivations.offsets.tolist()
    rows = [[table[k] for k in derivations.rules[a:b]] for a, b in itertools.pairwise(bounds)]
    return rows, table


@settings(max_examples=60)
@given(st.lists(st.lists(st.lists(RULE, max_size=4), max_size=4), min_size=1, max_size=3))
def test_rules_are_interned_block_by_block(blocks):
    names, table = NameTable(), RuleTable()
    for rows in blocks:
        rules = [rule for row in rows for rule in row]
        entries = [item for _, features in rules for item in features.items()]
        if rules:
            table.append(
                RuleUses(
                    np.cumsum([0, *map(len, rows)]),
                    Texts.from_strings(text for text, _ in rules),
                    np.cumsum([0, *(len(features) for _, features in rules)]),
                    names.from_strings([name for name, _ in entries]),
                    np.array([value for _, value in entries], dtype=np.float64),
                ),
                len(rows),
            )
        else:
            table.append(None, len(rows))
    expected = [list(row) for rows in blocks for row in rows]
    derivations = table.finish(names, "list")
    if derivations is None:
        assert not any(expected)
        return
    rows, distinct = content(derivations)
    assert rows == expected
    once = dict.fromkeys((text, tuple(sorted(features.items()))) for row in expected for text, features in row)
    assert [(text, tuple(sorted(features.items()))) for text, features in distinct] == list(once)


def test_features_of_another_sign_or_storage():
    texts = Texts.from_strings(["a", "a", "a", "a"])
    for sparse in (0, 1, 2):
        features = make_features([(1, 2), (1, 2), (1, -2), (0, 2)], ("p", "q"), sparse=sparse)
        found = unique_rules(np.array([0, 4]), np.arange(4), texts, features)
        assert found.rules.tolist() == [0, 0, 1, 2]


def tree(parents, spans):
    rules = make_features([(1,)], ("p",))
    n = len(parents)
    return Derivations(
        np.array([0, n]), np.zeros(n, np.int32), Texts.from_strings(["r"]), rules, Tree(np.array(parents), spans)
    )


def test_a_tree_is_one():
    fine = tree([-1, 0, 0, 2], np.array([[0, 5], [0, 2], [2, 5], [3, 4]]))
    assert fine.take([0, 0]).tree.parents.tolist() == [-1, 0, 0, 2, -1, 0, 0, 2]
    for parents, spans in [
        ([0, -1], [[0, 1], [0, 1]]),
        ([-1, -1], [[0, 1], [0, 1]]),
        ([-1, 1], [[0, 1], [0, 1]]),
        ([-1, 2, 0], [[0, 1], [0, 1], [0, 1]]),
        ([-1, 0], [[0, 1], [0, 2]]),
        ([-1, 0], [[0, 3], [2, 1]]),
        ([-2], [[0, 1]]),
    ]:
        with pytest.raises(LuthierError, match="derivation 0 is no tree"):
            tree(parents, np.array(spans))
    with pytest.raises(LuthierError, match="one parent and one span"):
        tree([-1, 0], np.array([[0, 1]]))


def test_trees_go_through_a_merge_where_all_have_them():
    pool = full_pool()
    ids = Texts.from_strings(["p", "q", "r"])
    merged = merge([pool, dataclasses.replace(pool, sentence_ids=ids)])
    assert merged.derivations.tree.parents.tolist() == [-1, 0, -1, -1, 0, -1]
    assert merged.derivations.tree.spans.tolist()[3:] == pool.derivations.tree.spans.tolist()
    bare = dataclasses.replace(pool.derivations, tree=None)
    with pytest.warns(LuthierWarning, match="trees of derivations are left out"):
        merged = merge([pool, dataclasses.replace(pool, sentence_ids=ids, derivations=bare)])
    assert merged.derivations.tree is None
