"""Features in both kinds of storage: one table, one sum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import make_features

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.features import Features, concatenate_features
from luthier.kbest.pool import Pool
from luthier.kbest.spread import differing
from oracles import score

NAMES = ("a", "b", "c", "d")
any_number = st.sampled_from([0.0, -0.0, 0.1, -0.3, 1e-300, 1e17, 3.0, -7.0])
tables = st.lists(st.tuples(*[any_number] * 4), max_size=7)
quickly = settings(max_examples=50)


def values(features):
    return {name: features.column(name).tolist() for name in features.names}


@quickly
@given(tables, st.lists(st.tuples(*[any_number] * 4), max_size=10), st.integers(0, 4))
def test_scores_are_plain_sums_to_the_last_bit_in_any_storage(rows, vectors, sparse):
    features = make_features(rows, NAMES, sparse=sparse)
    expected = np.array([[score(w, h) for h in rows] for w in vectors]).reshape(len(vectors), len(rows))
    found = features.scores(np.array(vectors).reshape(-1, 4))
    assert found.tobytes() == expected.tobytes()
    for vector, alone in zip(vectors, found, strict=True):
        assert features.scores(np.array(vector)).tobytes() == alone.tobytes()


@quickly
@given(tables, st.integers(0, 4), st.data())
def test_taking_rows(rows, sparse, data):
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6)) if rows else []
    taken = make_features(rows, NAMES, sparse=sparse).take(chosen)
    assert len(taken) == len(chosen)
    assert values(taken) == values(make_features([rows[row] for row in chosen], NAMES))


@quickly
@given(tables, st.integers(0, 4), st.sets(st.sampled_from(NAMES)))
def test_selecting_features(rows, sparse, names):
    features = make_features(rows, NAMES, sparse=sparse, costs=("a", "d"))
    kept = features.select(sorted(names, reverse=True))
    assert kept.names == tuple(sorted(names))  # dense ones stay before sparse ones
    assert kept.costs == names & {"a", "d"}
    assert values(kept) == {name: column for name, column in values(features).items() if name in names}
    assert kept.n_dense == sum(NAMES.index(name) < 4 - sparse for name in names)


@quickly
@given(tables, st.integers(0, 4), st.data())
def test_which_features_differ_within_a_list(rows, sparse, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    offsets = np.array([0, *cuts, len(rows)])
    m, n = len(rows), len(offsets) - 1
    pool = Pool(
        offsets=offsets, features=make_features(rows, NAMES, sparse=sparse),
        sentence_ids=Texts.from_strings([str(i) for i in range(n)]), texts=Texts.from_strings(["x"] * m),
        tokens=Tokens(np.arange(m + 1), np.zeros(m, np.int32)), vocab=Texts.from_strings(["x"]),
    )  # fmt: skip
    lists = [rows[a:b] for a, b in itertools.pairwise(offsets)]
    expected = [any(len({row[d] for row in each}) > 1 for each in lists) for d in range(4)]
    assert differing(pool).tolist() == expected


def test_names_that_nobody_has_are_errors_with_the_likeliest_one():
    features = Features.from_dense(("language model", "length"), np.zeros((1, 2)))
    for call in (
        lambda: features.index("languge model"),
        lambda: features.select(["languge model"]),
        lambda: features.rename({"languge model": "x"}),
        lambda: features.scale({"languge model": 2.0}),
        lambda: features.call_costs(["languge model"]),
    ):
        with pytest.raises(LuthierError, match="did you mean 'language model'"):
            call()
    with pytest.raises(LuthierError, match="known: language model, length"):
        features.index("qqq")
    with pytest.raises(LuthierError, match="'length' stands twice"):
        features.select(["length", "length"])


def test_renaming():
    features = make_features([(1, 2, 3, 4)], NAMES, sparse=2, costs=("b", "c"))
    renamed = features.rename({"a": "b", "b": "a", "c": "x"})
    assert renamed.names == ("b", "a", "x", "d")
    assert renamed.costs == {"a", "x"}
    assert renamed.dense.tolist() == [[1, 2]]
    with pytest.raises(LuthierError, match="'d' stands twice"):
        features.rename({"a": "d"})


@pytest.mark.parametrize("sparse", range(5))
def test_scaling(sparse):
    features = make_features([(1, 2, 3, 4), (0, -1, 0, 5)], NAMES, sparse=sparse)
    scaled = features.scale({"b": -2.0, "d": 0.5})
    assert values(scaled) == {"a": [1, 0], "b": [-4, 2], "c": [3, 0], "d": [2, 2.5]}
    assert values(features)["b"] == [2, -1]
    for factor in (0.0, np.nan, np.inf):
        with pytest.raises(LuthierError, match="finite factor other than 0"):
            features.scale({"b": factor})


def test_costs_say_a_sign_and_change_no_value():
    features = make_features([(1, 2, 3, 4)], NAMES, sparse=1).call_costs(["b", "d"])
    assert features.signs.tolist() == [1, -1, 1, -1]
    assert values(features) == {"a": [1], "b": [2], "c": [3], "d": [4]}
    assert features.call_costs(["a"]).costs == {"a"}


@quickly
@given(tables, tables, st.integers(0, 3), st.integers(0, 3))
def test_tables_one_behind_another(first, second, sparse_first, sparse_second):
    names = ("a", "b", "x", "c"), ("c", "y", "a", "z")
    one = make_features(first, names[0], sparse=sparse_first)
    two = make_features(second, names[1], sparse=sparse_second)
    both = concatenate_features([one, two])
    assert set(both.names) == {"a", "b", "c", "x", "y", "z"}
    for name in both.names:
        columns = [part.column(name) if name in part.names else np.zeros(len(part)) for part in (one, two)]
        assert both.column(name).tolist() == np.concatenate(columns).tolist()
    dense = set(one.names[: one.n_dense]) | set(two.names[: two.n_dense])
    assert set(both.names[: both.n_dense]) == dense
    for row in range(len(both)):
        columns = both.indices[both.indptr[row] : both.indptr[row + 1]].tolist()
        assert columns == sorted(set(columns))


def test_a_cost_here_and_a_score_there_is_refused():
    one = make_features([(1, 2)], ("a", "b"), costs=("b",))
    assert concatenate_features([one, make_features([(1,)], ("a",))]).costs == {"b"}
    with pytest.raises(LuthierError, match="'b' is called a cost in one part and a score in another"):
        concatenate_features([make_features([(1,)], ("b",)), one])


def test_many_sparse_names_are_handled_in_good_time():
    names = tuple(f"name {i}" for i in range(20_000))  # quadratic work would take minutes
    features = Features(names, np.zeros((1, 0)), np.array([0, 1]), np.array([5]), np.array([2.0]))
    both = concatenate_features([features, features.select(names[3:])])
    assert both.column("name 5").tolist() == [2, 2]
    assert len(both.names) == len(names)


@pytest.mark.parametrize(
    "arrays",
    [
        {"dense": np.zeros((2, 3))},
        {"dense": np.zeros(4)},
        {"indptr": np.zeros(0)},
        {"indptr": np.array([0, 0])},
        {"indptr": np.array([0, 1, 2])},
        {"indices": np.array([0])},
        {"values": np.array([1.0])},
        {"names": ("a", "a")},
    ],
    ids=str,
)
def test_arrays_that_do_not_fit_are_refused_since_kernels_trust_them(arrays):
    fitting = {
        "names": ("a", "b"), "dense": np.zeros((2, 2)), "indptr": np.zeros(3), "indices": np.zeros(0),
        "values": np.zeros(0),
    }  # fmt: skip
    Features(**fitting)
    with pytest.raises(LuthierError):
        Features(**{**fitting, **arrays})


def test_shapes_of_weights_and_of_dense_tables():
    with pytest.raises(LuthierError, match="expected 2 weights, found 3"):
        Features.from_dense(("a", "b"), np.zeros((1, 2))).scores(np.ones(3))
    for names in (("a",), ("a", "b", "c")):
        with pytest.raises(LuthierError, match=r"expected features of shape"):
            Features.from_dense(names, np.zeros((1, 2)))


@pytest.mark.parametrize("n_dense", [0, 1, 2, 3])
def test_aligning_keeps_every_value_whatever_the_storage(n_dense):
    from luthier.kbest.features import align_features

    part = Features(
        ("a", "b", "c"), [[1.0, 0.0], [2.0, 5.0]], [0, 1, 2], np.array([0, 0], np.int32), np.array([7.0, 8.0])
    )
    names = ("c", "new", "b")
    aligned = align_features(part, names, n_dense)
    assert aligned.names == names
    assert aligned.n_dense == n_dense
    assert aligned.column("c").tolist() == [7, 8]
    assert aligned.column("b").tolist() == [0, 5]
    assert aligned.column("new").tolist() == [0, 0]
