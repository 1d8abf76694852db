"""The largest circle in a polygon, against scipy's linear programs."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from luthier.core.errors import LuthierError
from luthier.geometry.plane.polygons import largest_circle


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_best_of_a_linear_programme(seed):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 4, 2)
    cloud = rng.normal(size=(rng.integers(3, 12), 2)) * scale + rng.normal(size=2)
    polygon = cloud[ConvexHull((cloud - cloud.mean(axis=0)) / scale).vertices]
    centre, radius = largest_circle(polygon)
    moved = polygon - polygon.mean(axis=0)
    along = np.roll(moved, -1, axis=0) - moved
    outward = np.column_stack([along[:, 1], -along[:, 0]]) / np.linalg.norm(along, axis=1)[:, None]
    limits = (outward * moved).sum(axis=1)
    size = np.abs(moved).max()
    best = linprog([0, 0, -1], np.column_stack([outward, np.ones(len(outward))]), limits / size, bounds=(None, None))
    assert radius == pytest.approx(-best.fun * size, rel=1e-5, abs=1e-11 * size)
    gaps = limits - outward @ (centre - polygon.mean(axis=0))
    assert gaps.min() == pytest.approx(radius, rel=1e-5, abs=1e-11 * size)


def test_polygons_without_area_and_repeated_corners():
    segment = np.array([[0.0, 0.0], [2.0, 0.0]])
    centre, radius = largest_circle(segment)
    assert centre.tolist() == [1.0, 0.0]
    assert radius == pytest.approx(0.0, abs=1e-12)
    sliver = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1e-12], [0.0, 1e-12]])
    centre, radius = largest_circle(sliver)
    assert 0.0 < centre[1] < 1e-12
    assert radius == pytest.approx(5e-13)
    assert largest_circle(np.array([[3.0, 1.0]]))[1] == 0.0
    square = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])
    centre, radius = largest_circle(square)
    np.testing.assert_allclose(centre, [1.0, 1.0])
    assert radius == pytest.approx(1.0)


@pytest.mark.parametrize("bad", [np.zeros((0, 2)), np.zeros(2), np.array([[0.0, np.inf], [1.0, 0.0], [0.0, 1.0]])])
def test_what_is_no_polygon_is_refused(bad):
    with pytest.raises(LuthierError, match="finite corners"):
        largest_circle(bad)
