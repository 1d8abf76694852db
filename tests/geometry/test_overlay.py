import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planar_oracles import cells_with_area, line_between
from scipy.spatial import ConvexHull

from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.geometry.plane import _line_kernels as kernels
from luthier.geometry.plane import subdivision
from luthier.geometry.plane.overlay import Overlay, Workspace
from luthier.geometry.plane.subdivision import FAR, Grid, Subdivisions, Window

SQUARE = Window(-2.0, 2.0, -1.0, 3.0)


def names_of(n_rows, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 50, size=(n_rows, 2))


def random_lists(seed, lengths, *, integers=False):
    rng = np.random.default_rng(seed)
    shape = (sum(lengths), 3)
    points = rng.integers(-2, 3, size=shape).astype(float) if integers else rng.normal(size=shape)
    return np.concatenate([[0], np.cumsum(lengths)]), points


def streamed(overlay, values, threads=1):
    blocks = list(overlay.stream(values, lambda block: block, threads=threads))
    return tuple(np.concatenate([getattr(block, name) for block in blocks]) for name in ("sums", "low", "keys"))


def selections(overlay):
    _, _, keys = streamed(overlay, names_of(len(overlay.points)))
    return [overlay.cell(key) for key in keys]


DEGENERATE = {
    "integers": lambda: random_lists(1, (4, 5, 3), integers=True),
    "duplicates": lambda: (np.array([0, 4, 8]), np.tile(random_lists(2, (4,), integers=True)[1], (2, 1))),
    "one row": lambda: random_lists(3, (1, 4, 1, 5)),
    "parallel": lambda: (np.array([0, 4, 9]), random_lists(4, (4, 5), integers=True)[1] * [1.0, 1.0, 0.0]),
    "collinear": lambda: (np.array([0, 4, 9]), random_lists(5, (4, 5), integers=True)[1][:, [0, 1, 1]]),
    "constant": lambda: (np.array([0, 4, 9]), random_lists(6, (4, 5), integers=True)[1] * [1.0, 0.0, 0.0]),
    "one point": lambda: (np.array([0, 5, 9]), random_lists(7, (5, 4), integers=True)[1] * [0.0, 1.0, 1.0]),
}


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("window", [SQUARE, Window()], ids=["square", "whole"])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_cells_in_any_order_are_those_that_are_looked_at_alone(kind, window, scale):
    offsets, points = DEGENERATE[kind]()
    overlay = Overlay(offsets, scale * points, window)
    _, _, keys = streamed(overlay, names_of(len(points)))
    for order in (np.arange(len(keys)), np.arange(len(keys))[::-1], np.random.default_rng(0).permutation(len(keys))):
        for key, cell in zip(keys[order], overlay.cells(keys[order]), strict=True):
            alone = overlay.cell(key)
            assert np.array_equal(cell.selection, alone.selection)
            assert np.array_equal(cell.polygon, alone.polygon)
            assert (cell.area, cell.radius, cell.margin) == (alone.area, alone.radius, alone.margin)


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("window", [SQUARE, Window(-1.0, 1.0, 0.0, 1.0)], ids=["wide", "through corners"])
def test_cells_with_an_area_are_those_of_brute_force(kind, window):
    offsets, points = DEGENERATE[kind]()
    expected = cells_with_area(points, offsets.tolist(), window.limits)
    found = {tuple(cell.selection.tolist()): cell.area for cell in selections(Overlay(offsets, points, window))}
    sized = {rows: area for rows, area in found.items() if area > 1e-9}
    assert sized.keys() == expected.keys()
    assert all(sized[rows] == pytest.approx(float(area)) for rows, area in expected.items())


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), integers=st.booleans(), bounded=st.booleans())
def test_every_cell_is_found_once(seed, integers, bounded):
    offsets, points = random_lists(seed, (3, 4, 4), integers=integers)
    overlay = Overlay(offsets, points, SQUARE if bounded else Window())
    sums, _, keys = streamed(overlay, names_of(len(points)))
    assert len(np.unique(sums, axis=0)) == len(sums) == len(np.unique(keys, axis=0))
    cells = [overlay.cell(key) for key in keys]
    chosen = np.array([cell.selection for cell in cells])
    assert np.array_equal(names_of(len(points))[chosen].sum(axis=1), sums)
    if bounded:
        assert sum(cell.area for cell in cells) == pytest.approx(16.0)


