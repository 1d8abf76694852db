"""Zhao and Chen's Armijo simplex: every branch of a step and every rule worked by hand, its stops, its bounds."""

import numpy as np
import pytest

from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.tuning.base import tuner
from luthier.tuning.methods import armijo
from luthier.tuning.search.simplices import Simplex, first_simplex
from small_problems import Surface, last, random_problem

# One weight, from 0: its unit is 1, so the first simplex is {0, 1}; in all that follows 0 is the worst and 1
# the best vertex, so θ_o = θ_M = θ_1 = 1. Points that may be tried are reflected 1 + (1 − 0) = 2, expanded
# 1 + 2·(1 − 0) = 3, contracted 0 + 0.5·(1 − 0) = 0.5, from the worst 0 + 0.5·(1 − 0) = 0.5, from the
# reflected 2 + 0.5·(1 − 2) = 1.5. The line has the points 0.9^k·θ', k = 0 … 40.
START = [0.0]


def table(errors):
    """Return an error that is given at some points and 1 anywhere else."""
    return lambda w: errors.get(round(float(w[0]), 6), 1.0)


def one_step(error, **parameters):
    """Return what the first step did, θ' where the 40 shorter steps were tried too (else None), and where it went."""
    problem = Surface(error, 1)
    seen = []
    original = problem.gains
    problem.gains = lambda points: seen.append(points[:, 0]) or original(points)
    states = last(tuner("armijo", limit=1, **parameters), problem, START)
    assert [len(points) for points in seen[:3]] == [1, 2, 1]  # start, first simplex, θ_r
    singles = [float(points[0]) for points in seen[2:] if len(points) == 1]
    assert singles[0] == 2
    assert singles[1:2] in ([], [3.0], [0.5])  # expanded or contracted
    lines = [points for points in seen[3:] if len(points) > 1]
    if not lines:
        assert singles[2:] in ([], [0.5, 1.5])
        return states[2].did, None, states[2]
    (line,) = lines
    line = line / 0.9 ** np.arange(1, 41)
    assert np.allclose(line, line[0])
    return states[2].did, round(float(line[0]), 9), states[2]


def test_expansion():
    # |w − 10| / 10: S(0) = 1, S(1) = .9, S(2) = .8 < .9, S(3) = .7 < .8: θ' = 3, which is accepted as it is
    did, line, state = one_step(lambda w: abs(w[0] - 10) / 10)
    assert (did, line, state.weights[0], state.gain) == ("expansion, step 0.9^0", None, 3.0, -70.0)


def test_reflection_below_the_best_where_expansion_is_not_lower():
    # (w − 2)² / 4: S(0) = 1, S(1) = .25, S(2) = 0 < .25, S(3) = .25: θ' = 2
    did, line, state = one_step(lambda w: (w[0] - 2) ** 2 / 4)
    assert (did, line, state.weights[0]) == ("reflection, step 0.9^0", None, 2.0)


def test_reflection_between_the_best_and_the_second_worst():
    # (w − 1.5)²: S(0) = 2.25, S(1) = S(2) = .25, so S(θ_1) ≤ S(θ_r) ≤ S(θ_M): θ' = 2
    problem = Surface(lambda w: (w[0] - 1.5) ** 2, 1)
    simplex, _ = first_simplex(problem, np.zeros(1), 1.0)
    (target, _), move = armijo._target(problem, simplex)
    assert (target[0], move) == (2.0, "reflection")
    assert one_step(lambda w: (w[0] - 1.5) ** 2)[0] == "reflection, step 0.9^0"


def test_contraction():
    # |w − .6|: S(0) = .6, S(1) = .4, S(2) = 1.4 > .4, S(.5) = .1 < 1.4: θ' = .5
    did, line, state = one_step(lambda w: abs(w[0] - 0.6))
    assert (did, line, state.weights[0]) == ("contraction, step 0.9^0", None, 0.5)


def test_contraction_from_the_reflected_point_to_the_best():
    # S(.5) = .3 is not below S(2) = .2, and S(1.5) = .25 < S(.5) = .3: θ' = 1.5, which is below S(0) = .5
    did, _, state = one_step(table({0: 0.5, 1: 0.1, 2: 0.2, 0.5: 0.3, 1.5: 0.25}))
    assert did == "contraction from the reflected to the best, step 0.9^0"
    assert state.weights[0] == 1.0


