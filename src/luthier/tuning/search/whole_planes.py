"""Whole planes of weights, where no more than a plane can matter: searched to the proven optimum.

With two free weights all choices are one plane. With three, and no other feature that counts, only the direction of
the weights matters: either sign of one of them, with the other two anywhere, is every direction but those where it
is 0, and these are borders of cells.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.landscape.units import movable
from luthier.tuning.base import State
from luthier.tuning.search.line_search import kept_promise

KEPT = 20  # cells of which the best that a re-rank confirms is the answer


def whole_planes(problem: ListProblem, start: Float64) -> list[Plane]:
    """Return the planes that hold every choice of the free weights, one or two; none where they do not suffice."""
    free = movable(problem)
    if len(free) == 2:
        return [_plane(problem, start, free)]
    others = np.ones(problem.n_features, dtype=np.bool_)
    others[free] = False
    if len(free) != 3 or np.any(others & (start != 0) & (problem.spread > 0)) or not _are_cones(problem, free):
        return []
    base = np.where(others, start, 0.0)
    size = abs(float(start[free[2]])) or 1.0
    planes = []
    for sign in (1.0, -1.0):
        if problem.bounds.low[free[2]] < sign * size < problem.bounds.high[free[2]]:
            here = base.copy()
            here[free[2]] = sign * size
            planes.append(_plane(problem, here, free[:2]))
    return planes


def _are_cones(problem: ListProblem, free: Int64) -> bool:
    """Return whether limits say no more than signs, so that a multiple of allowed weights is allowed."""
    ends = np.array([problem.bounds.low[free], problem.bounds.high[free]])
    return bool(np.all((ends == 0) | np.isinf(ends)))


def _plane(problem: ListProblem, start: Float64, free: Int64) -> Plane:
    axes = np.zeros((2, problem.n_features))
    axes[[0, 1], free] = 1.0
    names = tuple(problem.names[d] for d in free.tolist())
    low, high = problem.bounds.low[free] - start[free], problem.bounds.high[free] - start[free]
    window = Window(float(low[0]), float(high[0]), float(low[1]), float(high[1]))
    return Plane.make(problem, Subspace(start, axes, names), window)


def search_whole(problem: ListProblem, here: State, planes: list[Plane]) -> Iterator[State]:
    """Yield the best place of all cells of the planes, with the size of the proof."""
    cells, best = 0, here
    for plane in planes:
        report = look_at_plane(plane, SurfaceOptions(keep=KEPT, check=0))
        if report.survey.share < 1.0:
            raise KeyboardInterrupt
        cells += report.survey.cells
        name = " × ".join(plane.subspace.names)
        states = [
            State(
                problem.bounds.clip(plane.subspace.weights(cell.cell.position)),
                float(problem.metric.gain(np.array(cell.score))),
                f"plane {name}",
            )
            for cell in report.best
        ]
        best = kept_promise(problem, best, states) or best
    what = " × ".join(planes[0].subspace.names)
    both = " with either sign of the third weight" if len(planes) > 1 else ""
    yield dataclasses.replace(best, note=f"proven: the best of all {cells:,} cells of the plane {what}{both}")
