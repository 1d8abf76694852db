"""Zhao and Chen's Armijo simplex: every branch of a step and every rule worked by hand, its stops, its bounds."""

import numpy as np
import pytest

from luthier.landscape.bounds import Bounds
from luthier.tuning.base import tuner
from luthier.tuning.methods import armijo
from luthier.tuning.search.simplices import Simplex, first_simplex
from small_problems import Surface, last, random_problem

# One weight, from 0: its unit is 1, so the first simplex is {0, 1}; in all that follows 0 is the worst and 1
# the best vertex, so θ_o = θ_M = θ_1 = 1. The five points are reflected 1 + (1 − 0) = 2, expanded
# 1 + 2·(1 − 0) = 3, contracted 0 + 0.5·(1 − 0) = 0.5, from the worst 0 + 0.5·(1 − 0) = 0.5, from the
# reflected 2 + 0.5·(1 − 2) = 1.5. The line has the points 0.9^k·θ', k = 0 … 40.
START = [0.0]


def table(errors):
    """Return an error that is given at some points and 1 anywhere else."""
    return lambda w: errors.get(round(float(w[0]), 6), 1.0)


def one_step(error, **parameters):
    """Return what the first step did, the 40 points of its line over 0.9^k, and where it went."""
    problem = Surface(error, 1)
    seen = []
    original = problem.gains
    problem.gains = lambda points: seen.append(points[:, 0]) or original(points)
    states = last(tuner("armijo", limit=1, **parameters), problem, START)
    assert [len(points) for points in seen[:4]] == [
        1,
        2,
        5,
        40,
    ]  # start, first simplex, choice of θ', line from k = 1 on
    assert np.allclose(seen[2], [2, 3, 0.5, 0.5, 1.5])
    return states[2].did, seen[3] / 0.9 ** np.arange(1, 41), states[2]


def test_expansion():
    # |w − 10| / 10: S(0) = 1, S(1) = .9, S(2) = .8 < .9, S(3) = .7 < .8: θ' = 3, lowest at k = 0
    did, line, state = one_step(lambda w: abs(w[0] - 10) / 10)
    assert (did, round(line[0], 9), state.weights[0], state.gain) == ("expansion, step 0.9^0", 3.0, 3.0, -70.0)


def test_reflection_below_the_best_where_expansion_is_not_lower():
    # (w − 2)² / 4: S(0) = 1, S(1) = .25, S(2) = 0 < .25, S(3) = .25: θ' = 2
    did, line, state = one_step(lambda w: (w[0] - 2) ** 2 / 4)
    assert (did, round(line[0], 9), state.weights[0]) == ("reflection, step 0.9^0", 2.0, 2.0)


def test_reflection_between_the_best_and_the_second_worst():
    # (w − 1.5)²: S(1) = S(2) = .25, so S(θ_1) ≤ S(θ_r) ≤ S(θ_M): θ' = 2. Of 2, 1.8, 1.62, 1.458, 1.3122, …
    # the one nearest to 1.5 is the fourth, k = 3
    did, line, state = one_step(lambda w: (w[0] - 1.5) ** 2)
    assert did == "reflection, step 0.9^3"
    assert state.weights[0] == pytest.approx(1.458)
    assert np.allclose(line, 2.0)


def test_contraction():
    # |w − .6|: S(0) = .6, S(1) = .4, S(2) = 1.4 > .4, S(.5) = .1 < 1.4: θ' = .5
    did, line, state = one_step(lambda w: abs(w[0] - 0.6))
    assert (did, round(line[0], 9), state.weights[0]) == ("contraction, step 0.9^0", 0.5, 0.5)


def test_contraction_from_the_reflected_point_to_the_best():
    # S(.5) = .3 is not below S(2) = .2, and S(1.5) = .25 < S(.5) = .3: θ' = 1.5, which is below S(0) = .5
    did, line, state = one_step(table({0: 0.5, 1: 0.1, 2: 0.2, 0.5: 0.3, 1.5: 0.25}))
    assert (did, round(line[0], 9)) == ("contraction from the reflected to the best, step 0.9^0", 1.5)
    assert state.weights[0] == 1.0


