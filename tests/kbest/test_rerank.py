"""Re-ranking against a plain search for the best, where many tie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import NAMES, make_pool, small_integers, small_lists

from luthier.core.errors import LuthierError
from luthier.core.segments import segment_blocks
from luthier.kbest import rerank as rerank_module
from luthier.kbest.rerank import rerank, selected_texts
from oracles import winners

vectors = st.lists(st.tuples(*[small_integers] * 3), min_size=1, max_size=19)


@settings(max_examples=60)
@given(small_lists(), vectors, st.integers(0, 3))
def test_one_vector_many_vectors_and_any_storage_select_what_a_plain_search_does(lists, vectors, sparse):
    pool = make_pool(lists, sparse=sparse)
    features = [[row for _, row in rows] for rows in lists]
    expected = [winners(features, weights) for weights in vectors]
    assert rerank(pool, np.array(vectors)).tolist() == expected
    assert [rerank(pool, np.array(weights)).tolist() for weights in vectors] == expected


@pytest.mark.parametrize("sparse", [0, 2])
def test_threads_change_nothing(monkeypatch, sparse):
    monkeypatch.setattr(rerank_module, "BLOCK_ROWS", 7)
    rng = np.random.default_rng(3)
    lists = [[("a", tuple(rng.integers(-2, 3, 3))) for _ in range(rng.integers(0, 9))] for _ in range(40)]
    pool = make_pool(lists, sparse=sparse)
    weights = rng.normal(size=(21, 3))
    one = rerank(pool, weights)
    assert one.tolist() == [winners([[row for _, row in rows] for rows in lists], w) for w in weights]
    for threads in (2, 5):
        assert rerank(pool, weights, threads=threads).tolist() == one.tolist()


def test_a_vector_selects_the_same_alone_and_among_others_however_sums_round():
    rng = np.random.default_rng(4)
    rows = [("a", tuple(rng.normal(size=3) * 10.0 ** rng.integers(-8, 9, 3))) for _ in range(400)]
    pools = [make_pool([rows[:100], rows[100:]], sparse=sparse) for sparse in range(4)]
    weights = rng.normal(size=(50, 3))
    together = [rerank(pool, weights).tolist() for pool in pools]
    alone = [[rerank(pool, w).tolist() for w in weights] for pool in pools]
    assert all(selected == together[0] for selected in together + alone)


def test_only_the_direction_matters():
    rows = [("a", (1, 2, 0)), ("b", (2, 1, 1)), ("c", (0, 0, 5))]
    pool = make_pool([rows])
    weights = np.array([1.0, -0.5, 0.25])
    assert rerank(pool, weights) == rerank(pool, 8 * weights)


@pytest.mark.parametrize("sparse", [0, 3])
def test_sums_that_would_overflow_are_refused(sparse):
    # the sum of row 0 would be inf − inf, and where all are inf the first row would win for no reason
    pool = make_pool([[("a", (1e300, 1e300, 0)), ("b", (1, 0, 0)), ("c", (2, 0, 0))]], sparse=sparse)
    for weights in (np.array([1e100, -1e100, 0.0]), np.array([[1e100, -1e100, 0.0]])):
        with pytest.raises(LuthierError, match=r"can be weighted and added, found one of 1e\+300. hint: scale it down"):
            rerank(pool, weights)
    assert rerank(pool, np.array([1e5, -1e4, 0.0])).tolist() == [0]
    with pytest.raises(LuthierError, match=r"weights of at most 1e\+150, found 1e\+200. hint: only their direction"):
        rerank(pool, np.array([1.0, 1e200, 0.0]))
    with pytest.raises(LuthierError, match=r"weights of at most 1e\+150"):
        rerank(make_pool([[("a", (1, 1, 1))]]), dict.fromkeys(NAMES[:3], 1e308))


def test_sentences_without_hypotheses_have_no_winner():
    pool = make_pool([[], [("a", (1, 1, 1))], []])
    assert rerank(pool, np.ones(3)).tolist() == [-1, 0, -1]
    assert rerank(pool, np.ones((2, 3))).tolist() == [[-1, 0, -1]] * 2
    assert selected_texts(pool, rerank(pool, np.ones(3))) == ["", "a", ""]
    assert rerank(make_pool([[]]), np.ones((9, 3))).tolist() == [[-1]] * 9


def test_weights_that_do_not_fit_are_refused():
    pool = make_pool([[("a", (1, 1, 1))]])
    for weights in (np.ones(2), np.ones((2, 4)), np.ones((1, 1, 3)), np.float64(1)):
        with pytest.raises(LuthierError, match="expected weights of shape"):
            rerank(pool, weights)
    for number in (np.nan, np.inf):
        with pytest.raises(LuthierError, match="finite"):
            rerank(pool, np.array([1, number, 0]))
    assert rerank(pool, np.ones((0, 3))).shape == (0, 1)


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 12))
def test_blocks_of_segments_are_a_partition(counts, rows):
    offsets = np.cumsum([0, *counts])
    blocks = segment_blocks(offsets, rows)
    assert [s for first, last in blocks for s in range(first, last)] == list(range(len(counts)))
    assert all(offsets[last] - offsets[first] <= rows or last == first + 1 for first, last in blocks)
