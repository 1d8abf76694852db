"""Reverse search: the vertex sets of Minkowski sums equal brute force, whatever the order, the threads or the stops."""

import dataclasses
import itertools
import math
import threading
from fractions import Fraction

import numpy as np
import pytest
from exact_cones import selections
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from luthier.core.errors import LuthierError
from luthier.core.tasks import Serial, Shared, Threads
from luthier.geometry.minkowski import search_steps
from luthier.geometry.minkowski.checks import share_covered
from luthier.geometry.minkowski.frontier import Ahead, Frontier, SearchSetting
from luthier.geometry.minkowski.grid import coarse_lists, grid_roundings, wide_spreads
from luthier.geometry.minkowski.reverse_search import ReverseSearch, all_vertices
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.plane.overlay import Overlay


def stacked(lists):
    return np.cumsum([0, *map(len, lists)]), np.concatenate(lists).astype(np.float64)


def index_vectors(lists):
    """Return every choice of one distinct row of each list, as rows of the stacked lists, and its sum."""
    offsets, features = stacked(lists)
    distinct = []
    for low, rows in zip(offsets[:-1], lists, strict=True):
        first = {}
        for i, row in enumerate(rows):
            first.setdefault(tuple(row), int(low) + i)
        distinct.append(sorted(first.values()))
    choices = np.array(list(itertools.product(*distinct)))
    return choices, features[choices].sum(axis=1)


def vertices_by_programmes(lists, limits=()):
    """Return the choices whose sum is a vertex, by one linear program for each sum; perhaps within limits."""
    choices, sums = index_vectors(lists)
    found = set()
    for choice, point in zip(choices, sums, strict=True):
        others = np.delete(sums, np.flatnonzero(np.all(choices == choice, axis=1)), axis=0) - point
        others = np.concatenate([others, np.reshape(limits, (-1, len(point)))])
        # two choices with one sum are no vertex: the margin is 0 then
        answer = linprog(
            np.r_[np.zeros(len(point)), -1.0], A_ub=np.c_[others, np.ones(len(others))], b_ub=np.zeros(len(others)),
            bounds=[(-1, 1)] * len(point) + [(0, 1)],
        )  # fmt: skip
        if answer.x[-1] > 1e-7:
            found.add(tuple(choice.tolist()))
    return found


def vertices_by_hull(lists):
    choices, sums = index_vectors(lists)
    return {tuple(choices[i].tolist()) for i in ConvexHull(sums).vertices}


def as_set(rows):
    found = {tuple(row) for row in rows.tolist()}
    assert len(found) == len(rows), "a vertex was found twice"
    return found


def integer_lists(seed):
    """Return small whole-numbered lists, in which all that is degenerate happens."""
    rng = np.random.default_rng(seed)
    n_dims, high = int(rng.integers(2, 5)), int(rng.choice([1, 2, 3, 50]))
    lists = [rng.integers(-high, high + 1, size=(int(rng.integers(1, 5)), n_dims)) for _ in range(rng.integers(1, 4))]
    if seed % 5 == 0:
        lists.append(2 * lists[0])  # parallel edges
    if seed % 7 == 0:
        for rows in lists:
            rows[:, 0] = 1  # a constant feature
    start = np.eye(n_dims)[0] if seed % 2 else rng.standard_normal(n_dims)
    return lists, start


@pytest.mark.parametrize("seed", range(60))
def test_the_vertices_of_integer_lists_are_those_of_brute_force(seed):
    lists, start = integer_lists(seed)
    expected = vertices_by_programmes(lists)
    for shortcut in (True, False):
        assert as_set(all_vertices(*stacked(lists), start, shortcut=shortcut)) == expected


@pytest.mark.parametrize("seed", range(1, 40, 2))
def test_so_are_those_of_integer_lists_within_limits(seed):
    lists, start = integer_lists(seed)
    limits = -np.eye(len(start))[:1]
    found = all_vertices(*stacked(lists), start, limits=limits)
    assert as_set(found) == vertices_by_programmes(lists, limits)


