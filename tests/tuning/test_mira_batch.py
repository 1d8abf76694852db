"""Batch MIRA: an epoch against plain Python, outcomes, backgrounds, hopes and oracles."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from margins import check_tuner, feature_rows, run_states, text_problem

from luthier.kbest.spread import spread_in_lists
from luthier.landscape.bounds import Bounds
from luthier.tuning.margin.steps import best_rows, oracle_rows, step_scale, sum_of_rows
from luthier.tuning.ranking.sentence_gains import Background, Outcomes, outcome_gains
from small_problems import problem_of, random_problem


def plain_epoch(problem, start, order, *, c, decay, scale):
    """One epoch as the paper has it: the background after every sentence, one vector at a time."""
    rows, offsets, metric = feature_rows(problem), problem.offsets, problem.metric
    words = np.array([len(text.split()) for text in problem.pool.texts], dtype=float)
    lengths = np.array([words[a:b].mean() for a, b in itertools.pairwise(offsets)])
    n = min(len(lengths), 1 / (1 - decay))
    background = n * problem.stats[problem.select(start)].mean(axis=0)
    length = n * lengths.mean()
    w, seen, low, high = start.copy(), [], problem.bounds.low, problem.bounds.high
    for s in order:
        inside = np.arange(offsets[s], offsets[s + 1])
        gains = metric.gain(metric.score(problem.stats[inside] + background)) / 100 * (length + lengths[s])
        scores = rows[inside] @ w
        hope, fear = np.argmax(scores + gains), np.argmax(scores - gains)
        d = rows[inside[hope]] - rows[inside[fear]]
        loss, norm = gains[hope] - gains[fear] - (scores[hope] - scores[fear]), np.sum(scale * d * d)
        if loss > 0 and norm > 0:
            w = np.clip(w + min(c, loss / norm) * scale * d, low, high)
        background = decay * background + problem.stats[inside[hope]]
        length = decay * length + lengths[s]
        seen.append(w)
    return np.mean(seen, axis=0)


@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf"])
@pytest.mark.parametrize(("sparse", "standardize"), [(0, False), (3, True)])
def test_an_epoch_against_plain_python(metric, sparse, standardize):
    bounds = Bounds(np.array([-np.inf, -0.1, 0.0, 0.3]), np.array([np.inf, 0.1, np.inf, 0.3]))
    problem = text_problem(metric, sparse=sparse, bounds=bounds)
    start = np.array([0.1, 0.05, 0.2, 0.3])
    ours = run_states(
        "mira-batch", problem, start, seed=5, epochs=1, c=0.3, decay=0.9, refresh=1, standardize=standardize
    )
    order = np.random.default_rng(5).permutation(problem.pool.n_sentences)
    scale = step_scale(problem, standardize=standardize)
    theirs = plain_epoch(problem, start, order, c=0.3, decay=0.9, scale=scale)
    assert np.allclose(ours[1].weights, theirs, atol=1e-10)
    assert not np.allclose(theirs, start)


def test_the_background_may_lag():
    problem = text_problem(sentences=12)
    each, all_at_once = (
        run_states("mira-batch", problem, epochs=1, refresh=n, c=1.0, decay=0.5)[1].weights for n in (1, 100)
    )
    assert not np.array_equal(each, all_at_once)
    assert np.allclose(each, all_at_once, atol=1.0)


def test_the_best_epoch_is_kept():
    states = run_states("mira-batch", text_problem(seed=2), epochs=6)
    best = max(states, key=lambda state: state.gain)  # the first of equals
    assert states[-1].weights.tobytes() == best.weights.tobytes()
    assert states[-1].did.startswith(f"kept {best.did}")


@pytest.mark.parametrize("average", ["epoch", "all", "none"])
@pytest.mark.parametrize("metric", ["bleu", "ter", "wer", "chrf", "column:worth", "ter - 0.5*bleu"])
def test_it_keeps_to_the_contract(metric, average):
    check_tuner("mira-batch", metric, sparse=2, epochs=3, average=average)


@given(st.integers(0, 10**6))
def test_outcomes_are_the_distinct_statistics_of_each_list(seed):
    rng = np.random.default_rng(seed)
    problem = problem_of([np.zeros((k, 1)) for k in (3, 1, 5)], [rng.integers(0, 2, k) for k in (3, 1, 5)])
    outcomes = Outcomes.of(problem)
    assert np.array_equal(outcomes.stats[outcomes.groups], problem.stats)
    for s in range(3):
        first, last = problem.offsets[s : s + 2]
        mine = outcomes.groups[first:last]
        assert set(mine) == set(range(outcomes.offsets[s], outcomes.offsets[s + 1]))
        assert len(set(mine)) == len(np.unique(problem.stats[first:last], axis=0))


def test_gains_in_words():
    problem = text_problem()
    outcomes = Outcomes.of(problem)
    alone = outcome_gains(problem, outcomes, None)[outcomes.groups]
    words = np.array([len(text.split()) for text in problem.pool.texts]).reshape(7, 6).mean(axis=1).repeat(6)
    assert np.allclose(alone, problem.sentence_gains / 100 * words)
    weights = problem.default_start()
    background = Background.of(problem, weights, 1.0)
    selected = problem.stats[problem.select(weights)].sum(axis=0)
    assert np.allclose(background.sums[:-1], selected)
    in_corpus = outcome_gains(problem, outcomes, weights)[outcomes.groups]
    assert np.allclose(
        in_corpus[3], problem.gain_of_sums(selected + problem.stats[3]) / 100 * (words[::6].sum() + words[3])
    )


@given(st.integers(0, 10**6))
def test_oracles_and_ties(seed):
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 3, 4, 9])
    gains, scores = rng.integers(0, 3, 9).astype(float), rng.integers(0, 3, 9).astype(float)
    lists = [range(a, b) for a, b in itertools.pairwise(offsets)]
    assert best_rows(gains, offsets).tolist() == [max(rows, key=lambda r: (gains[r], -r)) for rows in lists]
    theirs = [max(rows, key=lambda r: (gains[r], scores[r], -r)) for rows in lists]
    assert oracle_rows(gains, scores, offsets).tolist() == theirs


def test_scales_and_sums():
    problem = random_problem(3, bounds=Bounds(np.array([-1.0, 2.0, 0.0]), np.array([1.0, 2.0, 1.0])))
    assert step_scale(problem, standardize=False).tolist() == [1, 0, 1]
    expected = 1 / spread_in_lists(problem.pool) ** 2
    assert np.allclose(step_scale(problem, standardize=True), expected * [1, 0, 1])
    texts = text_problem(sparse=2)
    assert np.allclose(
        sum_of_rows(texts.pool.features, np.array([0, 0, 5])), feature_rows(texts)[[0, 0, 5]].sum(axis=0)
    )
