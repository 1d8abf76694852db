"""Rampion: a run against plain Python, and the contract."""

import numpy as np
import pytest
from margins import check_tuner, feature_rows, run_states, text_problem

from luthier.landscape.bounds import Bounds
from luthier.tuning.margin.steps import step_scale
from luthier.tuning.ranking.sentence_gains import Outcomes, outcome_gains


def plain_rampion(problem, start, seed, *, rounds, passes, rate, gain_weight, c, background, scale):
    """The published procedure, one vector at a time; return the weights after each round."""
    rng, rows, offsets = np.random.default_rng(seed), feature_rows(problem), problem.offsets
    outcomes = Outcomes.of(problem)
    n, w, after = len(offsets) - 1, start.copy(), []
    lists = [np.arange(offsets[s], offsets[s + 1]) for s in range(n)]
    for _ in range(rounds):
        gains = gain_weight * outcome_gains(problem, outcomes, w if background else None)[outcomes.groups]
        hopes = [inside[np.argmax(rows[inside] @ w + gains[inside])] for inside in lists]
        for _ in range(passes):
            for s in rng.permutation(n):
                inside = lists[s]
                fear = inside[np.argmax(rows[inside] @ w - gains[inside])]
                w = w - rate * c / n * (w - start) + rate * scale * (rows[hopes[s]] - rows[fear])
                w = np.clip(w, problem.bounds.low, problem.bounds.high)
        after.append(w)
    return after


@pytest.mark.parametrize(("sparse", "background", "standardize"), [(0, True, False), (2, False, True)])
def test_against_plain_python(sparse, background, standardize):
    bounds = Bounds(np.array([-np.inf, -0.1, 0.0, 0.3]), np.array([np.inf, 0.1, np.inf, 0.3]))
    problem = text_problem(sparse=sparse, bounds=bounds)
    start = np.array([0.1, 0.05, 0.2, 0.3])
    shared = {"rounds": 3, "passes": 2, "rate": 0.013, "gain_weight": 2.0, "c": 0.7, "background": background}
    ours = run_states("rampion", problem, start, seed=4, standardize=standardize, **shared)
    theirs = plain_rampion(problem, start, 4, scale=step_scale(problem, standardize=standardize), **shared)
    assert len(ours) == 5
    assert np.allclose([state.weights for state in ours[1:4]], theirs)


def test_the_loss_is_never_negative_and_falls():
    states = run_states("rampion", text_problem(sentences=20), rounds=8, gain_weight=5.0)
    losses = [state.objective for state in states[1:-1]]
    assert min(losses) >= 0
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("metric", ["bleu", "ter", "chrf", "column:worth", "ter - 0.5*bleu"])
def test_it_keeps_to_the_contract(metric):
    check_tuner("rampion", metric, rounds=3)
    check_tuner("rampion", metric, sparse=2, rounds=2, background=False, standardize=False)