def test_contraction_from_the_worst_point_to_the_best():
    # as before, but S(1.5) = .35 > S(.5) = .3: θ' = .5
    did, _, _ = one_step(table({0: 0.5, 1: 0.1, 2: 0.2, 0.5: 0.3, 1.5: 0.35}))
    assert did == "contraction from the worst to the best, step 0.9^0"


def test_in_the_plane_the_centre_is_the_mean_of_all_but_the_worst():
    # Vertices (0,0), (1,0), (0,1) of errors .3, .2, .1: θ_o = (.5, .5), reflected (1, 1), expanded (1.5, 1.5),
    # contracted (.25, .25), from the worst (0, .5), from the reflected (.5, 1)
    problem = Surface(lambda w: 1.0, 2)
    seen = []
    problem.gains = lambda points: seen.extend(points) or -40 * np.ones(len(points))
    simplex = Simplex(np.array([[0.0, 1], [1, 0], [0, 0]]), np.array([-10.0, -20, -30]))
    armijo._target(problem, simplex)
    assert np.allclose(seen, [[1, 1], [0.25, 0.25], [0, 0.5], [0.5, 1]])
    seen.clear()
    problem.gains = lambda points: seen.extend(points) or -np.ones(len(points))
    armijo._target(problem, simplex)
    assert np.allclose(seen, [[1, 1], [1.5, 1.5]])


# S(0) = .5, S(1) = .1; S(2) = .6, S(.5) = .4 < .6: a contraction, θ' = .5, d = .5. Along the line
# S(.5) = .4, S(.45) = .2, S(.405) = .2, S(.3645) = .3, and 1 further on: decreases .1, .3, .3, .2.
LINE = table({0: 0.5, 1: 0.1, 2: 0.6, 0.5: 0.4, 0.45: 0.2, 0.405: 0.2, 0.3645: 0.3})


@pytest.mark.parametrize(
    ("parameters", "k"),
    [
        ({"rule": "largest"}, 0),  # .1 is a decrease
        ({"rule": "printed", "scale": 1.0}, 1),  # η ‖d‖² β^k = .9·.25·β^k = .225, .2025: reached by .1? no; .3: k = 1
        ({"rule": "printed", "scale": 0.5}, 0),  # a quarter of that is .05625, below .1
        ({"rule": "printed"}, 0),
    ],
)
def test_the_rules(parameters, k):
    did, _, _ = one_step(LINE, **parameters)
    assert did == f"contraction, step 0.9^{k}"


def test_the_largest_step_that_is_lower_is_found_among_the_shorter_ones():
    # S(.5) = .5 is no decrease, S(.45) = .6 is an increase, S(.405) = .49 is the first that is lower
    errors = {0: 0.5, 1: 0.1, 2: 0.6, 0.5: 0.5, 0.45: 0.6, 0.405: 0.49, 0.3645: 0.2}
    did, line, _ = one_step(table(errors), rule="largest")
    assert (did, line) == ("contraction, step 0.9^2", 0.5)


def test_errors_are_gains_over_100():
    # With d = .5 the printed rule asks for a decrease of .225 in the error on [0, 1]: .2 is too little for
    # k = 0 and k = 1 (.2025), enough for k = 2 (.18225).
    errors = {0: 0.5, 1: 0.1, 2: 0.6, 0.5: 0.3, 0.45: 0.3, 0.405: 0.3}
    assert one_step(table(errors), rule="printed", scale=1.0)[0] == "contraction, step 0.9^2"


@pytest.mark.parametrize("rule", armijo.RULES)
def test_where_nothing_is_lower_the_worst_goes_half_way_to_the_best(rule):
    # S is 1 but for the two vertices: θ' = .5 (the two contractions are equal), no point is lower
    problem = Surface(table({0: 0.5, 1: 0.1}), 1)
    states = last(tuner("armijo", rule=rule, limit=3), problem, START)
    assert states[2].did == "contraction from the worst to the best: no such step is lower, half-way to the best"
    simplex, _ = first_simplex(problem, np.zeros(1), 1.0)
    halved = armijo._halfway(problem, simplex)
    assert (halved.vertices.tolist(), halved.gains.tolist()) == ([[1.0], [0.5]], [-10.0, -100.0])


