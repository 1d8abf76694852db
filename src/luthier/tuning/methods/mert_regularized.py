"""MERT that pays for the distance from its start, ℓ2 or ℓ0, with the expected gain's gradient (Galley et al. 2013)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.problem import Problem
from luthier.tuning.base import State, Tuner
from luthier.tuning.search.directions import axes, random_directions, uphill
from luthier.tuning.search.penalized_line import Penalty, penalized_search


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Climb the gain less a penalty on the distance from the start w⁰, by exact line searches.

    The penalty is `strength` · ‖w − w⁰‖² for ``l2``, or `strength` times the number of weights that differ
    from w⁰ for ``l0`` [galley2013]; it is known everywhere on a line, as the gain is. It is 0 at the start,
    so whatever has a higher objective than the start has a higher gain too.
    """

    penalty: str = param("l2", choices=("l2", "l0"), help="distance from the start: squared, or weights changed")
    strength: float = param(0.1, low=0.0, high=1e9, help="gain (0–100) that one unit of the penalty is worth")
    gradient: bool = param(True, help="also search along the gradient of the expected gain")
    sharpness: float = param(1.0, low=1e-9, high=1e9, help="factor on scores under the softmax of that gain")
    random: int = param(0, low=0, high=100_000, help="random directions in a sweep")
    sweeps: int = param(100, low=1, high=1_000_000, help="sweeps over the directions, at most")
    tolerance: float = param(1e-7, low=0.0, high=1.0, help="least width of an interval, in lengths of the weights")

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each line search that improved the objective."""
        gain = problem.gain(start)
        here = State(start, gain, "start", objective=gain)
        yield here
        penalty = Penalty(self.penalty, self.strength, here.weights)
        for _ in range(self.sweeps):
            before = here
            for line, name in self._lines(problem, here.weights, rng):
                curve = next(problem.curves(here.weights, line[None]))
                better = penalized_search(problem, here, line, curve, penalty, tolerance=self.tolerance)
                if better is not None:
                    here = dataclasses.replace(better, did=name)
                    yield here
            if here is before:
                return

    def _lines(self, problem: Problem, weights: Float64, rng: np.random.Generator) -> Iterator[tuple[Float64, str]]:
        """Yield the directions of a sweep: uphill, the axes, random ones."""
        parts = [axes(problem), random_directions(problem, self.random, rng)]
        if self.gradient:
            parts.insert(0, uphill(problem, weights, self.sharpness))
        for lines, names in parts:
            yield from zip(lines, names, strict=False)
