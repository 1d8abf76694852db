"""Weights within bounds as a cone, whatever their length: the coordinates of geometric searches."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.segments import segment_of_rows
from luthier.landscape.problem import Problem
from luthier.tuning.search.directions import movable


@dataclasses.dataclass(frozen=True, eq=False)
class ConeCoordinates:
    """Directions z of the weights that can move, one coordinate for each, in units of its feature's spread.

    The selection depends on the direction of w alone, but bounds such as w ≤ 1, or a weight fixed at 0.5,
    speak of lengths. They become homogeneous by one more coordinate λ > 0 for the unit: w = z / λ, low · λ < z
    < high · λ, and what the fixed weights add to a score is multiplied by λ. Bounds at 0 need no λ.

    Attributes
    ----------
    columns : (c,) int64
        The features whose weights can move and do something if they do.
    scales : (c,) or (c + 1,) float64
        w = z / scales, before the division by λ, which is the last of c + 1.
    points : (M, n) float64
        The hypotheses, so that scores are z·points up to a constant in each list; n = len(scales).
    walls : (b, n) float64
        The bounds: walls·z < 0.
    """

    problem: Problem
    start: Float64
    columns: Int64
    scales: Float64
    points: Float64
    walls: Float64

    @classmethod
    def of(cls, problem: Problem, start: Float64, *, as_given: bool = False) -> ConeCoordinates:
        """Return coordinates for a problem; weights that cannot matter stay as they are in `start`.

        `as_given` leaves weights in their own units, so that angles are those between weights.
        """
        columns, bounds, features = movable(problem), problem.bounds, problem.pool.features
        spread = problem.lines.spread
        low, high = bounds.low[columns], bounds.high[columns]
        still = np.flatnonzero(bounds.fixed & (bounds.low != 0) & (spread > 0))
        limits = np.concatenate([low, high])
        sized = bool(len(still)) or bool(np.any(np.isfinite(limits) & (limits != 0)))
        table = features.scores(np.eye(problem.n_features)[columns]).T if len(columns) else np.empty((len(features), 0))
        scales = np.ones(len(columns)) if as_given else spread[columns]
        if sized:
            fixed = np.zeros(problem.n_features)
            fixed[still] = bounds.low[still]
            table = np.column_stack([table, features.scores(fixed)])
        table = _centred(table, problem.offsets)
        if sized:
            unit = 1.0 if as_given else float(np.sqrt(np.mean(table[:, -1] ** 2))) or 1.0
            scales = np.append(scales, unit)
        points = table / scales
        walls = _walls(low, high, scales, sized=sized)
        return cls(problem, frozen(start), columns, frozen(scales), frozen(points), frozen(walls))

    @property
    def sized(self) -> bool:
        """Whether there is a coordinate λ."""
        return len(self.scales) > len(self.columns)

    def directions(self, weights: Float64) -> Float64:
        """Return the direction of weights, the largest coordinate ±1: (D,) → (n,)."""
        values = np.append(weights[self.columns], np.ones(int(self.sized))) * self.scales
        largest = float(np.abs(values).max(initial=0.0))
        return values / largest if largest else values

    def weights(self, direction: Float64) -> Float64:
        """Return weights of a direction, (n,) → (D,), inside the bounds; as long as the start if that is free."""
        moved = direction / self.scales
        weights = np.array(self.start)
        if self.sized:
            weights[self.columns] = moved[:-1] / moved[-1]
        else:
            length = float(np.linalg.norm(weights[self.columns])) or 1.0
            weights[self.columns] = moved * (length / (float(np.linalg.norm(moved)) or 1.0))
        return self.problem.bounds.clip(weights)


def _centred(table: Float64, offsets: Int64) -> Float64:
    """Return features less the mean of their list: only differences within a list matter."""
    if not table.shape[1]:
        return table
    means = np.add.reduceat(table, offsets[:-1]) / np.diff(offsets)[:, None]
    return np.asarray(table - means[segment_of_rows(offsets)], np.float64)


def _walls(low: Float64, high: Float64, scales: Float64, *, sized: bool) -> Float64:
    """Return the rows of low·λ − w < 0, w − high·λ < 0 and −λ < 0, in coordinates."""
    n, rows = len(scales), []
    for k in range(len(low)):
        for limit, sign in ((low[k], -1.0), (high[k], 1.0)):
            if np.isfinite(limit):
                row = np.zeros(n)
                row[k] = sign / scales[k]
                if sized:
                    row[-1] = -sign * limit / scales[-1]
                rows.append(row)
    if sized:
        rows.append(-np.eye(n)[-1])
    return np.array(rows).reshape(len(rows), n)
