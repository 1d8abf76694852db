"""The checksum of a search over a sum: equal in general position, more than there are where lists tie."""

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.geometry.minkowski.checks import count_by_parts
from luthier.geometry.minkowski.reverse_search import all_vertices


def hull_vertices(lists):
    """Return the vertices of the sum of some lists of points: those of the hull of all sums of one point of each."""
    return len(ConvexHull(np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*lists)])).vertices)


def laid_out(lists):
    return offsets_from_counts([len(rows) for rows in lists]), np.concatenate(lists)


@pytest.mark.parametrize(
    ("n_dims", "sizes", "n_sums"),
    [(2, (3, 4, 5), 3), (3, (4, 2, 1, 5, 3), 4 + 6), (3, (4, 3), 2 + 1), (4, (3, 4, 3, 3), 4 + 6 + 4)],
)
def test_parts_say_how_many_vertices_a_sum_has(n_dims, sizes, n_sums):
    rng = np.random.default_rng(n_dims)
    lists = [rng.normal(size=(size, n_dims)) for size in sizes]
    whole = hull_vertices(lists)
    offsets, points = laid_out(lists)
    found = count_by_parts(offsets, points, len(all_vertices(offsets, points, np.eye(n_dims)[0])))
    assert found.expected == found.found == whole
    assert found.agrees
    assert found.sums == n_sums  # a list of one row takes no part


def test_features_that_say_the_same_are_no_dimension():
    rng = np.random.default_rng(1)
    lists = [rng.normal(size=(4, 2)) for _ in range(4)]
    flat = [np.column_stack([rows, rows[:, 0] * 2]) for rows in lists]  # a plane in space
    assert count_by_parts(*laid_out(flat), 0).expected == hull_vertices(lists)


def test_lists_that_tie_have_fewer_vertices_than_their_parts_say():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    lists = [square, 2 * square, np.array([[0.0, 0.0], [1.0, 3.0]])]
    offsets, points = laid_out(lists)
    found = count_by_parts(offsets, points, len(all_vertices(offsets, points, [1.0, 0.1])))
    assert (found.expected, found.found) == (4 + 4 + 2, hull_vertices(lists))
    assert not found.agrees


def test_too_many_partial_sums_are_refused():
    lists = [np.random.default_rng(s).normal(size=(2, 4)) for s in range(80)]
    with pytest.raises(LuthierError, match="expected at most 50,000 partial sums for a checksum, found 85,400"):
        count_by_parts(*laid_out(lists), 1)


def test_more_vertices_than_there_can_be_are_a_fault():
    lists = [np.random.default_rng(s).normal(size=(3, 2)) for s in range(3)]
    with pytest.raises(LuthierError, match="10 vertices were found, and by partial sums there are at most 9"):
        count_by_parts(*laid_out(lists), 10)