@pytest.mark.parametrize("integers", [False, True])
def test_any_point_of_the_window_lies_in_a_known_cell(integers):
    offsets, points = random_lists(11, (6, 7, 5, 6), integers=integers)
    overlay = Overlay(offsets, points, SQUARE)
    known = {tuple(cell.selection.tolist()) for cell in selections(overlay)}
    rng = np.random.default_rng(0)
    for x, y in rng.uniform([-2.0, -1.0], [2.0, 3.0], size=(60, 2)):
        heights = points @ [1.0, x, y]
        rows = tuple(low + int(np.argmax(heights[low:high])) for low, high in itertools.pairwise(offsets.tolist()))
        assert rows in known
        assert tuple(overlay.cell_at(x, y).selection.tolist()) == rows


def edges_by_brute_force(points):
    """Return every edge of one list in general position: its line's point and direction, and from where to where."""
    for i, j in itertools.combinations(range(len(points)), 2):
        c, p, q = points[i] - points[j]
        start, along = np.array([p, q]) * (-c / (p * p + q * q)), np.array([-q, p])
        low, high = -np.inf, np.inf
        for k in range(len(points)):
            if k not in (i, j):
                gap, slope = points[i] - points[k], (points[i] - points[k])[1:] @ along
                t = -(gap[0] + gap[1:] @ start) / slope
                low, high = (max(low, t), high) if slope > 0 else (low, min(high, t))
        if low < high:
            yield start, along, low, high


@pytest.mark.parametrize("seed", range(4))
def test_the_whole_plane_has_as_many_cells_as_faces_and_crossings_make(seed):
    lengths = (6, 5, 7)
    offsets, points = random_lists(seed + 20, lengths)
    edges = [list(edges_by_brute_force(points[low:high])) for low, high in itertools.pairwise(offsets)]
    crossings = 0
    for one, other in itertools.combinations(edges, 2):
        for (a, u, low_a, high_a), (b, v, low_b, high_b) in itertools.product(one, other):
            s, t = np.linalg.solve(np.array([u, -v]).T, b - a)
            crossings += low_a < s < high_a and low_b < t < high_b
    faces = []
    for low, high in itertools.pairwise(offsets):
        hull = ConvexHull(points[low:high, [1, 2, 0]])
        faces.append(len(np.unique(hull.simplices[hull.equations[:, 2] > 0])))
    overlay = Overlay(offsets, points)
    assert overlay.faces.counts.tolist() == faces
    assert len(streamed(overlay, names_of(len(points)))[0]) == 1 + sum(f - 1 for f in faces) + crossings


def test_threads_change_nothing():
    offsets, points = random_lists(31, (9,) * 12)
    overlay = Overlay(offsets, points, SQUARE)
    one, two = streamed(overlay, names_of(len(points))), streamed(overlay, names_of(len(points)), threads=3)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_a_streamed_low_point_is_a_corner_of_its_cell():
    offsets, points = random_lists(32, (5, 6, 4))
    overlay = Overlay(offsets, points, SQUARE)
    _, low, keys = streamed(overlay, names_of(len(points)))
    for corner, key in zip(low, keys, strict=True):
        polygon = overlay.cell(key).polygon
        lowest = polygon[np.lexsort((polygon[:, 0], polygon[:, 1]))[0]]
        assert np.allclose(lowest, corner, atol=1e-9)


