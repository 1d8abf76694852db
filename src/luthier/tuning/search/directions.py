"""Directions to search along: axes, random ones, uphill, the whole of a move."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.problem import Problem
from luthier.landscape.units import movable
from luthier.tuning.base import State


def axes(problem: Problem) -> tuple[Float64, list[str]]:
    """Return the axes of movable features, (Q, D), and their names."""
    columns = movable(problem)
    directions = np.zeros((len(columns), problem.n_features))
    directions[np.arange(len(columns)), columns] = 1.0
    return directions, [problem.names[d] for d in columns]


def random_directions(problem: Problem, count: int, rng: np.random.Generator) -> tuple[Float64, list[str]]:
    """Return random directions, (count, D): normal, in units in which all features spread alike."""
    columns = movable(problem)
    count = count if len(columns) else 0
    directions = np.zeros((count, problem.n_features))
    directions[:, columns] = rng.standard_normal((count, len(columns))) / problem.spread[columns]
    return directions, [f"random {i}" for i in range(count)]


def conjugate(lines: Float64, names: Sequence[str], path: Sequence[State]) -> tuple[Float64, list[str], Float64]:
    """Return the lines with the one that gained most replaced by the whole move, and that move, (D,).

    `path` are the states before and after each step of a sweep, each named after its line [powell1964].
    """
    rises = [after.gain - before.gain for before, after in itertools.pairwise(path)]
    best = list(names).index(path[1 + int(np.argmax(rises))].did)
    whole = path[-1].weights - path[0].weights
    number = 1 + max((int(name.split()[-1]) for name in names if name.startswith("move ")), default=0)
    kept = [name for i, name in enumerate(names) if i != best]
    return np.concatenate([np.delete(lines, best, axis=0), whole[None]]), [*kept, f"move {number}"], whole


def uphill(problem: Problem, weights: Float64, sharpness: float) -> tuple[Float64, list[str]]:
    """Return where the gain is likely to rise, (1, D), fixed weights left out; no direction if that is not known."""
    gradient = np.where(problem.bounds.fixed, 0.0, problem.uphill(weights, sharpness))
    return gradient[None][: int(np.any(gradient))], ["uphill"]
