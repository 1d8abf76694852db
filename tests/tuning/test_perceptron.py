"""The perceptron and the hard limits of margin tuners: on lists that can be separated every constraint is met."""

import numpy as np
import pytest

from luthier.core.rng import make_rng
from luthier.tuning.base import tuner
from luthier.tuning.margin.steps import sentence_oracles
from luthier.tuning.run import run
from small_problems import problem_of

MARGIN = 0.1
HARD = {
    "perceptron": {"epochs": 1000},
    "mira": {"oracle": "sentence", "c": 1e9, "conditions": 0, "average": "none", "keep": "last", "epochs": 300},
    "svm": {"oracle": "sentence", "c": 1e7, "rounds": 1, "keep": "last", "tolerance": 1e-5, "limit": 2000},
}


def planted(seed=3, *, sentences=15, k=12, features=20):
    """Return lists, and a direction of length 1 that puts one row of each list above the others by `MARGIN` or more.

    The row that is above is worth the most; what the others are worth says nothing of their features.
    """
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=features)
    direction /= np.linalg.norm(direction)
    lists, worths = [], []
    for _ in range(sentences):
        rows = rng.normal(size=(k, features))
        scores = rows @ direction
        best = int(np.argmax(scores))
        others = np.delete(np.arange(k), best)
        short = np.maximum(scores[others] + MARGIN - scores[best], 0.0)
        rows[others] -= short[:, None] * direction
        lists.append(rows)
        worths.append(rng.permutation(np.arange(k) * 5.0))
        worths[-1][np.argmax(worths[-1])], worths[-1][best] = worths[-1][best], worths[-1].max()
    return lists, worths, direction


def violated(lists, worths, weights):
    """Return how many rows are not below the worthiest of their list, in plain Python."""
    count = 0
    for rows, worth in zip(lists, worths, strict=True):
        best = int(np.argmax(worth))
        own = sum(w * x for w, x in zip(weights, rows[best], strict=True))
        for row in np.delete(rows, best, axis=0):
            count += sum(w * x for w, x in zip(weights, row, strict=True)) >= own
    return count


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("seed", [1, 2])
def test_lists_with_a_margin_are_separated(name, seed):
    lists, worths, direction = planted(seed)
    assert violated(lists, worths, direction) == 0
    problem, start = problem_of(lists, worths), np.random.default_rng(9).normal(size=20)
    assert violated(lists, worths, start) > 20
    result = run(tuner(name, **HARD[name]), problem, start)
    assert violated(lists, worths, result.weights) == 0
    assert np.array_equal(problem.select(result.weights), sentence_oracles(problem))


def test_the_published_settings_do_not_separate_them():
    lists, worths, _ = planted(1)
    problem, start = problem_of(lists, worths), np.zeros(20)
    for name in ("mira", "svm"):
        assert violated(lists, worths, run(tuner(name), problem, start).weights) > 0


def test_the_steps_are_collins_s():
    lists, worths, _ = planted(4, sentences=5, k=4, features=3)
    problem, start = problem_of(lists, worths), np.array([0.5, -1.0, 0.25])
    states = list(tuner("perceptron", epochs=3, standardize=False).steps(problem, start, make_rng(7)))
    rng, weights, seen = make_rng(7), start.copy(), []
    for state in states[1:4]:
        mistakes = 0
        for s in rng.permutation(5).tolist():
            scores, best = lists[s] @ weights, int(np.argmax(worths[s]))
            others = [j for j in range(4) if j != best and scores[j] >= scores[best]]
            if others:
                mistakes += 1
                weights = weights + lists[s][best] - lists[s][max(others, key=lambda j: scores[j])]
            seen.append(weights)
        assert np.allclose(state.weights, weights)
        assert state.objective == mistakes
        if not mistakes:
            break
    else:
        assert np.allclose(states[4].weights, np.mean(seen, axis=0))


def test_lists_that_nothing_separates_are_said_to_be_so():
    lists, worths = [np.array([[0.0], [1.0]])] * 2, [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    result = run(tuner("perceptron", epochs=8), problem_of(lists, worths), np.array([1.0]))
    assert result.note.startswith("not separated after 8 epochs")
    # rows that are equal are one point: nothing has to be put between them
    lists, worths = [np.array([[1.0], [1.0], [0.0]])], [np.array([5.0, 9.0, 0.0])]
    result = run(tuner("perceptron"), problem_of(lists, worths), np.array([-1.0]))
    assert result.note.startswith("separated")


def test_ranking_all_pairs_is_not_selecting_the_best():
    """Eq. 6 of Waite and Byrne is inside of Eq. 5, not the reverse."""
    values, gains = np.array([[2.1], [0.0], [1.0], [2.0]]), np.array([100.0, 90.0, 50.0, 0.0])
    problem = problem_of([values], [gains])
    for name in HARD:
        weights = run(tuner(name, **HARD[name]), problem, np.array([-1.0])).weights
        assert weights[0] > 0
        assert problem.select(weights).tolist() == [0]
    exact = {"gains": "sentence", "top": 0, "c": 1e-6, "keep": "last", "draws": 5000, "kept": 5000, "psi": 1.0}
    for weighting in ("equal", "difference"):
        found = run(tuner("pro", weighting=weighting, **exact), problem, np.array([1.0])).weights
        assert found[0] < 0  # its optimum puts row 1 first
        assert problem.select(found).tolist() == [1]
    # where all pairs agree with a direction, PRO selects the best too
    problem = problem_of([values], [values[:, 0] * 40.0])
    found = run(tuner("pro", **exact), problem, np.array([-1.0])).weights
    assert problem.select(found).tolist() == [0]
