"""The surface over a plane: every cell once, what it says proved by re-ranking, the best the best."""

import dataclasses

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.kbest.rerank import rerank
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.best_cells import ScoredCells
from luthier.landscape.planes.plane import Plane, read_window, shown_window
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.landscape.planes.survey import KEPT_AT_LEAST, SurveyOptions, survey
from luthier.landscape.planes.view import Scene
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists

SPEC = SyntheticLists(sentences=8, k=10, vocabulary=150)
WINDOWS = [None, Window(-1.0, 2.0, -4.0, 3.0), Window(x_low=-0.5)]


def plane_of(seed, window=None, kind="real", metric="bleu"):
    """Return a plane of generated lists; their features rounded to few integers, or some of them sparse, if asked."""
    pool = SPEC.generate(seed)
    dense = pool.features.dense
    names = pool.features.names
    if kind == "integer":
        dense = np.rint(dense[:, :3])
        features = Features.from_dense(names[:3], dense)
        start = np.array([1.0, 1.0, -1.0])
    elif kind == "sparse":
        whole = np.rint(dense[:, 4]) % 4
        full = np.flatnonzero(whole)
        indptr = np.concatenate([[0], np.cumsum(whole != 0)])
        features = Features((*names[:3], "s"), dense[:, :3], indptr, np.zeros(len(full), np.int32), whole[full])
        start = np.array([1.0, 0.5, -1.0, 0.1])
    else:
        features, start = pool.features, np.array(list(SPEC.decoder_weights.values()))
    axes = np.zeros((2, features.n_features))
    axes[0, 0], axes[1, 2 if kind != "sparse" else 3] = 1.0, 1.0
    problem = ListProblem.of(pool.with_features(features), load_metric(metric))
    return Plane.make(problem, Subspace(start, axes, ("a", "b")), window)


def recorded(plane, **more):
    return look_at_plane(plane, SurfaceOptions(stream=False, **more))


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", ["real", "integer", "sparse"])
def test_a_re_rank_inside_every_representable_cell_selects_what_it_says(kind, window):
    for seed in range(2):
        plane = plane_of(seed, window, kind)
        report = recorded(plane)
        record = report.record
        selections = np.array([record.selection(i) for i in range(len(record))])
        found = rerank(plane.problem.pool, plane.subspace.weights(record.position))
        assert np.array_equal(found[record.representable], selections[record.representable])
        assert len(np.unique(selections, axis=0)) == len(record) == report.survey.cells + report.survey.without_area
        assert record.sized.sum() == report.survey.cells
        sums = plane.problem.stats[selections].sum(axis=1)
        np.testing.assert_allclose(report.scores, plane.score(sums), atol=1e-9)
        if kind == "real":
            assert record.representable.all()
        assert record.representable.any()


@pytest.mark.parametrize("kind", ["real", "integer"])
def test_random_points_fall_in_known_cells(kind):
    plane = plane_of(3, Window(-1.0, 1.0, -2.0, 2.0), kind)
    record = recorded(plane).record
    known = {tuple(record.selection(i)): i for i in range(len(record))}
    points = np.random.default_rng(0).uniform((-1.0, -2.0), (1.0, 2.0), size=(400, 2))
    hit = np.array([known[tuple(rows)] for rows in rerank(plane.problem.pool, plane.subspace.weights(points))])
    # a cell is hit as often as its area says
    shares = np.bincount(hit, minlength=len(record)) / len(points)
    large = record.area / 8.0 > 0.02
    np.testing.assert_allclose(shares[large], record.area[large] / 8.0, atol=0.08)
    assert record.area.sum() == pytest.approx(8.0)


