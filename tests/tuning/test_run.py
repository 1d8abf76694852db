"""The runner: restarts, threads, the held-out choice, patience, interruption."""

import itertools

import numpy as np
import pytest
from toys import Cut, Scripted, Wanderer, content, cut_after

from luthier.core.errors import Interrupted, LuthierError
from luthier.landscape.bounds import Bounds
from luthier.tuning.answer import End, choose_end
from luthier.tuning.base import tuner
from luthier.tuning.run import RunOptions, run, run_tuner
from small_problems import problem_of, random_problem

START = np.array([1.0, 0.5, -0.2])


@pytest.mark.parametrize("kind", ["random", "perturbed", "few", "walk"])
def test_the_number_of_threads_does_not_matter(kind):
    problem, heldout = random_problem(1), random_problem(2)
    results = [
        run(Wanderer(), problem, START, RunOptions(restarts=7, restart_kind=kind, threads=threads), heldout=heldout)
        for threads in (1, 2, 5)
    ]
    assert content(results[0]) == content(results[1]) == content(results[2])
    assert len(results[0].traces) == 8


def test_a_run_is_the_same_whatever_runs_beside_it():
    problem = random_problem(1)
    few, many = (run(Wanderer(), problem, START, RunOptions(seed=4, restarts=n)) for n in (2, 6))
    assert content(few)[-1] == content(many)[-1][:3]
    other = run(Wanderer(), problem, START, RunOptions(seed=5, restarts=2))
    assert content(other)[-1] != content(few)[-1]


def test_the_best_run_wins_and_the_first_of_equals():
    result = run(Wanderer(), random_problem(1), START, RunOptions(restarts=9))
    ends = [trace.states[-1].gain for trace in result.traces]
    assert result.gain == max(ends)
    assert result.best_restart == ends.index(max(ends))
    assert result.agreed == ends.count(max(ends))
    assert result.start_gain == random_problem(1).gain(START)
    assert not result.interrupted


def test_the_first_run_begins_at_the_start_and_the_default_is_equal_weights():
    result = run(Wanderer(count=1), random_problem(1), START)
    assert result.traces[0].states[0].weights.tolist() == START.tolist()
    assert run(Wanderer(count=1), random_problem(1)).traces[0].states[0].weights.tolist() == [1.0, 1.0, 1.0]


# One sentence, candidates (1) and (−1): a positive weight selects the first, a negative one the second.
# Two more, scaled: weights above 2 turn them round.
def by_first_weight(worths):
    """Return a problem whose gain is worths[0] below −1, worths[1] to 0, worths[2] to 1, worths[3] above."""
    # −x² + 2wx is highest at x = w: of x = −1.5, −.5, .5, 1.5 the nearest to w is selected
    places = np.array([-1.5, -0.5, 0.5, 1.5])
    rows = np.column_stack([2 * places, -(places**2)])
    return problem_of([rows], [worths])


WAY = "-2 -0.4 0.4 2 0.3 2 -2"
FIXED = np.array([0.0, 1.0])


def test_the_answer_is_the_last_state_or_on_request_the_best_on_the_held_out_set():
    problem, heldout = by_first_weight([1, 2, 3, 4]), by_first_weight([5, 6, 9, 7])
    plain = run(Scripted(way=WAY), problem, FIXED)
    assert (plain.weights[0], plain.gain, plain.heldout_gain) == (-2.0, 1.0, None)
    watched = run(Scripted(way=WAY), problem, FIXED, heldout=heldout)
    assert (watched.weights[0], watched.gain, watched.heldout_gain) == (-2.0, 1.0, 5.0)
    watched = run(Scripted(way=WAY), problem, FIXED, RunOptions(heldout_choice="states"), heldout=heldout)
    # 0.4 and 0.3 both have the highest gain, 9, on the held-out set: the earlier is chosen
    assert (watched.weights[0], watched.gain, watched.heldout_gain) == (0.4, 3.0, 9.0)
    assert watched.traces[0].heldout_gains == (5.0, 6.0, 9.0, 7.0, 9.0, 7.0, 5.0)
    assert watched.start_heldout_gain == heldout.gain(FIXED)


def test_patience_counts_steps_since_the_best_on_the_held_out_set():
    problem, heldout = by_first_weight([1, 2, 3, 4]), by_first_weight([5, 6, 9, 7])
    for patience, states in ((1, 4), (2, 5), (3, 6), (4, 7), (0, 7)):
        options = RunOptions(heldout_patience=patience)
        result = run(Scripted(way=WAY), problem, FIXED, options, heldout=heldout)
        assert len(result.traces[0].states) == states
        assert result.traces[0].finished
        assert result.weights[0] == (0.4 if patience else -2.0)  # patience goes back to the best
    # without a held-out set there is nothing to be impatient about
    assert len(run(Scripted(way=WAY), problem, FIXED, RunOptions(heldout_patience=1)).traces[0].states) == 7


def test_runs_are_compared_on_the_held_out_set():
    problem, heldout = random_problem(1), random_problem(2)
    result = run(Wanderer(), problem, START, RunOptions(restarts=6), heldout=heldout)
    ends = [End(t.states[-1].weights, t.states[-1].gain, t.heldout_gains[-1]) for t in result.traces]
    start = End(START, problem.gain(START), heldout.gain(START))
    assert result.best_restart == choose_end(ends, start, heldout)[0]
    assert result.heldout_gain == heldout.gain(result.weights)
    assert result.gain == problem.gain(result.weights)


