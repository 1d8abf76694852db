"""Weights within bounds as a cone, whatever their length: the coordinates of geometric searches."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, frozen
from luthier.geometry.equilibration import balanced, centred
from luthier.landscape.list_problem import ListProblem

# A feature whose values within a list differ by less, beside its largest value, is constant but for rounding.
CONSTANT_BELOW = 2.0**-50


@dataclasses.dataclass(frozen=True, eq=False)
class ConeCoordinates:
    """Directions z of the weights that can move, one coordinate for each, in units near its feature's spread.

    Units are powers of two and each list is moved by the value of one of its rows: whole numbers lose nothing, and
    rows on one line stay on one line. The spread is the median difference, so that one value of −10¹² (a log of 0)
    does not make all others look equal.

    The selection depends on the direction of w alone, but bounds such as w ≤ 1, or a weight fixed at 0.5,
    speak of lengths. They become homogeneous by one more coordinate λ > 0 for the unit: w = z / λ, low · λ < z
    < high · λ, and what the fixed weights add to a score is multiplied by λ. Bounds at 0 need no λ.

    Attributes
    ----------
    columns : (c,) int64
        The features whose weights can move and do something if they do.
    scales : (c,) or (c + 1,) float64
        w = z / scales, before the division by λ, which is the last of c + 1.
    given : (M, n) float64
        The features of these columns as they are, and with λ what the fixed weights add; n = len(scales).
    points : (M, n) float64
        The hypotheses, so that scores are z·points up to a constant in each list.
    walls : (b, n) float64
        The bounds: walls·z < 0.
    """

    problem: ListProblem
    start: Float64
    columns: Int64
    scales: Float64
    given: Float64
    points: Float64
    walls: Float64

    @classmethod
    def of(cls, problem: ListProblem, start: Float64, *, as_given: bool = False) -> ConeCoordinates:
        """Return coordinates for a problem; weights that cannot matter stay as they are in `start`.

        `as_given` leaves weights in their own units, so that angles are those between weights.
        """
        bounds, features, offsets = problem.bounds, problem.pool.features, problem.offsets
        columns = np.flatnonzero(~bounds.fixed)
        table = features.scores(np.eye(problem.n_features)[columns]).T if len(columns) else np.empty((len(features), 0))
        moving = _varies(table, offsets)
        columns, table = columns[moving], table[:, moving]
        low, high = bounds.low[columns], bounds.high[columns]
        still = np.flatnonzero(bounds.fixed & (bounds.low != 0) & (problem.spread > 0))
        limits = np.concatenate([low, high])
        sized = bool(len(still)) or bool(np.any(np.isfinite(limits) & (limits != 0)))
        if sized:
            fixed = np.zeros(problem.n_features)
            fixed[still] = bounds.low[still]
            table = np.column_stack([table, features.scores(fixed)])
        moved = centred(offsets, table)
        scales = np.ones(table.shape[1]) if as_given else np.ldexp(1.0, balanced(offsets, moved)[1])
        walls = _walls(low, high, scales, sized=sized)
        arrays = (scales, table, moved / scales, walls)
        return cls(problem, frozen(start), columns, *(frozen(np.ascontiguousarray(array)) for array in arrays))

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


def _varies(table: Float64, offsets: Int64) -> Bool:
    """Return which columns, (M, c) → (c,), have different values within a list."""
    starts = offsets[:-1]
    differences = np.maximum.reduceat(table, starts) - np.minimum.reduceat(table, starts)
    sizes = np.maximum.reduceat(np.abs(table), starts)
    return np.asarray(np.any(differences > CONSTANT_BELOW * sizes, axis=0))


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
