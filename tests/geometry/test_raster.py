"""The raster: equal to a plain re-rank at every point, ties included, whatever the threads."""

import itertools

import numpy as np
import pytest

from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.geometry.plane.raster import raster


def by_comparing_all(offsets, points, values, xs, ys):
    """Compare every row at every point, the first of the highest counts."""
    out = np.zeros((len(ys), len(xs), values.shape[1]), values.dtype)
    for j, y in enumerate(ys):
        for i, x in enumerate(xs):
            heights = (points[:, 0] + y * points[:, 2]) + x * points[:, 1]
            for low, high in itertools.pairwise(offsets):
                out[j, i] += values[low + np.argmax(heights[low:high])]
    return out


@pytest.mark.parametrize("seed", range(30))
def test_integer_rows_tie_often_and_the_first_counts(seed):
    rng = np.random.default_rng(seed)
    offsets = offsets_from_counts(rng.integers(1, 9, size=5))
    points = rng.integers(-2, 3, size=(offsets[-1], 3)).astype(float)
    values = rng.integers(-9, 10, size=(offsets[-1], 2))
    xs, ys = np.arange(-4, 5) / 2, np.arange(-3, 4) / 2
    found = raster(offsets, points, values, xs, ys, threads=1 + seed % 3)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, by_comparing_all(offsets, points, values, xs, ys))


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_real_numbers(seed):
    rng = np.random.default_rng(seed)
    offsets = offsets_from_counts(rng.integers(1, 30, size=8))
    points, values = rng.normal(size=(offsets[-1], 3)), rng.normal(size=(offsets[-1], 2))
    xs, ys = np.sort(rng.normal(size=13)), np.sort(rng.normal(size=40))
    expected = by_comparing_all(offsets, points, values, xs, ys)
    for threads in (1, 3):
        np.testing.assert_allclose(
            raster(offsets, points, values, xs, ys, threads=threads), expected, atol=1e-12, rtol=0
        )


def test_one_point_and_none():
    offsets, points, values = np.array([0, 2]), np.array([[0.0, 1, 0], [0.5, 1, 0]]), np.array([[1], [2]])
    assert raster(offsets, points, values, np.array([3.0]), np.array([1.0])).tolist() == [[[2]]]
    assert raster(offsets, points, values, np.array([]), np.array([1.0])).shape == (1, 0, 1)


def test_what_makes_no_sense_is_refused():
    offsets, points, values = np.array([0, 2]), np.zeros((2, 3)), np.array([[1], [2]])
    with pytest.raises(LuthierError, match="ascending"):
        raster(offsets, points, values, np.array([1.0, 1.0]), np.zeros(1))
    with pytest.raises(LuthierError, match="one row or more"):
        raster(np.array([0, 0, 2]), points, values, np.zeros(1), np.zeros(1))
