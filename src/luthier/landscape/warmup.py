"""Small jobs that reach the kernels of this room, for `luthier.jobs.warm`."""

from __future__ import annotations

import numpy as np

from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.landscape.certified.certify import CertifyOptions, certify
from luthier.landscape.certified.windows import WindowOptions, feature_axes
from luthier.landscape.lines.line_report import see_line
from luthier.landscape.lines.projection_cache import Sighted
from luthier.landscape.planes.plane import Plane, usual_reach
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.landscape.problem import Problem
from luthier.landscape.selections.explanation import changes_between
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists


def search_boxes() -> None:
    """Bound the gain of a few boxes, along the axes and along principal ones."""
    problem = Problem.make(SyntheticLists(sentences=12, k=20).generate(0), load_metric("bleu"))
    start = problem.default_start()
    for principal in (False, True):
        space = WindowOptions(principal=principal).space(problem, feature_axes(problem, start, problem.names[:3]))
        certify(problem, space, start, CertifyOptions(limit=60))


def look_around() -> None:
    """Sight lists, look along a line and over a plane, and compare selections."""
    problem = Problem.make(SyntheticLists(sentences=4, k=40).generate(0), load_metric("bleu"))
    start, directions = problem.default_start(), np.eye(problem.n_features)
    sighted = Sighted(problem)
    see_line(sighted, Subspace(start, directions[:1]))
    changes_between(problem, sighted.select(start), sighted.select(start + directions[0]))
    plane = Plane.make(problem, Subspace(start, directions[:2]))
    reach = usual_reach(problem, plane.subspace)
    window = Window(-reach[0], reach[0], -reach[1], reach[1])
    look_at_plane(Plane.make(problem, plane.subspace, window), SurfaceOptions())


JOBS = (search_boxes, look_around)
