"""Which vertices of a sum a re-rank at given weights is certain to find, in spite of rounding."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.geometry.sums import _certain_kernels as kernels
from luthier.geometry.sums.summands import Summands


class Certainty:
    """Judges the selections of weights.

    Parameters
    ----------
    summands : Summands of the lists
    offsets, features : (N+1,) and (M, D)
        The lists as they are.
    rounding : (N, D) float64
        How wrong the difference of two scores of a list may be, per unit of each weight.
    """

    def __init__(self, summands: Summands, offsets: Int64, features: Float64, rounding: Float64) -> None:
        s, active = summands, summands.active
        powers = s.list_exponents[:, None] + s.exponents
        ends = np.stack([offsets[:-1], offsets[1:]], axis=1)[active]
        self._corners = kernels.Corners(
            flat(s.edge_first), flat(s.directions), flat(s.nearest), flat(s.corner_rows), flat(np.ldexp(1.0, powers))
        )
        self._rows = kernels.Rows(flat(np.asarray(features, np.float64)), flat(ends))
        self._rounding = flat(rounding[active] + np.ldexp(1.0, powers - s.bits[:, None]))  # and a step of the grid

    def judge(self, weights: Float64, selections: Int64) -> tuple[Float64, Bool]:
        """Return the margins of weights, (V, D), that select corners, (V, S), as scores; and which are certain."""
        margins, certain = np.empty(len(weights)), np.empty(len(weights), np.bool_)
        kernels.judge(
            flat(weights), flat(selections), self._corners, self._rows, self._rounding, margins, certain
        )  # fmt: skip
        return margins, certain
