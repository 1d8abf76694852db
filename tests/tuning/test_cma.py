"""CMA-ES: smooth errors, scale, bounds, repeatability, and what is left of the package's own habits."""

import numpy as np

from luthier.landscape.bounds import Bounds
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions, run
from small_problems import Surface, last, random_problem


def bowl(w):
    return float((w[0] - 0.3) ** 2 + 2 * (w[1] + 0.7) ** 2 + 0.8 * w[0] * w[1]) / 10


def test_it_finds_the_lowest_point_of_a_bowl():
    states = last(tuner("cma"), Surface(bowl, 2), [1.0, 1.0])
    hessian, pull = np.array([[2.0, 0.8], [0.8, 4.0]]), np.array([0.6, -2.8])
    assert np.allclose(states[-1].weights, np.linalg.solve(hessian, pull), atol=1e-3)
    assert states[-1].did.startswith("stopped after generation ")
    gains = [state.gain for state in states]
    assert gains == sorted(gains)


def test_only_the_order_of_errors_counts():
    plain, steep = (
        last(tuner("cma", generations=15), Surface(error, 2), [1.0, 1.0])
        for error in (bowl, lambda w: float(np.expm1(bowl(w)) ** 3))
    )
    assert [s.weights.tobytes() for s in plain] == [s.weights.tobytes() for s in steep]


def test_the_length_of_the_weights_does_not_matter():
    problem, start = random_problem(2), np.array([1.0, 0.5, -0.2])
    plain, short = (last(tuner("cma", generations=10), problem, factor * start) for factor in (1.0, 2.0**-20))
    assert [s.gain for s in plain] == [s.gain for s in short]


def test_a_generation_is_one_re_rank_within_the_bounds():
    bounds = Bounds(np.array([0.0, 0.7, -1.0]), np.array([0.5, 0.7, 1.0]))
    problem = Surface(lambda w: float(np.sum((w - [0.3, 5, 0.9]) ** 2)) / 100, 3, bounds)
    states = last(tuner("cma", population=9, generations=12), problem, [0.5, 0.7, -1.0])
    assert all(bounds.allow(state.weights) for state in states)
    assert set(problem.batches[1:]) == {9}
    assert states[-1].gain > states[0].gain


def test_it_draws_by_its_own_generator_and_leaves_the_global_one_alone():
    problem, start = random_problem(4), np.array([1.0, 0.5, -0.2])
    np.random.seed(7)  # noqa: NPY002 - the package would draw from here
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    one, again = (run(tuner("cma", generations=8), problem, start, RunOptions(seed=3)) for _ in range(2))
    other = run(tuner("cma", generations=8), problem, start, RunOptions(seed=4))
    assert one.weights.tobytes() == again.weights.tobytes()
    assert [s.weights.tobytes() for s in one.traces[0].states] != [s.weights.tobytes() for s in other.traces[0].states]
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_nothing_to_move_is_a_stop():
    fixed = Bounds(np.ones(2), np.ones(2))
    states = last(tuner("cma"), Surface(bowl, 2, fixed), [1.0, 1.0])
    assert [state.did for state in states] == ["start", "stopped: no weight can move"]


def test_a_single_weight_can_be_tuned():
    states = last(tuner("cma", generations=40), Surface(lambda w: abs(w[0] - 2.5) / 10, 1), [0.0])
    assert abs(states[-1].weights[0] - 2.5) < 0.05
