"""Answers tuned again on resamples: against pools with repeated sentences, and what is said of them."""

import json

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.landscape.list_problem import ListProblem
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from luthier.tuning.validation.resampling import Resample, resample_answer
from small_problems import random_problem

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def problem():
    return ListProblem.of(SyntheticLists(sentences=15, k=50, vocabulary=150).generate(1), "bleu")


def answer_of(problem):
    return list(tuner("mert").steps(problem, problem.default_start(), np.random.default_rng(0)))[-1].weights


def test_every_resample_is_a_pool_with_repeated_sentences(problem):
    answer, draws = answer_of(problem), 6
    found = resample_answer(problem, tuner("mert"), answer, draws=draws, seed=3)
    rows, stays, size = problem.select(answer), np.zeros(15), np.sum(np.abs(answer) * problem.spread)
    for b in range(draws):
        counts = Resample(3, b).counts(15)
        assert counts.sum() == 15
        repeated = ListProblem.of(problem.pool.take_sentences(np.repeat(np.arange(15), counts)), "bleu")
        *_, end = tuner("mert").steps(repeated, answer, np.random.default_rng(0))
        assert found.weights[b] == pytest.approx(end.weights * size / np.sum(np.abs(end.weights) * problem.spread))
        assert found.scores[b] == repeated.gain(answer)
        stays += problem.select(end.weights) == rows
    assert found.stays.tolist() == (stays / draws).tolist()
    assert found.score_spread == pytest.approx(np.std(found.scores, ddof=1))
    assert found.intervals.shape == (problem.n_features, 2)
    assert len({tuple(row) for row in found.weights.tolist()}) > 1
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert told["weights"]["lm"]["low"] <= told["weights"]["lm"]["high"]


def test_threads_change_nothing(problem):
    answer = answer_of(problem)
    one, other = (resample_answer(problem, tuner("mert"), answer, draws=5, threads=n) for n in (1, 3))
    assert one.weights.tobytes() == other.weights.tobytes()
    assert one.as_dict() == other.as_dict()


def test_too_little_to_resample_is_said(problem):
    with pytest.raises(LuthierError, match="at least 2 resamples, found 1"):
        resample_answer(problem, tuner("mert"), answer_of(problem), draws=1)
    with pytest.raises(LuthierError, match="at least 2 sentences to resample, found 1"):
        resample_answer(random_problem(0, sentences=1), tuner("mert"), np.ones(3), draws=5)
