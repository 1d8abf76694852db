"""LP-MERT: the optimum of brute force and of the whole plane; oracles within reach; honest about what is proven."""

import dataclasses
import itertools
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

from luthier.kbest.storage.pool_file import save_pool
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import tuner
from luthier.tuning.methods.lp_mert import Additive
from small_problems import last, problem_of, random_problem


def margin_of(rows):
    """Return max t with rows·w ≤ −t, |w_k| ≤ 1: the rows can be satisfied strictly iff it is positive."""
    m, n = rows.shape
    table, bounds = np.column_stack([rows, np.ones(m)]), [(-1, 1)] * n + [(None, 100)]
    return -linprog(np.append(np.zeros(n), -1.0), A_ub=table, b_ub=np.zeros(m), bounds=bounds).fun


def rows_of_selection(problem, rows):
    """Return what weights must satisfy to select given rows: h_j − h_i, equal vectors left out."""
    features = problem.pool.features.dense
    parts = [features[a:b] - features[r] for (a, b), r in zip(itertools.pairwise(problem.offsets), rows, strict=True)]
    differences = np.concatenate(parts)
    return differences[np.any(differences != 0, axis=1)]


def brute_force(problem):
    """Return the highest gain of all index vectors that some weights select strictly."""
    features = problem.pool.features.dense
    lists = [range(a, b) for a, b in itertools.pairwise(problem.offsets.tolist())]
    lowest = [[r for r in own if not np.any(np.all(features[own.start : r] == features[r], axis=1))] for own in lists]
    best = -np.inf
    for rows in itertools.product(*lowest):
        gain = float(problem.gain_of_sums(problem.stats[list(rows)].sum(axis=0)))
        if gain > best:
            needed = rows_of_selection(problem, rows)
            best = gain if not len(needed) or margin_of(needed) > 1e-7 else best
    return best


def best_of_all_directions(problem, step=1e-5):
    """Return the highest gain over D = 3: a step into every sector about every crossing of two boundaries."""
    features = problem.pool.features.dense
    pairs = [itertools.combinations(range(a, b), 2) for a, b in itertools.pairwise(problem.offsets.tolist())]
    walls = np.array([features[i] - features[j] for i, j in itertools.chain(*pairs)])
    walls = walls[np.any(walls != 0, axis=1)]
    points = []
    for a, b in itertools.combinations(walls, 2):
        corner = np.cross(a, b)
        if not np.any(corner):
            continue
        corner /= np.linalg.norm(corner)
        across = walls[np.abs(walls @ corner) < 1e-12]
        one = np.cross(corner, across[0]) / np.linalg.norm(across[0])
        other = np.cross(corner, one)
        along = np.cross(corner, across)  # each wall seen from the corner is a line along this
        angles = np.unique(np.round(np.arctan2(along @ other, along @ one) % np.pi, 12))
        angles = np.concatenate([angles, angles + np.pi])
        middles = (angles + np.roll(angles, -1)) / 2 + np.pi * (np.arange(len(angles)) == len(angles) - 1)
        for sign in (1, -1):
            points += [sign * corner + step * (np.cos(t) * one + np.sin(t) * other) for t in middles]
    return problem.gains(np.array(points)).max()


def check_answer(problem, states):
    """The answer is proven, keeps its promise, and no boundary is near."""
    answer = states[-1]
    assert "proven" in answer.note
    assert "not proven" not in answer.note
    assert answer.gain == problem.gain(answer.weights)
    assert answer.objective == pytest.approx(answer.gain, abs=1e-9)
    return answer


