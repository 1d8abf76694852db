"""Vertices of one list where rounding leaves them open, or one far row makes all others look alike.

A row that is exactly a combination of others is no vertex. Any other is one if its normal cone has a width: if some w,
|w_k| ≤ 1, has ``w·d ≤ −10⁻⁹ ‖d‖`` for all differences d to other rows, in units in which the columns are of like size.
Each difference is measured by its own length, so that it does not matter how far away another row is; what a
rounded sum of other columns adds to a list has no width.
"""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.geometry.balance import balanced
from luthier.geometry.lp.lp import largest_margin
from luthier.geometry.lp.rational import exact_difference
from luthier.geometry.polytopes.exact_rank import exact_rank
from luthier.geometry.sums.exact_cone import is_positive_combination

MARGIN = 1e-9
# A list's image is wrong by less than this, in units of its longest vector.
WRONG = 1e-10
CLEARLY = 1e-6  # shares of rows in a combination that rounding cannot make negative


def settle_vertices(points: Float64, image: Float64, found: Bool, supports: Int64) -> Int64:
    """Return which of K distinct points, (K, D), are vertices, ascending.

    Parameters
    ----------
    image : (K, rank)
        The same list in coordinates of its affine hull, rounded.
    found : (K,)
        Those that some direction makes highest by a clear margin.
    supports : (K, rank+1)
        Rows that a point which was not found seems to lie between, −1 for none.
    """
    inside = np.flatnonzero(~found)
    thicker = image.shape[1] < np.count_nonzero(np.ptp(points, axis=0)) and image.shape[1] < exact_rank(points)
    open_ones = inside if thicker else inside[~_clearly_inside(image, inside, supports[inside])]
    candidates = np.sort(np.concatenate([np.flatnonzero(found), open_ones]))
    kept = found.copy()
    units = np.ldexp(1.0, balanced(np.array([0, len(points)]), points)[1]) if len(open_ones) else 1.0
    for i in open_ones.tolist():
        if not _lies_between(points, i, supports[i][supports[i] >= 0]):
            kept[i] = _width(points[candidates[candidates != i]] - points[i], units) > MARGIN
        if not kept[i]:  # nothing lies farther out because of it
            candidates = candidates[candidates != i]
    return np.flatnonzero(kept)


def _width(steps: Float64, units: Float64 | float) -> float:
    """Return how wide the cone ``steps·w < 0`` is, at most 1."""
    rows = steps / units
    return largest_margin(rows / np.linalg.norm(rows, axis=1, keepdims=True)).margin


def _lies_between(points: Float64, i: int, support: Int64) -> bool:
    """Return whether point i is exactly a combination, with shares of 0 or more, of independent others."""
    if len(support) < 2:
        return False
    *steps, last = (exact_difference(points[j], points[i])[0] for j in support.tolist())
    return is_positive_combination([-value for value in last], steps)


def _clearly_inside(image: Float64, rows: Int64, supports: Int64) -> Bool:
    """Return which rows lie inside a simplex of rank + 1 others by more than rounding can move them."""
    inside = np.zeros(len(rows), np.bool_)
    full = np.flatnonzero(np.all(supports >= 0, axis=1))
    if not len(full):
        return inside
    rank = image.shape[1]
    steps = image[supports[full]] - image[rows[full]][:, None]  # (n, rank+1, rank)
    systems = np.ones((len(full), rank + 1, rank + 1))
    systems[:, :rank] = steps.transpose(0, 2, 1)
    solvable = np.linalg.cond(systems) < CLEARLY / WRONG / 100
    goal = np.zeros((rank + 1, 1))
    goal[-1] = 1.0
    shares = np.linalg.solve(systems[solvable], np.broadcast_to(goal, (int(solvable.sum()), rank + 1, 1)))[..., 0]
    inside[full[solvable]] = np.all(shares > CLEARLY * 100, axis=1)
    return inside
