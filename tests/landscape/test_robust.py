"""What lasts: exact means under noise against sums over fine grids and against draws, none of which share code."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from certified_problems import draw_problem

from luthier.core.errors import LuthierError
from luthier.geometry.plane.polygons import gaussian_shares
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.landscape.curve import LineCurve, mean_gains, worst_gains
from luthier.landscape.lines.line_report import follow_line
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane, Window
from luthier.landscape.planes.robust import line_noise, noise_shape, robust_place, robust_point
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.tuning.answer import mean_gain, robust_state
from luthier.tuning.base import State, tuner
from luthier.tuning.run import RunOptions, run
from small_problems import problem_of, random_problem


def phi(x):
    """Return the normal distribution function."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def test_shares_of_rectangles_are_products():
    rng = np.random.default_rng(1)
    for _ in range(40):
        (x0, x1), (y0, y1) = np.sort(rng.normal(size=(2, 2)) * rng.choice([0.1, 1.0, 5.0]), axis=1)
        centre = rng.normal(size=2)
        corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
        expected = (phi(x1 - centre[0]) - phi(x0 - centre[0])) * (phi(y1 - centre[1]) - phi(y0 - centre[1]))
        assert gaussian_shares(np.array([0, 4]), corners, centre) == pytest.approx([expected], abs=1e-12)


def test_shares_of_pieces_add_up_and_corners_may_be_the_centre():
    angles = np.linspace(0, 2 * np.pi, 8)[:-1]
    ring = 7 * np.column_stack([np.cos(angles), np.sin(angles)])
    pieces = [np.array([[0.0, 0.0], ring[i], ring[(i + 1) % 7]]) for i in range(7)]
    offsets = np.arange(0, 22, 3)
    shares = gaussian_shares(offsets, np.concatenate(pieces), np.zeros(2))
    assert shares == pytest.approx(np.full(7, shares[0]))
    assert shares.sum() == pytest.approx(gaussian_shares(np.array([0, 7]), ring, np.zeros(2))[0], abs=1e-12)
    moved = gaussian_shares(offsets, np.concatenate(pieces), np.array([0.3, -1.2]))
    assert moved.sum() == pytest.approx(gaussian_shares(np.array([0, 7]), ring, np.array([0.3, -1.2]))[0], abs=1e-12)


@pytest.mark.parametrize("noise", [0.03, 0.5, 4.0])
def test_means_and_worsts_along_a_line_are_those_of_a_fine_grid(noise):
    rng = np.random.default_rng(3)
    curve = LineCurve(np.sort(rng.normal(size=12)), rng.normal(size=13), np.ones(12))
    places = rng.normal(size=9)
    steps = np.linspace(-8, 8, 400_001) * noise
    density = np.exp(-0.5 * (steps / noise) ** 2)
    for place, mean, worst in zip(
        places, mean_gains(curve, places, noise), worst_gains(curve, places, noise), strict=True
    ):
        gains = curve.gains[np.searchsorted(curve.breakpoints, place + steps)]
        assert mean == pytest.approx(np.sum(gains * density) / density.sum(), abs=2e-4)
        assert worst == gains[np.abs(steps) <= noise].min()
    assert mean_gains(curve, places, 0.0).tolist() == [curve.gain_at(t) for t in places]


def plane_of(seed):
    """Return a look at a plane of a tiny problem."""
    problem = random_problem(seed, sentences=8, k=6, features=3)
    subspace = Subspace(np.array([1.0, 0.5, -0.5]), np.eye(3)[:2], ("f0", "f1"))
    return look_at_plane(Plane.make(problem, subspace, Window(-2.0, 2.0, -2.0, 2.0)), SurfaceOptions(check=0))


@pytest.mark.parametrize("choice", ["highest", "robust", "worst", "disc"])
def test_a_point_of_a_plane_has_the_mean_that_draws_have(choice):
    report = plane_of(5)
    found = robust_point(report, choice, 0.1)
    plane, shape = report.plane, noise_shape(report.plane, 0.1)
    draws = found.position + np.random.default_rng(0).standard_normal((4_000, 2)) @ shape.T
    inside = draws[np.abs(draws).max(axis=1) < 2.0]
    gains = plane.problem.gains(np.array([plane.subspace.weights(p) for p in inside]))
    assert found.mean == pytest.approx(gains.mean(), abs=4 * gains.std() / np.sqrt(len(gains)) + 1e-9)
    assert found.score == pytest.approx(plane.problem.gain(plane.subspace.weights(found.position)))
    deviations = np.linalg.solve(shape, (draws - found.position).T).T
    close = draws[np.hypot(*deviations.T) < 1.0]
    seen = plane.problem.gains(np.array([plane.subspace.weights(p) for p in close]))
    assert found.worst <= seen.min() + 1e-9


