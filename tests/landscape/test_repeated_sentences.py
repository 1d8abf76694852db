"""Sentences that count several times or not at all: bit for bit a pool in which they stand as often."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.kbest.features import Features
from luthier.landscape.list_problem import ListProblem
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from small_problems import random_problem

unhurried = settings(max_examples=40)


def pair(seed, metric, *, sparse=False):
    """Return a problem with counts, and that of a pool with its sentences repeated."""
    rng = np.random.default_rng(seed)
    pool = SyntheticLists(sentences=7, k=int(rng.integers(1, 30)), vocabulary=100).generate(seed)
    if seed % 2:  # whole numbers, so that breakpoints coincide
        pool = pool.with_features(Features.from_dense(pool.features.names, np.rint(pool.features.dense)))
    if sparse:
        f = pool.features
        rows, columns = np.nonzero(f.dense)
        indptr = np.searchsorted(rows, np.arange(len(f) + 1))
        values = f.dense[rows, columns]
        pool = pool.with_features(Features(f.names, np.zeros((len(f), 0)), indptr, columns.astype(np.int32), values))
    counts = np.bincount(rng.integers(0, 7, 7), minlength=7)
    repeated = pool.take_sentences(np.repeat(np.arange(7), counts))
    return ListProblem.of(pool, metric).resampled(counts), ListProblem.of(repeated, metric), rng


@unhurried
@given(st.integers(0, 10_000), st.sampled_from(["bleu", "ter", "chrf"]), st.booleans())
def test_gains_statistics_and_lines_are_those_of_repeated_sentences(seed, metric, sparse):
    problem, repeated, rng = pair(seed, metric, sparse=sparse)
    weights = rng.normal(size=(5, problem.n_features))
    assert problem.gains(weights).tolist() == repeated.gains(weights).tolist()
    assert problem.gain(weights[0]) == repeated.gain(weights[0])
    one, other = (part.selected(weights).sum(axis=1) for part in (problem, repeated))
    assert one.tolist() == other.tolist()
    directions = np.concatenate([np.eye(problem.n_features)[:3], rng.normal(size=(2, problem.n_features))])
    for found, expected in zip(
        problem.curves(weights[0], directions), repeated.curves(weights[0], directions), strict=True
    ):
        assert found.breakpoints.tobytes() == expected.breakpoints.tobytes()
        assert found.gains.tobytes() == expected.gains.tobytes()
        assert found.bends.tobytes() == expected.bends.tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_exact_lines_lead_to_the_same_weights(seed):
    problem, repeated, rng = pair(seed, "bleu")
    start = rng.normal(size=problem.n_features)
    ends = [list(tuner("mert").steps(part, start, np.random.default_rng(0)))[-1] for part in (problem, repeated)]
    assert ends[0].weights.tobytes() == ends[1].weights.tobytes()
    assert ends[0].gain == ends[1].gain


def test_no_row_is_copied_and_counts_do_not_add_up():
    problem = random_problem(1)
    twice = problem.resampled(np.full(6, 2)).resampled(np.array([3, 0, 0, 0, 0, 1]))
    assert twice.pool is problem.pool
    assert twice.counts.tolist() == [3, 0, 0, 0, 0, 1]
    assert twice.lines._envelopes is problem.lines._envelopes
    assert twice.sentence_gains is problem.sentence_gains
    assert problem.counts is None
    assert problem.identity() != twice.identity()
    once = problem.resampled(np.ones(6, np.int64))
    weights = np.array([[1.0, -2.0, 0.5]])
    assert once.gains(weights).tolist() == problem.gains(weights).tolist()


def test_scores_that_are_no_whole_numbers_agree_but_for_rounding():
    problem = random_problem(3)
    counts = np.array([0, 3, 1, 1, 0, 1])
    repeated = ListProblem.of(problem.pool.take_sentences(np.repeat(np.arange(6), counts)), problem.metric)
    weights = np.random.default_rng(0).normal(size=(4, 3))
    np.testing.assert_allclose(problem.resampled(counts).gains(weights), repeated.gains(weights), rtol=1e-12)


@pytest.mark.parametrize(
    "counts, complaint",
    [
        (np.ones(5, np.int64), "expected 6 whole numbers of at least 0, found int64 of shape"),
        (np.ones(6), "expected 6 whole numbers of at least 0, found float64"),
        (np.array([1, 1, 1, 1, 1, -1]), "expected 6 whole numbers of at least 0"),
        (np.zeros(6, np.int64), "expected a sentence that counts, found none"),
    ],
)
def test_what_is_no_count_is_refused(counts, complaint):
    with pytest.raises(LuthierError, match=complaint):
        random_problem(1).resampled(counts)