def test_there_are_as_many_cells_as_faces_and_crossings_make():
    for seed in range(3):
        plane = plane_of(seed)
        report = recorded(plane)
        record, n_lists = report.record, plane.overlay.n_lists
        faces = int(plane.overlay.faces.counts.sum())
        # a cell whose lowest corner is where edges of two lists cross; every crossing is one
        crossings = sum(
            recorded_cells(plane, (i, j)) - 1 - int(np.sum(plane.overlay.faces.counts[[i, j]] - 1))
            for i in range(n_lists)
            for j in range(i)
        )
        assert len(record) == 1 + (faces - n_lists) + crossings


def recorded_cells(plane, lists):
    """Count the cells of two lists alone."""
    problem = plane.problem
    pair = dataclasses.replace(problem.pool.take_sentences(np.array(sorted(lists))), stats={})
    return look_at_plane(
        Plane.make(ListProblem.of(pair, problem.metric), plane.subspace, plane.window), SurfaceOptions()
    ).survey.cells


@pytest.mark.parametrize("metric", ["bleu", "ter", "bleu_mean"])
@pytest.mark.parametrize("stream", [True, False])
def test_the_best_cell_is_the_best_and_roomiest(metric, stream):
    plane = plane_of(1, Window(-0.5, 0.5, -2.0, 2.0), metric=metric)
    record = recorded(plane).record
    gains = plane.problem.metric.gain(plane.score(record.sums))
    report = look_at_plane(plane, SurfaceOptions(stream=stream, keep=7))
    best = report.optimum
    assert plane.problem.metric.gain(np.array(best.score)) == pytest.approx(gains.max(), abs=1e-12)
    assert best.cell.radius == pytest.approx(record.radius[gains >= gains.max() - 1e-9].max(), rel=1e-6)
    assert plane.problem.gain(report.weights) == pytest.approx(gains.max(), abs=1e-9)
    about = report.as_dict(7)
    assert [one["score"] for one in about["best"]] == pytest.approx(
        plane.problem.metric.gain(np.sort(gains)[::-1][:7]), abs=1e-9
    )
    assert about["worst"] == pytest.approx(float(plane.problem.metric.gain(gains.min())), abs=1e-9)
    assert sum(about["histogram"]["counts"]) == len(record) == about["cells"]


def test_threads_and_blocks_change_nothing():
    plane = plane_of(2, Window(-1.0, 1.0, -2.0, 2.0))
    abouts = [look_at_plane(plane, SurfaceOptions(check=30, threads=threads)).as_dict() for threads in (1, 3)]
    assert abouts[0] == abouts[1]
    assert abouts[0]["check"] == {"tried": 30, "representable": 30, "agreed": 30, "wrong": 0, "lucky": 0}


