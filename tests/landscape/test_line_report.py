"""Curves along a line against all crossings of all pairs, re-ranked in rational arithmetic."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.landscape.lines import line_report
from luthier.landscape.lines.line_report import follow_line
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.loading import load_metrics
from luthier.metrics.oracle import corpus_score
from luthier.synthetic.lists.noisy_channel import SyntheticLists

BLEU = load_metrics("bleu")["bleu"]


@pytest.fixture(scope="module")
def pool():
    return SyntheticLists(sentences=5, k=8, vocabulary=100).generate(3)


def integer_problem(pool, seed, *, metric=BLEU, sparse=False, size=3):
    dense = np.random.default_rng(seed).integers(-size, size + 1, size=(pool.n_hypotheses, 3)).astype(float)
    features = Features.from_dense(("a", "b", "c"), dense)
    if sparse:
        kept = [np.flatnonzero(row) for row in dense]
        indptr = np.cumsum([0, *map(len, kept)])
        values = np.concatenate([row[k] for row, k in zip(dense, kept, strict=True)])
        features = Features(("a", "b", "c"), np.zeros((len(dense), 0)), indptr, np.concatenate(kept), values)
    return ListProblem.of(dataclasses.replace(pool, features=features), metric)


def brute_force(problem, line):
    """Return breakpoints and the score of every interval: all crossings, all middles, merged if nothing changes."""
    start, direction = [[Fraction(float(x)) for x in row] for row in line.matrix]
    offsets, h = problem.offsets, np.stack([problem.pool.features.column(name) for name in problem.names], axis=1)
    a = [sum((w * Fraction(float(x)) for w, x in zip(start, row, strict=True)), Fraction(0)) for row in h]
    b = [sum((w * Fraction(float(x)) for w, x in zip(direction, row, strict=True)), Fraction(0)) for row in h]
    lists = [range(low, high) for low, high in itertools.pairwise(offsets.tolist())]
    crossings = sorted(
        {(a[i] - a[j]) / (b[j] - b[i]) for rows in lists for i, j in itertools.combinations(rows, 2) if b[i] != b[j]}
    )
    ends = [crossings[0] - 1, *crossings, crossings[-1] + 1] if crossings else [Fraction(-1), Fraction(1)]
    breakpoints, selections = [], []
    for low, high in itertools.pairwise(ends):
        t = (low + high) / 2
        chosen = tuple(max(rows, key=lambda k: (a[k] + t * b[k], -k)) for rows in lists)
        if not selections or chosen != selections[-1]:
            breakpoints.append(float(low))
            selections.append(chosen)
    return breakpoints[1:], [corpus_score(problem.metric, problem.stats, np.array(s)) for s in selections]


@pytest.mark.parametrize("seed", range(12))
def test_no_breakpoint_is_missed_or_invented(pool, seed):
    # whole numbers: rows repeat, three lines meet in a point, breakpoints of several lists coincide
    problem = integer_problem(pool, seed, sparse=seed % 2 == 1)
    rng = np.random.default_rng(100 + seed)
    direction = rng.integers(-2, 3, size=3).astype(float) + np.array([0, 0, 3])
    line = Subspace(rng.integers(-3, 4, size=3).astype(float), direction[None])
    report = follow_line(problem, line)
    breakpoints, scores = brute_force(problem, line)
    assert report.high[:-1].tolist() == report.low[1:].tolist() == breakpoints
    assert report.scores.tolist() == scores
    assert (report.low[0], report.high[-1]) == (-np.inf, np.inf)
    assert report.check == line_report.Check(tried=len(scores), agreed=len(scores), narrow=0, wrong=0)


def test_real_numbers_too(pool):
    problem = ListProblem.of(pool, BLEU)
    start = np.array([Fraction(round(256 * w), 256) for w in SyntheticLists().decoder_weights.values()], dtype=float)
    line = Subspace(start, np.eye(problem.n_features)[1][None])
    report = follow_line(problem, line)
    breakpoints, scores = brute_force(problem, line)
    np.testing.assert_allclose(report.low[1:], breakpoints, rtol=1e-9)
    assert report.scores.tolist() == scores
    assert report.check.agreed == report.check.tried == len(scores) > 10


@pytest.mark.parametrize("metric", ["bleu", "ter"])
def test_the_optimum_is_the_best_of_all_intervals(pool, metric):
    loaded = load_metrics(metric)[metric]
    problem = integer_problem(pool, 1, metric=loaded)
    report = follow_line(problem, Subspace(np.array([1.0, 2.0, -1.0]), np.array([[1.0, 0.0, 1.0]])))
    best = report.scores.max() if loaded.higher_is_better else report.scores.min()
    assert report.optimum.score == best
    assert report.optimum.holds
    assert problem.gain(report.line.weights([report.optimum.position])) == loaded.gain(np.array(best))
    assert report.optimum.low < report.optimum.position < report.optimum.high
    gains = [float(loaded.gain(np.array(interval.score))) for interval in report.best]
    assert gains == sorted(gains, reverse=True)


def test_a_window_cuts_the_curve_and_nothing_else(pool):
    problem = integer_problem(pool, 2)
    line = Subspace(np.array([1.0, 2.0, -1.0]), np.array([[1.0, 0.0, 1.0]]))
    whole, part = follow_line(problem, line), follow_line(problem, line, (-0.7, 0.4))
    inside = (whole.high > -0.7) & (whole.low < 0.4)
    assert part.scores.tolist() == whole.scores[inside].tolist()
    assert (part.low[0], part.high[-1]) == (-0.7, 0.4)
    assert part.check.agreed == part.check.tried == np.count_nonzero(inside)


def test_a_sample_of_intervals_is_drawn_by_the_seed(pool):
    problem = integer_problem(pool, 2, size=9)
    line = Subspace(np.array([1.0, 2.0, -1.0]), np.array([[1.0, 0.0, 1.0]]))
    assert follow_line(problem, line, check=3, seed=0).check == line_report.Check(3, 3, 0, 0)
    assert follow_line(problem, line, check=0).check.tried == 0


def test_a_line_on_which_nothing_changes(pool):
    same = Features.from_dense(("a", "b", "c"), np.ones((pool.n_hypotheses, 3)))
    report = follow_line(
        ListProblem.of(dataclasses.replace(pool, features=same), BLEU), Subspace(np.ones(3), np.eye(3)[:1])
    )
    assert len(report.scores) == 1
    assert report.scores[0] == report.start_score == report.optimum.score
    assert (report.optimum.low, report.optimum.position, report.optimum.high) == (-np.inf, 0.0, np.inf)


def test_intervals_narrower_than_rounding_are_counted(pool):
    # 0.1 · 3 = 0.3 · 1 = 0.1 · 1.5 + 0.3 · 0.5, but for the last bit: at t = −0.1, where a counts nothing, all
    # lines of a list meet in what should be one point, and floating point makes several of it
    dense = np.random.default_rng(0).normal(size=(pool.n_hypotheses, 3))
    dense[:, 1] = np.arange(pool.n_hypotheses) % 7 / 2
    dense[:, 2] = (3 - dense[:, 1]) / 3
    features = Features.from_dense(("a", "b", "c"), dense)
    problem = ListProblem.of(dataclasses.replace(pool, features=features), BLEU)
    report = follow_line(problem, Subspace(np.array([0.1, 0.1, 0.3]), np.eye(3)[:1]))
    assert report.check.narrow > 0 == report.check.wrong
    assert np.count_nonzero(report.high - report.low < 1e-12) >= report.check.narrow
    assert report.check.tried == report.check.narrow + report.check.agreed
    assert report.optimum.holds


def test_a_curve_that_says_something_else_is_found_out(pool, monkeypatch):
    problem = integer_problem(pool, 0)
    line = Subspace(np.array([1.0, 2.0, -1.0]), np.array([[1.0, 0.0, 1.0]]))
    true = line_report._selections
    monkeypatch.setattr(line_report, "_selections", lambda *args: (rows[::-1] for rows in true(*args)))
    assert follow_line(problem, line).check.wrong > 0


def test_what_is_no_line_is_refused(pool):
    problem = integer_problem(pool, 0)
    with pytest.raises(LuthierError, match="found 2 axes"):
        follow_line(problem, Subspace(np.ones(3), np.eye(3)[:2]))
    with pytest.raises(LuthierError, match="lo below hi"):
        follow_line(problem, Subspace(np.ones(3), np.eye(3)[:1]), (1.0, 1.0))
