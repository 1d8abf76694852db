"""Bounds over boxes of weights hold at every point, and a closed search has the best cell there is."""

import numpy as np
import pytest
from certified_problems import SPECS, draw_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import InputError, LuthierError
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.landscape.bounds import Bounds
from luthier.landscape.certified import box as box_module
from luthier.landscape.certified import search as search_module
from luthier.landscape.certified.box import Boxes, first_moments
from luthier.landscape.certified.certify import CertifyOptions, certify
from luthier.landscape.certified.incumbents import Walled, stray
from luthier.landscape.certified.rows import bundled
from luthier.landscape.certified.space import (
    all_directions,
    principal_axes,
    reach_space,
    span_space,
    whole_space,
    window_space,
)
from luthier.landscape.certified.windows import WindowOptions
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from small_problems import problem_of

compiled = pytest.mark.compiled
START = np.array([1.0, 0.0, -1.0])


@pytest.fixture(autouse=True, scope="module")
def moments_for_all():
    """Bound boxes of few weights by second moments, too."""
    before, box_module.LEAST_AXES = box_module.LEAST_AXES, 1
    yield
    box_module.LEAST_AXES = before


def plane_of(axes=2, start=START):
    return Subspace(start, np.eye(3)[:axes], ("f0", "f1", "f2")[:axes])


def points_in(low, high, rng, n=40):
    """Return points of a box: anywhere, corners, and quarters of its sides, where small whole numbers tie."""
    share = np.concatenate([rng.random((n, len(low))), rng.integers(0, 5, (n, len(low))) / 4.0])
    return np.clip(low + share * (high - low), low, high)


@compiled
@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=12)
@given(seed=st.integers(0, 10**9), whole=st.booleans(), scale=st.sampled_from([1e-12, 1.0, 1e12]), turn=st.booleans())
def test_nothing_in_a_box_exceeds_its_bound_or_leaves_what_is_left_of_it(spec, seed, whole, scale, turn):
    rng = np.random.default_rng(seed)
    problem = draw_problem(spec, seed, whole=whole, scale=scale)
    space = window_space(problem, plane_of(3), np.array([[-1.0, 2.0], [-2.0, 2.0], [0.0, 1.0]]), principal=turn)
    boxes = Boxes(problem, space)
    everything = boxes.rows.all_open()
    ends = np.sort(rng.integers(0, 9, (2, 4)) / 8.0, axis=0)
    ends[1] = np.maximum(ends[1], ends[0] + 0.125)
    low, high = (space.lows[0] + end * (space.highs[0] - space.lows[0]) for end in ends)
    points = [z for z in points_in(low, high, rng) if space.holds(z)]
    gains = [problem.gain(space.weights(z)) for z in points]
    for target in (-np.inf, *(np.quantile(gains, [0.0, 0.5, 0.9]) if gains else ())):
        box = boxes.look([(low, high, everything, np.inf, first_moments(len(low)))], target)[0]
        for z, gain in zip(points, gains, strict=True):
            if box is None:
                assert gain == -np.inf
            elif gain > target:
                assert gain <= box.bound
                assert np.all(box.low <= z)
                assert np.all(z <= box.high)


@pytest.mark.parametrize("make", [window_space, whole_space, all_directions])
def test_weights_of_a_space_have_a_place_in_it_and_others_none(make):
    problem = draw_problem("bleu", 7, whole=False)
    plane = plane_of(3 if make is all_directions else 2)
    space = make(problem, plane, *([np.array([[-1.0, 2.0], [-2.0, 2.0]])] if make is window_space else []))
    rng = np.random.default_rng(5)
    moves = np.concatenate([np.zeros((1, 2)), rng.uniform([-1, -2], [2, 2], (20, 2))])
    for move in moves:
        weights = START + np.append(move, 0.0)
        place = space.place(weights)
        assert any(np.all((low <= place) & (place <= high)) for low, high in zip(space.lows, space.highs, strict=True))
        found = space.weights(place)
        np.testing.assert_allclose(found / np.abs(found).max(), weights / np.abs(weights).max(), atol=1e-9)
    assert space.place(np.zeros(3)) is None
    if make is not all_directions:
        assert space.place(START + np.array([0.0, 0.0, 1.0])) is None
    if make is window_space:
        assert space.place(START + np.array([2.5, 0.0, 0.0])) is None


