"""Lists reduced to the rows that weights can select, each with a value: what joint searches work on."""

from __future__ import annotations

import dataclasses
from functools import cached_property

import numpy as np

from luthier.core.arrays import Float64, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.geometry.joint_selection import _joint_kernels as kernels
from luthier.geometry.joint_selection import _margin_kernels as margin_kernels
from luthier.geometry.lp.lp import largest_margin
from luthier.geometry.polytopes.polytope import extreme_rows_of_lists


@dataclasses.dataclass(frozen=True, eq=False)
class Corners:
    """The vertices of N lists with their values, the most valuable of each list first.

    A selection is one corner of each list. Weights w make it *strictly* if every selected corner beats all
    others of its list: if ``a·w < 0`` for the facets a of its normal cone [waite2015]. Of rows with equal
    points the lowest represents all.

    Attributes
    ----------
    offsets : (N+1,) int64
    points : (E, n) float64
    values : (E,) float64
    rows : (E,) int64
        Where each corner stands in the lists it was made from.
    walls : (b, n) float64
        Rows of length 1: only weights with ``walls·w < 0`` are looked at. There may be none.
    """

    offsets: Int64
    points: Float64
    values: Float64
    rows: Int64
    walls: Float64

    @classmethod
    def of(
        cls,
        offsets: Int64,
        points: Float64,
        values: Float64,
        walls: Float64 | None = None,
        *,
        given: Float64 | None = None,
    ) -> Corners:
        """Return the corners of lists, (N+1,), (M, n) and (M,), none of them empty.

        `given` (M, n) are the points before they were scaled: rounding may have moved rows off their line since, so
        that the vertices are looked for there. A vertex whose cone is no wider than rounding is no corner.
        """
        points = np.asarray(points, np.float64)
        n = points.shape[1]
        if n < 1 or np.any(np.diff(offsets) < 1):
            raise LuthierError("expected lists of one row or more, in one dimension or more, found others")
        found, rows = extreme_rows_of_lists(offsets, points if given is None else given, threads=1)
        order = np.lexsort((rows, -values[rows], segment_of_rows(found)))
        rows = rows[order]
        walls = np.empty((0, n)) if walls is None else np.asarray(walls, np.float64).reshape(-1, n)
        walls = walls / np.linalg.norm(walls, axis=1, keepdims=True)
        arrays = (points[rows], np.asarray(values, np.float64)[rows], rows, walls)
        vertices = cls(frozen(found), *(frozen(np.ascontiguousarray(array)) for array in arrays))
        return vertices._wide()

    def _wide(self) -> Corners:
        """Return the corners whose own cones have a margin; a list keeps one at least."""
        margins = np.empty(len(self.points))
        kernels.corner_margins(self.lists, self.make_workspace(0), margins)
        for e in np.flatnonzero(margins == margin_kernels.LOST).tolist():
            margins[e] = largest_margin(self.cone(np.array([e]))[len(self.walls) :]).margin
        kept = margins > margin_kernels.STRICT
        lists = segment_of_rows(self.offsets)
        kept |= ~np.logical_or.reduceat(kept, self.offsets[:-1])[lists]
        if np.all(kept):
            return self
        offsets = offsets_from_counts(np.bincount(lists[kept], minlength=self.n_lists))
        return dataclasses.replace(
            self,
            offsets=frozen(offsets),
            points=frozen(self.points[kept]),
            values=frozen(self.values[kept]),
            rows=frozen(self.rows[kept]),
        )

    @property
    def n_lists(self) -> int:
        """How many lists there are, N."""
        return len(self.offsets) - 1

    @property
    def highest(self) -> float:
        """The sum of the highest values: no selection has more."""
        return float(self.values[self.offsets[:-1]].sum())

    @cached_property
    def ties(self) -> Float64:
        """Scores that differ by more than this in each list are surely not tied, (N,); others are looked at."""
        starts = self.offsets[:-1]
        spans = np.maximum.reduceat(self.points, starts) - np.minimum.reduceat(self.points, starts)
        return frozen(kernels.TIE * spans.sum(axis=1))

    @cached_property
    def lists(self) -> kernels.Lists:
        """The corners as kernels take them."""
        return kernels.Lists(flat(self.points), flat(self.values), flat(self.offsets), flat(self.ties))

    @cached_property
    def facets(self) -> kernels.Facets:
        """Which corners of a list bound each other's cones, filled in as kernels ask for it."""
        squares = offsets_from_counts(np.diff(self.offsets) ** 2)
        borders, known = np.zeros(int(squares[-1]), np.bool_), np.zeros(len(self.points), np.bool_)
        return kernels.Facets(borders, flat(squares[:-1]), known)

    def make_workspace(self, n_rows: int) -> margin_kernels.Workspace:
        """Return scratch for kernels with programs of up to `n_rows` rows beside those of one list."""
        longest = int(np.diff(self.offsets).max())
        return make_workspace(self.points.shape[1], n_rows + longest, self.n_lists)

    def select(self, weights: Float64) -> Int64:
        """Return the corner of each list that weights select, (n,) → (N,); ties go to the first row's."""
        scores = self.points @ weights
        order = np.lexsort((self.rows, -scores, segment_of_rows(self.offsets)))
        return np.asarray(order[self.offsets[:-1]], np.int64)

    def is_strict(self, weights: Float64) -> bool:
        """Return whether weights are within the walls and tie no list."""
        return self.value_at(weights) is not None and bool(np.all(self.walls @ weights < 0))

    def value_at(self, weights: Float64) -> float | None:
        """Return the value of what weights select; None where they tie a list."""
        total, n_tied = kernels.values_at(self.lists, self.all_within_reach, np.array(weights), np.empty(self.n_lists))
        return None if n_tied else float(total)

    @cached_property
    def all_within_reach(self) -> kernels.Reach:
        """All corners of all lists."""
        return kernels.Reach(self.offsets[:-1].copy(), self.offsets[1:].copy())

    def cone(self, corners: Int64) -> Float64:
        """Return rows of length 1 of the joint cone of corners, one of each of some lists, walls included."""
        lists = np.searchsorted(self.offsets, corners, side="right") - 1
        blocks = [self.walls]
        for s, e in zip(lists.tolist(), corners.tolist(), strict=True):
            others = np.delete(np.arange(self.offsets[s], self.offsets[s + 1]), e - self.offsets[s])
            rows = self.points[others] - self.points[e]
            blocks.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
        return np.concatenate(blocks)

    def widest(self, corners: Int64) -> tuple[Float64, float]:
        """Return the weights, |w_k| ≤ 1, that select the given corners by the largest distance, and it.

        The distance is that of w to the nearest side of the cone, positive iff the selection is strict.
        """
        rows = self.cone(corners)
        if not len(rows):
            return np.ones(self.points.shape[1]), 1.0
        found = largest_margin(rows)
        return found.weights, found.margin


def make_workspace(n: int, n_rows: int, n_lists: int) -> margin_kernels.Workspace:
    """Return scratch for kernels, for programs of n unknowns and `n_rows` rows, and values of lists."""
    basis = (np.empty((n + 1, n + 1)), np.empty(n + 1), np.empty(n + 1))
    kept = (np.empty((n + 1, n + 1)), np.empty(n + 1), np.empty(n + 1))
    return margin_kernels.Workspace(
        np.empty((n_rows, n)), np.empty(n + 1), *basis, np.empty(n + 1), np.empty(n + 1), np.empty(n_lists), *kept
    )
