"""Small jobs that reach the kernels of geometry, landscapes and tuners."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from luthier.core.plugins import available
from luthier.core.rng import make_rng
from luthier.geometry.lines.envelope import Envelopes
from luthier.geometry.lp import lp
from luthier.geometry.lp.feasibility import feasibility
from luthier.geometry.lp.interior import MarginProgram, contradicting
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
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.landscape.certified.certify import CertifyOptions, certify
from luthier.landscape.certified.windows import WindowOptions, feature_axes
from luthier.landscape.lines.line_report import see_line
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane, usual_reach
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.landscape.selections.explanation import changes_between
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import PACKAGE, Tuner, tuner


def find_polytopes() -> None:
    """Find vertices, edges and the middle of a cone."""
    points = make_rng(0).standard_normal((12, 3))
    polytope = Polytope.of(points)
    assert len(polytope.edges)
    canonical_point(polytope.normal_cone(int(polytope.vertices[0])))


def solve_lps() -> None:
    """Solve small linear programs, and decide a selection."""
    rows = -np.eye(3) - 0.1
    lp.maximize(rows, np.zeros(3), rows)
    lp.irredundant(rows, lp.largest_margin(rows).weights)
    feasibility(np.array([0, 3]), rows, np.array([0]))
    program = MarginProgram(1)
    program.add(np.array([[1.0], [-1.0]]))
    contradicting(program)


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


def search_boxes() -> None:
    """Bound the gain of a few boxes, along the axes and along principal ones."""
    problem = ListProblem.of(SyntheticLists(sentences=12, k=20).generate(0), load_metric("bleu"))
    start = problem.default_start()
    for principal in (False, True):
        space = WindowOptions(principal=principal).space(problem, feature_axes(problem, start, problem.names[:3]))
        certify(problem, space, start, CertifyOptions(limit=60))


def look_around() -> None:
    """Sight lists, look along a line and over a plane, and compare selections."""
    problem = ListProblem.of(SyntheticLists(sentences=4, k=40).generate(0), load_metric("bleu"))
    start, directions = problem.default_start(), np.eye(problem.n_features)
    sighted = ProjectionCache(problem)
    see_line(sighted, Subspace(start, directions[:1]))
    changes_between(problem, sighted.select(start), sighted.select(start + directions[0]))
    plane = Plane.make(problem, Subspace(start, directions[:2]))
    reach = usual_reach(problem, plane.subspace)
    window = Window(-reach[0], reach[0], -reach[1], reach[1])
    look_at_plane(Plane.make(problem, plane.subspace, window), SurfaceOptions())


LITTLE = {"limit": 60}  # of steps or boxes, for those that go on for long


def tune_every_way() -> None:
    """Run every tuner, on dense and on sparse features, with a metric of counts and one of numbers."""
    dense = SyntheticLists(sentences=6, k=40).generate(0)
    f = dense.features
    rows = np.arange(len(f))
    sparse = Features(
        (*f.names, "s0", "s1"),
        f.dense,
        np.arange(len(f) + 1),
        (rows % 2).astype(np.int32),
        (1.0 + rows % 3).astype(np.float64),
    )
    axes = np.eye(dense.n_features)
    Envelopes(dense.offsets, f.dense).along_sorted(axes[0], axes[1:])
    for pool in (dense, dense.with_features(sparse)):
        for metric in ("bleu", "bleu_mean"):
            problem = ListProblem.of(pool, load_metric(metric))
            for method in _every_way():
                if not method.refuses(problem):
                    next(itertools.islice(method.steps(problem, problem.default_start(), make_rng(0)), 2, None), None)


def _every_way() -> Iterator[Tuner]:
    """Yield every tuner as it comes, and with each choice of each of its parameters."""
    for name in available(PACKAGE):
        plain = tuner(name)
        if any(field.name == "limit" for field in dataclasses.fields(plain)):
            plain = dataclasses.replace(plain, **LITTLE)
        yield plain
        for field in dataclasses.fields(plain):
            for choice in field.metadata.get("choices") or ():
                yield dataclasses.replace(plain, **{field.name: choice})


JOBS = {
    "geometry": (
        find_polytopes,
        solve_lps,
        divide_planes,
        sum_polytopes,
    ),
    "landscape": (search_boxes, look_around),
    "tuning": (tune_every_way,),
}