@compiled
@settings(max_examples=25)
@given(seed=st.integers(0, 10**9), whole=st.booleans())
def test_what_a_rerank_selects_is_among_the_rows_that_can_win(seed, whole):
    rng = np.random.default_rng(seed)
    problem = draw_problem("bleu", seed, whole=whole, sentences=3, k=12)
    space = window_space(problem, plane_of(3), np.array([[-1.0, 1.0]] * 3))
    boxes = Boxes(problem, space)
    low, high = space.lows[0], space.highs[0]
    for z in points_in(low, high, rng, 20):
        rows = problem.select(space.weights(z))
        chosen = problem.stats[rows].sum(axis=0)
        found, sums = boxes.rows.survivors(*bundled([boxes.rows.all_open()]), z[None], np.zeros((1, len(z))))
        assert np.all(sums.low[0] <= chosen)
        assert np.all(chosen <= sums.high[0])
        assert len(found.rows) <= len(boxes.rows.heights)


def best_of_surface(problem, plane, size):
    """Return the highest gain of a window's cells, all of which are enumerated."""
    window = Window(-size, size, -size, size)
    report = look_at_plane(Plane.make(problem, plane, window), SurfaceOptions(check=0))
    return problem.gain(report.weights)


@compiled
@pytest.mark.parametrize("principal", [False, True])
@pytest.mark.parametrize("spec", ["bleu", "chrf(char_order=2)", "wer", "column:worth"])
def test_the_optimum_of_a_plane_is_that_of_its_enumerated_cells(spec, principal):
    for seed in range(3):
        problem = draw_problem(spec, seed, sentences=8, k=9, whole=False)
        space = window_space(problem, plane_of(), np.array([[-2.0, 2.0]] * 2), principal=principal)
        found = certify(problem, space, START, CertifyOptions(gap=1e-3, limit=2_000))
        best = best_of_surface(problem, plane_of(), 2.0)
        assert found.complete
        assert found.gain == problem.gain(found.weights)
        assert best <= found.bound <= found.gain + 1e-3
        assert np.all(np.abs(found.weights - START)[:2] <= 2.0 + 1e-12)


@compiled
@pytest.mark.parametrize("large", [False, True])
def test_the_answer_is_the_same_for_any_number_of_threads_and_after_a_stop(tmp_path, monkeypatch, large):
    if large:  # soon: searches of random lines from where others ended
        for name, value in {"SMALL_CLIMBS": 2, "LARGE": 16, "PACE": 1, "TOPS": 2}.items():
            monkeypatch.setattr(search_module, name, value)
    problem = draw_problem("bleu", 5, sentences=10, k=10, whole=False)
    space = reach_space(problem, plane_of(3), 2.0, principal=True)
    path = str(tmp_path / "search.npz")
    one = certify(problem, space, START, CertifyOptions(gap=0.01, limit=400))
    two = certify(problem, space, START, CertifyOptions(gap=0.01, limit=400, threads=2))
    part = certify(problem, space, START, CertifyOptions(gap=0.01, limit=100, checkpoint=path))
    rest = certify(problem, space, START, CertifyOptions(gap=0.01, limit=400, checkpoint=path, resume=True, threads=2))
    assert part.boxes < one.boxes
    for other in (two, rest):
        assert other.weights.tobytes() == one.weights.tobytes()
        assert other.as_dict() == one.as_dict()


def test_a_point_near_another_one_is_within_box_and_walls():
    rng, walls = np.random.default_rng(0), np.array([[-1.0, 1.0, 1.0]])  # the others are at most 1 together
    box = Walled(np.array([1.0, -2.0, -2.0]), np.array([1.0, 2.0, 2.0]), walls)
    point = np.array([1.0, 1.9, -1.0])
    found = np.array([stray(box, point, rng) for _ in range(200)])
    assert np.all((found >= box.low) & (found <= box.high))
    assert np.all(found @ walls[0] <= 1e-12)
    assert len(np.unique(found, axis=0)) > 150


