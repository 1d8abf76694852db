"""Baselines against brute force: a loop over lists and hypotheses that shares no code with them."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.kbest.features import Features
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.validation.baselines import CORRELATED, DECLARED, FIRST, ORACLE, RANDOM, START, baselines
from small_problems import problem_of, random_problem

unhurried = settings(max_examples=40)


def lists_of(problem):
    return [range(a, b) for a, b in zip(problem.offsets[:-1], problem.offsets[1:], strict=True)]


def score_of(problem, rows):
    total = sum(problem.stats[row] for row in rows)
    return float(problem.metric.score(np.asarray(total)))


def chosen_by(problem, weights):
    """Return the first of the best rows of each list."""
    dense = problem.pool.features.dense
    found = []
    for rows in lists_of(problem):
        scores = [float(np.dot(weights, dense[row])) for row in rows]
        found.append(rows[int(np.argmax(scores))])
    return found


def tied_score(problem, weights):
    """Return the score of weights where the rows that tie in a list are averaged."""
    dense, total = problem.pool.features.dense, 0.0
    for rows in lists_of(problem):
        scores = [float(np.dot(weights, dense[row])) for row in rows]
        best = [row for row, score in zip(rows, scores, strict=True) if score == max(scores)]
        total = total + sum(problem.stats[row] for row in best) / len(best)
    return float(problem.metric.score(np.asarray(total)))


def spreads(problem):
    """Return each feature's standard deviation about the means of lists."""
    dense = problem.pool.features.dense
    squares = np.zeros(dense.shape[1])
    for rows in lists_of(problem):
        part = dense[list(rows)]
        squares += ((part - part.mean(axis=0)) ** 2).sum(axis=0)
    return np.sqrt(squares / len(dense))


@unhurried
@given(st.integers(0, 10_000), st.sampled_from(["worth", "bleu", "ter"]))
def test_every_choice_is_that_of_a_plain_loop(seed, metric):
    if metric == "worth":  # small whole numbers, with ties
        problem = random_problem(seed, sentences=1 + seed % 7, k=1 + seed % 5)
    else:
        lists = SyntheticLists(sentences=1 + seed % 7, k=1 + seed % 5, vocabulary=100)
        problem = ListProblem.of(lists.generate(seed), metric)
    start = np.random.default_rng(seed).normal(size=problem.n_features)
    found = baselines(problem, start)
    better = max if problem.metric.higher_is_better else min
    assert found.named(FIRST).score == score_of(problem, [rows[0] for rows in lists_of(problem)])
    assert found.named(START).score == pytest.approx(score_of(problem, chosen_by(problem, start)), abs=1e-9)
    means = [sum(problem.stats[row] for row in rows) / len(rows) for rows in lists_of(problem)]
    assert found.named(RANDOM).score == pytest.approx(float(problem.metric.score(np.sum(means, axis=0))))
    best = [max(rows, key=lambda row: (problem.sentence_gains[row], -row)) for rows in lists_of(problem)]
    assert found.named(ORACLE).score == score_of(problem, best)
    for feature, (name, spread) in enumerate(zip(problem.names, spreads(problem), strict=True)):
        spread = 0.0 if spread < 1e-12 else spread  # means of equal numbers may be rounded
        alone = [choice for choice in found.choices if choice.name in (f"{name} alone", f"−{name} alone")]
        assert len(alone) == (spread > 0)
        if alone:
            unit = np.eye(problem.n_features)[feature]
            scores = [score_of(problem, chosen_by(problem, sign * unit)) for sign in (1, -1)]
            assert alone[0].score == better(scores)
            assert abs(alone[0].weights[feature]) == pytest.approx(1 / spread)
    gains = {c.name: problem.metric.gain(np.array(c.score)) for c in found.choices if c.is_baseline}
    assert gains[found.best_name] == max(gains.values())


def test_equal_weights_are_equal_in_spreads_and_have_the_signs_of_correlations():
    problem = random_problem(4, sentences=9, k=8)
    found = baselines(problem)
    spread = spreads(problem)
    assert found.named(DECLARED).weights == pytest.approx(1 / spread)
    gains, dense = problem.sentence_gains, problem.pool.features.dense
    signs = []
    for feature in range(problem.n_features):
        both = 0.0
        for rows in lists_of(problem):
            h, g = dense[list(rows), feature], gains[list(rows)]
            both += np.sum((h - h.mean()) * (g - g.mean()))
        signs.append(np.sign(both))
    assert -1 in signs  # else the other signs would not be there to see
    assert found.named(CORRELATED).weights == pytest.approx(np.array(signs) / spread)


