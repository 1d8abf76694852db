"""Vertices, edges and normal cones against qhull and against a linear program for every question."""

import itertools

import numpy as np
import pytest
from exact_cones import differences, separable
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from luthier.core.errors import LuthierError
from luthier.geometry.lp.lp import irredundant
from luthier.geometry.polytopes.cone import canonical_point
from luthier.geometry.polytopes.counting import exact_rank
from luthier.geometry.polytopes.polytope import (
    Polytope,
    adjacent_vertices,
    distinct_rows,
    distinct_rows_of_lists,
    extreme_rows,
    extreme_rows_of_lists,
    neighbours,
    reduced,
)

TABLE1 = np.array([[-0.1, -1.2], [-1.2, -0.2], [-0.9, -1.6], [-0.9, -0.1], [-0.8, -0.9]])


def strictly_below(rows, equal=None):
    """Whether some w has rows·w < 0 (and equal·w = 0), by a linear program."""
    n_columns = rows.shape[1]
    if not len(rows):
        return True
    limits = {"A_ub": np.hstack([rows, np.ones((len(rows), 1))]), "b_ub": np.zeros(len(rows))}
    if equal is not None:
        limits |= {"A_eq": np.append(equal, 0.0)[None], "b_eq": [0.0]}
    found = linprog(np.append(np.zeros(n_columns), -1.0), bounds=[(-1, 1)] * n_columns + [(0, 1)], **limits)
    return -found.fun > 1e-7


def vertices_by_programmes(points):
    distinct = sorted({tuple(point): k for k, point in reversed(list(enumerate(points)))}.values())
    return [i for i in distinct if strictly_below(points[[j for j in distinct if j != i]] - points[i])]


def edges_by_programmes(points, vertices):
    def joined(i, j):
        difference = points[j] - points[i]
        others = [
            points[k] - points[i] for k in range(len(points))
            if np.linalg.matrix_rank(np.stack([difference, points[k] - points[i]])) > 1
        ]  # fmt: skip
        return strictly_below(np.array(others).reshape(-1, points.shape[1]), difference)

    return [pair for pair in itertools.combinations(vertices, 2) if joined(*pair)]


def pairs(edges):
    return [tuple(edge) for edge in np.asarray(edges).tolist()]


def test_table_1_of_the_paper():
    polytope = Polytope.of(TABLE1)  # h1 … h5 are rows 0 … 4
    assert polytope.vertices.tolist() == [0, 1, 2, 3]
    assert pairs(polytope.edges) == [(0, 2), (0, 3), (1, 2), (1, 3)]
    # N{h1} lies between the boundaries towards h3 and h4
    np.testing.assert_array_equal(polytope.normal_cone(0), TABLE1[[2, 3]] - TABLE1[0])
    assert polytope.select([1.0, 0.0]) == 0
    with pytest.raises(LuthierError, match="vertex"):
        neighbours(TABLE1, 4)


def test_the_same_in_more_dimensions_than_it_needs():
    # a constant feature, a repeated one, a sum of others, other units: still the polygon of Table 1
    lm, tm = TABLE1.T
    wide = np.stack([lm, np.full(5, 7.25), tm * 1e6, lm, lm - 2 * tm], axis=1)
    assert reduced(wide).shape == (5, 2)
    polytope = Polytope.of(wide)
    assert polytope.vertices.tolist() == [0, 1, 2, 3]
    assert pairs(polytope.edges) == [(0, 2), (0, 3), (1, 2), (1, 3)]