@pytest.mark.parametrize("n_dims", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_vertices_of_random_lists_are_those_of_the_hull_of_all_sums(n_dims, seed):
    rng = np.random.default_rng(seed)
    lists = [rng.standard_normal((rng.integers(1, 7), n_dims)) for _ in range(4)]
    assert as_set(all_vertices(*stacked(lists), rng.standard_normal(n_dims))) == vertices_by_hull(lists)


def test_figure_3_has_six_vertices():
    square = np.array([(0, 0), (2, 0), (2, 1), (0, 1)])
    triangle = np.array([(0, 0), (1, 0.5), (0, 1)])
    choices, sums = index_vectors([square, triangle])
    found = as_set(all_vertices(*stacked([square, triangle]), [1.0, 0.0]))  # the start lies on a boundary
    assert (len(choices), len(np.unique(sums, axis=0)), len(found)) == (12, 10, 6)
    assert found == vertices_by_hull([square, triangle])


@pytest.mark.parametrize("n_dims", [2, 3, 4, 5])
def test_segments_in_general_position_have_the_known_number_of_cells(n_dims):
    """m planes through the origin cut space into 2 Σ_{j<D} C(m−1, j) cones."""
    m, rng = 7, np.random.default_rng(n_dims)
    lists = [rng.standard_normal((2, n_dims)) for _ in range(m)]
    cells = 2 * sum(math.comb(m - 1, j) for j in range(n_dims))
    assert len(as_set(all_vertices(*stacked(lists), rng.standard_normal(n_dims)))) == cells


def test_lines_in_a_plane_have_the_known_number_of_cells():
    m, rng = 9, np.random.default_rng(0)
    lists = [rng.standard_normal((2, 3)) for _ in range(m)]
    inside = all_vertices(*stacked(lists), [1.0, 0.0, 0.0], limits=[[-1.0, 0.0, 0.0]])
    assert len(as_set(inside)) == 1 + m + math.comb(m, 2)


@pytest.mark.parametrize("integer", [False, True])
def test_the_plane_has_as_many_cells_as_the_overlay_of_subdivisions(integer):
    rng = np.random.default_rng(3)
    lists = [rng.integers(-9, 10, (8, 3)) if integer else rng.standard_normal((8, 3)) for _ in range(5)]
    if integer:
        lists = [np.c_[rng.standard_normal(8), rows[:, 1:]] for rows in lists]  # the model's score is no whole number
    offsets, features = stacked(lists)
    cells = sum(Overlay(offsets, features).stream(np.ones((len(features), 1)), len))
    found = all_vertices(offsets, features, [1.0, 0.0, 0.0], limits=[[-1.0, 0.0, 0.0]])
    assert len(as_set(found)) == cells


@pytest.fixture(scope="module")
def summands():
    rng = np.random.default_rng(8)
    return Summands.of(*stacked([rng.standard_normal((rng.integers(1, 9), 3)) for _ in range(6)]))


START = np.array([1.0, 0.2, -0.1])


def score(rows):
    return np.sin(rows.sum(axis=1).astype(np.float64))


@pytest.fixture(scope="module")
def everything(summands):
    blocks = list(ReverseSearch(summands, START).run())
    return as_set(np.concatenate([summands.rows(block.selections) for block in blocks]))


@pytest.mark.parametrize("order", ["depth", "breadth", "best"])
@pytest.mark.parametrize("threads", [1, 3])
def test_order_threads_and_stops_do_not_change_the_set(summands, everything, order, threads, monkeypatch):
    monkeypatch.setattr(
        "luthier.geometry.minkowski.reverse_search.TOGETHER", dict.fromkeys(("depth", "breadth", "best"), 7)
    )
    search = ReverseSearch(summands, START, order=order, score=score, threads=threads)
    found = []
    for limit in (1, 2, 3, 40, 41, 97, None):  # stopped and resumed, from its arrays
        found += search.run(limit)
        assert sum(map(len, found)) == search.n_found == (limit or len(everything))
        again = ReverseSearch(summands, START, order=order, score=score, threads=threads)
        again.restore(search.state())
        search = again
    assert search.complete
    assert as_set(np.concatenate([summands.rows(block.selections) for block in found])) == everything
    assert np.concatenate([block.numbers for block in found]).tolist() == list(range(len(everything)))


def test_the_order_found_is_the_same_with_any_number_of_threads(summands):
    one, three = (
        list(ReverseSearch(summands, START, order="best", score=score, threads=threads).run()) for threads in (1, 3)
    )
    for a, b in zip(one, three, strict=True):
        for name in ("numbers", "parents", "selections", "change_rows", "points", "margins", "gains", "keys"):
            assert np.array_equal(getattr(a, name), getattr(b, name)), name


def test_parts_of_a_search_together_find_the_rest(summands, everything):
    search = ReverseSearch(summands, START)
    found = [summands.rows(block.selections) for block in search.run(30)]
    for state in search.split(3):
        part = ReverseSearch(summands, START, order="breadth")
        part.restore(state)
        found += [summands.rows(block.selections) for block in part.run()]
    assert as_set(np.concatenate(found)) == everything


@pytest.mark.compiled  # its kernels are tried as plain Python above
@pytest.mark.parametrize("order", ["depth", "breadth", "best"])
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_children_found_ahead_by_anybody_change_no_block(summands, monkeypatch, order, size):
    monkeypatch.setattr(
        "luthier.geometry.minkowski.reverse_search.TOGETHER", dict.fromkeys(("depth", "breadth", "best"), 9)
    )
    monkeypatch.setattr("luthier.geometry.minkowski.frontier.FIRST_SIZE", size)
    monkeypatch.setattr("luthier.geometry.minkowski.frontier.MOST_KNOWN", 40)
    alone = ReverseSearch(summands, START, order=order, score=score)
    expected = [*alone.run(30), *alone.run()]
    for engine in (Serial(), Threads(2)):
        search = ReverseSearch(summands, START, order=order, score=score)
        ahead = Ahead(summands, Shared(SearchSetting(summands, START)), engine, order)
        blocks = list(search.run(30, ahead=ahead))
        later = ReverseSearch(summands, START, order=order, score=score)  # resumed, and helped by others
        later.restore(search.state())
        blocks += later.run(ahead=Ahead(summands, Shared(SearchSetting(summands, START)), engine, order))
        assert later.complete
        for a, b in zip(expected, blocks, strict=True):
            for field in dataclasses.fields(a):
                assert np.array_equal(getattr(a, field.name), getattr(b, field.name)), field.name


def test_a_search_that_is_stopped_while_others_help_goes_on(summands, everything):
    stop = threading.Event()
    stop.set()
    search = ReverseSearch(summands, START)
    ahead = Ahead(summands, Shared(SearchSetting(summands, START)), Serial(), "depth")
    assert sum(map(len, search.run(stop=stop, ahead=ahead))) == 1
    assert not ahead.fill(search.frontier, 5, stop)  # nobody was asked, and no vertex is lost
    found = [search.steps.root()[0][None], *(block.selections for block in search.run(ahead=ahead))]
    assert as_set(summands.rows(np.concatenate(found))) == everything


def test_a_set_event_stops_a_search(summands):
    stop = threading.Event()
    stop.set()
    search = ReverseSearch(summands, START)
    assert sum(map(len, search.run(stop=stop))) == 1
    assert not search.complete


def test_the_shortcut_gives_the_same_blocks_as_the_general_way(summands):
    short, general = (list(ReverseSearch(summands, START, shortcut=s).run()) for s in (True, False))
    for a, b in zip(short, general, strict=True):
        assert np.array_equal(a.selections, b.selections)
        assert np.array_equal(a.parents, b.parents)
        assert np.array_equal(a.points, b.points)


def test_parents_changes_points_and_margins_say_what_they_mean(summands):
    rows, by_parent = [], []
    features = {}
    for block in ReverseSearch(summands, START, order="breadth").run():
        rows += list(summands.rows(block.selections))
        for i in range(len(block)):
            part = slice(block.change_first[i], block.change_first[i + 1])
            mine = rows[block.parents[i]].copy() if block.parents[i] >= 0 else np.full(6, -1)
            assert block.parents[i] < 0 or np.all(mine[block.change_lists[part]] != block.change_rows[part])
            mine[block.change_lists[part]] = block.change_rows[part]
            by_parent.append(mine)
        selected, margins = summands.select(summands.to_grid(block.points))
        assert np.array_equal(selected, block.selections)
        assert np.all(block.margins > 0)
        assert margins == pytest.approx(block.margins, rel=1e-6)
        features |= dict(zip(block.numbers.tolist(), summands.corners[block.selections].sum(axis=1), strict=True))
        goal = summands.to_grid(START)
        for number, parent in zip(block.numbers.tolist(), block.parents.tolist(), strict=True):
            assert parent < 0 or goal @ features[parent] > goal @ features[number], "towards the root it goes up"
    assert np.array_equal(rows, by_parent)
    assert np.array_equal(rows[0], summands.rows(summands.select(summands.to_grid(START)[None])[0])[0])


def test_breadth_first_goes_by_depth_and_best_first_by_score(summands, monkeypatch):
    monkeypatch.setattr("luthier.geometry.minkowski.reverse_search.TOGETHER", {"breadth": 1, "best": 1})
    depths = np.concatenate([block.depths for block in ReverseSearch(summands, START, order="breadth").run()])
    assert np.all(np.diff(depths) >= 0)
    search = ReverseSearch(summands, START, order="best", score=score)
    blocks = list(search.run(60))
    gains = np.concatenate([block.gains for block in blocks])
    asked = blocks[-1].parents[0]  # the last to be asked was the best of those that were not yet
    waiting = search.frontier.arrays()["number"]
    waiting = waiting[waiting < blocks[-1].numbers[0]]
    assert gains[asked] >= gains[waiting].max()


def test_a_search_within_limits_finds_the_cones_that_meet_them(summands):
    half = -np.eye(3)[:1]
    whole = np.concatenate([block.selections for block in ReverseSearch(summands, START).run()])
    part = np.concatenate([block.selections for block in ReverseSearch(summands, START, limits=half).run()])
    usable, points, margins = search_steps.Steps(summands, START, limits=half, shortcut=True).points(whole)
    assert as_set(whole[usable]) == as_set(part)
    assert 0 < usable.sum() < len(whole)
    assert np.all(points[usable, 0] > 0)
    assert np.all(margins[usable] > 0)
    for selection in whole[~usable]:  # no weights of that cone have a positive first coordinate
        e = np.concatenate([np.arange(*summands.edge_first[c : c + 2]) for c in selection])
        top = linprog([-1, 0, 0], A_ub=summands.directions[e], b_ub=np.zeros(len(e)), bounds=[(-1, 1)] * 3)
        assert top.fun > -1e-9


def test_doubts_are_settled_exactly(monkeypatch):
    """Cubes, seen along a diagonal: walks to the start meet three walls at one point."""
    asked = []
    settle = search_steps.Steps._child_exactly

    def counting(self, selection, kind):
        asked.append(kind)
        return settle(self, selection, kind)

    monkeypatch.setattr(search_steps.Steps, "_child_exactly", counting)
    cube = np.array(list(itertools.product((0, 1), repeat=3)))
    shifted = np.array(list(itertools.product((-1, 1), (0, 2), (0, 1))))
    lists = [cube, shifted]
    assert as_set(all_vertices(*stacked(lists), np.ones(3))) == vertices_by_programmes(lists)
    assert asked


def test_noise_of_rounding_makes_slivers_only():
    """Differences that should be equal differ in their last digits: what that cuts from the space is thin."""
    rng = np.random.default_rng(5)
    whole = [rng.integers(0, 6, (6, 3)) for _ in range(4)]
    whole.append(whole[0] + 7)  # the same differences, elsewhere
    start = rng.standard_normal(3)
    expected = as_set(all_vertices(*stacked(whole), start))
    noisy = Summands.of(*stacked([rows * 0.1 + rng.standard_normal(3) for rows in whole]))
    blocks = list(ReverseSearch(noisy, start).run())
    rows = np.concatenate([noisy.rows(block.selections) for block in blocks])
    margins = np.concatenate([block.margins for block in blocks])
    assert as_set(rows[margins > 1e-9]) == expected


def test_lists_without_a_choice():
    assert all_vertices(np.array([0, 1, 3]), np.zeros((3, 2)), [1.0, 0.0]).tolist() == [[0, 1]]
    search = ReverseSearch(Summands.of(np.array([0, 1]), np.zeros((1, 2))), [1.0, 0.0])
    assert sum(map(len, search.run())) == 1
    assert search.complete


def test_the_share_covered_is_that_of_directions_in_found_cones(summands, monkeypatch):
    monkeypatch.setattr("luthier.geometry.minkowski.checks.MOST_DIRECTIONS", 2000)
    search = ReverseSearch(summands, START, order="breadth")
    keys = np.concatenate([block.keys for block in search.run(40)])
    estimate = share_covered(search, keys, np.random.default_rng(0))
    drawn = np.random.default_rng(1).standard_normal((1500, 3))
    share = np.isin(search.keys(summands.select(drawn)[0]), keys).mean()
    assert 0 < estimate.share < 1
    assert abs(estimate.share - share) < 3 * estimate.error + 0.03
    list(search.run())
    assert share_covered(search, keys, np.random.default_rng(0)).share == 1.0


@pytest.mark.parametrize(
    "options, message",
    [
        ({"order": "sideways"}, "expected an order"),
        ({"order": "best"}, "needs a score"),
        ({"limits": [[1.0, 0.0, 0.0]]}, "inside the limits"),
    ],
)
def test_what_a_search_does_not_take(summands, options, message):
    with pytest.raises(LuthierError, match=message):
        ReverseSearch(summands, START, **options)


def test_a_start_must_have_a_direction_and_a_state_its_search(summands):
    for start in ([0.0, 0.0, 0.0], [1.0, np.nan, 0.0], [1.0]):
        with pytest.raises(LuthierError, match="expected a start of 3"):
            ReverseSearch(summands, start)
    with pytest.raises(LuthierError, match="same start"):
        ReverseSearch(summands, START).restore(ReverseSearch(summands, -START).state())


@pytest.mark.parametrize("order", ["depth", "breadth"])
def test_a_frontier_keeps_its_order_while_it_grows(order):
    frontier = Frontier(order, 2, 3)
    n = 150

    def vertices(numbers):
        k = len(numbers)
        return {
            "local": np.full((k, 2), 3), "inner": np.ones((k, 3)), "depth": np.zeros(k, np.int64),
            "number": np.array(numbers), "skip": np.zeros(k, np.int64),
            "priority": np.stack([np.array(numbers) % 3.0, np.zeros(k)], axis=1),
        }  # fmt: skip

    frontier.push(vertices(range(n)))
    first = frontier.pop(5)["number"].tolist()
    frontier.push(vertices([200, 201]))
    rest = [*first, *frontier.arrays()["number"].tolist()]
    if order == "depth":
        assert rest == [*range(5), 200, 201, *range(5, n)]
    else:
        assert rest == sorted([*range(n), 200, 201], key=lambda i: (i % 3, i)) or rest[:5] == [0, 3, 6, 9, 12]
    assert frontier.pop(10**6)["number"].tolist() == rest[5:]
    assert not len(frontier)


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
def test_every_list_has_a_grid_of_its_own(scale):
    rng = np.random.default_rng(5)
    lists = [rng.integers(-3, 4, (5, 3)).astype(float) for _ in range(3)]
    offsets = np.arange(0, 16, 5)
    expected = as_set(all_vertices(offsets, np.concatenate(lists), START))
    lists[1] *= scale
    assert as_set(all_vertices(offsets, np.concatenate(lists), START)) == expected


def test_a_row_far_away_does_not_put_the_start_on_a_boundary():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1e12, -1.0]])
    found = all_vertices(np.array([0, 4]), points, [1e-3, 1.1e-3])
    assert as_set(found) == {(1,), (2,), (3,)}


