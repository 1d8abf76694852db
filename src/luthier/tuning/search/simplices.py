"""What the two simplex methods share: the first simplex, its size, reasons to stop, and opening it again."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem, effect_units, movable
from luthier.tuning.base import State, Tuner
from luthier.tuning.search.focus import Focus
from luthier.tuning.search.gradient import GradientVertices


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

    def spread(self, units: Float64) -> float:
        """Return Σ over all ordered pairs (i, j) of ‖θ_i − θ_j‖², each weight divided by its unit.

        With m the mean of the V vertices this is 2·V·Σ ‖θ_i − m‖², which takes O(V·D).
        """
        scaled = in_units(self.vertices, units)
        centred = scaled - scaled.mean(axis=0)
        return float(2 * len(centred) * np.sum(centred**2))

    def box(self, factor: float) -> tuple[Float64, Float64]:
        """Return the corners of the least box round all vertices and the worst one reflected `factor` times as far."""
        centre = self.centroid()
        points = np.concatenate([self.vertices, [centre + factor * (centre - self.vertices[-1])]])
        return points.min(axis=0), points.max(axis=0)

    def state(self, did: str) -> State:
        """Return the best vertex as the state after a step."""
        return State(self.vertices[0], float(self.gains[0]), did)


def in_units(weights: Float64, units: Float64) -> Float64:
    """Return weights, (…, D), each divided by its unit; 0 where the unit is 0, as such a weight selects nothing."""
    return np.divide(weights, units, out=np.zeros_like(weights), where=units != 0)


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


@dataclasses.dataclass(frozen=True)
class SimplexTuner(Tuner):
    """Steps of a simplex from its first shape to its end.

    The end is a simplex below `tolerance` (the sum of squared distances of all pairs of vertices, in units of
    the mean effect of a feature), equal errors at all vertices (the error is piecewise constant), `patience`
    steps without a better vertex, or `limit` steps in all. Then, at most `reopen` times and as long as that
    helps, a new first simplex is put about the best vertex, and the search goes on from there.

    With `gradient` a step first looks along the gradient of the expected metric at the best vertex
    (`GradientVertices`), once for each; a point that is better than all vertices takes the place of the worst.
    """

    size: float = param(1.0, low=1e-9, help="edge of the first simplex, in units of the mean effect of a feature")
    tolerance: float = param(1e-6, low=0.0, help="stop when the simplex is smaller, in the same units")
    patience: int = param(200, low=1, help="stop after so many steps without a better vertex")
    limit: int = param(2000, low=1, help="stop after so many steps")
    reopen: int = param(0, low=0, high=100_000, help="times that a new simplex opens at the end, at most")

    gradient: bool = param(False, help="look along the gradient of the expected metric from each best vertex, too")

    @abc.abstractmethod
    def step(self, problem: Problem, simplex: Simplex, units: Float64) -> tuple[Simplex, str]:
        """Return the simplex after one step, and what the step was.

        The problem has the gains of its box (`Simplex.box` of `farthest`), and need not have those of other weights.
        """

    @property
    @abc.abstractmethod
    def farthest(self) -> float:
        """How far from the mean of the others a step may put the worst vertex, at most, in its own distances."""

    @property
    def is_random(self) -> bool:
        """Nothing is drawn."""
        return False

    def refuses(self, problem: Problem) -> str:
        """Return why this method cannot work on a problem: the gradient needs its lists."""
        if self.gradient and not isinstance(problem, ListProblem):
            return "its `gradient` needs lists of hypotheses, and this problem has none"
        return super().refuses(problem)

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:  # noqa: ARG002
        """Yield the best vertex after each step, and at the end why it is the end."""
        if self.refuses(problem):
            raise LuthierError(f"{self.name} cannot be used here: {self.refuses(problem)}")
        yield State(start, problem.gain(start), "start")
        gradient = GradientVertices(problem) if self.gradient and isinstance(problem, ListProblem) else None
        simplex, units = first_simplex(problem, start, self.size)
        yield simplex.state("first simplex")
        focus = Focus(problem)
        done, opened, opening_gain = 0, 0, -np.inf
        while True:
            waited = 0
            while not (why := self._reason_to_stop(simplex, units, waited, done)):
                before = simplex.gains[0]
                uphill = gradient.better(simplex.vertices, before, units) if gradient else None
                if uphill:
                    simplex, did = simplex.replaced(*uphill), "gradient"
                else:
                    simplex, did = self.step(focus.within(*simplex.box(self.farthest)), simplex, units)
                done, waited = done + 1, 0 if simplex.gains[0] > before else waited + 1
                yield simplex.state(did)
            if done == self.limit or opened == self.reopen or not simplex.gains[0] > opening_gain:
                break
            opened, opening_gain = opened + 1, simplex.gains[0]
            simplex, units = first_simplex(problem, simplex.vertices[0], self.size)
            yield simplex.state(f"{why}; opened again")
        yield simplex.state(why)

    def _reason_to_stop(self, simplex: Simplex, units: Float64, waited: int, done: int) -> str:
        """Return why the search from this simplex is at its end, or ''."""
        if len(simplex.vertices) == 1:
            return "stopped: no weight can move"
        if simplex.spread(units) <= self.tolerance:
            return f"stopped: the simplex is smaller than {self.tolerance:g}"
        if simplex.is_flat:
            return "stopped: all vertices have the same error"
        if waited == self.patience:
            return f"stopped: {waited} steps without a better vertex"
        return f"stopped: {done} steps done" if done == self.limit else ""