@pytest.mark.parametrize("n_columns", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_random_points_against_qhull(n_columns, seed):
    rng = np.random.default_rng([seed, n_columns])
    points = rng.standard_normal((12 + 6 * n_columns, n_columns)) @ rng.standard_normal((n_columns, n_columns))
    points += 1000 * rng.standard_normal(n_columns)
    hull = ConvexHull(points)
    polytope = Polytope.of(points)
    assert polytope.vertices.tolist() == sorted(hull.vertices.tolist())
    # in general position facets are simplices, and their pairs are the edges
    expected = sorted({pair for facet in hull.simplices for pair in itertools.combinations(sorted(facet), 2)})
    assert pairs(polytope.edges) == expected
    for vertex in polytope.vertices[:3]:
        assert neighbours(points, vertex).tolist() == polytope.neighbours(vertex).tolist()


@st.composite
def awkward_lists(draw):
    """Small integers, so that points coincide, lie on sides and faces, and span less than they could."""
    n_columns = draw(st.integers(1, 4))
    entries = st.lists(st.integers(0, 2), min_size=n_columns, max_size=n_columns)
    points = np.array(draw(st.lists(entries, min_size=1, max_size=9)), dtype=float)
    kind = draw(st.sampled_from(["plain", "constant", "flat", "line", "doubled"]))
    if kind == "constant":
        points = np.insert(points, draw(st.integers(0, n_columns)), 3.0, axis=1)
    elif kind == "flat":
        points = points @ np.random.default_rng(draw(st.integers(0, 99))).integers(-2, 3, (n_columns, n_columns + 1))
    elif kind == "line":
        points = points[:, :1] * np.array([1.0, -2.0, 3.0])
    elif kind == "doubled":
        points = np.concatenate([points[::-1], points])
    return points.astype(float)


@settings(max_examples=150)
@given(awkward_lists())
def test_awkward_lists_against_a_programme_for_each_row_and_pair(points):
    polytope = Polytope.of(points)
    assert polytope.vertices.tolist() == vertices_by_programmes(points)
    assert pairs(polytope.edges) == edges_by_programmes(points, polytope.vertices.tolist())


@settings(max_examples=60)
@given(awkward_lists(), st.integers(0, 2**31))
def test_cones_hold_exactly_the_weights_that_select_their_vertex(points, seed):
    polytope = Polytope.of(points)
    for weights in np.random.default_rng(seed).standard_normal((20, points.shape[1])):
        selected = polytope.select(weights)
        assert selected in polytope.vertices
        inside = [v for v in polytope.vertices if np.all(polytope.normal_cone(v) @ weights < 0)]
        assert inside == [selected]


@pytest.mark.parametrize("n_points", [1, 2])
def test_lists_of_one_or_two(n_points):
    points = np.array([[1.0, 2.0, 3.0], [1.0, 2.5, 3.0]])[:n_points]
    polytope = Polytope.of(points)
    assert polytope.vertices.tolist() == list(range(n_points))
    assert pairs(polytope.edges) == ([(0, 1)] if n_points == 2 else [])
    assert polytope.normal_cone(0).shape == (n_points - 1, 3)


def test_cones_against_the_irredundant_rows_of_a_linear_programme():
    rng = np.random.default_rng(1)
    for _ in range(12):
        points = np.unique(rng.integers(-2, 3, (10, int(rng.integers(2, 6)))), axis=0).astype(float)
        polytope = Polytope.of(points)
        for vertex in polytope.vertices:
            rows = np.delete(points, vertex, axis=0) - points[vertex]
            found = [polytope.normal_cone(vertex), rows[irredundant(rows, canonical_point(rows))]]
            mine, theirs = ({tuple(row / np.abs(row).max()) for row in part} for part in found)
            assert mine == theirs


def test_a_cube_with_everything_inside_and_on_it():
    points = np.array(list(itertools.product([0.0, 1.0, 2.0], repeat=3)))
    corners = [k for k, point in enumerate(points) if 1.0 not in point]
    polytope = Polytope.of(points)
    assert polytope.vertices.tolist() == corners
    apart = {(i, j): np.abs(points[i] - points[j]).sum() for i, j in itertools.combinations(corners, 2)}
    assert pairs(polytope.edges) == [pair for pair, steps in apart.items() if steps == 2.0]


def test_a_simplex_in_many_dimensions_and_points_just_outside_and_inside():
    points = np.concatenate(
        [np.zeros((1, 30)), np.eye(30), np.full((1, 30), 1 / 30 - 1e-6), [np.full(30, 1 / 30 + 1e-6)]]
    )
    assert extreme_rows(points).tolist() == [*range(31), 32]
    assert len(adjacent_vertices(points[:31])) == 31 * 30 // 2


def test_all_lists_of_a_pool_with_empty_ones_and_any_number_of_threads():
    rng = np.random.default_rng(5)
    lengths = np.array([0, 1, 30, 0, 25, 2, 0])
    offsets = np.append(0, np.cumsum(lengths))
    features = rng.integers(-3, 4, (lengths.sum(), 4)).astype(float)
    found = [extreme_rows_of_lists(offsets, features, threads=threads) for threads in (1, 3)]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    starts, rows = found[0]
    for i in range(len(lengths)):
        expected = extreme_rows(features[offsets[i] : offsets[i + 1]]) + offsets[i]
        assert rows[starts[i] : starts[i + 1]].tolist() == expected.tolist()
        assert expected.tolist() == [
            offsets[i] + r for r in vertices_by_programmes(features[offsets[i] : offsets[i + 1]])
        ]


def test_distinct_rows_and_edges_of_all_lists():
    rng = np.random.default_rng(8)
    offsets = np.array([0, 0, 9, 10, 30])
    features = rng.integers(0, 3, (30, 3)).astype(float)
    for all_lists, one in ((distinct_rows_of_lists, distinct_rows), (extreme_rows_of_lists, extreme_rows)):
        starts, found = all_lists(offsets, features, threads=2)
        for i, (low, high) in enumerate(itertools.pairwise(offsets)):
            assert found[starts[i] : starts[i + 1]].tolist() == (one(features[low:high]) + low).tolist()
    assert extreme_rows_of_lists(np.array([0]), np.empty((0, 3)))[1].tolist() == []


def test_rows_equal_up_to_the_sign_of_zero_are_one():
    assert distinct_rows([[0.0, 1.0], [-0.0, 1.0], [1.0, 1.0]]).tolist() == [0, 2]
    assert distinct_rows(np.empty((0, 3))).tolist() == []
    assert distinct_rows(np.empty((3, 0))).tolist() == [0]


def test_what_is_no_list_is_refused():
    with pytest.raises(LuthierError, match="finite"):
        extreme_rows([[np.inf, 0.0]])
    with pytest.raises(LuthierError, match="shape"):
        extreme_rows([1.0, 2.0])
    with pytest.raises(LuthierError, match="one row or more"):
        Polytope.of(np.empty((0, 2)))


@pytest.mark.parametrize("seed", range(40))
def test_vertices_beside_a_row_that_is_far_away(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 3, (8, 3)).astype(float)
    points[rng.integers(8), rng.integers(3)] = -1e12
    found = extreme_rows(points).tolist()
    lowest = [i for i in range(8) if not any(np.array_equal(points[j], points[i]) for j in range(i))]
    assert all(separable(differences(points, i)) for i in found)
    for i in set(lowest) - set(found):
        steps = points[[j for j in lowest if j != i]] - points[i]
        assert not strictly_below(steps / np.linalg.norm(steps, axis=1, keepdims=True))


def test_the_rank_of_differences_is_exact():
    rng = np.random.default_rng(0)
    rows = rng.integers(-9, 10, (40, 3)) * 0.25
    table = np.column_stack([rows, rows[:, 0] - rows[:, 2] + 1e6, np.full(40, 0.1)])
    assert exact_rank(table) == 3
    table[-1, 3] += 2.0**-30
    assert exact_rank(table) == 4
    lists = np.array([[0, 0], [1, 0], [5, 7], [6, 7.0]])  # one list more to the right, each along the first axis
    assert exact_rank(lists, np.array([0, 2, 4])) == 1
    assert exact_rank(lists) == 2
    assert exact_rank(lists, np.arange(5)) == 0