FAR = -1e12  # a log of 0, as some write it
BESIDE_FAR_ROWS = (  # each has a cone next to nothing wide, behind a facet that stands out by as much
    (
        [[0, 0, -1, 0], [1, 1, 0, -1], [0, 1, 0, 0]],
        [[-1, 1, 1, -1], [1, 0, -1, 0], [0, 1, 1, 1], [1, 1, -1, 1], [-1, -1, 1, 1]],
        [[1, -1, -1, -1], [1, 0, 1, -1], [-1, 1, -1, 0], [FAR, 0, 0, 1], [1, 0, 1, 0], [-1, 1, 0, 1]],
    ),
    (
        [[1, -1, 1, 0], [-1, 0, 1, 0], [0, 0, 1, 0], [1, 1, 1, 0], [-1, -1, 0, -1]],
        [[0, 1, -1, 0], [1, 0, 1, 0], [FAR, 1, -1, -1], [1, 0, 0, 0]],
        [[0, 1, -1, 0], [0, 1, 0, 1], [1, 1, -1, 1], [1, 1, 1, 0], [-1, 1, -1, 0]],
    ),
    (
        [[-2, -1, 2], [1, 0, -1], [2, 0, 0], [1, 1, 2], [2, -1, -2], [0, -1, -2]],
        [[-1, FAR, 0], [-1, 0, -2], [-1, 1, -2], [1, 1, -1], [2, 2, 2]],
        [[1, 0, -1], [-2, 1, 2], [0, 0, -2], [2, 1, -1], [-2, -2, 1]],
        [[1, 0, 2], [-1, 0, -2]],
    ),
)


