"""Grid search: against brute force, its refinement, its bounds, and the sizes it refuses."""

import itertools

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.landscape.bounds import Bounds
from luthier.tuning.base import tuner
from luthier.tuning.methods import grid
from luthier.tuning.methods.grid import Range, read_ranges
from luthier.tuning.run import run
from small_problems import Surface, last, problem_of, random_problem


@pytest.mark.parametrize("seed", range(6))
def test_a_full_grid_is_the_best_of_all_combinations(seed):
    problem, start = random_problem(seed), np.array([1.0, 0.5, -0.25])
    states = last(tuner("grid", mode="full", points=5, reach=2.0, rounds=0), problem, start)
    # start ± 2·|start| in 5 values: start + (−2, −1, 0, 1, 2)·|start|
    axes = [weight + np.array([-2, -1, 0, 1, 2]) * abs(weight) for weight in start]
    best = max(problem.gain(np.array(point)) for point in itertools.product(*axes))
    assert states[-1].gain == best == problem.gain(states[-1].weights)


def test_of_equal_points_the_nearest_wins_whatever_the_batches(monkeypatch):
    # better than the start only where the first weight is 2 or more: of 3 × 9 equal points (2, 1) is nearest
    def error(w):
        return 0.0 if w[0] >= 2 else 1.0

    found = []
    for batch in (1, 4, 7, 4096):
        monkeypatch.setattr(grid, "BATCH", batch)
        states = last(tuner("grid", mode="full", points=9, reach=4.0, rounds=0), Surface(error, 2), [1.0, 1.0])
        found.append(states[-1].weights.tolist())
    assert found == [[2.0, 1.0]] * 4


def test_refinement_narrows_to_one_spacing():
    # (w − 1.3)²: reach 1 about 1 in 5 values: .5 apart, best 1.5; then reach .5: .25 apart, best 1.25; then
    # reach .25: .125 apart, 1.25 (off by .05) beats 1.375 (.075)
    problem = Surface(lambda w: (w[0] - 1.3) ** 2, 1)
    states = last(tuner("grid", mode="full", points=5, rounds=2), problem, [1.0])
    assert [state.weights[0] for state in states] == [1.0, 1.5, 1.25, 1.25]


def test_coordinates_go_on_until_a_pass_brings_nothing():
    # 0.5·(a − 2)² + (b − a)²; in turn a, then b, on a grid of halves
    problem = Surface(lambda w: 0.5 * (w[0] - 2) ** 2 + (w[1] - w[0]) ** 2, 2)
    states = last(tuner("grid", points=5, rounds=0, passes=50), problem, [1.0, 1.0])
    assert states[-1].gain == states[-2].gain > states[0].gain
    here = states[-1].weights
    for d, move in itertools.product(range(2), (-1.0, -0.5, 0.5, 1.0)):
        other = here.copy()
        other[d] += move
        assert problem.gain(other) <= states[-1].gain


def test_only_the_named_features_move_and_a_zero_start_has_the_effect_as_unit():
    problem = problem_of(
        [[[0, 0, 1], [1, 1, 0]], [[1, 0, 0], [0, 2, 1]]], [[0, 1], [0, 1]], names=["lm", "tm", "length"]
    )
    states = last(tuner("grid", features="tm , tm", points=21), problem, [1.0, 0.0, 1.0])
    assert states[-1].weights[[0, 2]].tolist() == [1.0, 1.0]
    assert states[-1].gain == 1.0 > states[0].gain


def test_effects_as_units():
    # both features spread by 1 in the surface's list: a unit is the mean of 1 and 3
    problem = Surface(lambda w: 0.0 if w[0] == 3.0 else 1.0, 2)
    states = last(tuner("grid", unit="effect", points=3, rounds=0), problem, [1.0, 3.0])
    assert states[-1].weights.tolist() == [3.0, 3.0]


def test_bounds_hold_and_fixed_weights_stay():
    bounds = Bounds(np.array([0.0, 0.5, -1]), np.array([0.75, 0.5, 1]))
    for mode in ("full", "coordinate"):
        problem = Surface(lambda w: float(np.sum((w - 2) ** 2)), 3, bounds)
        states = last(tuner("grid", mode=mode, points=5), problem, [0.5, 0.5, 0.5])
        assert states[-1].weights.tolist() == [0.75, 0.5, 1.0]
        assert all(bounds.allow(state.weights) for state in states)
    fixed = Surface(lambda w: 1.0, 2, Bounds(np.ones(2), np.ones(2)))
    assert last(tuner("grid"), fixed, [1.0, 1.0])[-1].did == "stopped: no weight can move"


def test_absurd_sizes_and_wrong_names_are_refused():
    problem = random_problem(0, features=8)
    with pytest.raises(LuthierError, match=r"11 values of 8 weights has 2\.1e\+08 points, more than 1,000,000\. hint"):
        run(tuner("grid", mode="full"), problem)
    with pytest.raises(LuthierError, match="values of 8 weights"):
        run(tuner("grid", mode="full", points=100_001), problem)
    assert tuner("grid", mode="full", features="f0,f1").refuses(problem) == ""
    assert tuner("grid").refuses(problem) == ""
    with pytest.raises(LuthierError, match=r"grid cannot be used here: .*'f9'"):
        run(tuner("grid", features="f1,f9"), problem)
    fixed = problem.with_bounds(Bounds.from_names(problem.names, {"f1": (1.0, 1.0)}))
    with pytest.raises(LuthierError, match="the weight of 'f1' is fixed"):
        run(tuner("grid", features="f1"), fixed)


@pytest.mark.parametrize("mode", ["full", "coordinate"])
def test_never_worse_than_the_start_exact_and_the_same_again(mode):
    problem = random_problem(11)
    states, again = (last(tuner("grid", mode=mode, points=4), problem, [1.0, 0.5, -0.2]) for _ in range(2))
    gains = [state.gain for state in states]
    assert gains == sorted(gains)
    assert gains[-1] == problem.gain(states[-1].weights)
    assert [s.weights.tobytes() for s in states] == [s.weights.tobytes() for s in again]


def test_ranges_give_the_first_grid_by_its_ends():
    assert read_ranges(" a=0:2:3 , b=c=-1:1:2") == {"a": Range(0, 2, 3), "b=c": Range(-1, 1, 2)}
    for wrong in ("a", "a=0:2", "a=2:0:3", "a=0:2:1", "=0:1:3", "a=0:1:3,a=0:1:3", "a=0:inf:3", "a=x:1:3", "a=0:1:2.5"):
        with pytest.raises(LuthierError, match="expected a range"):
            read_ranges(wrong)
    name = Surface(lambda w: (w[0] - 1.3) ** 2, 2).names[0]
    states = last(tuner("grid", range=f"{name}=0:2:5", rounds=0), Surface(lambda w: (w[0] - 1.3) ** 2, 2), [50.0, 7.0])
    assert states[-1].weights.tolist() == [1.5, 7.0]  # of 0, 0.5, 1, 1.5, 2; the other weight has no range
    # then half a spacing to each side of the best, in 5 values: 1, 1.25, 1.5, 1.75, 2
    states = last(tuner("grid", range=f"{name}=0:2:5", rounds=1), Surface(lambda w: (w[0] - 1.3) ** 2, 2), [50.0, 7.0])
    assert states[-1].weights.tolist() == [1.25, 7.0]
    refused = tuner("grid", range="nobody=0:1:3").refuses(Surface(lambda w: w[0], 2))
    assert "no feature is called 'nobody'" in refused
