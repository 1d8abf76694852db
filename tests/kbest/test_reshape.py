"""Shorter lists, and parts of a pool."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import assert_same, content, make_pool, small_integers, small_lists

from luthier.core.errors import LuthierError
from luthier.kbest.merge import cap, split
from oracles import best_rows

quickly = settings(max_examples=40)


@quickly
@given(small_lists(), st.integers(1, 7))
def test_the_first_k(lists, k):
    capped = cap(make_pool(lists), k)
    assert content(capped) == content(make_pool([rows[:k] for rows in lists]))
    assert capped.provenance["operations"] == [{"operation": "cap", "k": k, "kept": "the first"}]


@quickly
@given(small_lists(), st.integers(1, 7), st.tuples(*[small_integers] * 3), st.integers(0, 3))
def test_the_best_k_in_their_order(lists, k, weights, sparse):
    pool = make_pool(lists, sparse=sparse)
    rows = best_rows([[row for _, row in some] for some in lists], weights, k)
    capped = cap(pool, k, weights=np.array(weights))
    assert content(capped) == content(pool.take(rows))


def test_no_list_is_capped_to_nothing():
    with pytest.raises(LuthierError, match="lists of at least 1, found 0"):
        cap(make_pool([[]]), 0)


def numbered(n):
    return make_pool([[(f"{i}", (i, 0, 0))] * (i % 3) for i in range(n)])


@quickly
@given(
    st.integers(1, 40),
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.integers(0, 3),
)
def test_parts_are_disjoint_complete_and_of_their_shares(n, shares, seed):
    named = {f"part {k}": share / 10 for k, share in enumerate(shares)}
    exact = [n * share / sum(shares) for share in shares]
    try:
        parts = split(numbered(n), named, seed=seed)
    except LuthierError:
        assert min(exact) < 1  # somebody would have got nothing
        return
    assert list(parts) == list(named)
    ids = [[int(ident) for ident in part.sentence_ids] for part in parts.values()]
    assert sorted(i for some in ids for i in some) == list(range(n))
    assert all(some == sorted(some) for some in ids)
    assert all(abs(len(some) - share) < 1 for some, share in zip(ids, exact, strict=True))
    whole = content(numbered(n))
    assert all(content(part).items() <= whole.items() for part in parts.values())


def test_the_same_seed_gives_the_same_parts_and_another_gives_others():
    shares = {"a": 0.5, "b": 0.5}
    one, again, other = (split(numbered(30), shares, seed=seed) for seed in (0, 0, 1))
    assert_same(one["a"], again["a"])
    assert list(one["a"].sentence_ids) != list(other["a"].sentence_ids)
    assert one["a"].provenance["operations"] == [{"operation": "split", "part": "a", "seed": 0}]


@pytest.mark.parametrize(
    "shares, message",
    [
        ({}, "expected"),
        ({"a": 0.0, "b": 1.0}, "expected shares above 0"),
        ({"a": -1.0, "b": 2.0}, "expected shares above 0"),
        ({"a": 1.0, "b": float("nan")}, "expected shares above 0"),
        ({"a": 1, "b": 1, "c": 1}, "cannot cut 2 sentences into 3 parts"),
        ({"a": 0.999, "b": 0.001}, "the share of 'b' is none"),
    ],
)
def test_shares_that_cannot_be(shares, message):
    with pytest.raises(LuthierError, match=message):
        split(numbered(2), shares, seed=0)
