"""The weights nearest by angle to given ones among those that make a selection from many lists.

The joint cone of a selection has a side for every row of every list; few of them matter, so they are added
as they are violated. Each addition can only turn the nearest member further away: as soon as the angle passes
one that is known already, the cone is out.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.segments import segment_of_rows
from luthier.geometry.lp.feasibility import clear_weights
from luthier.geometry.polytopes.cone import angle, project_onto_cone

# A side that is visited less than this, for weights and rows of length 1, is not.
PASSED = 1e-10
MOST_ROUNDS = 1000


@dataclasses.dataclass(frozen=True, eq=False)
class Foot:
    """The member of a closed cone nearest to given weights.

    Attributes
    ----------
    weights : (n,) float64
        On the border of the cone, unless the given weights are inside.
    angle : float
        In radians, less than π/2.
    rows : (r, n) float64
        The sides that were looked at, of length 1: those that hold the weights back are among them.
    """

    weights: Float64
    angle: float
    rows: Float64


class JointCones:
    """N lists, made ready for the joint cones of selections from them.

    Parameters
    ----------
    offsets : (N+1,) int64
    points : (M, n) float64
    walls : (b, n) float64
        Only weights with ``walls·w ≤ 0`` count.
    """

    def __init__(self, offsets: Int64, points: Float64, walls: Float64) -> None:
        self.offsets, self.points, self.walls = offsets, points, walls
        self.lists = segment_of_rows(offsets)

    def nearest(self, selection: Int64, start: Float64, limit: float = np.inf) -> Foot | None:
        """Return the foot of `start` on the cone of a selection, (N,) rows.

        None if the cone lies behind (its nearest member is 0), or farther away than `limit`.
        """
        rows = self.walls
        foot = np.array(start)
        for _ in range(MOST_ROUNDS):
            if len(rows):
                foot = project_onto_cone(rows, start)
            away = angle(start, foot)
            if not away < min(limit, np.pi / 2):  # NaN: the foot is 0
                return None
            passed = self._passed(selection, foot)
            if not len(passed):
                return Foot(foot, away, rows)
            rows = np.concatenate([rows, passed])
        return None

    def middle(self, selection: Int64) -> Float64 | None:
        """Return weights of the largest margin inside the cone of a selection, (n,); None if it has no clear inside."""
        n = len(self.walls)
        sides = np.zeros((2 * n, self.points.shape[1]))
        sides[1::2] = self.walls  # a wall is a list of two rows, of which 0 is wanted
        last = int(self.offsets[-1])
        offsets = np.concatenate([self.offsets, last + 2 * np.arange(1, n + 1)])
        wanted = np.concatenate([selection, last + 2 * np.arange(n)])
        return clear_weights(offsets, np.concatenate([self.points, sides]), wanted)

    def _passed(self, selection: Int64, weights: Float64) -> Float64:
        """Return the side of each list that weights pass by most, as rows of length 1."""
        scores = self.points @ weights
        starts = self.offsets[:-1]
        top = np.maximum.reduceat(scores, starts)
        behind = np.flatnonzero(top > scores[selection])
        if not len(behind):
            return np.empty((0, len(weights)))
        at_top = np.flatnonzero(scores == top[self.lists])
        winners = at_top[np.searchsorted(self.lists[at_top], behind)]
        rows = self.points[winners] - self.points[selection[behind]]
        lengths = np.linalg.norm(rows, axis=1)
        kept = (top - scores[selection])[behind] > PASSED * lengths * np.linalg.norm(weights)
        return np.asarray(rows[kept] / lengths[kept, None], np.float64)