def test_a_walk_begins_where_the_run_before_ended():
    problem = random_problem(1)
    options = RunOptions(restarts=5, restart_kind="walk", restart_size=0.0)
    traces = run(Wanderer(), problem, START, options).traces
    for before, after in itertools.pairwise(traces):
        assert after.states[0].weights.tolist() == before.states[-1].weights.tolist()
    # with a held-out set, at the answer it chose
    traces = run(Wanderer(), problem, START, options, heldout=random_problem(2)).traces
    for before, after in itertools.pairwise(traces):
        assert after.states[0].weights.tolist() == before.states[before.chosen].weights.tolist()


@pytest.mark.parametrize("kind", ["random", "walk"])
@pytest.mark.parametrize("what", ["interrupt", "signal"])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interruption_keeps_the_best_so_far(what, kind, threads):
    problem = random_problem(1)
    options = RunOptions(restarts=5, restart_kind=kind, threads=threads)
    whole = content(run(Cut(), problem, START, options))[-1]
    result = run(cut_after(15, what), problem, START, options)
    assert result.interrupted
    assert result.gain == max(trace.states[-1].gain for trace in result.traces) == problem.gain(result.weights)
    assert len(result.traces) < 6
    assert not all(trace.finished for trace in result.traces)
    for number, states, _ in content(result)[-1]:
        assert states == whole[number][1][: len(states)]  # as far as it went, the same way


def test_from_python_an_interruption_is_raised_with_the_best_so_far():
    problem = random_problem(1)
    with pytest.raises(Interrupted) as stopped:
        run_tuner(cut_after(3, "interrupt", count=10_000), problem, START)
    assert stopped.value.result.interrupted
    assert stopped.value.result.gain == max(state.gain for state in stopped.value.result.traces[0].states)
    assert content(run_tuner(Wanderer(), problem, START)) == content(run(Wanderer(), problem, START))


def test_an_interruption_in_the_first_step_keeps_the_start():
    result = run(cut_after(1), random_problem(1), START)
    assert result.interrupted
    assert result.weights.tolist() == START.tolist()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_a_tuner_ends_all_runs(threads):
    tuner = cut_after(3, "error", count=10_000, pause=0.0005)
    with pytest.raises(LuthierError, match="something is wrong"):
        run(tuner, random_problem(1), START, RunOptions(restarts=50, threads=threads))
    assert tuner.fuse.left > -200


def test_starts_that_cannot_be_are_refused():
    problem = random_problem(1)
    with pytest.raises(LuthierError, match="expected 3 finite start weights"):
        run(Wanderer(), problem, np.ones(2))
    with pytest.raises(LuthierError, match="expected 3 finite start weights"):
        run(Wanderer(), problem, np.array([1.0, np.nan, 1.0]))
    bounded = problem.with_bounds(Bounds(np.zeros(3), np.ones(3)))
    with pytest.raises(LuthierError, match="outside their bounds"):
        run(Wanderer(), bounded, START)
    with pytest.raises(LuthierError, match="other features"):
        run(Wanderer(), problem, START, heldout=random_problem(1, features=2))


def test_a_start_may_be_weights_by_name_and_stays_as_it_was():
    problem, start = random_problem(1), START.copy()
    by_name = dict(zip(problem.names, start.tolist(), strict=True))
    assert content(run(Wanderer(), problem, by_name)) == content(run(Wanderer(), problem, start))
    assert start.flags.writeable
    assert start.tolist() == START.tolist()


def test_what_is_no_tuner_problem_or_start_is_refused():
    problem = random_problem(1)
    with pytest.raises(LuthierError, match=r"expected a tuner, found 'mert'\. hint: luthier\.tuner makes one"):
        run("mert", problem)
    with pytest.raises(LuthierError, match=r"expected a problem, found Pool\. hint: luthier\.ListProblem\.of"):
        run(Wanderer(), problem.pool)
    with pytest.raises(LuthierError, match=r"expected weights by name or an array of numbers, found 'weights\.txt'"):
        run(Wanderer(), problem, "weights.txt")


def test_restarts_stay_inside_the_bounds():
    bounds = Bounds(np.array([0.5, 0.5, -1.0]), np.array([2.0, 0.5, 0.0]))
    problem = random_problem(1, bounds=bounds)
    for kind in ("random", "perturbed", "few", "walk"):
        result = run(Wanderer(), problem, START, RunOptions(restarts=8, restart_kind=kind, restart_size=3.0))
        assert all(bounds.allow(state.weights) for trace in result.traces for state in trace.states)


def test_the_start_is_neither_changed_nor_kept():
    start = START.copy()
    run(Wanderer(), random_problem(1), start, RunOptions(restarts=2))
    assert start.tolist() == START.tolist()
    assert start.flags.writeable


@pytest.mark.parametrize("name", ["simplex", "armijo", "grid", "random"])
def test_real_tuners_do_not_depend_on_threads_either(name):
    options = [RunOptions(restarts=3, restart_kind="few", threads=threads) for threads in (1, 2)]
    first, second = (run(tuner(name), random_problem(3), START, each) for each in options)
    assert content(first) == content(second)
