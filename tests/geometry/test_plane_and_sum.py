"""Two ways to the same cells: a plane divided by lists, and the Minkowski sum of the lists seen from within it."""

import numpy as np
import pytest
from test_overlay import DEGENERATE, names_of, random_lists, streamed

from luthier.geometry.minkowski.reverse_search import ReverseSearch
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.plane.overlay import Overlay

CASES = {
    "few": lambda: random_lists(50, (4, 5)),
    "more": lambda: random_lists(51, (6, 5, 7, 4)),
    "integers": DEGENERATE["integers"],
    "duplicates": DEGENERATE["duplicates"],
    "one row": DEGENERATE["one row"],
    "parallel": DEGENERATE["parallel"],
}


@pytest.mark.parametrize("kind", CASES)
def test_cells_of_the_plane_are_the_cones_that_meet_it(kind):
    offsets, points = CASES[kind]()
    summands = Summands.of(offsets, points)
    # a start off all walls, and only cones with weights of a positive first coordinate
    search = ReverseSearch(summands, np.array([1.0, 0.0123, -0.0456]), limits=np.array([[-1.0, 0.0, 0.0]]))
    cones = {tuple(rows) for found in search.run() for rows in summands.rows(found.selections).tolist()}
    overlay = Overlay(offsets, points)
    cells = [overlay.cell(key) for key in streamed(overlay, names_of(len(points)))[2]]
    assert cones == {tuple(cell.selection.tolist()) for cell in cells if cell.radius > 1e-9}