def test_contraction_from_the_worst_point_to_the_best():
    # as before, but S(1.5) = .35 > S(.5) = .3: θ' = .5
    did, line, _ = one_step(table({0: 0.5, 1: 0.1, 2: 0.2, 0.5: 0.3, 1.5: 0.35}))
    assert (did, round(line[0], 9)) == ("contraction from the worst to the best, step 0.9^0", 0.5)


def test_in_the_plane_the_centre_is_the_mean_of_all_but_the_worst():
    # Vertices (0,0), (1,0), (0,1) of errors .3, .2, .1: θ_o = (.5, .5), reflected (1, 1), expanded (1.5, 1.5),
    # contracted (.25, .25), from the worst (0, .5), from the reflected (.5, 1)
    problem = Surface(lambda w: 1.0, 2)
    seen = []
    problem.gains = lambda points: seen.append(points) or -np.ones(len(points))
    simplex = Simplex(np.array([[0.0, 1], [1, 0], [0, 0]]), np.array([-10.0, -20, -30]))
    armijo._target(problem, simplex)
    assert np.allclose(seen[0], [[1, 1], [1.5, 1.5], [0.25, 0.25], [0, 0.5], [0.5, 1]])


# S(0) = .5, S(1) = .1; S(2) = .6, S(.5) = .4 < .6: a contraction, θ' = .5, d = .5. Along the line
# S(.5) = .4, S(.45) = .2, S(.405) = .2, S(.3645) = .3, and 1 further on: decreases .1, .3, .3, .2.
LINE = table({0: 0.5, 1: 0.1, 2: 0.6, 0.5: 0.4, 0.45: 0.2, 0.405: 0.2, 0.3645: 0.3})


@pytest.mark.parametrize(
    ("rule", "k"),
    [
        # the lowest error is .2, of the two points that have it the larger step
        ("lowest", 1),
        # η β^k (S(0) − S(1)) = .9·.4·β^k = .36, .324, .2916: reached by .1? .3? .3: k = 2
        ("sufficient", 2),
        # η ‖d‖² β^k = .9·.25·β^k = .225, .2025: reached by .1? no; .3: k = 1
        ("printed", 1),
    ],
)
def test_the_three_rules(rule, k):
    did, _, _ = one_step(LINE, rule=rule)
    assert did == f"contraction, step 0.9^{k}"


def test_errors_are_gains_over_100():
    # With d = .5 the printed rule asks for a decrease of .225 in the error on [0, 1]: .2 is too little for
    # k = 0 and k = 1 (.2025), enough for k = 2 (.18225).
    errors = {0: 0.5, 1: 0.1, 2: 0.6, 0.5: 0.3, 0.45: 0.3, 0.405: 0.3}
    assert one_step(table(errors), rule="printed")[0] == "contraction, step 0.9^2"


@pytest.mark.parametrize("rule", armijo.RULES)
def test_where_nothing_is_lower_the_worst_goes_half_way_to_the_best(rule):
    # S is 1 but for the two vertices: θ' = .5 (the two contractions are equal), no point is lower
    problem = Surface(table({0: 0.5, 1: 0.1}), 1)
    states = last(tuner("armijo", rule=rule, limit=3), problem, START)
    assert states[2].did == "contraction from the worst to the best: no such step is lower, half-way to the best"
    simplex, _ = first_simplex(problem, np.zeros(1), 1.0)
    halved = armijo._halfway(problem, simplex)
    assert (halved.vertices.tolist(), halved.gains.tolist()) == ([[1.0], [0.5]], [-10.0, -100.0])


def test_patience_with_half_way_moves_is_a_stop():
    states = last(tuner("armijo", patience=4, tolerance=0.0), Surface(table({0: 0.5, 1: 0.1}), 1), START)
    assert states[-1].did == "stopped: 4 half-way moves without a better vertex"
    assert sum("half-way to" in state.did for state in states) == 4