@compiled
def test_a_saved_search_of_another_problem_or_a_torn_one_is_refused(tmp_path):
    problem = draw_problem("bleu", 5, whole=False)
    space = reach_space(problem, plane_of(3), 2.0)
    path = tmp_path / "search.npz"
    certify(problem, space, START, CertifyOptions(gap=1e-3, limit=50, checkpoint=str(path)))
    again = CertifyOptions(gap=1e-3, checkpoint=str(path), resume=True)
    with pytest.raises(InputError, match="one of another"):
        certify(problem, reach_space(problem, plane_of(3), 1.0), START, again)
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(InputError, match="the state of a search"):
        certify(problem, space, START, again)
    with pytest.raises(LuthierError, match="the file of a search to resume"):
        CertifyOptions(resume=True)


@compiled
@pytest.mark.parametrize("make", [whole_space, all_directions])
def test_without_a_window_no_direction_of_weights_is_better_than_the_bound(make):
    rng = np.random.default_rng(0)
    for seed in range(3):
        problem = draw_problem("bleu", seed, sentences=6, k=6, whole=seed == 2)
        space = make(problem, plane_of(3 if make is all_directions else 2))
        found = certify(problem, space, START, CertifyOptions(gap=0.01, limit=400))
        assert found.whole
        which = "there are" if make is all_directions else "along the axes"
        assert f"of all weights {which}" in found.sentence
        assert found.as_dict()["global"] == (make is all_directions)
        drawn = rng.normal(size=(400, 3)) * 10.0 ** rng.integers(-3, 4, (400, 1))
        if make is whole_space:
            drawn = START + drawn * [1.0, 1.0, 0.0]
        assert problem.gains(drawn).max() <= found.bound
        if make is all_directions and seed != 2:  # where nothing ties at such weights
            assert problem.gains(rng.integers(-2, 3, (400, 3)).astype(float)).max() <= found.bound


@compiled
@pytest.mark.parametrize(("seed", "gap"), [(337, 1.0), (345, 1.0), (363, 1.0), (677, 0.5)])
def test_a_box_that_is_cut_until_nothing_but_a_wall_is_left_keeps_its_bound(seed, gap):
    rng = np.random.default_rng(seed)
    start = rng.normal(size=3)
    problem = draw_problem("column:worth", seed, whole=False, sentences=3, k=4)
    ends = np.sort(rng.uniform(-1, 1, (3, 2)), axis=1)
    drawn = start + ends[:, 0] + rng.random((3000, 3)) * (ends[:, 1] - ends[:, 0])
    gains = problem.gains(drawn)
    space = window_space(problem, plane_of(3, start), ends, principal=True)
    found = certify(problem, space, drawn[np.argmin(gains)], CertifyOptions(gap=gap, limit=300))
    assert gains.max() <= found.bound


