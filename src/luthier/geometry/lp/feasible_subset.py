"""The lists on which one vector can make a given selection: as many as a greedy search finds.

A selection names one row of every list. Rarely can one w make all of it; the search goes through the lists in
a given order and keeps each list that can be kept together with those kept before. The result is maximal (no
list that was left out can be added), though not the largest there may be: that one is hard to find.

Whether a list can be kept is a linear program, max t subject to ``w·(h_j − h_i) ≤ −t`` over all rows
h_j ≠ h_i of the kept lists, |w_k| ≤ 1 [waite2015]. Few of its rows ever matter: those of earlier answers are
kept, others join as they are violated, each answer starts from the last one, and where the weights at
hand select the new list's row already there is nothing to solve.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.geometry.lp.lp import Margin, MarginProblem

# A selection counts as impossible if every w leaves some row closer than this, in units of the rows' distance.
STRICT = 1e-9
# A row joins the program if it is nearer than this share of the margin that the program promises.
NEAR = 0.1
ROWS_AT_ONCE = 4


@dataclasses.dataclass(frozen=True, eq=False)
class FeasibleSubset:
    """Lists whose rows one vector selects.

    Attributes
    ----------
    lists : (n,) int64
        Ascending.
    weights : (D,) float64
        They select the wanted row in each of them, above every row that differs from it.
    lps : int
        How many were solved.
    """

    lists: Int64
    weights: Float64
    lps: int


class SelectionTests:
    """Lists made ready for many tests of selections.

    Parameters
    ----------
    offsets : (N+1,) int64
        List i has the rows ``offsets[i]:offsets[i+1]``, one or more.
    features : (M, D) float64
        Kept, not copied.
    """

    def __init__(self, offsets: Int64, features: Float64) -> None:
        self.offsets, self.features = offsets, features
        span = np.ptp(features, axis=0) if len(features) else np.ones(features.shape[1])
        self._units = np.where(span > 0, span, 1.0)  # columns of like size; searches have weights in these units

    def feasible_subset(self, selection: Int64, order: Int64) -> FeasibleSubset:
        """Go through lists in `order`, (n,), and keep each on which the selection, (N,), stays possible."""
        self._check(selection)
        search = _Search(len(self._units))
        with progress("lists that can be kept", len(order)) as advance:
            for i in order.tolist():
                search.offer(i, self._table(selection, i))
                advance(1)
        kept = np.sort(np.array(search.kept, np.int64))
        return FeasibleSubset(kept, search.weights / self._units, search.lps)

    def reached(self, selection: Int64, order: Int64, columns: Int64 | None = None) -> int:
        """Return how many lists of `order` one vector suits before the first that it cannot; len(order) if all.

        The selection is feasible on these lists iff none is in the way. `columns` leaves out all other columns.
        """
        self._check(selection)
        search = _Search(len(self._units if columns is None else columns))
        for done, i in enumerate(order.tolist()):
            if not search.offer(i, self._table(selection, i, columns)):
                return done
        return len(order)

    def nearest_first(self, selection: Int64, weights: Float64) -> Int64:
        """Return the lists ordered by how far weights, (D,), are from making the selection in each: (N,).

        The distance is that of w to the farthest plane ``w·(h_j − h_i) = 0`` on whose wrong side it is, or,
        negative, to the nearest plane where it is on the right side of all.
        """
        self._check(selection)
        inner = weights * self._units
        tables = (self._table(selection, i) for i in range(len(selection)))
        return np.argsort([np.max(table @ inner, initial=-np.inf) for table in tables], kind="stable")

    def _table(self, selection: Int64, i: int, columns: Int64 | None = None) -> Float64:
        """Return the differences of list i's rows to the selected one, of length 1; equal rows are left out."""
        rows, units = self.features[self.offsets[i] : self.offsets[i + 1]], self._units
        differences = rows - self.features[selection[i]]
        if columns is not None:
            differences, units = differences[:, columns], units[columns]
        scaled = differences[np.any(differences != 0, axis=1)] / units
        unit: Float64 = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
        return unit

    def _check(self, selection: Int64) -> None:
        offsets = self.offsets
        if len(selection) != len(offsets) - 1 or np.any((selection < offsets[:-1]) | (selection >= offsets[1:])):
            raise LuthierError("expected a selection that names one row of each list, found another")


class _Search:
    """The lists kept so far, weights that select their rows, and the rows that hold these in place."""

    def __init__(self, n_columns: int) -> None:
        self.kept: list[int] = []
        self.lps = 0
        self.weights = np.zeros(n_columns)
        self._tables: list[Float64] = []  # of the kept lists
        self._tight = np.empty((0, n_columns))

    def offer(self, number: int, table: Float64) -> bool:
        """Keep a list if it can be kept; return whether."""
        fits = not len(table) or float(np.max(table @ self.weights)) < -STRICT or self._solve(table)
        if fits:
            self.kept.append(number)
            self._tables.append(table)
        return fits

    def _solve(self, table: Float64) -> bool:
        """Look for weights that suit a new list and all those kept; keep them if there are any."""
        problem, rows = MarginProblem(len(self.weights)), self._tight
        problem.add(rows)
        more = _nearest(table, self.weights, np.inf)
        while True:
            problem.add(more)
            rows = np.concatenate([rows, more])
            answer = problem.solve()
            self.lps += 1
            if answer.margin <= STRICT:
                return False
            more = self._violated(table, answer)
            if not len(more):
                self.weights = answer.weights
                self._tight = rows[rows @ answer.weights > -2.0 * answer.margin]
                return True

    def _violated(self, table: Float64, answer: Margin) -> Float64:
        """Return rows that the weights leave too near: of the new list first, then of those kept."""
        limit = NEAR * answer.margin
        more = _nearest(table, answer.weights, limit)
        if len(more):
            return more
        parts = [_nearest(kept, answer.weights, limit) for kept in self._tables]
        return np.concatenate([more, *parts])


def _nearest(table: Float64, weights: Float64, limit: float) -> Float64:
    """Return the few rows with the highest ``row·weights`` among those above −limit."""
    heights = table @ weights
    if not len(heights) or float(heights.max()) <= -limit:
        return table[:0]
    few = np.argsort(-heights, kind="stable")[:ROWS_AT_ONCE]
    return table[few[heights[few] > -limit]]
