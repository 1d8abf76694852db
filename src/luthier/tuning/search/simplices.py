"""What the two simplex methods share: the first simplex, its size, and reasons to stop."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units, movable
from luthier.tuning.base import State


@dataclasses.dataclass(frozen=True, eq=False)
class Simplex:
    """V vertices of D weights, best first; if gains are equal, the one that was there before comes first.

    Attributes
    ----------
    vertices : (V, D)
    gains : (V,), never ascending
    """

    vertices: Float64
    gains: Float64

    @classmethod
    def sorted(cls, vertices: Float64, gains: Float64) -> Simplex:
        """Return the simplex of some vertices, put in order."""
        order = np.argsort(-gains, kind="stable")
        return cls(vertices[order], gains[order])

    @property
    def is_flat(self) -> bool:
        """Whether all vertices have the same gain."""
        return bool(self.gains[0] == self.gains[-1])

    def replaced(self, vertex: Float64, gain: float) -> Simplex:
        """Return the simplex with another vertex in place of the worst."""
        vertices, gains = self.vertices.copy(), self.gains.copy()
        vertices[-1], gains[-1] = vertex, gain
        return Simplex.sorted(vertices, gains)

    def centroid(self) -> Float64:
        """Return the mean of all vertices but the worst, (D,); a weight that all have equal stays exactly."""
        best = self.vertices[0]
        mean: Float64 = best + (self.vertices[:-1] - best).mean(axis=0)
        return mean

    def spread(self, units: Float64 | float = 1.0) -> float:
        """Return Σ over all ordered pairs (i, j) of ‖θ_i − θ_j‖², each weight divided by its unit.

        With m the mean of the V vertices this is 2·V·Σ ‖θ_i − m‖², which takes O(V·D).
        """
        scaled = np.divide(self.vertices, units, out=np.zeros_like(self.vertices), where=np.not_equal(units, 0))
        centred = scaled - scaled.mean(axis=0)
        return float(2 * len(centred) * np.sum(centred**2))

    def state(self, did: str) -> State:
        """Return the best vertex as the state after a step."""
        return State(self.vertices[0], float(self.gains[0]), did)


def first_simplex(problem: Problem, start: Float64, size: float) -> tuple[Simplex, Float64]:
    """Return the start and, for each weight that can move, the start with that weight moved.

    A weight moves by `size` units (`effect_units`), upwards where the bounds leave room for that, else
    to the side that has more room, as far as it goes. All vertices are evaluated in one re-rank. Also
    returns the units, (D,).
    """
    bounds, units = problem.bounds, effect_units(problem.spread, start)
    free = movable(problem)
    vertices = np.repeat(start[None], len(free) + 1, axis=0)
    for row, d in enumerate(free, start=1):
        step, up, down = size * units[d], bounds.high[d] - start[d], start[d] - bounds.low[d]
        vertices[row, d] += min(step, up) if up >= min(step, down) else -min(step, down)
    vertices = bounds.clip(vertices)
    return Simplex.sorted(vertices, problem.gains(vertices)), units


def reason_to_stop(simplex: Simplex, spread: float, tolerance: float) -> str:
    """Return why a search from this simplex is at its end, or ''."""
    if len(simplex.vertices) == 1:
        return "stopped: no weight can move"
    if spread <= tolerance:
        return f"stopped: the simplex is smaller than {tolerance:g}"
    if simplex.is_flat:
        return "stopped: all vertices have the same error"
    return ""