@pytest.mark.parametrize("lists", BESIDE_FAR_ROWS)
def test_cones_next_to_nothing_wide_are_found_beside_a_row_far_away(lists):
    lists = [np.array(rows, float) for rows in lists]
    offsets = np.cumsum([0, *map(len, lists)])
    starts = {4: [-0.5, -0.05, -0.5, -0.3], 3: [0.9, 0.06, 1.0]}
    expected = set(selections(lists))
    for start in (np.array(starts[lists[0].shape[1]]), np.ones(lists[0].shape[1]) + 0.1 * np.arange(lists[0].shape[1])):
        found = all_vertices(offsets, np.concatenate(lists), start) - offsets[:-1]
        assert len(found) == len(expected)
        assert set(map(tuple, found.tolist())) == expected


def test_what_spreads_far_is_named_whether_one_list_does_or_all_do():
    rng = np.random.default_rng(2)
    features, offsets = rng.standard_normal((40, 2)), np.arange(0, 41, 10)
    assert wide_spreads(offsets, features) == []
    assert wide_spreads(offsets, np.round(features)) == []  # equal values are not apart
    features[3, 1] = FAR
    assert [(s, i) for s, i, _ in wide_spreads(offsets, features)] == [(0, 1)]
    features[::3, 1] = FAR
    assert sorted((s, i) for s, i, _ in wide_spreads(offsets, features)) == [(s, 1) for s in range(4)]