def test_moves_that_only_undo_half_way_moves_do_not_go_on_for_ever():
    rng = np.random.default_rng(3)
    rough = {tuple(key): value for key, value in zip(np.ndindex(40, 40), rng.random(1600), strict=True)}

    def error(w):
        return rough[tuple(np.clip(np.floor(8 * w + 20), 0, 39).astype(int))]

    states = last(tuner("armijo", tolerance=0.0), Surface(error, 2), [0.5, 0.5])
    assert states[-1].did.startswith("stopped: ")
    assert len(states) < 500


def test_a_small_simplex_is_a_stop():
    # vertices {1, 0} are 1 apart: 2·1² over both ordered pairs
    problem = Surface(lambda w: abs(w[0] - 10) / 10, 1)
    assert last(tuner("armijo", tolerance=2.0), problem, START)[-1].did == "stopped: the simplex is smaller than 2"
    assert "step" in last(tuner("armijo", tolerance=1.99, limit=1), problem, START)[2].did


def test_a_plateau_is_a_stop():
    states = last(tuner("armijo"), Surface(lambda w: 0.5, 3), [1.0, 1, 1])
    assert [s.did for s in states] == ["start", "first simplex", "stopped: all vertices have the same error"]


def test_it_goes_down_a_smooth_valley():
    def valley(w):
        return float((1 - w[0]) ** 2 + 5 * (w[1] - w[0] ** 2) ** 2) / 50

    states = last(tuner("armijo"), Surface(valley, 2), [-1.0, 0.8])
    assert states[-1].gain > states[0].gain / 20
    assert {state.did.partition(",")[0] for state in states} >= {"reflection", "contraction"}


@pytest.mark.parametrize("rule", armijo.RULES)
@pytest.mark.parametrize("seed", range(4))
def test_never_worse_than_the_start_exact_and_the_same_again(rule, seed):
    problem = random_problem(seed)
    states, again = (last(tuner("armijo", rule=rule), problem, [1.0, 0.5, -0.2]) for _ in range(2))
    gains = [state.gain for state in states]
    assert gains == sorted(gains)
    assert gains[-1] == problem.gain(states[-1].weights)
    assert [s.weights.tobytes() for s in states] == [s.weights.tobytes() for s in again]


@pytest.mark.parametrize("rule", armijo.RULES)
def test_no_rule_accepts_an_increase(rule):
    rng, problem = np.random.default_rng(0), random_problem(7)
    method = tuner("armijo", rule=rule)
    taken = 0
    for _ in range(60):
        simplex = Simplex.sorted(vertices := rng.normal(size=(4, 3)) / 10, problem.gains(vertices))
        end = rng.normal(size=3) / 10
        found = method._along(problem, simplex, (end, problem.gain(end)), np.ones(3))
        if found is not None:
            taken += 1
            assert found[2] > simplex.gains[-1]
    assert taken


def test_bounds_hold_at_every_step_and_fixed_weights_stay():
    bounds = Bounds(np.array([0.0, 0.7, -1.0]), np.array([0.5, 0.7, 1.0]))
    problem = Surface(lambda w: float(np.sum((w - [0.3, 5, 0.9]) ** 2)) / 100, 3, bounds)
    states = last(tuner("armijo"), problem, [0.5, 0.7, -1.0])
    assert all(bounds.allow(state.weights) for state in states)
    assert problem.batches[1] == 3  # two weights are free: three vertices
    assert states[-1].gain > states[0].gain


def test_in_effects_the_scale_of_the_weights_does_not_matter():
    problem, start = random_problem(2), np.array([1.0, 0.5, -0.2])
    for rule in armijo.RULES:
        method = tuner("armijo", distance="effects", rule=rule)
        plain, small = (last(method, problem, factor * start) for factor in (1.0, 2.0**-20))
        assert [(s.did, s.gain) for s in plain] == [(s.did, s.gain) for s in small]
        assert all(np.array_equal(2.0**-20 * a.weights, b.weights) for a, b in zip(plain, small, strict=True))
    assert last(tuner("armijo"), problem, 2.0**-20 * start)[-1].did == "stopped: the simplex is smaller than 1e-06"
