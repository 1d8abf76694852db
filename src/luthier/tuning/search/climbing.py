"""Climbs by exact line searches along the axes, from the start and from random weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.lines.places import Choice
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units
from luthier.tuning.base import State
from luthier.tuning.restarts import draw_start
from luthier.tuning.search.directions import axes
from luthier.tuning.search.line_search import search_in_turn


def climb_ends(problem: Problem, start: Float64, others: int, rng: np.random.Generator) -> Iterator[State]:
    """Yield where each climb ends: one from the start, then as many `others` from random weights."""
    lines, names = axes(problem)
    units = effect_units(problem.spread, start)
    for number in range(others + 1):
        begin = draw_start("random", start, units, problem.bounds, rng) if number else start
        here, path = State(begin, problem.gain(begin)), [State(begin, -np.inf)]
        while path:
            path = list(search_in_turn(problem, here, lines, names, Choice()))
            here = path[-1] if path else here
        yield State(here.weights, here.gain, "line searches")