def test_real_values_are_summed_too():
    offsets, points = random_lists(33, (5, 6))
    values = np.random.default_rng(0).normal(size=(len(points), 2))
    overlay = Overlay(offsets, points, SQUARE)
    sums, _, keys = streamed(overlay, values)
    for total, key in zip(sums, keys, strict=True):
        assert np.allclose(values[overlay.cell(key).selection].sum(axis=0), total)


def exact_sign(lines, points, epsilon):
    """Return the sign of a determinant of lines after row k is raised by epsilon^(k+1)."""
    raised = [(Fraction(float(c)) + epsilon ** (k + 1), p, q) for k, (c, p, q) in enumerate(points)]
    (a, b, c), (d, e, f), (g, h, i) = (
        tuple(Fraction(x) - Fraction(y) for x, y in zip(raised[k], raised[j], strict=True)) for k, j in lines
    )
    det = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return (det > 0) - (det < 0)


@settings(max_examples=200)
@given(seed=st.integers(0, 10**6), large=st.booleans())
def test_signs_are_those_of_exact_arithmetic(seed, large):
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, size=(9, 3)).astype(float)
    if large:  # nearly dependent: floats alone cannot tell
        points = points * 2.0**46 + rng.integers(-1, 2, size=(9, 3))
    lines = [(0, 3), (1, 4), (2, 5)] if rng.integers(2) else [(3, 0), (3, 1), (5, 2)]
    flat_lines = [name for line in lines for name in line]
    sign = kernels.side(points, np.zeros((8, 3)), *flat_lines)
    expected = exact_sign(lines, points.tolist(), Fraction(1, 10**60))
    vectors = [line_between(points, *line) for line in lines]
    if all(f[1] * g[2] == f[2] * g[1] for f, g in itertools.combinations(vectors, 2)):
        return  # three parallel lines: nobody asks
    assert sign == expected


def test_the_border_of_an_open_window_is_beyond_all_crossings():
    assert FAR > 2.0**105


def test_a_bad_window_or_point_is_refused():
    offsets, points = random_lists(1, (3,))
    with pytest.raises(LuthierError, match="low < high"):
        Window(1.0, 1.0, 0.0, 1.0)
    with pytest.raises(LuthierError, match="inside the window"):
        Overlay(offsets, points, SQUARE).cell_at(5.0, 0.0)
    with pytest.raises(LuthierError, match="3 numbers"):
        Overlay(offsets, points[:, :2], SQUARE)
    with pytest.raises(LuthierError, match="finite"):
        Overlay(offsets, points * np.inf, SQUARE)
    with pytest.raises(LuthierError, match="values of 3 rows"):
        next(Overlay(offsets, points, SQUARE).stream(np.zeros((2, 1)), len))


def test_cells_without_end_have_an_area_where_one_axis_does_nothing_but_by_rounding():
    heights = [[0, 0, -2289.7336089597848], [0, 0, 0], [-5120, 4.547473508864641e-13, 2289.7336089597848], [0, 0, 0]]
    offsets, points = np.array([0, 4]), np.array(heights, float)
    noise = np.array([[5.68e-12, 4.55e-12, 2.54e-12]])
    assert Overlay(offsets, points, noise=noise).count() == 3
    assert Overlay(offsets, points, Window(-1.0, 1.0, -1.0, 3.0), noise=noise).count() == 3
    assert Overlay(offsets, points, Window(-1.0, 1.0, 0.5, 2.0), noise=noise).count() == 1


def test_an_area_made_by_noise_is_none_wherever_it_lies():
    points = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.5 + 1e-9, 0.5, 0.0]])  # the last leads by 10⁻⁹ at most
    window = Window(-2.0, 2.0, -2.0, 2.0)
    assert Overlay(np.array([0, 3]), points, window).count() == 3
    assert Overlay(np.array([0, 3]), points, window, noise=np.array([[1e-8, 1e-8, 0.0]])).count() == 2