@pytest.mark.parametrize("seed", [3, 9, 21, 27])
def test_cells_without_an_area_have_no_part_in_what_lasts(seed):
    # small whole numbers: many ties meet in points
    problem, rng = draw_problem("bleu", seed, sentences=4, k=5), np.random.default_rng(seed)
    plane = Subspace(rng.normal(size=3), np.eye(3)[:2])
    report = look_at_plane(Plane.make(problem, plane, Window(-3.0, 3.0, -3.0, 3.0)), SurfaceOptions(check=0))
    assert report.survey.without_area > 0
    shape = noise_shape(report.plane, 0.3)
    for choice in ("robust", "worst", "disc"):
        found = robust_point(report, choice, 0.3)
        assert np.abs(found.position).max() <= 3.0 + 1e-9
        assert found.radius > 0.0
        assert found.score == pytest.approx(problem.gain(plane.weights(found.position)))
        turn, far = rng.uniform(0.0, 2 * np.pi, 2_000), np.sqrt(rng.random(2_000))
        near = found.position + (far * np.array([np.cos(turn), np.sin(turn)])).T @ shape.T
        gains = problem.gains(plane.weights(near[np.abs(near).max(axis=1) <= 3.0]))
        assert found.worst <= gains.min() + 1e-9
        assert found.worst in report_scores(report)


def test_room_without_end_and_noise_that_is_all_rounding():
    # one list, two rows: one cell is half of the plane, and nothing else is near its best point
    problem = problem_of([[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]], [[3.0, 1.0]])
    plane = Plane.make(problem, Subspace(np.array([1.0, 1.0, 1.0]), np.eye(3)[:2]), Window(-9.0, 9.0, -9.0, 9.0))
    with pytest.raises(LuthierError, match="an axis has no effect"):
        robust_point(look_at_plane(plane, SurfaceOptions(check=0)), "robust", 0.1)
    report = plane_of(5)
    found = robust_point(report, "highest", 1e-6)
    assert found.radius == np.inf
    assert json.loads(json.dumps(found.as_dict(np.zeros(2)), allow_nan=False))["radius"] is None
    for noise in (0.0, 1e-300, 1e-7, 1e4, 1e300, np.inf, np.nan):
        with pytest.raises(LuthierError, match="expected noise from 1e-06 to 1000 mean effects"):
            robust_point(report, "robust", noise)


def report_scores(report):
    """Return the scores of all cells with an area."""
    record = look_at_plane(report.plane, SurfaceOptions(stream=False, check=0)).record
    return set(report.plane.score(record.sums[record.sized]).tolist())


def plane_of_units(*units, directions=None):
    """Return a plane of three weights whose features have these units."""
    problem = random_problem(5, sentences=8, k=6, features=3)
    table = Features.from_dense(problem.names, problem.pool.features.dense * np.array(units))
    problem = ListProblem(problem.pool.with_features(table), problem.metric, problem.stats, problem.bounds)
    start = np.divide(np.array([1.0, 0.5, -0.5]), units, out=np.zeros(3), where=np.array(units) > 0)
    axes = np.eye(3)[:2] if directions is None else np.array(directions)
    return Plane.make(problem, Subspace(start, axes, ("f0", "f1")), Window(-2.0, 2.0, -2.0, 2.0))


def test_noise_about_axes_of_unlike_units_is_that_of_like_ones():
    plain = noise_shape(plane_of_units(1.0, 1.0, 1.0), 0.1)
    for units in ((1e-5, 1e5, 1.0), (1e12, 1e3, 1e4)):
        found = noise_shape(plane_of_units(*units), 0.1)
        np.testing.assert_allclose(found * np.array(units[:2])[:, None], plain, rtol=1e-6)


def test_noise_about_an_axis_without_effect_is_refused():
    for units in ((1.0, 0.0, 1.0), (1e-12, 1e12, 1.0)):  # the second is constant but for rounding
        with pytest.raises(LuthierError, match="an axis has no effect beside the others: noise about it cannot be"):
            noise_shape(plane_of_units(*units), 0.1)
    with pytest.raises(LuthierError, match="the axes move the same: noise about them cannot be told"):
        noise_shape(plane_of_units(1.0, 1.0, 0.0, directions=[[1.0, 0.0, 0.0], [1.0, 0.0, 5.0]]), 0.1)