def test_a_list_whose_column_is_next_to_nothing_is_told():
    usual = np.array([[0.0, 0.0, 0.0], [1.0, 1.3, 0.9], [2.0, 0.7, 1.1]])
    odd = usual * [1.0, 1.0, 1e-11]  # lost on a grid that is made for the other columns
    offsets, features = np.arange(0, 16, 3), np.concatenate([usual, usual, odd, usual, usual])
    assert wide_spreads(offsets, features) == []
    assert [(s, i) for s, i, _ in coarse_lists(offsets, features)] == [(2, 2)]
    assert coarse_lists(offsets, np.rint(features * 4)) == []  # whole numbers are not rounded
    assert grid_roundings(offsets, np.rint(features * 4)).max() == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_a_selection_that_leads_by_more_than_the_rounding_is_found(seed):
    """And where no warning is due, one that leads by 1/64 of what values are mostly apart."""
    rng = np.random.default_rng([7, seed])
    lengths, d = rng.integers(1, 6, int(rng.integers(1, 4))), int(rng.integers(2, 4))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    scales = 10.0 ** rng.integers(-13, 3, (len(lengths), d))  # some columns of some lists hardly exist
    features = rng.standard_normal((offsets[-1], d)) * np.repeat(scales, lengths, axis=0)
    if rng.integers(2):
        features[rng.integers(len(features))] += rng.choice([1e6, 1e10, 1e14])
    steps, coarse = grid_roundings(offsets, features), coarse_lists(offsets, features)
    gaps = [[np.diff(np.unique(part[:, i])) for i in range(d)] for part in np.split(features, offsets[1:-1])]
    usual = np.array([[np.sort(g)[(len(g) - 1) // 2] if len(g) else 0.0 for g in of_list] for of_list in gaps])
    found = set(map(tuple, all_vertices(offsets, features, np.ones(d)).tolist()))
    certain = 0
    for weights in rng.standard_normal((80, d)) * 10.0 ** rng.integers(-6, 7, (80, d)):
        exact = [sum(Fraction(w) * Fraction(h) for w, h in zip(weights, row, strict=True)) for row in features]
        parts = [exact[low:high] for low, high in itertools.pairwise(offsets)]
        leads = [float(sorted(part)[-1] - sorted(part)[-2]) if len(part) > 1 else np.inf for part in parts]
        rounding = steps @ np.abs(weights) if coarse else usual @ np.abs(weights) / 64
        if np.all(np.array(leads) > rounding):
            certain += 1
            assert tuple(low + part.index(max(part)) for low, part in zip(offsets, parts, strict=False)) in found
    assert certain > 0
