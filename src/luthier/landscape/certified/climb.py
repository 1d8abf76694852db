"""Line searches inside a box: a good gain early closes boxes early."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.kbest.features import Features
from luthier.landscape.bounds import Bounds
from luthier.landscape.certified.rows import Rows
from luthier.landscape.certified.space import moving
from luthier.landscape.lines.curve import reach_of
from luthier.landscape.lines.places import Choice, best_places
from luthier.landscape.list_problem import ListProblem

SWEEPS = 10  # over the coordinates, at most


def problem_of_rows(problem: ListProblem, rows: Rows) -> ListProblem:
    """Return the problem whose weights are coordinates of a space: its gains are those there, but for rounding."""
    names = [f"z{k}" for k in range(rows.heights.shape[1])]
    pool = problem.pool.take(rows.kept).with_features(Features.from_dense(names, rows.heights))
    return ListProblem(pool, problem.metric, problem.stats[rows.kept], Bounds.none(len(names)))


def climb(problem: ListProblem, low: Float64, high: Float64, walls: Float64, point: Float64) -> Float64:
    """Return where exact searches along each coordinate in turn lead from a point of a box within walls, (P,) each."""
    here, gain = point.copy(), problem.gain(point)
    axes = np.flatnonzero(moving(low, high))
    for _ in range(SWEEPS):
        before = gain
        for axis in axes:
            direction = np.zeros(len(point))
            direction[axis] = 1.0
            curve = next(iter(problem.curves(here, direction[None])))
            limits = _limits(low[axis] - here[axis], high[axis] - here[axis], walls @ here, walls[:, axis])
            places = best_places(curve, Choice(), limits=limits, reach=reach_of(here, direction), above=gain)
            if len(places.positions):
                moved = here + places.positions[0] * direction
                reached = problem.gain(moved)
                if reached > gain:
                    here, gain = np.clip(moved, low, high), reached
        if gain <= before:
            break
    return here


def _limits(low: float, high: float, values: Float64, slopes: Float64) -> tuple[float, float]:
    """Return how far one can go along a coordinate before values + t·slopes, (B,) each, are above 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = -values / slopes
    return float(ends[slopes < 0].max(initial=low)), float(ends[slopes > 0].min(initial=high))
