"""The automatic choice: each line of its rule, what it says, and that it is the chosen tuner's answer."""

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.landscape.bounds import Bounds
from luthier.tuning.base import tuner
from small_problems import Surface, last, problem_of, random_problem

START = [1.0, 0.5, -0.2]


def lists(n_sentences, n_features):
    rng = np.random.default_rng(0)
    return problem_of(
        [rng.normal(size=(4, n_features)) for _ in range(n_sentences)],
        [100 * rng.random(4) for _ in range(n_sentences)],
    )


@pytest.mark.parametrize(
    ("n_sentences", "n_features", "chosen"),
    [(3, 1, "mert"), (100, 3, "mert"), (89, 3, "pro"), (90, 3, "mert"), (40, 31, "mira-batch"), (40, 30, "pro")],
)
def test_it_chooses_by_numbers(n_sentences, n_features, chosen):
    method, why = tuner("auto").choose(lists(n_sentences, n_features))
    assert method.name == chosen
    assert why


def test_without_lists_it_is_mert():
    assert tuner("auto").choose(Surface(lambda w: float(np.sum(w**2)), 3))[0].name == "mert"


def test_weights_that_cannot_move_do_not_count():
    problem = random_problem(1)
    held = Bounds(np.array([-1.0, 0.5, -0.2]), np.array([1.0, 0.5, -0.2]))
    method, why = tuner("auto").choose(problem.with_bounds(held))
    assert (method.name, why) == ("mert", "1 weight can move")


def test_the_answer_is_that_of_the_chosen_one_and_says_so():
    problem = random_problem(3)
    method, why = tuner("auto").choose(problem)
    states, theirs = last(tuner("auto"), problem, START), last(method, problem, START)
    assert states[-1].weights.tobytes() == theirs[-1].weights.tobytes()
    assert states[-1].note.startswith(f"auto chose {method.name}: {why}")


def test_the_setting_of_a_paper_in_one_word():
    method = tuner("pro", published=True, iterations=3)
    assert (method.gains, method.psi, method.falling, method.top, method.iterations) == ("sentence", 0.1, False, 0, 3)
    assert tuner("mira-batch", published=True).refresh == 1
    with pytest.raises(LuthierError, match=r"grid has no setting of a paper\. hint: these have: adagrad, armijo, cma"):
        tuner("grid", published=True)