def test_declared_costs_are_negative():
    problem = random_problem(4, sentences=9, k=8)
    f = problem.pool.features
    pool = problem.pool.with_features(
        Features(f.names, f.dense, f.indptr, f.indices, f.values, frozenset([f.names[1]]))
    )
    found = baselines(type(problem).of(pool, problem.metric))
    assert np.sign(found.named(DECLARED).weights).tolist() == [1, -1, *[1] * (problem.n_features - 2)]


def test_dense_and_sparse_features_give_the_same():
    problem = random_problem(6, sentences=6, k=6)
    f = problem.pool.features
    rows, columns = np.nonzero(f.dense)
    indptr = np.searchsorted(rows, np.arange(len(f) + 1))
    sparse = Features(f.names, np.zeros((len(f), 0)), indptr, columns.astype(np.int32), f.dense[rows, columns])
    other = type(problem).of(problem.pool.with_features(sparse), problem.metric)
    one, two = baselines(problem), baselines(other)
    assert [choice.name for choice in one.choices] == [choice.name for choice in two.choices]
    assert [choice.score for choice in one.choices] == [choice.score for choice in two.choices]


def test_the_best_is_chosen_on_the_tuning_lists_and_kept_on_others():
    problem, other = (random_problem(seed, sentences=8, k=7) for seed in (1, 2))
    found = baselines(problem)
    held = found.on(other)
    assert held.best_name == found.best_name
    assert [choice.name for choice in held.choices] == [choice.name for choice in found.choices]
    for here, there in zip(found.choices, held.choices, strict=True):
        assert (here.weights is None) == (there.weights is None)
        if here.weights is not None:
            assert np.array_equal(here.weights, there.weights)
            assert there.score == score_of(other, chosen_by(other, here.weights))
        total = held.statistics(there).sum(axis=0)
        assert there.score == pytest.approx(float(other.metric.score(total)), abs=1e-12)
    assert json.loads(json.dumps(held.as_dict(), allow_nan=False))["best"] == found.best_name


def test_a_start_lies_inside_the_bounds():
    problem = random_problem(1, sentences=8, k=7)
    free = baselines(problem).best_start()
    assert free.weights is not None
    bounds = Bounds.from_names(problem.names, {problem.names[0]: (0.25, 0.25)})
    fixed = baselines(problem.with_bounds(bounds)).best_start()
    assert fixed.weights[0] == 0.25
    vectors = [c for c in baselines(problem).choices if c.weights is not None]
    scores = [tied_score(problem, bounds.clip(c.weights)) for c in vectors]
    assert tied_score(problem, fixed.weights) == pytest.approx(max(scores))


def test_a_scorer_that_owes_its_score_to_the_order_of_lists_is_no_start():
    # "rare" differs in one list only; the others are in the best order, which "good" has not.
    lists = [np.array([[0, 2], [0, 1], [0, 3]])] * 5 + [np.array([[0, 1], [1, 2], [0, 0]])]
    worths = [[9, 1, 5]] * 5 + [[1, 9, 2]]
    found = baselines(problem_of(lists, worths, names=["rare", "good"]))
    assert found.best_name == "rare alone"
    assert found.best_start().name == "equal weights"  # which "good" decides, but for one list


@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e-140, 1e140])
def test_features_of_any_size(scale):
    problem = random_problem(3, sentences=5, k=5)
    f = problem.pool.features
    scaled = Features.from_dense(f.names, f.dense * scale)
    other = type(problem).of(problem.pool.with_features(scaled), problem.metric)
    one, two = baselines(problem), baselines(other)
    assert [choice.name for choice in one.choices] == [choice.name for choice in two.choices]
    assert [c.score for c in one.choices] == [c.score for c in two.choices]


def test_features_that_never_differ_are_left_out():
    problem = random_problem(3, sentences=5, k=5)
    f = problem.pool.features
    still = Features.from_dense(f.names, np.ones_like(f.dense))
    found = baselines(type(problem).of(problem.pool.with_features(still), problem.metric))
    assert [choice.name for choice in found.choices] == [RANDOM, FIRST, ORACLE]
    assert found.best_name == FIRST
    assert found.best_start().weights.tolist() == [1.0] * problem.n_features


def test_one_list_of_one_row():
    problem = random_problem(0, sentences=1, k=1)
    found = baselines(problem)
    assert {choice.score for choice in found.choices} == {score_of(problem, [0])}
