"""Regularisation on a planar fan: what a line through w0 would take, and what the fan as a whole offers.

Inside a cone every length of w selects the same, so a penalty on ‖w‖ means nothing. Two that mean
something ([waite2015], section 5.1): along a line ``w0 + γ d`` the distance γ²‖d‖² from w0, charged against
the gain [galley2013]; and, on the fan as a whole, the angle between w0 and the nearest member of a cone
whose gain is nearly the best.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.geometry.lines.envelope import envelopes_of_lines
from luthier.geometry.polytopes.cone import angle, canonical_point, project_onto_cone, step_inside
from luthier.geometry.polytopes.fan import PlanarFan

INSIDE = 0.01  # how far inside an interval or a cone a point is taken, as a share of the way
ROUNDING = 1e-12  # an angle this small is none
TIE = 1e-9  # costs this close, as a share of the largest, are one


@dataclasses.dataclass(frozen=True, eq=False)
class LineChoice:
    """The intervals of a line through a fan, I of them, by ascending position.

    Attributes
    ----------
    cones : (I,) int64
        The cone each interval lies in.
    low, high : (I,) float64
        Its ends, the outermost infinite.
    nearest : (I,) float64
        Its position nearest to 0.
    inside : (I,) float64
        The same, a step strictly inside: the candidate.
    costs : (I,) float64
        ``strength · nearest²‖d‖² − gain``.
    best : ints
        The intervals of least cost; several where the line cannot tell.
    """

    cones: Int64
    low: Float64
    high: Float64
    nearest: Float64
    inside: Float64
    costs: Float64
    best: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class AngleChoice:
    """The cones whose gain is within a tolerance of the best, G of them, and the one nearest by angle.

    Attributes
    ----------
    cones : (G,) int64
    feet : (G, 2) float64
        The member of each cone nearest to w0; zero if the cone lies behind.
    angles : (G,) float64
        Between w0 and that, in radians; infinite if the cone lies behind.
    best : int
        The cone of the least angle, −1 if all lie behind.
    weights : (2,) float64
        A point strictly inside it, next to its foot (w0 itself if that is inside).
    """

    cones: Int64
    feet: Float64
    angles: Float64
    best: int
    weights: Float64


def choose_on_line(
    fan: PlanarFan, gains: Float64, start: Float64, direction: Float64, *, strength: float
) -> LineChoice:
    """Return what a penalised line search along ``start + γ·direction`` sees; `gains` (C,) are the cones'."""
    size = float(direction @ direction)
    if size == 0.0:
        raise LuthierError("expected a direction, found zeros")
    offsets = np.array([0, fan.n_cones], np.int64)
    (line,) = envelopes_of_lines(offsets, fan.sums @ start, (fan.sums @ direction)[None])
    cones = np.concatenate([line.first, line.after])
    low, high = np.append(-np.inf, line.breakpoints), np.append(line.breakpoints, np.inf)
    nearest = np.clip(0.0, low, high)
    far = float(np.sqrt((start @ start) / size)) or 1.0  # an unbounded interval's width counts as this
    width = np.where(np.isfinite(high - low), high - low, far)
    inside = nearest + INSIDE * width * ((nearest == low).astype(float) - (nearest == high).astype(float))
    costs = strength * nearest**2 * size - gains[cones]
    tie = TIE * float(np.abs(costs).max())
    best = tuple(int(i) for i in np.flatnonzero(costs <= costs.min() + tie))
    return LineChoice(cones, low, high, nearest, inside, costs, best)


def choose_by_angle(fan: PlanarFan, gains: Float64, start: Float64, *, tolerance: float) -> AngleChoice:
    """Return the cone nearest to `start` by angle among those with a gain within `tolerance` of the best."""
    good = np.flatnonzero(gains >= gains.max() - tolerance)
    feet = np.array([project_onto_cone(fan.constraints(int(cone)), start) for cone in good])
    angles = np.array([angle(start, foot) if np.any(foot) else np.inf for foot in feet])
    if not np.any(np.isfinite(angles)):
        return AngleChoice(good, feet, angles, -1, np.zeros(2))
    least = int(np.argmin(angles))
    best = int(good[least])
    rows, weights = fan.constraints(best), np.array(feet[least])
    if angles[least] > ROUNDING or not np.all(rows @ weights < 0.0):
        weights = step_inside(rows, weights, canonical_point(rows), INSIDE)
    return AngleChoice(good, feet, angles, best, weights)
