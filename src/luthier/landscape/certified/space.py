"""What boxes are boxes of: windows of weights, whole subspaces, all directions of weights.

A point is z, (P,), the weights there are Σ_k z_k·matrix_k, (P, D). In a window z_0 is 1 and matrix_0 the start. All
positive multiples of weights select the same, so that a whole subspace is covered by the faces of the cube
max(z_0, |z_1|, …, |z_Q|) = 1 with z_0 ≥ 0, and all directions of weights by those of max |z_k| = 1.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from luthier.core.arrays import UNIT, Bool, Float64, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_of_rows
from luthier.geometry.subspace import Subspace, origin_place
from luthier.kbest.spread import differing, squarable
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import NEGLIGIBLE
from luthier.landscape.subspaces import project

SHORTEN = 60  # how often weights that are only a direction are halved to fit their bounds


@dataclasses.dataclass(frozen=True, eq=False)
class Space:
    """Root boxes, and how their points are weights.

    Attributes
    ----------
    matrix : (P, D)
    lows, highs : (R, P)
        The root boxes, which cover the space.
    walls : (B, P)
        Half-spaces ``wall·z > 0`` that lie outside.
    anchored : bool
        Whether weights are scaled so that z_0, the share of the start, is 1.
    length : float
        Of weights that are not.
    whole : bool
        Whether no window limits the weights.
    ties : bool
        Whether weights count at which a list hangs on a tie, or on the last digits.
    """

    matrix: Float64
    lows: Float64
    highs: Float64
    walls: Float64
    anchored: bool = True
    whole: bool = False
    length: float = 1.0
    ties: bool = True

    def __post_init__(self) -> None:
        for name in ("matrix", "lows", "highs", "walls"):
            object.__setattr__(self, name, frozen(np.ascontiguousarray(getattr(self, name), dtype=np.float64)))
        if not all(np.all(np.isfinite(part)) for part in (self.lows, self.highs, self.matrix)):
            raise LuthierError("expected a window with finite ends. hint: give both ends, or search the whole space")

    def holds_all(self, free: Bool) -> bool:
        """Return whether these weights, (D,), may have any values, if no window limits them: the start apart."""
        directions = self.matrix[int(self.anchored) :, free]
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        directions = np.divide(directions, lengths, out=np.zeros_like(directions), where=lengths > 0)
        return bool(np.linalg.matrix_rank(directions) == np.count_nonzero(free))

    @property
    def reach(self) -> Float64:
        """The largest size of each coordinate, (P,)."""
        return np.asarray(np.maximum(np.abs(self.lows), np.abs(self.highs)).max(axis=0))

    @property
    def volume(self) -> float:
        """The volume of all root boxes, in their own dimensions."""
        return math.fsum(box_volume(low, high) for low, high in zip(self.lows, self.highs, strict=True))

    @property
    def n_moving(self) -> int:
        """In how many coordinates a root box is more than one number; the same for all of them."""
        return int(moving(self.lows[0], self.highs[0]).sum())

    def weights(self, z: Float64, bounds: Bounds | None = None) -> Float64:
        """Return the weights of a point, (P,) → (D,); one with a share of the start has z_0 > 0.

        A direction becomes weights of the length of the start, or as short as the bounds ask for.
        """
        if not self.anchored:
            weights = (z[:, None] * self.matrix).sum(axis=0)
            weights *= self.length / float(np.linalg.norm(weights))
            for _ in range(SHORTEN):
                if bounds is None or bounds.allow(weights):
                    break
                weights /= 2
            return np.asarray(weights)
        weights = self.matrix[0].copy()
        for place, direction in zip(z[1:] / z[0], self.matrix[1:], strict=True):
            weights += place * direction  # in the order of `Subspace.weights`: the same bits
        return np.asarray(weights)

    def place(self, weights: Float64) -> Float64 | None:
        """Return a point of a root box that has these weights, (D,) → (P,), but for rounding; None if there is none."""
        if self.anchored:
            along = np.linalg.lstsq(self.matrix[1:].T, weights - self.matrix[0], rcond=None)[0]
            z = np.concatenate([[1.0], along])
        else:
            z = np.linalg.lstsq(self.matrix.T, weights, rcond=None)[0]
        size = np.abs(z).max()
        if size == 0 or np.abs(z @ self.matrix - weights).max() > 1e-9 * np.abs(weights).max():
            return None
        z = z / size if self.whole else z
        room = 1e-9 * (1.0 + self.reach)
        inside = np.flatnonzero(np.all((self.lows <= z + room) & (z - room <= self.highs), axis=1))
        return np.clip(z, self.lows[inside[0]], self.highs[inside[0]]) if len(inside) else None

    def holds(self, points: Float64) -> Bool:
        """Return which points, (…, P), are beyond no wall, and have weights that can be told."""
        beyond = np.any((self.walls * points[..., None, :]).sum(axis=-1) > 0, axis=-1)
        return np.asarray(~(beyond | (points[..., 0] <= 0) if self.anchored else beyond))

    def excludes(self, lows: Float64, highs: Float64) -> Bool:
        """Return which boxes, (B, P) each, lie beyond a wall for certain."""
        if not len(self.walls):
            return np.zeros(len(lows), np.bool_)
        least = np.minimum(self.walls * lows[:, None], self.walls * highs[:, None]).sum(axis=2)
        sizes = (np.abs(self.walls) * np.maximum(np.abs(lows), np.abs(highs))[:, None]).sum(axis=2)
        return np.asarray(np.any(least > 4 * (lows.shape[1] + 4) * UNIT * sizes, axis=1))

    def surrounds(self, low: Float64, high: Float64) -> bool:
        """Return whether no point of a box, (P,) each, lies beyond a wall for certain."""
        most = np.maximum(self.walls * low, self.walls * high).sum(axis=1)
        sizes = (np.abs(self.walls) * np.maximum(np.abs(low), np.abs(high))).sum(axis=1)
        return bool(np.all(most <= 2 * (len(low) + 4) * UNIT * sizes))


def box_volume(low: Float64, high: Float64) -> float:
    """Return the volume of a box over the coordinates that are not one number."""
    sides = high - low
    return float(np.prod(sides[sides > 0]))


def window_space(problem: ListProblem, subspace: Subspace, ends: Float64, *, principal: bool = False) -> Space:
    """Return the window ``ends``, (Q, 2), along the axes of a subspace.

    With `principal` its boxes lie along the principal axes of the differences within lists; the one that holds the
    window is the root, and the window's sides are walls.
    """
    walls = bound_walls(problem, subspace.matrix)
    if not principal:
        return Space(subspace.matrix, *_corners(ends[None, :, 0], ends[None, :, 1]), walls)
    turn = principal_axes(problem, subspace)[0]
    middle, half = ends.mean(axis=1), np.diff(ends, axis=1)[:, 0] / 2
    centre, reach = turn @ middle, np.abs(turn) @ half * (1 + 64 * UNIT)
    matrix = np.concatenate([subspace.start[None], turn @ subspace.directions])
    # a point u of the turned axes has the place turnᵀ u on the given ones
    sides = np.concatenate([np.c_[-ends[:, 1], turn.T], np.c_[ends[:, 0], -turn.T]])
    return Space(
        matrix,
        *_corners((centre - reach)[None], (centre + reach)[None]),
        np.concatenate([sides, bound_walls(problem, matrix)]),
    )


def reach_space(problem: ListProblem, subspace: Subspace, reach: float, *, principal: bool = False) -> Space:
    """Return a box that goes as far as `reach` to both sides of the start, along the axes or the principal axes."""
    return span_space(problem, subspace, subspace.start[None], reach, principal=principal)


def span_space(
    problem: ListProblem, subspace: Subspace, weights: Float64, margin: float, *, principal: bool = False
) -> Space:
    """Return the box that holds the start and more weights, (W, D), with a margin on all sides."""
    turn = principal_axes(problem, subspace)[0] if principal else np.eye(subspace.n_axes)
    directions = turn @ subspace.directions
    places = np.linalg.lstsq(directions.T, (weights - subspace.start).T, rcond=None)[0].T
    rest = weights - subspace.start - places @ directions
    if np.abs(rest).max() > 1e-9 * max(np.abs(weights).max(), np.abs(subspace.start).max()):
        raise LuthierError("the weights to be spanned differ from the start beside the axes. hint: name more axes")
    matrix = np.concatenate([subspace.start[None], directions])
    low, high = np.minimum(places.min(axis=0), 0.0) - margin, np.maximum(places.max(axis=0), 0.0) + margin
    return Space(matrix, *_corners(low[None], high[None]), bound_walls(problem, matrix))


def whole_space(problem: ListProblem, subspace: Subspace) -> Space:
    """Return a whole subspace, as the faces of a cube in units of each principal axis."""
    turn, spread = principal_axes(problem, subspace)
    matrix = np.concatenate([subspace.start[None], (turn / spread[:, None]) @ subspace.directions])
    scale = float(np.abs(subspace.start) @ problem.spread) or 1.0
    matrix[1:] *= scale
    return Space(matrix, *_faces(len(matrix), half=True), bound_walls(problem, matrix), whole=True, ties=False)


def all_directions(problem: ListProblem, subspace: Subspace) -> Space:
    """Return all directions of weights along the axes alone, whatever the start."""
    turn, spread = principal_axes(problem, subspace)
    matrix = (turn / spread[:, None]) @ subspace.directions
    matrix /= np.abs(matrix).max()
    length = float(np.linalg.norm(subspace.start)) or 1.0
    walls = cone_walls(problem, matrix)
    faces = _faces(len(matrix), half=False)
    return Space(matrix, *faces, walls, anchored=False, whole=True, length=length, ties=False)


def holds_origin(problem: ListProblem, subspace: Subspace, low: Float64, high: Float64) -> bool:
    """Return whether weights that select nothing lie inside a box of a subspace, (Q,) each, and inside the bounds.

    Round them all directions meet, at any scale: boxes there never become simpler than the whole. A weight that is
    not quite 0 there would decide, however little it counts elsewhere, so that they are looked for exactly.
    """
    beside = (subspace.start != 0) & ~np.any(subspace.directions != 0, axis=0)
    if np.any(beside) and np.any(beside & differing(problem.pool)):
        return False
    along = np.any(subspace.directions != 0, axis=0)
    place = origin_place(subspace.start[along], subspace.directions[:, along])
    if place is None or not all(a < x < b for a, x, b in zip(low, place, high, strict=True)):
        return False
    return bool(np.all(problem.bounds.low[along] <= 0) and np.all(problem.bounds.high[along] >= 0))


def principal_axes(problem: ListProblem, subspace: Subspace) -> tuple[Float64, Float64]:
    """Return the principal axes of the differences within lists, (Q, Q), and the spread along each, (Q,).

    An axis along which no list differs, as where features depend on each other, is given the largest spread: any would
    do, but a small one makes coordinates, and with them what rounding may hide, large.
    """
    along = project(problem.pool, subspace)[:, 1:]
    powers = squarable(np.abs(along).max(axis=0))
    shared = int(powers.max(initial=0))
    along = np.ldexp(along, -shared)
    lists = segment_of_rows(problem.offsets)
    along = along - (np.add.reduceat(along, problem.offsets[:-1], axis=0) / np.diff(problem.offsets)[:, None])[lists]
    turn = np.ascontiguousarray(np.linalg.eigh(along.T @ along / len(along))[1].T)
    # of the axes themselves: the eigenvalue of one that moves next to nothing is all rounding
    spread = np.ldexp(np.array([np.sqrt(np.mean((along @ axis) ** 2)) for axis in turn]), shared)
    largest = float(spread.max(initial=0.0)) or 1.0
    turn *= np.where(turn[np.arange(len(turn)), np.abs(turn).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    return turn, np.where(spread > NEGLIGIBLE * largest, spread, largest)


def bound_walls(problem: ListProblem, matrix: Float64) -> Float64:
    """Return the limits on weights that can be passed as walls, (B, P), where z_0 is the share of the start."""
    bounds, moves = problem.bounds, np.any(matrix[1:] != 0, axis=0)
    walls = []
    for d in np.flatnonzero(moves):
        for limit, sign in ((bounds.high[d], 1.0), (bounds.low[d], -1.0)):
            if np.isfinite(limit):
                wall = sign * matrix[:, d]
                wall[0] -= sign * limit
                walls.append(wall)
    return np.array(walls).reshape(-1, len(matrix))


def cone_walls(problem: ListProblem, matrix: Float64) -> Float64:
    """Return limits that are 0 as walls, (B, P); weights of any sign can be made small enough for other limits.

    Raises
    ------
    LuthierError
        If a weight must not be 0: directions have no size.
    """
    bounds, walls = problem.bounds, []
    for d in np.flatnonzero(np.any(matrix != 0, axis=0)):
        if bounds.low[d] > 0 or bounds.high[d] < 0:
            raise LuthierError(
                f"the weight of {problem.names[d]!r} must not be 0, and directions of weights have no size. "
                "hint: give a window"
            )
        for limit, sign in ((bounds.high[d], 1.0), (bounds.low[d], -1.0)):
            if limit == 0:
                walls.append(sign * matrix[:, d])
    return np.array(walls).reshape(-1, len(matrix))


def _corners(low: Float64, high: Float64) -> tuple[Float64, Float64]:
    """Return corners with z_0 = 1 before them."""
    ones = np.ones((len(low), 1))
    return np.concatenate([ones, low], axis=1), np.concatenate([ones, high], axis=1)


def _faces(n: int, *, half: bool) -> tuple[Float64, Float64]:
    """Return the faces of the cube of n dimensions; with `half` those where the first coordinate is not negative."""
    lows, highs = [], []
    for k in range(n):
        for side in (1.0, -1.0):
            low, high = -np.ones(n), np.ones(n)
            low[k] = high[k] = side
            if half:
                if k == 0 and side < 0:
                    continue
                low[0] = max(low[0], 0.0)
            lows.append(low)
            highs.append(high)
    return np.array(lows), np.array(highs)


def moving(low: Float64, high: Float64) -> Bool:
    """Return which coordinates of a box are more than one number."""
    return np.asarray(high > low)
