"""The rows of lists that weights near given ones can select: the others have no part in what is found there.

Distances are in units of a feature's mean effect (`luthier.landscape.problem`): directions are at right angles and of
length 1 in them.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.segments import counts_in_segments, offsets_from_counts, segment_blocks
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import EQUAL_GAINS, effect_units

BLOCK_ROWS = 1 << 13
# Directions that leave less than this of their length beside the others do not span a plane.
PARALLEL = 1e-6


@dataclasses.dataclass(frozen=True, eq=False)
class Nearby:
    """Weights, and the rows that weights near them select: no other row has a part in planes through them.

    A row k loses to the winner v of its list at w + δ wherever ``w·(h_v − h_k) > ‖δ/u‖ ‖u∘(h_k − h_v)‖``
    (Cauchy and Schwarz), u being the units; rows that lose wherever ‖δ/u‖ ≤ reach are left out.

    Attributes
    ----------
    weights : (D,) float64
    units : (D,) float64
        One unit of each weight; 0 where it must not move.
    reach : float
    offsets, features, stats : (N+1,) int64, R rows, (R, S)
        The rows that are left.
    """

    weights: Float64
    units: Float64
    reach: float
    offsets: Int64
    features: Features
    stats: npt.NDArray[Any]

    @classmethod
    def of(cls, problem: ListProblem, weights: Float64, reach: float) -> Nearby:
        """Return the rows near some weights."""
        units = np.where(problem.bounds.fixed, 0.0, effect_units(problem.spread, weights))
        rows = np.flatnonzero(_within_reach(problem, weights, units, reach))
        offsets = offsets_from_counts(counts_in_segments(problem.offsets, rows))
        return cls(weights, units, reach, offsets, problem.pool.features.take(rows), problem.stats[rows])

    def subspace(self, vectors: Float64) -> Subspace | None:
        """Return the subspace that moves along vectors, (M, D) in weights; None if they span less than M dimensions.

        Its directions are at right angles and of length 1 in units; what has no unit is left out.
        """
        free = self.units > 0.0
        steps = vectors[:, free] / self.units[free]
        lengths = np.sqrt(np.einsum("md,md->m", steps, steps))
        if not free.any() or not np.all(lengths > 0.0):
            return None
        basis, triangle = np.linalg.qr((steps / lengths[:, None]).T)  # (D, M), (M, M)
        if len(triangle) < len(vectors) or np.abs(np.diag(triangle)).min() < PARALLEL:
            return None
        directions = np.zeros_like(vectors, dtype=np.float64)
        directions[:, free] = (basis * np.sign(np.diag(triangle))).T * self.units[free]
        return Subspace(self.weights, directions)


def _within_reach(problem: ListProblem, weights: Float64, units: Float64, reach: float) -> Bool:
    """Return which rows may be the highest of their list somewhere within reach, (M,)."""
    features, offsets = problem.pool.features, problem.offsets
    scores = problem.pool.scores(weights)
    winners = problem.select(weights)
    sparse_lengths = _sparse_lengths(features, units)
    able = np.empty(len(scores), np.bool_)
    for first, last in segment_blocks(offsets, BLOCK_ROWS):
        rows = slice(int(offsets[first]), int(offsets[last]))
        best = np.repeat(winners[first:last], np.diff(offsets[first : last + 1]))
        apart = (features.dense[rows] - features.dense[best]) * units[: features.n_dense]
        squares = np.einsum("kd,kd->k", apart, apart)
        if len(features.indices):
            squares += (sparse_lengths[rows] + sparse_lengths[best]) ** 2
        slack = EQUAL_GAINS * (np.abs(scores[best]) + np.abs(scores[rows]))
        able[rows] = scores[best] - scores[rows] <= reach * (1.0 + EQUAL_GAINS) * np.sqrt(squares) + slack
    return able


def _sparse_lengths(features: Features, units: Float64) -> Float64:
    """Return the length of each row's sparse part in units, (M,): no difference is longer than two of them."""
    if not len(features.indices):
        return np.zeros(0)
    entries = np.repeat(np.arange(len(features)), np.diff(features.indptr))
    squares = (features.values * units[features.n_dense :][features.indices]) ** 2
    lengths: Float64 = np.sqrt(np.bincount(entries, weights=squares, minlength=len(features)))
    return lengths