@compiled
def test_a_search_that_ties_keep_open_is_not_called_closed():
    # rows 0 and 1 differ by nothing along the axis: the first wins, the second is better
    problem = problem_of([[[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]], [[1.0, 5.0, 0.0]])
    space = window_space(problem, Subspace(np.array([1.0, 0.0]), np.eye(2)[:1]), np.array([[-0.5, 0.5]]))
    found = certify(problem, space, np.array([1.0, 0.0]), CertifyOptions(gap=0.01))
    assert (found.gain, found.n_open) == (1.0, 0)
    assert found.bound >= 5.0
    assert not found.complete
    assert "not closed: what is left hangs on ties" in found.sentence


@compiled
@pytest.mark.parametrize("small", [1e-10, 1e-30])
def test_a_weight_that_counts_little_decides_where_all_others_are_0(small):
    # the second row wins only where the third weight decides
    problem = problem_of([[[1.0, 0, 0], [0, 0, 1.0], [-1.0, 0, 0]], [[0, 1.0, 0], [0, -1.0, 0], [0, 0, 1.0]]],
                         [[0.0, 8.0, 0.0], [0.0, 0.0, 8.0]])  # fmt: skip
    start = np.array([1.0, 1.0, small])
    best = problem.gain(np.array([0.0, 0.0, small]))
    assert best == 8.0
    # without a window ties are left out, and 1e-30 beside 1 is such: it is less than the last digit
    whole = [WindowOptions(whole=True)] if small > 1e-20 else []
    for options in (WindowOptions(), WindowOptions(reach=2.0), *whole):
        space = options.space(problem, plane_of(2, start))
        found = certify(problem, space, start, CertifyOptions(gap=0.01, limit=400))
        assert found.bound >= best
    without = WindowOptions(reach=2.0).space(problem, plane_of(2, np.array([1.0, 1.0, 0.0])))
    assert not without.anchored


@compiled
def test_limits_on_weights_are_walls():
    problem = draw_problem("bleu", 11, sentences=8, whole=False)
    bounds = Bounds(np.array([0.5, -0.25, -np.inf]), np.array([2.0, 0.5, np.inf]))
    limited = problem.with_bounds(bounds)
    drawn = bounds.clip(START + np.random.default_rng(1).uniform(-2, 2, (500, 3)) * [1.0, 1.0, 0.0])
    for principal in (False, True):
        space = window_space(limited, plane_of(), np.array([[-2.0, 2.0]] * 2), principal=principal)
        found = certify(limited, space, START, CertifyOptions(gap=0.01, limit=1000))
        assert bounds.allow(found.weights)
        assert limited.gains(drawn).max() <= found.bound
    with pytest.raises(LuthierError, match="directions of weights have no size"):
        all_directions(limited, plane_of())


def test_a_box_that_spans_weights_holds_them():
    problem = draw_problem("bleu", 1, whole=False)
    other = START + np.array([0.5, -2.0, 0.0])
    for principal in (False, True):
        space = span_space(problem, plane_of(), other[None], 0.1, principal=principal)
        place = np.linalg.solve(space.matrix[1:, :2].T, (other - START)[:2])
        assert np.all(space.lows[0, 1:] <= place + 1e-12)
        assert np.all(place - 1e-12 <= space.highs[0, 1:])
    with pytest.raises(LuthierError, match="differ from the start beside the axes"):
        span_space(problem, plane_of(), START[None] + 1.0, 0.1)


def test_principal_axes_are_orthonormal_and_say_how_far_rows_spread():
    problem = draw_problem("bleu", 1, whole=False, sentences=30)
    turn, spread = principal_axes(problem, plane_of(3))
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)
    turned = problem.pool.features.dense @ turn.T
    means = np.add.reduceat(turned, problem.offsets[:-1], axis=0) / np.diff(problem.offsets)[:, None]
    apart = turned - np.repeat(means, np.diff(problem.offsets), axis=0)
    np.testing.assert_allclose(np.sqrt((apart**2).mean(axis=0)), spread, rtol=1e-12)
    np.testing.assert_allclose(apart.T @ apart - np.diag(np.diag(apart.T @ apart)), 0.0, atol=1e-9)


@compiled
def test_an_axis_along_which_no_list_differs_hides_no_answer():
    rng = np.random.default_rng(3)
    lists = rng.normal(size=(30, 7, 2))
    problem = problem_of(list(lists[..., [0, 1, 0]]), list(rng.integers(0, 101, (30, 7))))
    start = np.array([1.0, -1.0, 0.5])
    turn, spread = principal_axes(problem, plane_of(3))
    assert spread[np.abs(turn @ [1.0, 0.0, -1.0]).argmax()] == spread.max()
    found = certify(problem, all_directions(problem, plane_of(3, start)), start, CertifyOptions(gap=0.01, limit=4000))
    drawn = problem.gains(rng.normal(size=(20_000, 3)))
    assert found.complete
    assert drawn.max() <= found.bound <= found.gain + 0.01 + 1e-9
