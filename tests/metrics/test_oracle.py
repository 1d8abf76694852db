import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.metrics.expression import Expression
from luthier.metrics.loading import load_metric
from luthier.metrics.methods.bleu import Method as Bleu
from luthier.metrics.methods.column import Method as Column
from luthier.metrics.methods.length import Method as Length
from luthier.metrics.oracle import (
    all_selections,
    best_rows,
    corpus_oracle,
    corpus_score,
    first_best,
    random_choice,
    sentence_oracle,
)

BLEU = Bleu(order=2, smoothing="none")


@st.composite
def small_lists(draw):
    """Draw statistics of BLEU of order 2, plausible and small so that ties happen, and offsets."""
    counts = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any))
    seed = draw(st.integers(0, 1000))
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(sum(counts)):
        length = rng.integers(0, 5)
        matches = rng.integers(0, length + 1)
        more = rng.integers(0, max(matches, 1))
        rows.append([length, 3, matches, more, length, max(length - 1, 0)])
    return np.array(rows, dtype=np.int64), np.concatenate([[0], np.cumsum(counts)])


def all_choices(offsets):
    lists = [range(a, b) for a, b in itertools.pairwise(offsets) if b > a]
    return [np.array(rows) for rows in itertools.product(*lists)]


@given(small_lists(), st.booleans())
@settings(max_examples=60)
def test_sentence_oracle_equals_a_loop(lists, worst):
    stats, offsets = lists
    selection = sentence_oracle(BLEU, stats, offsets, worst=worst)
    choose = min if worst else max
    expected = [
        choose(range(a, b), key=lambda row: BLEU.sentence_score(stats[row]))  # the first of ties
        for a, b in itertools.pairwise(offsets)
        if b > a
    ]
    assert selection.rows.tolist() == expected
    assert selection.score == corpus_score(BLEU, stats, np.array(expected))


@given(small_lists(), st.booleans())
@settings(max_examples=60)
def test_corpus_oracle_is_a_local_optimum_within_the_bounds(lists, worst):
    stats, offsets = lists
    metric = Expression((BLEU,), (1.0,), 0.0, not worst)
    selection = corpus_oracle(metric, stats, offsets)
    scores = [corpus_score(BLEU, stats, rows) for rows in all_choices(offsets)]
    assert min(scores) - 1e-9 <= selection.score <= max(scores) + 1e-9
    better = np.less if worst else np.greater
    for i in range(len(selection.rows)):
        s = np.flatnonzero(np.diff(offsets) > 0)[i]
        for row in range(offsets[s], offsets[s + 1]):
            other = selection.rows.copy()
            other[i] = row
            gap = corpus_score(BLEU, stats, other) - selection.score
            assert not better(gap, 1e-9 if not worst else -1e-9)
    steps = np.diff(selection.passes)
    assert (steps < 0).all() if worst else (steps > 0).all()
    assert selection.passes[-1] == selection.score


@given(small_lists())
@settings(max_examples=30)
def test_worst_of_a_metric_is_best_of_its_reverse(lists):
    stats, offsets = lists
    reverse = Expression((BLEU,), (1.0,), 0.0, False)
    for oracle in (sentence_oracle, corpus_oracle):
        worst, best = oracle(BLEU, stats, offsets, worst=True), oracle(reverse, stats, offsets)
        assert worst.rows.tolist() == best.rows.tolist()


def test_a_mean_has_its_global_optimum():
    rng = np.random.default_rng(3)
    stats = np.stack([rng.integers(0, 5, 12).astype(float), np.ones(12)], axis=1)
    offsets = np.array([0, 4, 4, 9, 12])
    best = corpus_oracle(Column(), stats, offsets, start=first_best(Column(), stats, offsets).rows)
    assert best.score == max(corpus_score(Column(), stats, rows) for rows in all_choices(offsets))


def test_corpus_oracle_beats_the_sentence_oracle_and_leaves_its_start_alone():
    # Alone, "short and exact" (row 1) is the better choice in each list; together they lack length.
    stats = np.array([[6, 6, 4, 3, 6, 5], [2, 6, 2, 1, 2, 1]] * 2)
    offsets, start = np.array([0, 2, 4]), np.array([1, 3])
    selection = corpus_oracle(BLEU, stats, offsets, start=start)
    assert selection.rows.tolist() == [0, 2]
    assert len(selection.passes) == 2
    assert start.tolist() == [1, 3]


def test_first_and_random():
    stats, offsets = np.arange(14.0).reshape(7, 2), np.array([0, 3, 3, 7])
    assert first_best(Column(), stats, offsets).rows.tolist() == [0, 3]
    draws = [random_choice(Column(), stats, offsets, seed).rows for seed in range(200)]
    assert {tuple(rows) for rows in draws} == {(a, b) for a in range(3) for b in range(3, 7)}
    assert random_choice(Column(), stats, offsets, 0).rows.tolist() == draws[0].tolist()


def test_all_selections_are_ordered():
    rng = np.random.default_rng(4)
    lengths = rng.integers(3, 9, 60)
    matches = rng.integers(1, lengths + 1)
    stats = np.stack([lengths, np.full(60, 6), matches, matches - 1, lengths, lengths - 1], axis=1)  # (60, 6)
    scores = {name: s.score for name, s in all_selections(BLEU, stats, np.arange(0, 61, 10), 1).items()}
    assert scores["corpus-worst"] <= scores["sentence-worst"] < scores["random"]
    assert scores["first"] < scores["sentence-best"] <= scores["corpus-best"]


def test_a_metric_without_direction_has_no_oracle():
    with pytest.raises(LuthierError, match=r"neither when higher nor when lower.*minimize or to maximize"):
        sentence_oracle(Length(), np.ones((2, 2)), np.array([0, 2]))
    longest = load_metric("length", maximize=True)
    stats = np.array([[1, 2], [3, 2]])
    assert sentence_oracle(longest, stats, np.array([0, 2])).rows.tolist() == [1]


def test_best_rows_of_nothing():
    assert best_rows(np.zeros(0), np.array([0, 0])).tolist() == []
