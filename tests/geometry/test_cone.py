"""Projections onto cones and hard-margin points against non-negative least squares."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from luthier.core.errors import LuthierError
from luthier.geometry.polytopes.cone import angle, canonical_point, project_onto_cone, step_inside


@st.composite
def integer_rows(draw, most_rows=10, most_columns=5):
    n_columns = draw(st.integers(1, most_columns))
    entries = st.lists(st.integers(-2, 2), min_size=n_columns, max_size=n_columns)
    return np.array(draw(st.lists(entries, min_size=1, max_size=most_rows)), dtype=float)


def hard_margin_by_nnls(rows):
    """Lawson and Hanson's least-distance problem: None if contradictory."""
    matrix = np.vstack([-rows.T, np.ones(len(rows))])
    goal = np.append(np.zeros(rows.shape[1]), 1.0)
    multipliers, left = nnls(matrix, goal)
    residual = matrix @ multipliers - goal
    return None if left < 1e-9 else -residual[:-1] / residual[-1]


@settings(max_examples=150)
@given(integer_rows(), st.integers(0, 2**31))
def test_projection_equals_moreau(rows, seed):
    point = np.random.default_rng(seed).integers(-3, 4, rows.shape[1]).astype(float)
    found = project_onto_cone(rows, point)
    np.testing.assert_allclose(found, point - rows.T @ nnls(rows.T, point)[0], atol=1e-9)
    assert np.all(rows @ found <= 1e-9)


@settings(max_examples=150)
@given(integer_rows())
def test_the_canonical_point_equals_the_least_distance_problem(rows):
    expected = hard_margin_by_nnls(rows)
    if expected is None:
        with pytest.raises(LuthierError, match="strict constraints"):
            canonical_point(rows)
        return
    found = canonical_point(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)
    assert np.max(rows @ found) <= -1 + 1e-9


def test_many_constraints_of_unlike_lengths():
    rng = np.random.default_rng(3)
    inside = rng.standard_normal(8)
    rows = rng.standard_normal((400, 8)) * 10.0 ** rng.integers(-2, 3, (400, 1))
    rows *= -np.sign(rows @ inside)[:, None]
    found = canonical_point(rows)
    assert np.max(rows @ found) == pytest.approx(-1, rel=1e-9)
    # optimality: the point is a non-negative sum of the rows it touches
    touched = rows[rows @ found > -1 - 1e-6]
    touched /= np.linalg.norm(touched, axis=1)[:, None]
    assert nnls(touched.T, -found / np.linalg.norm(found))[1] < 1e-7
    np.testing.assert_array_equal(found, canonical_point(rows))
    np.testing.assert_allclose(found, canonical_point(rows[rng.permutation(400)]), rtol=1e-8)


def test_scale_of_the_constraints_scales_the_point():
    rows = np.array([[-1.0, 0.5], [-0.5, -1.0]])
    np.testing.assert_allclose(canonical_point(rows * 1e-9), canonical_point(rows) * 1e9, rtol=1e-12)


def test_a_cone_behind_the_point_is_out():
    assert project_onto_cone([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0]).tolist() == [0.0, 0.0]
    assert project_onto_cone(np.eye(2), [1.0, -1.0]).tolist() == [0.0, -1.0]
    assert project_onto_cone(np.zeros((2, 2)), [1.0, -1.0]).tolist() == [1.0, -1.0]
    assert project_onto_cone(np.empty((0, 2)), [1.0, -1.0]).tolist() == [1.0, -1.0]
    assert canonical_point(np.empty((0, 2))).tolist() == [0.0, 0.0]


def test_angles():
    assert angle([1, 0], [0, 2]) == pytest.approx(math.pi / 2)
    assert angle([1, 0], [-3, 0]) == pytest.approx(math.pi)
    assert angle([1, 1e-12], [1, 0]) == pytest.approx(1e-12)
    assert math.isnan(angle([0, 0], [1, 0]))


def test_steps_inside():
    rows = np.array([[0.0, 1.0], [-1.0, 0.0]])  # right of the vertical axis, below the horizontal one
    point = project_onto_cone(rows, [2.0, 3.0])
    inside = step_inside(rows, point, canonical_point(rows), 1e-3)
    assert np.all(rows @ inside < 0)
    assert angle(inside, point) < 2e-3
    assert np.all(rows @ step_inside(rows, point, canonical_point(rows), 1e-300) < 0)
    with pytest.raises(LuthierError, match="strictly inside"):
        step_inside(rows, point, [1.0, 0.0], 0.5)
    with pytest.raises(LuthierError, match="share"):
        step_inside(rows, point, [1.0, -1.0], 0.0)


def test_what_is_no_matrix_is_refused():
    with pytest.raises(LuthierError, match="shape"):
        project_onto_cone([[1.0, 2.0, 3.0]], [1.0, 2.0])
    with pytest.raises(LuthierError, match="finite"):
        canonical_point([[math.nan, 1.0]])
