"""Normal fans in the plane, exactly: which weights of two features select what, for one list or several.

The fan of one list has a cone for every corner of its polygon; between neighbouring cones lies a ray, the
outward normal of a side, which is the decision boundary between the side's two ends. The fan of several
lists, of what they select *jointly*, is the superposition of their fans: the common refinement
N(H_1) ∧ … ∧ N(H_S), which is the fan of the Minkowski sum H_1 + … + H_S ([waite2015], Proposition 1). So
the sum is never formed: sides of all polygons are merged by their angles, and each one passed replaces
the corner of its list. Angles are compared exactly.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import cmp_to_key

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.errors import LuthierError
from luthier.geometry.lines.envelope import envelopes_of_lines
from luthier.geometry.polytopes.cone import angle, canonical_point, project_onto_cone, step_inside
from luthier.geometry.polytopes.polytope import Pair, half, planar_hull, turn

Side = tuple[int, int, Pair, Pair]  # list, place of its first corner, first corner, second corner


@dataclasses.dataclass(frozen=True, eq=False)
class PlanarFan:
    """The joint normal fan of S lists of two features: C cones, counter-clockwise.

    Cone c lies between the rays ``normals[c−1]`` and ``normals[c]``. Where all lists have one distinct row
    there is one cone, the plane, and no ray.

    Attributes
    ----------
    selections : (C, S) int64
        The row of each list that weights inside the cone select.
    sums : (C, 2) float64
        The sum of these rows: the corners of the Minkowski sum, counter-clockwise.
    normals : (B, 2) float64
        Unit vectors along the boundaries; ray c is between cone c and cone c+1 (the first after the last).
    changes : B tuples of ints
        The lists whose selection changes at each boundary, ascending; several have parallel sides.
    """

    selections: Int64
    sums: Float64
    normals: Float64
    changes: tuple[tuple[int, ...], ...]

    @property
    def n_cones(self) -> int:
        """How many cones there are, C."""
        return len(self.selections)

    def rays(self, cone: int) -> Float64:
        """Return the two rays that bound a cone, clockwise end first: (2, 2); (0, 2) for the whole plane."""
        if not len(self.normals):
            return np.empty((0, 2))
        return self.normals[[cone - 1, cone]]

    def opening(self, cone: int) -> float:
        """Return a cone's angle in radians: 2π for the whole plane, π for a half."""
        if not len(self.normals):
            return 2 * math.pi
        (x, y), (u, v) = self.rays(cone)
        along = x * u + y * v
        opening = math.atan2(x * v - y * u, along)
        if opening > 0:
            return opening
        return math.pi if along < 0 else 0.0  # a half; or too narrow for float64

    def middle(self, cone: int) -> Float64:
        """Return the unit vector in the middle of a cone."""
        if not len(self.normals):
            return np.array([1.0, 0.0])
        x, y = self.normals[cone - 1]
        turned = self.opening(cone) / 2
        cosine, sine = math.cos(turned), math.sin(turned)
        return np.array([cosine * x - sine * y, sine * x + cosine * y])

    def constraints(self, cone: int) -> Float64:
        """Return the rows A of the cone ``{w : A w ≤ 0}``: towards its two neighbours; none for the plane."""
        if not len(self.normals):
            return np.empty((0, 2))
        others = [(cone - 1) % self.n_cones, (cone + 1) % self.n_cones]
        return np.asarray(self.sums[sorted(set(others))] - self.sums[cone], np.float64)

    def cone_at(self, weights: npt.ArrayLike) -> int:
        """Return the cone that weights lie in; on a boundary, the one that comes first."""
        return int(np.argmax(self.sums @ np.asarray(weights, np.float64)))


