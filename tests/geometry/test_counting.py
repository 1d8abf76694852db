"""Bounds on what one vector can select: the paper's figures, and true counts of small cases."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from luthier.core.errors import LuthierError
from luthier.geometry.polytopes.counting import (
    arrangement_cells,
    count_bounds,
    most_vertices,
    n_hyperplanes,
    theorem_base,
    vertices_by_subsets,
)

PAPER = [1000] * 1502


def test_the_papers_share_of_feasible_index_vectors():
    # 11 · log10(1502 · 1000²) = 100.943; 1502 · 3 = 4506 digits of index vectors; 2 for percent
    counts = count_bounds(PAPER, 12)
    assert counts.log10_index_vectors == 4506
    assert counts.theorem.log10_vertices == pytest.approx(11 * math.log10(1502e6), abs=1e-9)
    assert math.trunc(counts.theorem.log10_percent) == -4403
    assert round(counts.arrangement.log10_percent, 1) == -4413.7
    assert counts.theorem.log10_edges == pytest.approx(2 * counts.theorem.log10_vertices - math.log10(2), abs=1e-9)


@pytest.mark.parametrize("kind, least", [("theorem", 493), ("arrangement", 699)])
def test_where_the_papers_bound_stops_binding(kind, least):
    at = {d: getattr(count_bounds(PAPER, d), kind) for d in (12, least - 1, least)}
    assert {bound.least_dimensions for bound in at.values()} == {least}
    assert [bound.binds for bound in at.values()] == [True, True, False]
    assert at[least - 1].log10_percent < 2 == at[least].log10_percent


@pytest.mark.parametrize("lengths", [[2], [3, 3], [1, 4, 2], [5], [2] * 6, [1], [1, 1], []])
def test_the_least_dimension_is_where_it_says(lengths):
    vectors = math.prod(lengths)
    counts = count_bounds(lengths, 1)
    theorem, cells = counts.theorem.least_dimensions, counts.arrangement.least_dimensions
    for d in range(1, 9):
        assert (theorem_base(lengths) ** (d - 1) >= vectors) == (d >= theorem)
        assert (arrangement_cells(n_hyperplanes(lengths), d) >= vectors) == (d >= cells)


def test_cells_of_an_arrangement_by_signs():
    # generic planes through the origin: every cell holds a random point, its signs name it
    rng = np.random.default_rng(0)
    for n_planes, d in [(1, 1), (1, 3), (2, 2), (4, 2), (5, 3), (3, 4)]:
        signs = rng.normal(size=(40_000, d)) @ rng.normal(size=(d, n_planes)) > 0
        assert len(np.unique(signs, axis=0)) == arrangement_cells(n_planes, d)


def test_no_list_set_has_more_jointly_selected_rows_than_the_bounds():
    rng = np.random.default_rng(1)
    for lengths, d in [((3, 3), 2), ((4, 2, 2), 2), ((3, 2, 3), 3)]:
        lists = [rng.normal(size=(length, d)) for length in lengths]
        weights = rng.normal(size=(20_000, d))
        chosen = np.stack([np.argmax(weights @ rows.T, axis=1) for rows in lists], axis=1)
        found = len(np.unique(chosen, axis=0))
        counts = count_bounds(lengths, d)
        assert found <= round(10**counts.arrangement.log10_vertices)
        assert found <= round(10**counts.theorem.log10_vertices)
        assert round(10**counts.log10_index_vectors) == len(list(itertools.product(*lists)))


def test_lists_of_one_row_can_be_selected_in_one_way():
    counts = count_bounds([1, 1, 1], 3)
    assert counts.log10_index_vectors == 0
    assert counts.arrangement.log10_vertices == 0
    assert counts.arrangement.log10_edges == -math.inf
    assert (counts.theorem.least_dimensions, counts.arrangement.least_dimensions) == (1, 1)
    assert counts.theorem.log10_percent == counts.arrangement.log10_percent == 2


@pytest.mark.parametrize("lengths, d", [([3, 0], 2), ([3], 0)])
def test_sizes_that_make_no_sense_are_refused(lengths, d):
    with pytest.raises(LuthierError, match="expected one dimension or more"):
        count_bounds(lengths, d)


def hull_vertices(lists):
    """Return the vertices of the sum of some lists of points: those of the hull of all sums of one point of each."""
    points = np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*lists)])
    return len(ConvexHull(points).vertices)


@pytest.mark.parametrize(("n_dims", "sizes"), [(2, (3, 4, 5)), (3, (4, 5, 4)), (3, (4, 4, 5, 6)), (4, (5, 5, 5, 5, 5))])
def test_a_sum_in_general_position_has_the_vertices_that_its_parts_say_and_no_more_than_the_most(n_dims, sizes):
    rng = np.random.default_rng(7)
    lists = [rng.normal(size=(size, n_dims)) for size in sizes]
    parts = {
        j: sum(hull_vertices(few) for few in itertools.combinations(lists, j)) for j in range(1, n_dims)
    }  # fmt: skip
    found = hull_vertices(lists)
    assert found == vertices_by_subsets(parts, len(sizes), n_dims)
    assert found <= most_vertices(sizes, n_dims) < np.prod(sizes)


def test_the_most_vertices_are_reached():
    """Segments in general position: a zonotope; polygons with no parallel sides; two polytopes in three dimensions."""
    assert most_vertices([2] * 4, 3) == 2 * (1 + 3 + 3)
    assert most_vertices([3, 4, 5], 2) == 3 + 4 + 5
    triangles = [np.array([[np.cos(t + a), np.sin(t + a)] for t in (0.0, 2.1, 4.2)]) for a in (0.0, 0.4)]
    assert hull_vertices(triangles) == most_vertices([3, 3], 2)
    assert most_vertices([4, 5], 3) == 20


@pytest.mark.parametrize("sizes", [(3, 4, 2, 5), (2, 2, 2, 2), (3, 3, 3), (2, 3), (1, 1), (1, 4), (7,)])
def test_the_tight_bound_stops_binding_where_it_says(sizes):
    for d in range(1, len(sizes) + 3):
        counts = count_bounds(sizes, d)
        assert counts.tight.binds == (most_vertices(sizes, d) < np.prod(sizes)) == (d < counts.tight.least_dimensions)