@pytest.mark.parametrize("search", ["cones", "halves"])
@pytest.mark.parametrize("seed", range(8))
def test_it_finds_what_brute_force_finds(seed, search):
    d = 2 + seed % 3
    rng = np.random.default_rng(seed)
    lists = [rng.integers(-2, 3, (k, d)) for k in rng.integers(1, 5, 4)]
    problem = problem_of(lists, [rng.integers(0, 5, len(rows)) for rows in lists])
    # the start may be a tie that no weights select strictly, and is then better than all of them
    states = last(tuner("lp-mert", algorithm=search, climbs=1), problem, rng.standard_normal(d))
    assert check_answer(problem, states).gain == pytest.approx(brute_force(problem), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_three_features_are_the_whole_plane(seed):
    problem = random_problem(seed, sentences=4, k=4, features=3)
    answer = check_answer(problem, last(tuner("lp-mert", climbs=0), problem, [0.3, -1.1, 0.7]))
    assert answer.gain == pytest.approx(best_of_all_directions(problem), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_never_worse_than_mert(seed):
    problem = random_problem(seed, sentences=10, k=10, features=4)
    start = np.ones(4)
    answer = check_answer(problem, last(tuner("lp-mert", climbs=0), problem, start))
    others = [
        last(tuner("mert", directions=kind), problem, start, s)[-1].gain for kind in ("both", "powell") for s in (0, 1)
    ]
    assert answer.gain >= max(others) - 1e-9


def test_without_a_climb_the_search_finds_more_than_its_start():
    problem = random_problem(1, sentences=12, k=12, features=3)
    states = last(tuner("lp-mert", climbs=0), problem, np.ones(3))
    assert states[-1].gain > states[0].gain
    assert [state.did for state in states[:2]] == ["start", "line searches"]


def oracle_within_reach(seed, *, sentences=6, k=6, d=4):
    """Return a problem whose best hypotheses are all selected by some weights, and these rows."""
    rng = np.random.default_rng(seed)
    lists, truth = rng.standard_normal((sentences, k, d)), rng.standard_normal(d)
    worths = rng.integers(0, 60, (sentences, k)).astype(float)
    tops = np.argmax(lists @ truth, axis=1)
    worths[np.arange(sentences), tops] = 90.0
    return problem_of(list(lists), list(worths)), tops + k * np.arange(sentences)


@pytest.mark.parametrize("seed", range(3))
def test_an_oracle_within_reach_is_found_and_by_hard_margin_mira_too(seed):
    problem, rows = oracle_within_reach(seed)
    assert margin_of(rows_of_selection(problem, rows)) > 0
    start = np.array([1.0, 0.0, 0.0, 0.0])
    assert problem.gain(start) < 90.0
    hard = tuner(
        "mira", c=1e9, oracle="gain", conditions=0, background=False, average="none", epochs=200, sweeps=1000,
        tolerance=1e-6,
    )  # fmt: skip
    for method in (tuner("lp-mert"), hard):
        answer = last(method, problem, start)[-1]
        assert answer.gain == 90.0
        assert problem.select(answer.weights).tolist() == rows.tolist()


def pair_rows(problem):
    """Return what PRO asks of weights: every hypothesis before all of its list that are worth less."""
    features, gains = problem.pool.features.dense, problem.sentence_gains
    rows = []
    for a, b in itertools.pairwise(problem.offsets.tolist()):
        rows += [features[j] - features[i] for i, j in itertools.permutations(range(a, b), 2) if gains[i] > gains[j]]
    return np.array(rows)


def test_the_oracle_can_be_within_reach_where_the_pairs_of_pro_contradict_each_other():
    # In each list the best is outermost, but the second best lies behind the worst.
    lists = [[[2, 1], [0, 0], [1, 0.5]], [[1, 2], [0, 0], [0.5, 1]]]
    problem = problem_of(lists, [[100, 50, 0], [100, 50, 0]])
    assert margin_of(rows_of_selection(problem, [0, 3])) > 0
    assert margin_of(pair_rows(problem)) <= 1e-9
    answer = last(tuner("lp-mert"), problem, [-1.0, -1.0])[-1]
    assert answer.gain == 100.0


@pytest.mark.parametrize("seed", range(20))
def test_where_the_pairs_can_be_ordered_the_oracle_is_within_reach(seed):
    rng = np.random.default_rng(seed)
    lists, truth = rng.standard_normal((2, 4, 3)), rng.standard_normal(3)
    worths = 50 + 10 * lists @ truth + (seed % 2) * rng.normal(size=(2, 4)) * 5
    problem = problem_of(list(lists), list(worths))
    if margin_of(pair_rows(problem)) > 1e-9:
        oracle = [int(np.argmax(w)) + 4 * s for s, w in enumerate(worths)]
        assert margin_of(rows_of_selection(problem, oracle)) > 0
        assert last(tuner("lp-mert"), problem, [1.0, 0.0, 0.0])[-1].gain == pytest.approx(worths.max(axis=1).mean())
    else:
        assert seed % 2


def pool_of_texts(**options):
    return SyntheticLists(sentences=6, k=8, n_features=3, mean_length=6.0, **options).generate(2)


def test_error_rates_against_one_reference_are_sums():
    pool = pool_of_texts()
    for name in ("ter", "wer", "0.5*ter + 0.5*wer"):
        problem = ListProblem.of(pool, load_metric(name))
        sums = Additive.of(problem)
        assert sums.exact
        rows = problem.select(np.random.default_rng(0).standard_normal((20, 3)))
        np.testing.assert_allclose(
            sums.values[rows].sum(axis=1) + sums.constant,
            problem.gain_of_sums(problem.stats[rows].sum(axis=1)),
            rtol=1e-12,
        )
        check_answer(problem, last(tuner("lp-mert"), problem, np.ones(3)))


def test_the_example_of_a_metric_in_contributing_is_a_sum():
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = text.split("## Recipe: add a metric")[1].split("```python\n")[1].split("```")[0]
    module = types.ModuleType("luthier.metrics.methods.exact")
    sys.modules[module.__name__] = module  # dataclasses look the module up
    try:
        exec(compile(recipe, "CONTRIBUTING.md", "exec"), module.__dict__)
        problem = ListProblem.of(pool_of_texts(), module.Method())
        assert Additive.of(problem).exact
        check_answer(problem, last(tuner("lp-mert"), problem, np.ones(3)))
    finally:
        del sys.modules[module.__name__]


def test_rates_whose_denominator_moves_are_no_sums():
    problem = ListProblem.of(pool_of_texts(), load_metric("wer"))
    stats = problem.stats.copy()
    stats[3, 1] += 1  # as if another reference were nearest
    moving = dataclasses.replace(problem, stats=stats)
    assert Additive.of(problem).exact
    assert not Additive.of(moving).exact


def test_bleu_is_no_sum_and_the_answer_says_what_was_optimised():
    problem = ListProblem.of(pool_of_texts(), load_metric("bleu"))
    assert not Additive.of(problem).exact
    states = last(tuner("lp-mert"), problem, np.ones(3))
    assert "the metric itself is no sum" in states[-1].note
    assert states[-1].gain >= states[0].gain
    means = problem.sentence_gains[problem.select(np.random.default_rng(1).standard_normal((2000, 3)))].mean(axis=1)
    assert max(state.objective for state in states) >= means.max() - 1e-9


def test_a_limit_is_honest_about_the_gap():
    problem = random_problem(3, sentences=20, k=12, features=4)
    optimum = last(tuner("lp-mert"), problem, np.ones(4))[-1].gain
    short = last(tuner("lp-mert", max_lps=50), problem, np.ones(4))[-1]
    assert short.note.startswith("not proven")
    gap = float(short.note.split("at most ")[1].split(" below")[0])
    assert short.gain <= optimum <= short.gain + gap * 1.001


def test_a_beam_says_that_it_is_inexact():
    problem = random_problem(3, sentences=8, k=12, features=4)
    exact = last(tuner("lp-mert", climbs=0), problem, np.ones(4))[-1]
    beamed = last(tuner("lp-mert", climbs=0, beam=2), problem, np.ones(4))[-1]
    assert beamed.note.startswith("inexact, beam 2")
    assert "combinations" in beamed.note
    assert beamed.gain <= exact.gain


BOUNDS = {
    "signs": ([0.0, -np.inf, -np.inf], [np.inf, 0.0, np.inf]),
    "fixed": ([1.0, -np.inf, -np.inf], [1.0, np.inf, np.inf]),
    "boxed": ([0.5, -2.0, -np.inf], [1.0, 0.5, np.inf]),
    "one at zero": ([0.0, -np.inf, 0.0], [0.0, 0.0, 3.0]),
}


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_hold_and_nothing_inside_them_is_better(name, seed):
    low, high = map(np.array, BOUNDS[name])
    problem = random_problem(seed, sentences=6, k=6, features=3, bounds=Bounds(low, high))
    start = np.clip(np.array([0.7, -0.4, 0.6]), low, high)
    answer = check_answer(problem, last(tuner("lp-mert", climbs=0), problem, start))
    assert problem.bounds.allow(answer.weights)
    # weights without limits within ±10, where the others' limits let every direction be seen
    u = np.random.default_rng(5).random((5000, 3))
    drawn = np.maximum(low, -10) + u * (np.minimum(high, 10) - np.maximum(low, -10))
    assert answer.gain >= problem.gains(drawn).max() - 1e-9


def test_nothing_to_choose_is_the_end():
    constant = problem_of([[[1, 2], [1, 2]], [[3, 4]]], [[5, 9], [7]])
    assert len(last(tuner("lp-mert"), constant, [1.0, 1.0])) == 1


def test_too_many_weights_are_refused():
    problem = problem_of([np.eye(101)[:3]], [[1, 2, 3]])
    assert "at most 100 weights" in tuner("lp-mert").refuses(problem)


def test_the_command_shows_the_size_of_the_proof(run_cli, tmp_path):
    save_pool(pool_of_texts(), tmp_path / "pool.arrow")
    arguments = ("tune", tmp_path / "pool.arrow", "--method", "lp-mert", "--metric", "ter", "-o", tmp_path / "w.txt")
    code, out, _ = run_cli(*arguments)
    assert code == 0
    assert "linear programs" in " ".join(out.split())
    note = json.loads(run_cli(*arguments, "--json")[1])["replicas"][0]["note"]
    assert note.startswith("optimum of the gain, proven: ")


@pytest.mark.parametrize("search", ["cones", "halves"])
def test_rows_on_a_line_are_no_corners_whatever_the_units(search):
    # thirds put rows off their line by a rounding; only the two ends can be selected, so 8 + 7 is out of reach
    steps = np.arange(7.0)[:, None] * np.array([1.0, 3.0])
    other = np.array([[0.0, 0.0], [3.0, -1.0]]) * 0.7
    worths = [[1, 2, 8, 2, 8, 2, 3], [7, 0]]
    problem = problem_of([steps, other], worths)
    answer = check_answer(problem, last(tuner("lp-mert", algorithm=search, climbs=0), problem, [1.0, 1.3]))
    assert answer.gain == 5.0


def test_one_list_by_halves_is_searched():
    problem = problem_of([np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])], [[1, 9, 2]])
    states = last(tuner("lp-mert", algorithm="halves", climbs=0), problem, [-1.0, -1.0])
    assert check_answer(problem, states).gain == 9.0


