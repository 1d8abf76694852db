"""Optima of resamples: against pools with repeated sentences, and regions that hold most of them, and the truth."""

import dataclasses
import json

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.rng import resample_counts
from luthier.geometry.subspace import Subspace
from luthier.landscape.lines.line_report import follow_line
from luthier.landscape.lines.stability import LineStability, line_stability
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane, Window
from luthier.landscape.planes.stability import PlaneStability, plane_stability
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.report.console import show
from luthier.report.figures.line import draw_line
from luthier.report.tables.landscape import line_tables, surface_tables
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from small_problems import problem_of, random_problem

pytestmark = pytest.mark.compiled

WINDOWS = [(-np.inf, np.inf), (-0.5, 0.75), (0.25, np.inf)]


def line_of(problem, axis=0):
    return Subspace(np.linspace(1.0, 0.5, problem.n_features), np.eye(problem.n_features)[axis : axis + 1], ("axis",))


def repeated(problem, counts):
    pool = problem.pool.take_sentences(np.repeat(np.arange(problem.n_sentences), counts))
    return ListProblem.of(pool, problem.metric)


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("seed", range(6))
def test_the_best_interval_of_a_resample_is_that_of_a_pool_with_repeated_sentences(seed, window):
    if seed < 4:
        problem = random_problem(seed, sentences=7)
    else:
        problem = ListProblem.of(SyntheticLists(sentences=12, k=20, vocabulary=150).generate(seed), "bleu")
    line = line_of(problem)
    found = line_stability(problem, line, window, resamples=8, seed=seed)
    for b in range(8):
        pool = repeated(problem, resample_counts(seed, b, problem.n_sentences))
        best = follow_line(pool, line, window, check=0).best[0]
        assert (found.low[b], found.high[b], found.position[b]) == (best.low, best.high, best.position)
        assert found.scores[b] == pytest.approx(best.score, abs=1e-9)
    assert np.all((found.position >= window[0]) & (found.position <= window[1]))


def test_the_region_of_a_line_holds_its_share():
    places = np.random.default_rng(0).normal(size=37)
    found = LineStability(places - 1, places + 1, places, np.zeros(37))
    low, high = found.region
    assert low in places
    assert high in places
    assert np.mean((places >= low) & (places <= high)) >= 0.9
    assert found.holds(low)
    assert not found.holds(high + 1e-9)
    told = found.as_dict(2.0)
    assert told["region"] == [low + 2.0, high + 2.0]
    one = LineStability(*(np.full(5, x) for x in (-np.inf, np.inf, 3.0, 1.0)))
    assert one.region == (3.0, 3.0)
    assert one.as_dict()["low"] == [None] * 5


