"""Searches that close in on a place need ever fewer rows of the lists: those that can win where they still look."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from luthier.core.arrays import UNIT, Float64
from luthier.landscape.problem import Problem

MARGIN = 2.0  # of its sides by which a box is widened where rows are chosen for it: a search moves on
SHRUNK = 0.7  # rows are chosen anew where the size of what is needed is at most so much of what it was
ROUNDING_OF_WEIGHTS = 16 * UNIT  # that a search computes from the corners of its box


class _Level(NamedTuple):
    """A problem with the gains of a box, and the size of what was needed when rows were chosen last."""

    problem: Problem
    low: Float64
    high: Float64
    size: float

    def holds(self, low: Float64, high: Float64) -> bool:
        return bool(np.all(low >= self.low) and np.all(high <= self.high))


class Focus:
    """A problem with the same gains in the box where a search is, of fewer rows the smaller the box is.

    Boxes lie one inside the other, so that a search that leaves one is seldom outside of all. The size of a box is
    Σ_d s_d (high_d − low_d), s being the spreads of the features within lists.
    """

    def __init__(self, problem: Problem) -> None:
        edge = np.full(problem.n_features, np.inf)
        self._levels = [_Level(problem, -edge, edge, np.inf)]
        self._spread = problem.spread

    def within(self, low: Float64, high: Float64) -> Problem:
        """Return a problem that has the gains of the whole one for weights between two corners, (D,) each."""
        room = ROUNDING_OF_WEIGHTS * np.maximum(np.abs(low), np.abs(high))
        low, high = low - room, high + room
        size = float(self._spread @ (high - low))
        while not self._levels[-1].holds(low, high):
            self._levels.pop()
        if size <= SHRUNK * self._levels[-1].size:
            self._narrow(low, high, size)
        return self._levels[-1].problem

    def _narrow(self, low: Float64, high: Float64, size: float) -> None:
        """Add a level round a box, if that leaves enough rows out."""
        outer = self._levels[-1] = self._levels[-1]._replace(size=size)
        sides = high - low
        mean = np.divide(size / len(sides), self._spread, out=sides.copy(), where=self._spread > 0)
        wider = MARGIN * np.where(sides > 0, np.maximum(sides, mean), 0.0)  # a thin side may be wider in the next step
        low, high = np.maximum(low - wider, outer.low), np.minimum(high + wider, outer.high)
        inner = outer.problem.within(low, high)
        if inner is not outer.problem:
            self._levels.append(_Level(inner, low, high, size))