@pytest.mark.parametrize("search", ["cones", "halves"])
def test_one_logarithm_of_nothing_hides_no_selection(search):
    lists = [
        np.array([[-1, 0, -1], [-1, -1e12, 1], [0, 1, 1.0]]),
        np.array([[0, 1, 1], [0, 0, -1], [1, 0, -1.0]]),
    ]
    problem = problem_of(lists, [[4, 0, 3], [1, 3, 6]])
    # w = (1, 0, -9): scores 8, -10, -9 and -9, 9, 10
    answer = check_answer(problem, last(tuner("lp-mert", algorithm=search, climbs=0), problem, [-1.0, -1.0, -1.0]))
    assert answer.gain == 5.0


def test_a_value_that_no_rerank_has_is_not_called_proven(monkeypatch):
    from luthier.tuning.methods import lp_mert

    problem = random_problem(3, sentences=4, k=4, features=3)

    def lying(corners, start, **options):
        *_, true = best_selection(corners, start, **options)
        yield dataclasses.replace(true, value=true.value + 1.0, bound=true.bound + 1.0)

    best_selection = lp_mert.best_selection
    monkeypatch.setattr(lp_mert, "best_selection", lying)
    answer = last(tuner("lp-mert", climbs=0), problem, np.ones(3))[-1]
    assert answer.note.startswith("not proven: a re-rank with the weights found does not have the value of the search")