def test_a_report_has_it_in_numbers_table_and_picture(tmp_path, capsys):
    problem = ListProblem.of(SyntheticLists(sentences=20, k=20, vocabulary=150).generate(1), "bleu")
    line = line_of(problem)
    plain = follow_line(problem, line, check=0, seed=3)
    report = follow_line(problem, line, check=0, resamples=20, seed=3)
    assert plain.stability is None
    assert "stability" not in plain.as_dict()
    told = json.loads(json.dumps(report.as_dict(), allow_nan=False))["stability"]
    assert told["region"] == [end + report.axis.origin for end in report.stability.region]
    assert told["resamples"] == len(told["positions"]) == 20
    show(line_tables(report, []))
    assert "of 90% of 20 resamples" in capsys.readouterr().out
    draw_line(report, tmp_path / "a.png")
    draw_line(plain, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()


def test_too_little_to_resample_is_said():
    for count, complaint in ((1, "at least 2 resamples, found 1"), (5, "at least 2 sentences to resample, found 1")):
        problem = random_problem(0, sentences=1)
        with pytest.raises(LuthierError, match=complaint):
            line_stability(problem, line_of(problem), resamples=count)
        plane = Plane.make(problem, Subspace(np.ones(3), np.eye(3)[:2], ("a", "b")))
        with pytest.raises(LuthierError, match=complaint):
            plane_stability(plane, resamples=count)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_cell_of_a_resample_is_that_of_a_pool_with_repeated_sentences(seed):
    rng = np.random.default_rng(seed)
    problem = problem_of(list(rng.normal(size=(6, 7, 3))), list(rng.integers(0, 101, (6, 7))))
    subspace, window = Subspace(np.array([1.0, 0.5, 0.2]), np.eye(3)[:2], ("a", "b")), Window(-2.0, 2.0, -2.0, 2.0)
    found = plane_stability(Plane.make(problem, subspace, window), resamples=6, seed=seed)
    assert np.all(np.abs(found.position) <= 2.0)
    for b in range(6):
        pool = repeated(problem, resample_counts(seed, b, 6))
        best = look_at_plane(Plane.make(pool, subspace, window), SurfaceOptions(check=0)).optimum
        assert found.scores[b] == pytest.approx(best.score, abs=1e-9)
        # re-ranked there, the repeated sentences have that score
        assert pool.metric.gain(pool.gain(subspace.weights(found.position[b]))) == pytest.approx(best.score)
    threaded = plane_stability(Plane.make(problem, subspace, window), resamples=6, seed=seed, threads=2)
    assert threaded.position.tobytes() == found.position.tobytes()


def test_the_region_of_a_plane_holds_its_share_and_no_more():
    rng = np.random.default_rng(1)
    places = rng.normal(size=(60, 2)) @ np.array([[3.0, 1.0], [0.0, 0.2]]) + [5.0, -1.0]
    found = PlaneStability(places, np.zeros(60))
    assert found.holds(places).sum() == 54
    ring = found.outline(200) - found.centre
    assert found.holds(found.centre + 0.999 * ring).all()
    assert not found.holds(found.centre + 1.001 * ring).any()
    # by hand: squared distances under the covariance
    away = places - places.mean(axis=0)
    squares = np.einsum("ni,ij,nj->n", away, np.linalg.inv(np.cov(places.T)), away)
    assert set(np.flatnonzero(found.holds(places))) == set(np.argsort(squares)[:54])


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_places_on_a_line_or_on_one_spot_have_a_region_without_width(scale):
    steps = np.linspace(-1.0, 1.0, 21)[:, None]
    line = PlaneStability(scale * (steps * [1.0, 2.0] + [3.0, 0.0]), np.zeros(21))
    assert line.holds(line.position).sum() >= 19
    assert not line.holds(line.centre + scale * np.array([0.1, 0.0])).any()
    spot = PlaneStability(np.full((5, 2), scale), np.zeros(5))
    assert spot.holds(spot.position).all()
    assert not spot.holds(spot.position + scale).any()
    assert np.isfinite(spot.axes).all()


def test_a_surface_has_it_in_numbers_and_table(capsys):
    problem = random_problem(3, sentences=8)
    plane = Plane.make(problem, Subspace(np.ones(3), np.eye(3)[:2], ("a", "b")), Window(-2.0, 2.0, -2.0, 2.0))
    report = look_at_plane(plane, SurfaceOptions(check=0, resamples=5))
    told = json.loads(json.dumps(report.as_dict(), allow_nan=False))["stability"]
    assert np.array(told["region"]["half_axes"]).shape == (2, 2)
    assert len(told["positions"]) == 5
    show(surface_tables(report, []))
    assert "optima of 90% of 5 resamples" in capsys.readouterr().out
    assert look_at_plane(plane, dataclasses.replace(SurfaceOptions(check=0))).stability is None


@pytest.mark.slow
def test_the_region_of_a_line_holds_the_truth_about_as_often_as_it_says():
    """The worth is a + 0.7·b with noise, so the best b is 0.7 beside 1 for a: 90 % of regions hold it, ± 7."""
    held = []
    for run in range(100):
        rng = np.random.default_rng(10_000 + run)
        features = rng.normal(size=(100, 10, 2))
        worths = 50.0 + 10.0 * (features @ [1.0, 0.7] + rng.normal(size=(100, 10)))
        problem = problem_of(list(features), list(worths))
        line = Subspace(np.array([1.0, 0.0]), np.array([[0.0, 1.0]]), ("b",))
        held.append(line_stability(problem, line, resamples=100, seed=run).holds(0.7))
    assert 83 <= sum(held) <= 97


@pytest.mark.slow
def test_the_region_of_a_plane_holds_the_truth_about_as_often_as_it_says():
    """The worth is a + 0.7·b + 0.4·c with noise: 90 % of regions of (b, c) hold (0.7, 0.4), ± 7, beside 1 for a."""
    held = []
    for run in range(100):
        rng = np.random.default_rng(20_000 + run)
        features = rng.normal(size=(60, 8, 3))
        worths = 50.0 + 10.0 * (features @ [1.0, 0.7, 0.4] + rng.normal(size=(60, 8)))
        subspace = Subspace(np.array([1.0, 0.0, 0.0]), np.eye(3)[1:], ("b", "c"))
        plane = Plane.make(problem_of(list(features), list(worths)), subspace, Window(-3.0, 4.0, -3.0, 4.0))
        held.append(bool(plane_stability(plane, resamples=60, seed=run).holds(np.array([0.7, 0.4]))[0]))
    assert 83 <= sum(held) <= 97
