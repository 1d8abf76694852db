"""Grid search: every combination, or one feature after the other, on an even grid that is refined."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units, movable
from luthier.tuning.base import State, Tuner

LARGEST_GRID = 1_000_000  # points of one full grid; the best of more is found by other means
BATCH = 4096  # points re-ranked at a time


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Try `points` evenly spaced values of each chosen weight, from −`reach` to +`reach` units about it.

    ``full`` tries all combinations, ``coordinate`` one feature after the other, over and over until a
    pass brings nothing. Each of `rounds` further rounds has its centre at the best so far and reaches as
    far as one spacing of the grid before. The best wins; if gains are equal, the nearest to the centre (in units),
    then the first in the order of the grid; the weights stay where nothing is better.

    A unit is the start weight itself (``start``; where that is 0, as next) or the mean effect of a feature
    (``effect``). Values outside the bounds are clipped to them.
    """

    features: str = param("", help="names of the features to move, separated by commas (all that can move)")
    mode: str = param("coordinate", choices=("coordinate", "full"), help="one feature at a time, or all at once")
    points: int = param(11, low=2, high=100_001, help="values tried of a weight")
    reach: float = param(1.0, low=1e-12, help="how far the first grid reaches to each side, in units")
    unit: str = param("start", choices=("start", "effect"), help="the start weight, or the mean effect of a feature")
    rounds: int = param(3, low=0, high=1000, help="rounds of refinement after the first grid")
    passes: int = param(10, low=1, high=1000, help="passes over the features in a round, at most (coordinate)")

    def refuses(self, problem: Problem) -> str:
        """Return a sentence if a feature is unknown or fixed, or if a full grid is absurdly large."""
        names = [name.strip() for name in self.features.split(",") if name.strip()]
        for name in names:
            try:
                d = problem.index(name)
            except LuthierError as error:
                return str(error)
            if problem.bounds.fixed[d]:
                return f"the weight of {name!r} is fixed, a grid cannot move it"
        n_axes = len(set(names)) if names else int(np.count_nonzero(~problem.bounds.fixed))
        if self.mode == "full" and self.points**n_axes > LARGEST_GRID:
            return (
                f"a full grid of {self.points} values of {n_axes} weights has {float(self.points) ** n_axes:.1e} "
                f"points, more than {LARGEST_GRID:,}. hint: name fewer features, ask for fewer points, or use "
                "the mode 'coordinate'"
            )
        return ""

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:  # noqa: ARG002
        """Yield the best after each grid, or in coordinate mode after each pass over the features."""
        best = State(start, problem.gain(start), "start")
        yield best
        effects = effect_units(problem.spread, start)
        units = np.where(start != 0, np.abs(start), effects) if self.unit == "start" else effects
        axes = self._axes(problem)
        if not len(axes):
            yield dataclasses.replace(best, did="stopped: no weight can move")
            return
        reach = self.reach
        for number in range(self.rounds + 1):
            if self.mode == "full":
                best = self._best_of(problem, best, axes, reach * units)
                yield dataclasses.replace(best, did=f"round {number}: full grid")
            else:
                for sweep in range(1, self.passes + 1):
                    before = best.gain
                    for axis in axes:
                        best = self._best_of(problem, best, axis[None], reach * units)
                    yield dataclasses.replace(best, did=f"round {number}: pass {sweep}")
                    if best.gain <= before:
                        break
            reach *= 2.0 / (self.points - 1)

    def _axes(self, problem: Problem) -> Int64:
        """Return the positions of the weights to move, in the order in which they were named."""
        names = [name.strip() for name in self.features.split(",") if name.strip()]
        if names:
            return np.array([problem.index(name) for name in dict.fromkeys(names)])
        return movable(problem)

    def _best_of(self, problem: Problem, best: State, axes: Int64, reach: Float64) -> State:
        """Return the best point of the grid over `axes` about `best`, or `best` if none is better."""
        line = np.linspace(-1.0, 1.0, self.points)
        centre, found = best.weights, best
        nearest = 0.0
        total = self.points ** len(axes)
        for first in range(0, total, BATCH):
            places = np.unravel_index(np.arange(first, min(first + BATCH, total)), (self.points,) * len(axes))
            moves = line[np.stack(places, axis=1)]  # (B, A), in units of the reach
            drawn = np.repeat(centre[None], len(moves), axis=0)
            drawn[:, axes] += moves * reach[axes]
            drawn = problem.bounds.clip(drawn)
            gains = problem.gains(drawn)
            distances = np.sum(moves**2, axis=1)
            top = int(np.lexsort((distances, -gains))[0])
            nearer = gains[top] == found.gain and found is not best and distances[top] < nearest
            if gains[top] > found.gain or nearer:
                found, nearest = State(drawn[top], float(gains[top])), float(distances[top])
        return found
