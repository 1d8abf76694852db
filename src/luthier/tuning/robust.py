"""The answer that lasts: weights whose gain stays high when each of them is a little off.

What is climbed is the mean gain under Gaussian noise of all weights, in units of a feature's mean effect. Along an axis
the mean over that weight's own noise is exact (`luthier.landscape.lines.smooth`); over the others' it is taken from
a few draws, the same for every place that is compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.rng import child_rng
from luthier.landscape.lines.smooth import mean_gains
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units, movable
from luthier.tuning.base import State

STREAM = 1 << 40  # a number that no restart has
PLACES = np.linspace(-3.0, 3.0, 25)  # tried along an axis, in deviations
SWEEPS = 3
JUDGES = 4  # times as many draws judge the answer as found it
LEAST = 1e-9


def steadied(problem: Problem, ends: Sequence[State], *, noise: float, draws: int, seed: int) -> State:
    """Return weights near the ends of runs with a higher mean gain under noise, or the best end as it was.

    The end with the highest mean is where the search begins. Draws that had no part in it judge whether what
    it found is better.
    """
    rng = child_rng(seed, STREAM)
    first = max(ends, key=lambda end: end.gain)
    free = movable(problem)
    if not len(free) or noise <= 0.0:
        return first
    units = np.where(problem.bounds.fixed, 0.0, effect_units(problem.spread, first.weights))
    tried, judging = (_draws(rng, n, units, noise) for n in (draws, JUDGES * draws))
    begin = max(ends, key=lambda end: mean_gain(problem, end.weights, tried))
    here = np.array(begin.weights)
    for _ in range(SWEEPS):
        moved = [_moved(problem, here, int(d), units, tried, noise) for d in free]
        if not any(moved):
            break
    before, after = (mean_gain(problem, weights, judging) for weights in (first.weights, here))
    if after <= before + LEAST:
        return State(first.weights, first.gain, first.did, first.objective, _note(noise, before, None, first.note))
    return State(here, problem.gain(here), "robust", None, _note(noise, before, after, ""))


def _draws(rng: np.random.Generator, n: int, units: Float64, noise: float) -> Float64:
    """Return n moves of the weights, (n, D), in pairs of opposite ones."""
    half = rng.standard_normal(((n + 1) // 2, len(units))) * (noise * units)
    return np.concatenate([half, -half])[:n]


def mean_gain(problem: Problem, weights: Float64, moves: Float64) -> float:
    """Return the mean gain at weights moved by each of n moves, (n, D); what leaves the bounds is brought back."""
    return float(np.mean(problem.gains(problem.bounds.clip(weights + moves))))


def _moved(problem: Problem, here: Float64, d: int, units: Float64, moves: Float64, noise: float) -> bool:
    """Move weight d of `here` to where the mean is highest; return whether it moved."""
    direction = np.zeros((1, len(here)))
    direction[0, d] = units[d]
    others = moves.copy()
    others[:, d] = 0.0
    low, high = problem.bounds.steps_along(here, direction[0])
    places = np.clip(noise * PLACES, low, high)
    total = np.zeros(len(places))
    for start in problem.bounds.clip(here + others):
        for curve in problem.curves(start, direction):
            total += mean_gains(curve, places, noise)
    best, still = int(np.argmax(total)), len(places) // 2
    if total[best] <= total[still] + LEAST * len(moves):
        return False
    here[d] += places[best] * units[d]
    return True


def _note(noise: float, before: float, after: float | None, said: str) -> str:
    mean = f"{before:.4g}" if after is None else f"{before:.4g} → {after:.4g}"
    return "; ".join(filter(None, (said, f"mean gain under noise of {noise:g} mean effects: {mean}")))
