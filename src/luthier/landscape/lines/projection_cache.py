"""A problem looked at again and again from weights that differ little: what was seen of its rows is kept.

All answers are those of the problem itself, to the last bit; they only come sooner.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64, Int64, frozen
from luthier.geometry.lines.envelope import Projections
from luthier.landscape.curve import LineCurve
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.pools import score_selections

MOST_MOVED = 3  # weights that may differ before all rows are looked at again
MOST_MOVES = 12  # of one weight, one after another, before that: each adds its rounding
SELECTIONS = 16  # that are kept: the same weights are asked for several times


class ProjectionCache:
    """A problem and what was seen of it last; threads may ask at a time, a search has one of its own."""

    def __init__(self, problem: ListProblem) -> None:
        self.problem = problem
        self._sighting: Projections | None = None
        self._selections: OrderedDict[bytes, Int64] = OrderedDict()
        self._lock = threading.Lock()

    def select(self, weights: Float64) -> Int64:
        """Return the selected row of each sentence, (D,) → (N,)."""
        key = weights.tobytes()
        with self._lock:
            if key in self._selections:
                self._selections.move_to_end(key)
                return self._selections[key]
        return self._look(weights)[0]

    def gain(self, weights: Float64) -> float:
        """Return the gain of one weight vector, (D,)."""
        metric = self.problem.metric
        return float(metric.gain(score_selections(self.problem.stats, self.select(weights), metric)))

    def curves(self, start: Float64, directions: Float64) -> Iterator[LineCurve]:
        """Yield the gain along ``start + t·direction`` for each direction, (D,) and (Q, D)."""
        near = self._sighting
        if near is not None and not np.array_equal(near.weights, start):
            near = self._look(start)[1]
        return self.problem.lines.curves(start, directions, near)

    def _look(self, weights: Float64) -> tuple[Int64, Projections | None]:
        """Return the selected rows and the heights of all rows at weights, and keep both."""
        near, lines = self._sighting, self.problem.lines
        moved = 0 if near is None else np.count_nonzero(near.weights != weights)
        if near is None or moved > MOST_MOVED or near.moves + moved > MOST_MOVES:
            near = lines.projections_at(weights)
        rows, near = lines.select_near(weights, near)
        with self._lock:
            self._sighting, self._selections[weights.tobytes()] = near, frozen(rows)
            while len(self._selections) > SELECTIONS:
                self._selections.popitem(last=False)
        return rows, near
