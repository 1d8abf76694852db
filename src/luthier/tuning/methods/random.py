"""Random search: the best of many weight vectors drawn about the start, all re-ranked at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.problem import Problem, effect_units
from luthier.tuning.base import State, Tuner


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Draw, keep the best, draw about it.

    Each round draws `batch` vectors: from the normal distribution about the best so far, in units in
    which every feature has the same spread within lists, `shrink` times narrower after a round that
    brought nothing.
    """

    rounds: int = param(20, low=1, high=1_000_000, help="rounds of drawing")
    batch: int = param(200, low=1, high=1_000_000, help="vectors drawn in a round")
    size: float = param(1.0, low=1e-12, help="standard deviation at first, in units of the mean effect of a feature")
    shrink: float = param(0.7, low=0.01, high=1.0, help="factor on the size after a round without gain")

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the best vector after each round."""
        best = State(start, problem.gain(start), "start")
        yield best
        unit = effect_units(problem.spread, start)
        size = self.size
        for number in range(1, self.rounds + 1):
            noise = rng.standard_normal((self.batch, len(start))) * unit * size
            noise[:, problem.bounds.fixed] = 0.0
            drawn = problem.bounds.clip(best.weights + noise)
            gains = problem.gains(drawn)
            top = int(np.argmax(gains))
            if gains[top] > best.gain:
                best = State(drawn[top], float(gains[top]), f"round {number}")
            else:
                size *= self.shrink
                best = dataclasses.replace(best, did=f"round {number}: nothing better")
            yield best
