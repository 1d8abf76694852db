"""Which run is the answer where there are held-out sentences, with errors given by hand."""

import numpy as np
import pytest

from luthier.kbest.rerank import rerank
from luthier.landscape.problem import Problem
from luthier.tuning.answer import End, choose_end
from small_problems import random_problem


class Judge(Problem):
    """A problem that knows nothing but standard errors, by the first weight."""

    names = ("a",)
    spread = np.ones(1)

    def __init__(self, errors):
        self.errors = errors

    def gains(self, weights):
        raise AssertionError

    def curves(self, start, directions):
        raise AssertionError

    def with_bounds(self, bounds):
        raise AssertionError

    def errors_of_differences(self, weights, to):
        # chance between two vectors is the larger of their own, and none of one with itself
        own = np.array([self.errors[int(w)] for w in weights[:, 0]])
        return np.where(np.arange(len(own)) == to, 0.0, np.maximum(own, own[to]))


def choose(gains, heldout_gains, errors, start=(0.0, 0.0)):
    ends = [End(np.array([float(i)]), g, h) for i, (g, h) in enumerate(zip(gains, heldout_gains, strict=True))]
    return choose_end(ends, End(np.array([float(len(ends))]), *start), Judge([*errors, 0.1]))


def test_of_runs_within_one_error_of_the_best_the_tuning_score_decides():
    # run 1 is best on the held-out set, by 0.5 before run 0 and by 2 before run 2; the error is 1
    assert choose([30.0, 28.0, 31.0], [20.0, 20.5, 18.5], [1.0, 1.0, 1.0])[0] == 0
    assert choose([27.0, 28.0, 31.0], [20.0, 20.5, 18.5], [1.0, 1.0, 1.0])[0] == 1
    assert choose([30.0, 28.0, 31.0], [20.0, 20.5, 18.5], [1.0, 1.0, 3.0])[0] == 2
    # without chance the best is the best; of equal ones the better tuned, then the first
    assert choose([30.0, 28.0, 31.0], [20.0, 20.5, 18.5], [0.0, 0.0, 0.0])[0] == 1
    assert choose([28.0, 30.0, 30.0], [20.0, 20.0, 20.0], [0.0, 0.0, 0.0])[0] == 1


def test_disagreement_beyond_chance_is_said():
    number, said = choose([30.0, 28.0], [15.0, 20.0], [1.0, 1.0])
    assert number == 1
    assert said == (
        "the run with the best tuning score is worse on the held-out sentences than another by 5.00 (standard error "
        "1.00): it was not taken"
    )
    assert choose([30.0, 28.0], [18.5, 20.0], [1.0, 1.0]) == (1, "")  # 1.5 errors are no surprise
    number, said = choose([30.0], [15.0], [1.0], start=(28.0, 20.0))
    assert number == 0
    assert said.startswith("tuning gained 2.00 on its own sentences and lost 5.00 on the held-out ones")
    assert choose([30.0], [15.0], [3.0], start=(28.0, 20.0)) == (0, "")


def test_errors_are_those_of_sentences_drawn_again():
    problem = random_problem(3)
    weights = np.array([[1.0, 0.5, -0.2], [0.3, -1.0, 0.4], [1.0, 0.5, -0.2]])
    errors = problem.errors_of_differences(weights, 0)
    assert errors[0] == errors[2] == 0.0  # the same selections differ by nothing, whatever is drawn
    selected = problem.stats[rerank(problem.pool, weights)].astype(float)  # (3, N, S)
    n, rng = selected.shape[1], np.random.default_rng(7)
    drawn = []
    for _ in range(3000):
        rows = rng.integers(n, size=n)
        first, second = (float(problem.metric.gain(problem.metric.score(selected[w][rows].sum(0)))) for w in (0, 1))
        drawn.append(second - first)
    assert errors[1] == pytest.approx(np.std(drawn), rel=0.12)  # 400 draws are off by 1/√800
