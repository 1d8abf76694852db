"""Whether weights select what they select by more than rounding: strictly inside a cell, not on a tie."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.segments import segment_of_rows
from luthier.landscape.dense_rows import dense_rows
from luthier.landscape.list_problem import ListProblem

UNIT = 2.0**-53


class ClearSelections:
    """Lists made ready to ask whether weights tie any of them."""

    def __init__(self, problem: ListProblem) -> None:
        f = problem.pool.features
        self.problem, self.features, self.lists = problem, f, segment_of_rows(problem.offsets)
        self._largest = np.zeros(f.n_features)
        self._largest[: f.n_dense] = np.abs(f.dense).max(axis=0, initial=0.0)
        np.maximum.at(self._largest, f.n_dense + f.indices, np.abs(f.values))

    def is_clear(self, weights: Float64, selection: Int64) -> bool:
        """Return whether selected rows, (N,), score higher than all that differ from them, however sums are rounded.

        A score of D products is wrong by γ(D) of the sum of their sizes at most, in any order ([higham2002] section
        3.1). Rows that come near enough for that, by the largest sizes there are, are looked at one by one.
        """
        unit = 4 * (self.features.n_features + 4) * UNIT
        scores = self.problem.pool.scores(weights)
        behind = scores[selection][self.lists] - scores
        near = np.flatnonzero(behind <= unit * float(np.abs(weights) @ self._largest))
        near = near[near != selection[self.lists[near]]]
        if not len(near):
            return True
        rivals = dense_rows(self.features.take(near))
        chosen = dense_rows(self.features.take(selection[self.lists[near]]))
        differ = np.any(rivals != chosen, axis=1)
        leads = (chosen - rivals) @ weights
        sizes = (np.abs(chosen) + np.abs(rivals)) @ np.abs(weights)
        return bool(np.all(leads[differ] > unit * sizes[differ]))
