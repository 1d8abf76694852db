"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

import numpy as np

from luthier.core.rng import make_rng
from luthier.geometry.lp import lp
from luthier.geometry.lp.feasibility import feasibility
from luthier.geometry.minkowski.checks import Certainty as SumCertainty
from luthier.geometry.minkowski.reverse_search import all_vertices
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.certainty import Certainty, Rounding
from luthier.geometry.plane.overlay import Overlay
from luthier.geometry.plane.raster import raster
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.polytopes.cone import canonical_point
from luthier.geometry.polytopes.polytope import Polytope


def find_polytopes() -> None:
    """Find vertices, edges and the middle of a cone."""
    points = make_rng(0).standard_normal((12, 3))
    polytope = Polytope.of(points)
    assert len(polytope.edges)
    canonical_point(polytope.normal_cone(int(polytope.vertices[0])))


def solve_lps() -> None:
    """Solve small linear programmes, and decide a selection."""
    rows = -np.eye(3) - 0.1
    lp.maximize(rows, np.zeros(3), rows)
    lp.irredundant(rows, lp.largest_margin(rows).weights)
    feasibility(np.array([0, 3]), rows, np.array([0]))


def divide_planes() -> None:
    """Lay out the cells of a small plane, with values that are counts and such that are not."""
    offsets, points = np.array([0, 5, 10]), make_rng(0).standard_normal((10, 3))
    overlay = Overlay(offsets, points, Window(-1.0, 1.0, -1.0, 1.0))
    judge = Certainty(overlay, Rounding(1e-12, 0.0, 0.0), lambda a, b: a != b)
    for values in (np.ones((10, 2), np.int64), np.ones((10, 2))):
        table = Arrangement.make(overlay, values, judge=judge)
        raster(offsets, points, values, np.linspace(-1.0, 1.0, 3), np.zeros(1))
    overlay.cell(table.keys[0])
    table.polygons(np.arange(1))
    overlay.cell_at(0.0, 0.0)


def sum_polytopes() -> None:
    """Search the vertices of small sums, by hulls in a plane and by rays."""
    for n_dims in (3, 4):
        offsets, points = np.array([0, 12, 24]), make_rng(0).standard_normal((24, n_dims))
        all_vertices(offsets, points, np.ones(n_dims))
    summands = Summands.of(offsets, points)
    weights = np.ones((1, n_dims))
    selections, _ = summands.select(summands.to_grid(weights))
    SumCertainty(summands, offsets, points, np.zeros((2, n_dims))).judge(weights, selections)


JOBS = (
    find_polytopes,
    solve_lps,
    divide_planes,
    sum_polytopes,
)