def test_each_choice_is_best_by_its_own_measure():
    report = plane_of(6)
    found = {choice: robust_point(report, choice, 0.1) for choice in ("highest", "robust", "worst", "disc")}
    assert found["robust"].mean == max(point.mean for point in found.values())
    assert found["worst"].worst >= found["highest"].worst
    assert found["highest"].score == max(point.score for point in found.values())
    assert found["disc"].radius >= found["highest"].radius


def test_a_tuner_can_be_asked_for_weights_that_last():
    problem = random_problem(2, sentences=20, k=8, features=3)
    highest = run(tuner("mert"), problem, None, RunOptions(restarts=2))
    options = RunOptions(restarts=2, choose="robust", noise=0.2)
    robust, again = (run(tuner("mert"), problem, None, options) for _ in range(2))
    assert robust.weights.tobytes() == again.weights.tobytes()
    assert robust.gain == problem.gain(robust.weights)
    assert "mean gain under noise of 0.2" in robust.note
    moves = 0.2 * np.random.default_rng(9).standard_normal((4_000, 3)) / problem.spread
    moves *= np.mean(np.abs(highest.weights) * problem.spread)
    assert mean_gain(problem, robust.weights, moves) > mean_gain(problem, highest.weights, moves) - 0.3
    assert robust.gain <= highest.gain


def test_without_noise_or_with_nothing_free_the_best_end_stays():
    problem = random_problem(2)
    ends = [State(np.array([1.0, 0, 0]), 3.0), State(np.array([0, 1.0, 0]), 4.0)]
    assert robust_state(problem, ends, noise=0.0, draws=4, seed=0) is ends[1]


@pytest.mark.parametrize("spec", ["bleu", "wer"])
@pytest.mark.parametrize("window", [(-np.inf, np.inf), (-0.5, 0.75)])
def test_a_place_of_a_line_has_the_mean_that_draws_have_and_none_on_a_grid_is_better(spec, window):
    for seed in range(4):
        problem, rng = draw_problem(spec, seed, sentences=5, k=6, whole=bool(seed % 2)), np.random.default_rng(seed)
        line = Subspace(rng.normal(size=3), np.eye(3)[:1])
        report = follow_line(problem, line, window, check=0)
        sign = 1.0 if spec == "bleu" else -1.0
        deviation = line_noise(report, 0.3)
        for choice in ("robust", "worst", "disc"):
            found = robust_place(report, choice, 0.3)
            assert window[0] <= found.position <= window[1]
            assert sign * found.score == pytest.approx(problem.gain(line.weights([found.position])))
            draws = found.position + deviation * rng.standard_normal(4_000)
            gains = problem.gains(line.weights(draws[:, None]))
            assert sign * found.mean == pytest.approx(gains.mean(), abs=5 * gains.std() / np.sqrt(len(gains)) + 0.01)
            near = found.position + deviation * np.linspace(-1.0, 1.0, 501)
            assert sign * found.worst <= problem.gains(line.weights(near[:, None])).min() + 1e-9
        best = robust_place(report, "robust", 0.3)
        # means of a fine sum, at places of a coarse grid
        fine = np.linspace(-8.0, 8.0, 1_601)
        shares = np.exp(-(fine**2) / 2)
        for place in np.clip(np.linspace(-3.0, 3.0, 25), *window):
            mean = np.average(problem.gains(line.weights((place + deviation * fine)[:, None])), weights=shares)
            assert mean <= sign * best.mean + 0.2


def test_a_line_of_one_interval_and_one_without_effect():
    one = problem_of([[[1.0, 2.0], [1.0, 1.0]]], [[3.0, 1.0]])
    along = follow_line(one, Subspace(np.array([1.0, 1.0]), np.eye(2)[:1]), check=0)
    with pytest.raises(LuthierError, match="the axis has no effect beside the others"):
        robust_place(along, "robust", 0.1)
    two = follow_line(one, Subspace(np.array([1.0, 1.0]), np.eye(2)[1:]), (0.0, 5.0), check=0)
    assert len(two.scores) == 1
    for choice in ("robust", "worst", "disc"):
        found = robust_place(two, choice, 0.1)
        assert (found.score, found.mean, found.worst) == (3.0, pytest.approx(3.0), 3.0)
    with pytest.raises(LuthierError, match="expected noise from 1e-06 to 1000"):
        robust_place(two, "robust", 0.0)