def test_the_sample_is_fair_and_seeded():
    plane = plane_of(0, Window(-0.3, 0.3, -1.0, 1.0))
    every = recorded(plane).record.keys.tolist()
    hits = np.zeros(len(every))
    for seed in range(60):
        found = survey(plane.overlay, plane.problem, SurveyOptions(1.0, sample=len(every) // 4, seed=seed))
        assert len(np.unique(found.sample.keys, axis=0)) == len(every) // 4
        hits[[every.index(key) for key in found.sample.keys.tolist()]] += 1
    assert hits.min() > 0
    assert hits.max() < 35  # of 60, with a chance of 1 in 4
    again = survey(plane.overlay, plane.problem, SurveyOptions(1.0, sample=len(every) // 4, seed=59))
    np.testing.assert_array_equal(again.sample.keys, found.sample.keys)


def test_the_best_of_parts_are_the_best_of_all():
    rng = np.random.default_rng(0)
    cells = ScoredCells(rng.permutation(600).reshape(-1, 2), rng.integers(0, 5, size=300).astype(float))
    order = sorted(range(300), key=lambda i: (-cells.gains[i], *cells.keys[i]))
    expected = cells.keys[order[:20]]
    merged = ScoredCells.none()
    for part in np.array_split(np.arange(300), 7):
        merged = ScoredCells.join(merged, cells.take(part).best(20)).best(20)
    np.testing.assert_array_equal(cells.best(20).keys, expected)
    np.testing.assert_array_equal(merged.keys, expected)
    assert KEPT_AT_LEAST >= 20


def test_too_many_cells_are_not_recorded():
    with pytest.raises(LuthierError, match=r"more than 50 cells.*stream them"):
        recorded(plane_of(0), most=50)


def test_windows_are_read_by_axis_and_usual_where_nothing_is_said():
    plane = plane_of(0)
    usual = read_window(plane.problem, plane.subspace, [])
    assert usual.bounded
    assert usual.x_low == -usual.x_high
    one = read_window(plane.problem, plane.subspace, ["b=-1:2"], whole=True)
    weight = plane.subspace.start[2]
    assert one.limits == (-np.inf, np.inf, -1.0 - weight, 2.0 - weight)  # the ends are weights, the limits offsets
    shown = shown_window(dataclasses.replace(plane, window=one), np.array([[100.0, 0.0]]))
    assert shown.limits[1] > 100.0
    assert shown.limits[2:] == one.limits[2:]
    for text in ("-1:2", "c=1:2", "b=x:y", "b=3:3"):
        with pytest.raises(LuthierError, match="expected a window"):
            read_window(plane.problem, plane.subspace, [text])


def test_cells_without_area_take_no_color():
    corners = [np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])] * 3
    scene = Scene(
        (0.0, 1.0, 0.0, 1.0), polygons=corners, scores=np.array([1.0, 2.0, 9.0]), areas=np.array([0.5, 0.5, 0.0])
    )
    assert scene.shown.tolist() == [1.0, 2.0]
    assert dataclasses.replace(scene, areas=np.zeros(3)).shown.tolist() == [1.0, 2.0, 9.0]


def test_an_axis_that_changes_nothing_is_refused():
    plane = plane_of(0)
    dense = plane.problem.pool.features.dense.copy()
    dense[:, 0] = 0.3
    pool = plane.problem.pool.with_features(Features.from_dense(plane.problem.names, dense))
    with pytest.raises(LuthierError, match="constant in every list"):
        read_window(ListProblem.of(pool, plane.problem.metric), plane.subspace, [])


def test_a_large_list_hides_no_small_one():
    plane = plane_of(0)
    old, offsets = plane.problem.pool.features, plane.problem.offsets
    dense = old.dense.copy()
    dense[offsets[0] : offsets[1], 0] = 1e300  # constant, and larger than all there is
    pool = plane.problem.pool.with_features(Features.from_dense(old.names, dense))
    window = read_window(ListProblem.of(pool, plane.problem.metric), plane.subspace, [])
    assert np.isfinite(window.limits).all()


@pytest.mark.parametrize("power", [-990, 990])
@pytest.mark.parametrize("kind", ["real", "sparse"])
def test_the_usual_window_is_the_same_for_features_of_any_size(kind, power):
    plane = plane_of(1, kind=kind)
    pool, old = plane.problem.pool, plane.problem.pool.features
    scaled = dataclasses.replace(old, dense=np.ldexp(old.dense, power), values=np.ldexp(old.values, power))
    problem = ListProblem.of(pool.with_features(scaled), load_metric("bleu"))
    np.testing.assert_array_equal(problem.spread, np.ldexp(plane.problem.spread, power))
    assert read_window(problem, plane.subspace, []) == read_window(plane.problem, plane.subspace, [])


def test_the_cells_described_are_those_wanted_and_their_equals():
    plane = plane_of(1)
    every = look_at_plane(plane, SurfaceOptions(keep=10**6, check=0)).best
    for keep in (0, 1, 3, 20):
        some = look_at_plane(plane, SurfaceOptions(keep=keep, check=0))
        assert len(some.best) >= min(max(keep, 1), len(every))
        assert [cell.score for cell in some.best] == [cell.score for cell in every[: len(some.best)]]
        assert some.optimum.score == next(cell for cell in every if cell.representable).score
        if len(some.best) < len(every):
            assert every[len(some.best)].score != some.best[-1].score
