"""MERT that pays for the distance from its start (Galley et al. 2013), or for bins out of line."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.problem import Problem
from luthier.tuning.base import State, Tuner
from luthier.tuning.neighbours.penalty import KINDS, Neighbours, no_bins
from luthier.tuning.restarts import with_effect
from luthier.tuning.search.line_search import (
    NeighbourPrice,
    Penalty,
    Price,
    axes,
    penalized_search,
    random_directions,
    seen_of,
    uphill,
)


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Climb the gain less a penalty, by exact line searches; by default one on the distance from the start w⁰.

    The penalty is `strength` · ‖w − w⁰‖² for ``l2``, or `strength` times the number of weights that differ
    from w⁰ for ``l0`` [galley2013]; it is known everywhere on a line, as the gain is. It is 0 at the start,
    so whatever has a higher objective than the start has a higher gain too. A start twice as long would pay four
    times as much for the same selections: it is brought to one length first.

    ``lnr`` and ``mnr`` are `strength` times the penalty on neighbouring bins [clark2014], of the weights scaled to
    Σ|w| = 1: the gain does not know their length, so neither may the price. In each interval of a line some places
    are tried, those where bins come to the mean of their neighbours among them: what is found is what it says, but a
    better place of the interval may be missed. The start is not free of charge, so the gain may end below it.
    """

    size_means = "the tuner measures them from the start"
    published = {"penalty": "l2", "gradient": True, "rescale": False}  # noqa: RUF012 - never changed

    penalty: str = param(
        "l2",
        choices=("l2", "l0", *KINDS),
        help="distance from the start, squared or weights changed; or bins out of line",
    )
    strength: float = param(0.1, low=0.0, high=1e9, help="gain (0–100) that one unit of the penalty is worth")
    gamma: float = param(2.0, low=0.5, high=100.0, help="how sharply mnr sets in where a bin leaves its neighbours")
    rescale: bool = param(True, help="bring the start to a length at which scores spread by about 1")
    gradient: bool = param(True, help="also search along the gradient of the expected gain")
    sharpness: float = param(1.0, low=1e-9, high=1e9, help="factor on scores under the softmax of that gain")
    random: int = param(0, low=0, high=100_000, help="random directions in a sweep")
    sweeps: int = param(100, low=1, high=1_000_000, help="sweeps over the directions, at most")
    tolerance: float = param(1e-7, low=0.0, high=1.0, help="least width of an interval, in lengths of the weights")

    @property
    def is_random(self) -> bool:
        """Only random directions are drawn."""
        return self.random > 0

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each line search that improved the objective."""
        seen = seen_of(problem)
        gain, scaled = seen.gain(start), with_effect(problem, start, 1.0) if self.rescale else start
        penalty = self._price(problem, scaled)
        here = State(scaled, gain, "start", objective=gain - float(penalty.of(scaled)))
        yield dataclasses.replace(here, weights=start)
        for _ in range(self.sweeps):
            before = here
            for line, name in self._lines(problem, here.weights, rng):
                curve = next(seen.curves(here.weights, line[None]))
                better = penalized_search(problem, seen, here, line, curve, penalty, tolerance=self.tolerance)
                if better is not None:
                    here = dataclasses.replace(better, did=name)
                    yield here
            if here is before:
                return

    def refuses(self, problem: Problem) -> str:
        """Return why this method cannot work on a problem, or '' if it can."""
        return super().refuses(problem) or (no_bins(problem, self.penalty) if self.penalty in KINDS else "")

    def _price(self, problem: Problem, start: Float64) -> Price:
        if self.penalty not in KINDS:
            return Penalty(self.penalty, self.strength, start)
        return NeighbourPrice(
            Neighbours.of(problem.groups, problem.names, kind=self.penalty, strength=self.strength, gamma=self.gamma)
        )

    def _lines(self, problem: Problem, weights: Float64, rng: np.random.Generator) -> Iterator[tuple[Float64, str]]:
        """Yield the directions of a sweep: uphill, the axes, random ones."""
        parts = [axes(problem), random_directions(problem, self.random, rng)]
        if self.gradient:
            parts.insert(0, uphill(problem, weights, self.sharpness))
        for lines, names in parts:
            yield from zip(lines, names, strict=False)