@pytest.mark.parametrize("seed", range(12))
def test_rows_that_lead_nowhere_in_a_window_change_nothing(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    offsets = offsets_from_counts(rng.integers(1, 70, size=6))
    points = rng.normal(size=(offsets[-1], 3)) * 10.0 ** rng.integers(-9, 9, 3)
    if seed % 2:
        points = rng.integers(-3, 4, size=points.shape).astype(float)
    low, high = -rng.random(2), rng.random(2)
    scale = np.array(Grid.lay(offsets, points).units) * 10.0 ** rng.integers(-3, 3)
    window = Window(low[0] * scale[0], high[0] * scale[0], low[1] * scale[1], high[1] * scale[1])
    monkeypatch.setattr(subdivision, "FEW_ROWS", 1)
    found = Subdivisions.make(offsets, points, window)
    left = found.grid.leading_rows(offsets, window)
    monkeypatch.setattr(Grid, "leading_rows", lambda self, *_, **__: np.arange(len(self.heights)))
    all_rows = Subdivisions.make(offsets, points, window)
    assert len(found.rows) <= len(left)
    np.testing.assert_array_equal(found.rows, all_rows.rows)
    for one, other in zip(found.arrays, all_rows.arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_find_the_same_faces(monkeypatch):
    rng = np.random.default_rng(2)
    offsets = offsets_from_counts(np.append(rng.integers(1, 40, size=7), [1, 1, 1]))
    points = rng.normal(size=(offsets[-1], 3))
    one = Subdivisions.make(offsets, points, SQUARE)
    monkeypatch.setattr(subdivision, "LISTS_AT_ONCE", 3)
    for threads in (1, 3):
        found = Subdivisions.make(offsets, points, SQUARE, threads=threads)
        np.testing.assert_array_equal(found.rows, one.rows)
        for part, other in zip(found.arrays, one.arrays, strict=True):
            np.testing.assert_array_equal(part, other)


def test_most_rows_lead_nowhere():
    points = np.random.default_rng(0).normal(size=(2000, 3))
    assert len(Grid.lay(np.array([0, 2000]), points).leading_rows(np.array([0, 2000]), SQUARE)) < 300


@pytest.mark.parametrize("window", [Window(-1.0, 2.0, 0.5, 3.0), Window()])
def test_lists_of_one_row_have_the_window_as_their_face(window):
    rng = np.random.default_rng(1)
    points = rng.standard_normal((5, 3))
    alone = Subdivisions.make(np.arange(6), points, window)
    # beside a list of two rows, of which the kernel divides all
    both = Subdivisions.make(np.array([0, 1, 2, 3, 4, 5, 7]), np.vstack([points, [[0, 0, 0], [9, 0, 0]]]), window)
    assert alone.rows.tolist() == both.rows[:5].tolist() == list(range(5))
    for name in ("ptr", "sides", "owner", "tied"):
        found, wanted = getattr(alone.arrays, name), getattr(both.arrays, name)
        assert found.dtype == wanted.dtype
        assert np.array_equal(found, wanted[: len(found)])
    assert Overlay(np.arange(6), points, window).count() == 1


@pytest.mark.parametrize("low", [True, False], ids=["lowest points", "none"])
def test_blocks_of_any_edges_are_the_cells_of_a_stream(low):
    offsets, points = random_lists(11, (9, 8, 1, 7, 9))
    overlay, values = Overlay(offsets, points, SQUARE), names_of(len(points))
    own, n = overlay.face_values(values), overlay.edges.n_owners
    room = Workspace(overlay, own, low=low)
    blocks = [block.copy() for part in (range(5), range(5, n)) for block in overlay.blocks(own, part, room)]
    sums, lowest, keys = streamed(overlay, values)
    assert np.array_equal(np.concatenate([block.sums for block in blocks]), sums)
    assert np.array_equal(np.concatenate([block.keys for block in blocks]), keys)
    assert np.array_equal(np.concatenate([block.low for block in blocks]), lowest if low else np.zeros((0, 2)))
    assert all(len(block.with_area.low) == (len(block.with_area) if low else 0) for block in blocks)