def test_patience_with_steps_that_find_nothing_better_is_a_stop():
    states = last(tuner("armijo", patience=4, tolerance=0.0), Surface(table({0: 0.5, 1: 0.1}), 1), START)
    assert states[-1].did == "stopped: 4 steps without a better vertex"
    assert sum("half-way to" in state.did for state in states) == 4


def test_moves_that_only_undo_half_way_moves_do_not_go_on_for_ever():
    rng = np.random.default_rng(3)
    rough = {tuple(key): value for key, value in zip(np.ndindex(40, 40), rng.random(1600), strict=True)}

    def error(w):
        return rough[tuple(np.clip(np.floor(8 * w + 20), 0, 39).astype(int))]

    states = last(tuner("armijo", tolerance=0.0, patience=50), Surface(error, 2), [0.5, 0.5])
    assert states[-1].did.startswith("stopped: ")
    assert len(states) < 1000


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


class PointByPoint(ListProblem):
    """The same lists, every point of a line re-ranked."""

    gains_along = Problem.gains_along


@pytest.mark.parametrize("rule", armijo.RULES)
def test_the_line_search_takes_the_steps_that_re_ranking_every_point_takes(rule):
    shorter = 0
    for seed in range(6):
        problem = random_problem(seed, sentences=40, k=30, features=5)
        plain = PointByPoint(problem.pool, problem.metric, problem.stats, problem.bounds)
        start = np.random.default_rng(seed).normal(size=problem.n_features)
        ours, theirs = (last(tuner("armijo", rule=rule), each, start) for each in (problem, plain))
        assert [state.did for state in ours] == [state.did for state in theirs]
        assert [state.weights.tobytes() for state in ours] == [state.weights.tobytes() for state in theirs]
        shorter += sum("step 0.9^" in state.did and "0.9^0" not in state.did for state in ours)
    assert shorter > 10


@pytest.mark.parametrize("rule", armijo.RULES)
def test_no_rule_accepts_an_increase(rule):
    rng, problem = np.random.default_rng(0), random_problem(7)
    method = tuner("armijo", rule=rule)
    taken = 0
    for _ in range(60):
        simplex = Simplex.sorted(vertices := rng.normal(size=(4, 3)) / 10, problem.gains(vertices))
        after, did = method.step(problem, simplex, np.ones(3))
        if "half-way" not in did:
            taken += 1
            assert sorted(after.gains) > sorted(simplex.gains)
            assert after.gains.min() > simplex.gains[-1] or simplex.gains[-2] == simplex.gains[-1]
    assert taken


def test_bounds_hold_at_every_step_and_fixed_weights_stay():
    bounds = Bounds(np.array([0.0, 0.7, -1.0]), np.array([0.5, 0.7, 1.0]))
    problem = Surface(lambda w: float(np.sum((w - [0.3, 5, 0.9]) ** 2)) / 100, 3, bounds)
    states = last(tuner("armijo"), problem, [0.5, 0.7, -1.0])
    assert all(bounds.allow(state.weights) for state in states)
    assert problem.batches[1] == 3  # two weights are free: three vertices
    assert states[-1].gain > states[0].gain


@pytest.mark.parametrize("rule", armijo.RULES)
def test_the_length_of_the_weights_does_not_matter(rule):
    problem, start = random_problem(2), np.array([1.0, 0.5, -0.2])
    plain, short, long = (last(tuner("armijo", rule=rule), problem, f * start) for f in (1.0, 2.0**-20, 2.0**20))
    for other, factor in ((short, 2.0**-20), (long, 2.0**20)):
        assert [(s.did, s.gain) for s in plain] == [(s.did, s.gain) for s in other]
        assert all(np.array_equal(factor * a.weights, b.weights) for a, b in zip(plain, other, strict=True))


@pytest.mark.parametrize("name", ["armijo", "simplex"])
def test_a_simplex_opens_again_while_that_helps(name):
    problem, start = random_problem(5), [1.0, 0.5, -0.2]
    once, often, endless = (last(tuner(name, reopen=n), problem, start) for n in (0, 1, 1000))
    assert not any("opened again" in state.did for state in once)
    assert [s.did for s in often[: len(once) - 1]] == [s.did for s in once[:-1]]
    opened = [state.gain for state in endless if "opened again" in state.did]
    assert sum("opened again" in state.did for state in often) == 1
    assert len(opened) > 1
    assert endless[-1].gain == opened[-1] > once[-1].gain  # the last opening found nothing better
    assert endless[-1].did.startswith("stopped: ")
