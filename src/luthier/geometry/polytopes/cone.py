"""Cones of weights ``{w : A w ≤ 0}``: the point nearest to given weights, and one point that represents all.

In such a cone every length of w is as good as another [waite2015], so nearness is a matter of angle: the
nearest member by angle is the projection of w0, unless that is 0. Both questions below are one: the point
nearest to a given one under linear constraints, a strictly convex problem with one answer, solved by a
dual active-set method [goldfarb1983].
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, flat
from luthier.core.errors import LuthierError
from luthier.geometry.polytopes import _cone_kernels as kernels

STEPS_PER_DIMENSION, LEAST_STEPS = 200, 2000
# A projection shorter than this, for weights of length 1, is 0: the cone lies behind.
NO_PROJECTION = 1e-9


def project_onto_cone(rows: npt.ArrayLike, point: npt.ArrayLike) -> Float64:
    """Return argmin ‖w − point‖² subject to ``rows·w ≤ 0``: (R, D) and (D,) → (D,).

    The zero vector means that no member of the cone has an angle below 90° to the point: the cone's nearest
    member is its apex. By Moreau's theorem the rest, ``point − w``, lies in the cone that the rows generate.
    Time is O(R·D) for each constraint that is met on the way, some D of them.

    >>> project_onto_cone([[0.0, 1.0]], [2.0, 3.0]).tolist()
    [2.0, 0.0]
    """
    rows, point = _checked(rows, len(np.atleast_1d(np.asarray(point)))), np.asarray(point, np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    kept = lengths > 0
    size = float(np.linalg.norm(point))
    if not np.any(kept) or size == 0.0:
        return point.copy()
    found = _nearest(rows[kept] / lengths[kept, None], np.zeros(int(kept.sum())), point / size)
    if found is None:  # the apex satisfies everything
        raise AssertionError("a cone has an apex")
    return found * size if np.linalg.norm(found) > NO_PROJECTION else np.zeros(len(point))


def canonical_point(rows: npt.ArrayLike) -> Float64:
    """Return argmin ‖w‖² subject to ``rows·w ≤ −1``, (R, D) → (D,): the hard-margin point, which is unique.

    It depends on the set of constraints alone, up to rounding; the same array gives the same bits.

    Raises
    ------
    LuthierError
        If no w satisfies ``rows·w < 0``.

    >>> canonical_point([[-2.0, 0.0], [0.0, -1.0], [-1.0, -1.0]]).tolist()
    [0.5, 1.0]
    """
    rows = _checked(rows, None)
    lengths = np.linalg.norm(rows, axis=1)
    found = None
    if np.all(lengths > 0):
        # in the units of the shortest row, so that a list's scale does not matter
        unit = float(lengths.min(initial=np.inf))
        unit = unit if math.isfinite(unit) else 1.0
        found = _nearest(rows / lengths[:, None], unit / lengths, np.zeros(rows.shape[1]))
    if found is None:
        raise LuthierError(f"expected weights that satisfy {len(rows)} strict constraints, found that there are none")
    return found / unit


def angle(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return the angle of two vectors in radians, accurately even where it is small; NaN if one is 0.

    ``2 atan2(‖a/‖a‖ − b/‖b‖‖, ‖a/‖a‖ + b/‖b‖‖)``, after Kahan.
    """
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    length_a, length_b = np.linalg.norm(a), np.linalg.norm(b)
    if length_a == 0.0 or length_b == 0.0:
        return math.nan
    a, b = a / length_a, b / length_b
    return 2.0 * math.atan2(float(np.linalg.norm(a - b)), float(np.linalg.norm(a + b)))


def step_inside(rows: npt.ArrayLike, point: npt.ArrayLike, interior: npt.ArrayLike, share: float) -> Float64:
    """Return a point strictly inside ``rows·w < 0``, near to `point` on the cone's border.

    It goes `share` of the way from `point` to `interior` (scaled to the same length); where rounding
    leaves that on the border, the share doubles until it does not.

    Raises
    ------
    LuthierError
        If `interior` is not strictly inside as far as float64 can tell.
    """
    point, interior = np.asarray(point, np.float64), np.asarray(interior, np.float64)
    rows = _checked(rows, len(point))
    if not 0.0 < share <= 1.0:
        raise LuthierError(f"expected a share above 0 and at most 1, found {share}")
    length, reach = float(np.linalg.norm(point)), float(np.linalg.norm(interior))
    goal = interior * (length / reach) if length > 0.0 and reach > 0.0 else interior
    while share < 1.0:
        inside = point + share * (goal - point)
        if np.all(rows @ inside < 0.0):
            return np.asarray(inside, np.float64)
        share *= 2.0
    if not np.all(rows @ goal < 0.0):
        raise LuthierError("expected an interior point strictly inside the cone, found one that is not")
    return goal.copy()


def _nearest(normals: Float64, margins: Float64, start: Float64) -> Float64 | None:
    """Return the point nearest to `start` with ``normals·w ≤ −margins``; None if there is none."""
    n = len(start)
    room = scratch(n)
    status = kernels.nearest_point(  # arrays that may be written to, as other kernels pass them
        flat(normals.T),
        np.zeros(n),
        flat(margins),
        np.zeros(len(normals), np.bool_),
        np.empty((0, n)),
        np.array(start, np.float64),
        room,
        steps_allowed(n),
        np.empty(n + 1, np.int64),
    )
    if status == kernels.LOST:
        raise LuthierError(f"{len(normals)} constraints in {n} dimensions are too near to a contradiction to decide")
    return room[-1, :n].copy() if status == kernels.FOUND else None


def scratch(n_dimensions: int) -> Float64:
    """Return room for the kernels."""
    return np.zeros((3 * n_dimensions + 7, n_dimensions + 1))


def steps_allowed(n_dimensions: int) -> int:
    """Return after how many steps a problem counts as lost; none has been seen that needs so many."""
    return LEAST_STEPS + STEPS_PER_DIMENSION * n_dimensions


def _checked(rows: npt.ArrayLike, n_columns: int | None) -> Float64:
    array = np.asarray(rows, np.float64)
    if array.ndim != 2 or (n_columns is not None and array.shape[1] != n_columns):
        columns = "D" if n_columns is None else str(n_columns)
        raise LuthierError(f"expected constraints of shape (R, {columns}), found {array.shape}")
    if not np.all(np.isfinite(array)):
        raise LuthierError("expected constraints of finite numbers, found others")
    return array