def planar_fan(lists: Sequence[npt.ArrayLike]) -> PlanarFan:
    """Return the joint fan of lists of two features, (K_s, 2) each, K_s ≥ 1; if rows are equal, the lowest counts.

    O(K log K) for each list, and a sort of all corners.

    >>> square, triangle = [[0, 0], [2, 0], [2, 1], [0, 1]], [[0, 0], [1, 0.5], [0, 1]]
    >>> planar_fan([square, triangle]).selections.tolist()
    [[0, 0], [1, 0], [1, 1], [2, 1], [2, 2], [3, 2]]
    """
    arrays = [np.asarray(points, np.float64) for points in lists]
    if not arrays or any(not len(points) for points in arrays):
        raise LuthierError("expected one list or more, each of one row or more, found none")
    hulls = [planar_hull(points) for points in arrays]
    sides = sorted(_sides(arrays, hulls), key=cmp_to_key(_by_angle))
    place = [0] * len(arrays)  # each list starts at its leftmost corner, where the order of its sides starts
    selections, normals, changes = [], [], []
    for group in _parallel(sides):
        selections.append([int(hull[p]) for hull, p in zip(hulls, place, strict=True)])
        _, _, (x, y), (u, v) = group[0]
        length = math.hypot(u - x, v - y)
        normals.append([(v - y) / length, (x - u) / length])
        changes.append(tuple(sorted(side[0] for side in group)))
        for s, p, _, _ in group:
            place[s] = (p + 1) % len(hulls[s])
    if not selections:
        selections.append([int(hull[0]) for hull in hulls])
    chosen = np.array(selections, np.int64)
    sums = sum((points[chosen[:, s]] for s, points in enumerate(arrays)), np.zeros((len(chosen), 2)))
    return PlanarFan(frozen(chosen), frozen(sums), frozen(np.array(normals).reshape(-1, 2)), tuple(changes))


def _sides(arrays: Sequence[Float64], hulls: Sequence[Int64]) -> list[Side]:
    found: list[Side] = []
    for s, (points, hull) in enumerate(zip(arrays, hulls, strict=True)):
        corners: list[Pair] = [(float(points[row, 0]), float(points[row, 1])) for row in hull]
        if len(corners) > 1:
            found += [(s, p, a, b) for p, (a, b) in enumerate(zip(corners, corners[1:] + corners[:1], strict=True))]
    return found


def _by_angle(one: Side, other: Side) -> int:
    """Compare sides by direction, from straight down (not included) once round."""
    halves = half(*one[2:]) - half(*other[2:])
    return halves or -turn(*one[2:], *other[2:])


def _parallel(sides: Sequence[Side]) -> list[list[Side]]:
    groups: list[list[Side]] = []
    for side in sides:
        if groups and _by_angle(groups[-1][0], side) == 0:
            groups[-1].append(side)
        else:
            groups.append([side])
    return groups


def all_sums(lists: Sequence[npt.ArrayLike]) -> Float64:
    """Return the sum of every choice of one row of each list, (K_1·…·K_S, D), the last list fastest."""
    total = np.zeros((1, np.asarray(lists[0]).shape[1]))
    for points in lists:
        rows = np.asarray(points, np.float64)
        total = (total[:, None, :] + rows[None]).reshape(-1, rows.shape[1])
    return total


# Regularisation on a planar fan: what a line through w0 would take, and what the fan as a whole offers.
#
# Inside a cone every length of w selects the same, so a penalty on ‖w‖ means nothing. Two that mean
# something ([waite2015], section 5.1): along a line ``w0 + γ d`` the distance γ²‖d‖² from w0, charged against
# the gain [galley2013]; and, on the fan as a whole, the angle between w0 and the nearest member of a cone
# whose gain is nearly the best.

INSIDE = 0.01  # how far inside an interval or a cone a point is taken, as a share of the way
NO_ANGLE = 1e-12  # an angle this small is none
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
    if angles[least] > NO_ANGLE or not np.all(rows @ weights < 0.0):
        weights = step_inside(rows, weights, canonical_point(rows), INSIDE)
    return AngleChoice(good, feet, angles, best, weights)
