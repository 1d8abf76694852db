import itertools

import numpy as np
import pytest
from test_overlay import DEGENERATE, SQUARE, names_of, random_lists

from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.certainty import Certainty, Rounding
from luthier.geometry.plane.overlay import Overlay
from luthier.geometry.plane.subdivision import Window

CASES = {"general": lambda: random_lists(40, (5, 6, 4, 5)), **DEGENERATE}


@pytest.fixture(params=itertools.product(CASES, [SQUARE, Window()]), ids=lambda p: f"{p[0]}-{p[1].bounded}")
def laid_out(request):
    kind, window = request.param
    offsets, points = CASES[kind]()
    overlay = Overlay(offsets, points, window)
    return overlay, Arrangement.make(overlay, names_of(len(points)))


def test_what_is_laid_out_at_once_is_what_each_cell_gives_alone(laid_out):
    overlay, table = laid_out
    for i, key in enumerate(table.keys):
        cell = overlay.cell(key)
        if table.sized[i]:
            assert table.area[i] == pytest.approx(cell.area, abs=1e-9)
        else:
            assert table.area[i] < 1e-9
        assert np.array_equal(names_of(len(overlay.points))[cell.selection].sum(axis=0), table.sums[i])
        if np.isfinite(cell.area) and cell.area > 1e-9:
            assert np.allclose(table.position[i], cell.position)
            assert table.radius[i] == pytest.approx(cell.radius)
            assert table.margin[i] == pytest.approx(cell.margin)


def test_polygons_tile_the_window(laid_out):
    overlay, table = laid_out
    offsets, corners = table.polygons(np.arange(len(table)))
    assert len(offsets) == len(table) + 1
    for i, (low, high) in enumerate(itertools.pairwise(offsets)):
        if np.isfinite(corners[low:high]).all():
            x, y = corners[low:high].T
            twice = np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))
            assert twice / 2 == pytest.approx(table.area[i], abs=1e-9)
    if overlay.window.bounded:
        assert table.area.sum() == pytest.approx(16.0)


def test_a_cell_differs_from_its_neighbour_in_one_list(laid_out):
    overlay, table = laid_out
    assert np.count_nonzero(table.neighbour < 0) == 1
    for i, key in enumerate(table.keys):
        selection = overlay.cell(key).selection
        assert np.array_equal(table.selection(i), selection)
        if table.neighbour[i] >= 0:
            other = overlay.cell(table.keys[table.neighbour[i]]).selection
            assert np.flatnonzero(other != selection).tolist() == [table.change_list[i]]
            assert selection[table.change_list[i]] == table.change_row[i]


def judged(offsets, points, window, bound):
    overlay = Overlay(offsets, points, window)
    judge = Certainty(overlay, Rounding(bound, bound, bound), lambda a, b: np.ones(len(a), np.bool_))
    return overlay, judge, Arrangement.make(overlay, names_of(len(points)), judge=judge)


def leads(offsets, points, position):
    """Return the first rows at a point and the least lead over another row."""
    heights = points @ [1.0, *position]
    rows, least = [], np.inf
    for low, high in itertools.pairwise(offsets.tolist()):
        order = np.argsort(-heights[low:high], kind="stable") + low
        rows.append(int(order[0]))
        if high - low > 1:
            least = min(least, heights[order[0]] - heights[order[1]])
    return rows, least


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("bound", [1e-13, 1e-2])
def test_a_cell_is_representable_if_its_rows_lead_by_more_than_the_bound(kind, bound):
    offsets, points = CASES[kind]()
    overlay, judge, table = judged(offsets, points, SQUARE, bound)
    for i, key in enumerate(table.keys):
        cell = overlay.cell(key)
        rows, least = leads(offsets, points, table.position[i])
        limit = bound * (1.0 + np.abs(table.position[i]).sum())
        assert table.representable[i] == (rows == cell.selection.tolist() and least > limit)
        assert judge.judge_cell(cell) == table.representable[i]


def test_rows_that_differ_beyond_the_plane_are_never_certain():
    offsets, points = np.array([0, 3]), np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    overlay = Overlay(offsets, points, SQUARE)
    for differ, expected in ((True, {2}), (False, {0, 2})):
        judge = Certainty(overlay, Rounding(1e-12, 0.0, 0.0), lambda a, b, d=differ: np.full(len(a), d))
        table = Arrangement.make(overlay, names_of(3), judge=judge)
        assert {int(table.selection(i)[0]) for i in np.flatnonzero(table.representable)} == expected
