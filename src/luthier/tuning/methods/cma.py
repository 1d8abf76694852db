"""CMA-ES: a normal distribution of weights that learns where better ones are (Hansen and Ostermeier, 2001)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.problem import Problem, effect_units, movable
from luthier.tuning.base import State, Tuner
from luthier.tuning.search.focus import Focus


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Draw a generation of weights, keep the better half, move the mean and the covariances towards them.

    The gain is a black box, of which only the order within a generation is used: steps, plateaus and any monotone
    transform of the metric do not matter. A generation is one re-rank of many vectors. Weights are moved in units of
    the mean effect of a feature, from the start on; those outside the bounds are clipped to them. The answer is the
    best weights drawn. The strategy and its constants are those of the package ``cma``, whose own tests end the search
    (the distribution has become a point, or generations are all alike); `generations` is the limit.

    References
    ----------
    [hansen2001].
    """

    published = {"population": 0}  # noqa: RUF012 - never changed

    size: float = param(1.0, low=1e-9, high=1e6, help="first standard deviation, in units of the mean effect")
    population: int = param(
        24, low=0, high=100_000, help="weights drawn in a generation, at least 4 (0: 4 + 3 ln D, as published)"
    )
    generations: int = param(300, low=1, high=1_000_000, help="generations, at most")

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the best weights so far after each generation, and at the end why it is the end."""
        best = State(start, problem.gain(start), "start")
        yield best
        free = movable(problem)
        if not len(free):
            yield dataclasses.replace(best, did="stopped: no weight can move")
            return
        units = effect_units(problem.spread, start)[free]
        strategy, why, focus = _strategy(self, len(free), rng), "", Focus(problem)
        while not why:
            drawn = np.array(strategy.ask())  # (population, free)
            weights = np.repeat(start[None], len(drawn), axis=0)
            weights[:, free] += drawn * units
            weights = problem.bounds.clip(weights)
            gains = focus.within(weights.min(axis=0), weights.max(axis=0)).gains(weights)
            strategy.tell(list(drawn), (-gains).tolist())
            first = int(np.argmax(gains))
            if gains[first] > best.gain:
                best = State(weights[first], float(gains[first]))
            why = ", ".join(sorted(strategy.stop()))
            yield dataclasses.replace(best, did=f"generation {strategy.countiter}")
        yield dataclasses.replace(best, did=f"stopped after generation {strategy.countiter}: {why}")


def _strategy(method: Method, n: int, rng: np.random.Generator) -> Any:
    """Return the strategy of the package: silent, and with our own random numbers."""
    from cma import CMAEvolutionStrategy

    settings = {
        "popsize": max(4, method.population or 4 + int(3 * math.log(n))),
        "maxiter": method.generations,
        "verbose": -9,
        "verb_log": 0,
        "verb_disp": 0,
        "seed": np.nan,
        "randn": lambda *shape: rng.standard_normal(shape),
        "CMA_diagonal": 100 if n > 200 else 0,
    }
    return CMAEvolutionStrategy(np.zeros(n), method.size, settings)
