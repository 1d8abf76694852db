"""Good weights inside a box, by line searches: a good gain early closes boxes early."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.kbest.features import Features
from luthier.landscape.bounds import Bounds
from luthier.landscape.certified.rows import Rows
from luthier.landscape.certified.space import moving
from luthier.landscape.curve import LineCurve, reach_of
from luthier.landscape.lines.places import Choice, best_places
from luthier.landscape.list_problem import ListProblem

WIDEST = Choice()  # checked once
SWEEPS = 10  # over the coordinates, at most
STRAY = 0.05  # deviation of points near another one, in sides of the box
LINES, TURNS = 32, 12  # random lines at a time, and how often in a row at most


@dataclasses.dataclass(frozen=True, eq=False)
class Walled:
    """A box, (P,) each, of which what lies beyond walls, ``wall·z > 0`` of (B, P), is no part."""

    low: Float64
    high: Float64
    walls: Float64

    def limits(self, point: Float64, direction: Float64) -> tuple[float, float]:
        """Return how far one can go from a point along a direction, (P,) each, both ways."""
        values = np.concatenate([point - self.high, self.low - point, self.walls @ point])
        slopes = np.concatenate([direction, -direction, self.walls @ direction])
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = -values / slopes
        return float(ends[slopes < 0].max(initial=-np.inf)), float(ends[slopes > 0].min(initial=np.inf))


def problem_of_rows(problem: ListProblem, rows: Rows) -> ListProblem:
    """Return the problem whose weights are coordinates of a space: its gains are those there, but for rounding."""
    names = [f"z{k}" for k in range(rows.heights.shape[1])]
    pool = problem.pool.take(rows.kept).with_features(Features.from_dense(names, rows.heights))
    return ListProblem(pool, problem.metric, problem.stats[rows.kept], Bounds.none(len(names)))


def climb(problem: ListProblem, box: Walled, point: Float64) -> Float64:
    """Return where exact searches along each coordinate in turn lead from a point of a box, (P,) → (P,)."""
    here, gain = point.copy(), problem.gain(point)
    axes = np.eye(len(point))[moving(box.low, box.high)]
    for _ in range(SWEEPS):
        before = gain
        for direction in axes:
            here, gain = _step(problem, box, here, gain, direction, next(iter(problem.curves(here, direction[None]))))
        if gain <= before:
            break
    return here


def wander(problem: ListProblem, box: Walled, point: Float64, rng: np.random.Generator) -> Float64:
    """Return where coordinates and random lines lead from a point of a box, until neither is better, (P,) → (P,)."""
    here = climb(problem, box, point)
    gain = problem.gain(here)
    for _ in range(TURNS):
        before, drawn = gain, rng.standard_normal((LINES, len(point))) * (box.high - box.low)
        drawn = drawn[np.any(drawn != 0.0, axis=1)]
        start = here
        for direction, curve in zip(drawn, problem.curves(start, drawn), strict=True):
            reached, better = _step(problem, box, start, gain, direction, curve)
            if better > gain:
                here, gain = reached, better
        if gain <= before:
            break
        here = climb(problem, box, here)
        gain = problem.gain(here)
    return here


def stray(box: Walled, point: Float64, rng: np.random.Generator) -> Float64:
    """Return a random point of a box near one of its points, (P,) → (P,)."""
    moved = np.clip(point + STRAY * (box.high - box.low) * rng.standard_normal(len(point)), box.low, box.high)
    share = min(1.0, box.limits(point, moved - point)[1])  # walls may be nearer
    return np.clip(point + share * (moved - point), box.low, box.high)


def _step(
    problem: ListProblem, box: Walled, here: Float64, gain: float, direction: Float64, curve: LineCurve
) -> tuple[Float64, float]:
    """Return the best point of a line, if a re-rank says that it is better than a gain, else where it was."""
    limits = box.limits(here, direction)
    places = best_places(curve, WIDEST, limits=limits, reach=reach_of(here, direction), above=gain)
    if len(places.positions):
        moved = np.clip(here + places.positions[0] * direction, box.low, box.high)
        reached = problem.gain(moved)
        if reached > gain:
            return moved, reached
    return here, gain
