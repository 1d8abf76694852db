"""Planar hulls and fans: the paper's examples, and brute force in rational arithmetic."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luthier.core.errors import LuthierError
from luthier.geometry.polytopes import polytope as module
from luthier.geometry.polytopes.fan import all_sums, planar_fan
from luthier.geometry.polytopes.polytope import Polytope, distinct_rows, planar_hull, turn

TABLE1 = np.array([[-0.1, -1.2], [-1.2, -0.2], [-0.9, -1.6], [-0.9, -0.1], [-0.8, -0.9]])
SQUARE, TRIANGLE = [[0, 0], [2, 0], [2, 1], [0, 1]], [[0, 0], [1, 0.5], [0, 1]]


def test_the_fan_of_table_1():
    fan = planar_fan([TABLE1])
    assert fan.selections[:, 0].tolist() == [1, 2, 0, 3]  # h2, h3, h1, h4: once round
    around = [{int(a), int(b)} for a, b in zip(fan.selections[:, 0], np.roll(fan.selections[:, 0], -1), strict=True)]
    assert around == [{1, 2}, {2, 0}, {0, 3}, {3, 1}]
    assert fan.changes == ((0,),) * 4
    assert sum(fan.opening(c) for c in range(4)) == pytest.approx(2 * math.pi)
    # [h4, h1]: h1 − h4 = (0.8, −1.1), so the boundary is along (1.1, 0.8)
    assert fan.normals[2] == pytest.approx(np.array([1.1, 0.8]) / math.hypot(1.1, 0.8))


def test_figure_3_of_the_paper():
    sums = all_sums([SQUARE, TRIANGLE])
    fan = planar_fan([SQUARE, TRIANGLE])
    assert len(sums) == 12
    assert len(distinct_rows(sums)) == 10
    assert fan.n_cones == len(fan.normals) == 6
    assert fan.sums.tolist() == [[0, 0], [2, 0], [3, 0.5], [3, 1.5], [2, 2], [0, 2]]
    assert fan.changes == ((0,), (1,), (0,), (1,), (0,), (0, 1))  # the left sides are parallel


lists_of_points = st.lists(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=7), min_size=1, max_size=3
)


@settings(max_examples=200)
@given(lists_of_points)
def test_joint_fans_against_the_hull_of_all_sums(lists):
    lists = [np.array(points, float) for points in lists]
    fan = planar_fan(lists)
    sums = all_sums(lists)
    np.testing.assert_array_equal(fan.sums, sums[planar_hull(sums)])
    # in the middle of each cone every list selects what the cone says, the lowest of equal rows
    for cone in range(fan.n_cones):
        middle = fan.middle(cone)
        for s, points in enumerate(lists):
            best = points @ middle
            assert fan.selections[cone, s] == np.flatnonzero(best >= best.max() - 1e-9)[0]
        assert fan.cone_at(middle) == cone
        assert np.all(fan.constraints(cone) @ middle < 0)
    # at each ray both neighbours are equally high
    for cone, normal in enumerate(fan.normals):
        across = (cone + 1) % fan.n_cones
        assert fan.sums[cone] @ normal == pytest.approx(fan.sums[across] @ normal)
        changed = np.flatnonzero(fan.selections[cone] != fan.selections[across])
        assert fan.changes[cone] == tuple(changed)
    assert sum(fan.opening(cone) for cone in range(fan.n_cones)) == pytest.approx(2 * math.pi)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9))
def test_the_plane_agrees_with_any_dimension(points):
    points = np.array(points, float)
    # a third column that adds nothing sends the list the general way
    general = Polytope.of(np.column_stack([points, points.sum(axis=1)]))
    assert np.sort(planar_hull(points)).tolist() == general.vertices.tolist()
    assert Polytope.of(points).edges.tolist() == general.edges.tolist()


def test_points_that_floats_cannot_tell_apart():
    # 0.1, 0.2 and 0.3 as floats are not on a line with their doubles' decimals; rationals know which side
    points = [(0.1, 0.1), (0.2, 0.2), (0.3, 0.3 + 2**-54), (0.3, 0.3), (0.7, 0.7)]
    a, b, c = (tuple(map(Fraction, points[k])) for k in (0, 2, 4))
    exact = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    assert turn(points[0], points[2], points[0], points[4]) == (exact > 0) - (exact < 0)
    tiny = 5e-324
    assert turn((0.0, 0.0), (tiny, 0.0), (0.0, 0.0), (tiny, tiny)) == 1
    assert planar_hull([(0.0, 0.0), (tiny, 0.0), (0.0, tiny)]).tolist() == [0, 1, 2]
    # a corner that stands out by one unit in the last place is a corner
    bump = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [1.0, np.nextafter(1.0, 0.0)]])
    assert sorted(planar_hull(bump)) == [0, 2, 3]


def test_dropping_what_is_inside_changes_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    for _ in range(60):
        points = rng.integers(-4, 5, (rng.integers(3, 40), 2)) * [1.0, 10.0 ** rng.integers(-8, 8)]
        found = []
        for few in (3, 1000):
            monkeypatch.setattr(module, "FEW", few)
            found.append(planar_hull(points).tolist())
        assert found[0] == found[1]


def test_one_row_two_rows_and_none():
    assert planar_fan([[[1.0, 2.0]]]).n_cones == 1
    whole = planar_fan([[[1.0, 2.0]], [[3.0, 4.0], [3.0, 4.0]]])
    assert whole.selections.tolist() == [[0, 0]]
    assert whole.opening(0) == 2 * math.pi
    assert whole.rays(0).shape == whole.constraints(0).shape == (0, 2)
    halves = planar_fan([[[0.0, 0.0], [1.0, 0.0]]])
    assert [halves.opening(c) for c in range(2)] == [math.pi, math.pi]
    assert [halves.cone_at(w) for w in ([-1, 0], [1, 0])] == [0, 1]
    with pytest.raises(LuthierError, match="one row or more"):
        planar_fan([np.empty((0, 2))])
    with pytest.raises(LuthierError, match="two coordinates"):
        planar_hull([[1.0, 2.0, 3.0]])


def test_cones_and_their_union_cover_the_plane_once():
    rng = np.random.default_rng(2)
    lists = [rng.standard_normal((20, 2)) for _ in range(4)]
    fan = planar_fan(lists)
    for weights in rng.standard_normal((200, 2)):
        inside = [c for c in range(fan.n_cones) if np.all(fan.constraints(c) @ weights < 0)]
        assert inside == [fan.cone_at(weights)]
        assert fan.selections[inside[0]].tolist() == [int(np.argmax(points @ weights)) for points in lists]
    assert len({tuple(s) for s in fan.selections.tolist()}) == fan.n_cones
    assert all(len(c) == 1 for c in fan.changes)
    assert fan.n_cones == sum(len(planar_hull(points)) for points in lists)
    assert len(list(itertools.chain(*fan.changes))) == fan.n_cones
