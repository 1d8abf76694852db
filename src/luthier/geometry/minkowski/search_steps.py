"""One step of a reverse search: from vertices to their children, by kernels and, in doubt, exactly."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from concurrent.futures import Executor
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.geometry.minkowski import _search_kernels as kernels
from luthier.geometry.minkowski._algebra_kernels import Limits
from luthier.geometry.minkowski._facet_kernels import downhill_by_rays
from luthier.geometry.minkowski._space_kernels import downhill_in_space
from luthier.geometry.minkowski.grid import GRID_BITS, WHOLE_BITS
from luthier.geometry.minkowski.summands import Summands, inner_points, primitive
from luthier.geometry.polytopes.exact_cone import exact_rows, first_wall, is_positive_combination, nearest_to_origin

CERTAIN = 2.0**-44  # by this much, in units of the start's and an edge's length, rows are told apart for certain
MOST_REMEMBERED = 100_000
SMALLEST_MOVE, LARGEST_MOVE = -24, -4  # powers of two by which a start on a boundary is moved


@dataclasses.dataclass(frozen=True, eq=False)
class Children:
    """Vertices that were found behind facets: whose children they are, corners, points x inside, changes of each."""

    owners: Int64
    selections: Int64
    inner: Float64
    margins: Float64
    counts: Int64

    def take(self, kept: Bool, changes: Int64) -> tuple[Children, Int64]:
        """Return some of them, with their changes."""
        changes = changes[np.repeat(kept, self.counts)]
        return (
            Children(self.owners[kept], self.selections[kept], self.inner[kept], self.margins[kept], self.counts[kept]),
            changes,
        )


class Steps:
    """The search's rule, for one set of lists, one start and one set of limits."""

    def __init__(
        self, summands: Summands, start: npt.ArrayLike, *, limits: npt.ArrayLike | None, shortcut: bool
    ) -> None:
        self.summands = summands
        start = np.array(start, np.float64)
        if start.shape != (summands.n_dims,) or not np.all(np.isfinite(start)) or not np.any(start):
            raise LuthierError(f"expected a start of {summands.n_dims} finite numbers, not all 0, found {start}")
        self.limits = self._limits_on_grid(limits)
        self.limit_classes = self._classes_of_limits()
        self.most = summands.most_edges + len(self.limits)
        self.shortcut = shortcut and summands.n_dims == 3 and self._spans_space()
        self._implied: dict[tuple[int, ...], bool] = {}  # by directions: neighbours ask the same
        self.goal = self._moved_off_boundaries(summands.to_grid(start))

    def _limits_on_grid(self, limits: npt.ArrayLike | None) -> Float64:
        """Return limits in the grid's coordinates, rounded to it as rows are, the largest entry 1."""
        if limits is None:
            return np.empty((0, self.summands.n_dims))
        scaled = np.ldexp(np.array(limits, np.float64).reshape(-1, self.summands.n_dims), -self.summands.exponents)
        scaled /= np.abs(scaled).max(axis=1, keepdims=True)
        return np.ldexp(np.rint(np.ldexp(scaled, GRID_BITS)), -GRID_BITS)

    def _classes_of_limits(self) -> Int64:
        """Return for each limit the class of the edges that have its direction, or a number of its own below 0."""
        edges, limits = primitive(_whole(self.summands.directions)), primitive(_whole(self.limits))
        found = [np.flatnonzero(np.all(edges == limit, axis=1)) for limit in limits]
        return np.array(
            [self.summands.edge_class[same[0]] if len(same) else -1 - r for r, same in enumerate(found)], np.int64
        )

    @functools.cached_property
    def _corners_beyond(self) -> Bool:
        """Whether a corner has an edge in the direction opposite to a limit: no weights within select it."""
        s = self.summands
        beyond = np.isin(s.opposite[s.edge_class], self.limit_classes)
        sums = np.concatenate([[0], np.cumsum(beyond)])
        return np.asarray(sums[s.edge_first[1:]] > sums[s.edge_first[:-1]])

    @property
    def _kernel_limits(self) -> Any:
        return Limits(flat(self.limits), flat(self.limit_classes))

    def _spans_space(self) -> bool:
        d = self.summands.directions
        return len(d) > 0 and bool(np.linalg.matrix_rank(d / self.summands.lengths[:, None], tol=1e-6) == 3)

    def _moved_off_boundaries(self, start: Float64) -> Float64:
        """Return the start, moved in one fixed direction, as little as it takes for every list to have one winner."""
        size = float(np.linalg.norm(start))
        direction = np.random.default_rng(0).standard_normal(len(start))
        direction *= size / np.linalg.norm(direction)
        if np.any(self.limits @ start >= 0.0):
            raise LuthierError("expected a start strictly inside the limits of the search, found one that is not")
        for power in [None, *range(SMALLEST_MOVE, LARGEST_MOVE + 1)]:
            goal = start if power is None else start + 2.0**power * direction
            edges = self._edges_at(self.summands.select(goal[None])[0][0])
            leads = -(self.summands.directions[edges] @ goal) / self.summands.lengths[edges]
            if leads.min(initial=np.inf) > CERTAIN * size and np.all(self.limits @ goal < 0.0):
                return goal
        raise LuthierError("the start lies on so many boundaries that no weights near it select one row of each list")

    def root(self) -> tuple[Int64, Float64, Float64]:
        """Return the start's vertex: its corners, (S,), a point x inside its cone, (D,), and the margin there."""
        selections, margins = self.summands.select(self.goal[None])
        answers, inner, inner_margins, _ = inner_points(self.summands, selections, self.limits, self.limit_classes)
        if answers[0] == kernels.YES and np.any(inner[0]):
            return selections[0], inner[0], inner_margins[0]
        return selections[0], -self.goal, margins[0]

    def children(
        self, selections: Int64, inner: Float64, workers: Executor | None, n_workers: int
    ) -> tuple[Children, Int64]:
        """Return the children of vertices, (V, S) corners and (V, D) points x, and all their changes, as edges."""
        if not len(self.summands.edge_to):
            return self._none()
        if workers is None:
            return self._children(selections, inner)
        cuts = np.linspace(0, len(selections), min(n_workers, len(selections)) + 1).astype(np.int64)
        jobs = [workers.submit(self._children, selections[a:b], inner[a:b]) for a, b in itertools.pairwise(cuts)]
        done = [job.result() for job in jobs]
        joined = [
            np.concatenate([getattr(part, field.name) for part, _ in done]) for field in dataclasses.fields(Children)
        ]
        joined[0] = np.concatenate([part.owners + first for (part, _), first in zip(done, cuts, strict=False)])
        return Children(*joined), np.concatenate([changes for _, changes in done])

    def _none(self) -> tuple[Children, Int64]:
        s = self.summands
        empty = np.empty(0, np.int64)
        return Children(
            empty, np.empty((0, len(s.active)), np.int64), np.empty((0, s.n_dims)), np.empty(0), empty
        ), empty

    def _children(self, selections: Int64, inner: Float64) -> tuple[Children, Int64]:
        owners, facets = self.facets(selections, inner)
        n, s = len(owners), self.summands
        answers, counts = np.empty(n, np.int64), np.zeros(n, np.int64)
        points, margins, supports = np.empty((n, s.n_dims)), np.empty(n), np.empty((n, s.n_dims + 1), np.int64)
        changes: list[Int64] = []
        first = 0
        while first < n:
            room = np.empty(4 * (n - first) + 4 * len(s.active), np.int64)
            last = first + kernels.test_children(
                kernels.Facets(flat(owners[first:]), flat(facets[first:])),
                flat(selections),
                s.kernel_lists,
                s.kernel_ends,
                self._kernel_limits,
                flat(self.goal),
                self.most,
                kernels.ChildAnswers(
                    answers[first:], points[first:], margins[first:], supports[first:], counts[first:], room
                ),
            )
            changes.append(room[: counts[first:last].sum()])
            first = last
        edges = np.concatenate([np.empty(0, np.int64), *changes])
        behind = selections[owners]
        behind[np.repeat(np.arange(n), counts), s.edge_list[edges]] = s.edge_to[edges]
        for f in np.flatnonzero(answers == kernels.DOUBT).tolist():
            answers[f] = kernels.NO
            if not self._contradicts(supports[f]):
                answers[f], points[f], margins[f] = self._child_exactly(behind[f], int(s.edge_class[facets[f]]))
        return Children(owners, behind, points, margins, counts).take(answers == kernels.YES, edges)

    def facets(self, selections: Int64, inner: Float64) -> tuple[Int64, Int64]:
        """Return the facets of vertices' cones that lead away from the start: (F,) vertices and (F,) edges."""
        if not self.shortcut:
            return self._facets_by_rays(selections, inner, np.arange(len(selections)))
        s, n = self.summands, len(selections)
        counts, parts = np.empty(n, np.int64), []
        first = 0
        while first < n:
            room = np.empty(8 * (n - first) + self.most, np.int64)
            last = first + downhill_in_space(
                flat(selections[first:]),
                flat(inner[first:]),
                s.kernel_lists,
                self._kernel_limits,
                flat(self.goal),
                self.most,
                counts[first:],
                room,
            )
            parts.append(room[: np.maximum(counts[first:last], 0).sum()])
            first = last
        owners, edges = self._within(np.repeat(np.arange(n), np.maximum(counts, 0)), np.concatenate(parts))
        if np.any(counts < 0):  # too thin for the shortcut
            others = self._facets_by_rays(selections, inner, np.flatnonzero(counts < 0))
            owners, edges = (np.concatenate(both) for both in zip((owners, edges), others, strict=True))
            order = np.lexsort((s.edge_class[edges], owners))
            owners, edges = owners[order], edges[order]
        return owners, edges

    def _facets_by_rays(self, selections: Int64, inner: Float64, which: Int64) -> tuple[Int64, Int64]:
        """Return the same for some of the vertices, in any dimension."""
        s, n = self.summands, len(which)
        counts, parts, first = np.empty(n, np.int64), [], 0
        while first < n:
            room = np.empty(8 * (n - first) + self.most, np.int64)
            supports = np.empty((len(room), s.n_dims), np.int64)
            now = which[first:]
            last = first + downhill_by_rays(
                flat(selections[now]),
                flat(inner[now]),
                s.kernel_lists,
                self._kernel_limits,
                flat(self.goal),
                self.most,
                len(s.opposite),
                counts[first:],
                room,
                supports,
            )
            found = int(counts[first:last].sum())
            owners = np.repeat(which[first:last], counts[first:last])
            doubtful = np.flatnonzero(supports[:found, 0] != -1)
            kept = np.ones(found, np.bool_)
            kept[doubtful] = [not self._is_implied(int(room[f]), supports[f]) for f in doubtful.tolist()]
            parts.append((owners[kept], room[:found][kept]))
            first = last
        return self._within(*(np.concatenate(both) for both in zip(*parts, strict=True)))

    def _within(self, owners: Int64, edges: Int64) -> tuple[Int64, Int64]:
        """Return the facets that are no limits: behind those nothing is searched."""
        within = ~np.isin(self.summands.edge_class[edges], self.limit_classes)
        return owners[within], edges[within]

    def _is_implied(self, edge: int, support: Int64) -> bool:
        """Return whether an edge is a combination of others, exactly; these are edges, or −2 − limit."""
        edges, limits = support[support >= 0], -2 - support[support < -1]
        classes = self.summands.edge_class
        key = (int(classes[edge]), *sorted(classes[edges].tolist()), *sorted((-1 - limits).tolist()))
        implied = self._implied.get(key)
        if implied is None:
            rows = np.concatenate([self.summands.directions[edges], self.limits[limits]])
            target = exact_rows(_whole(self.summands.directions[[edge]]))[0]
            implied = is_positive_combination(target, exact_rows(_whole(rows)))
            if len(self._implied) >= MOST_REMEMBERED:
                self._implied.clear()
            self._implied[key] = implied
        return implied

    def _edges_at(self, selection: Int64) -> Int64:
        """Return the edges that leave the corners of a vertex."""
        first = self.summands.edge_first
        parts = [np.arange(first[c], first[c + 1]) for c in selection.tolist()]
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _constraints(self, selection: Int64) -> tuple[Int64, list[list[int]]]:
        """Return the edges at a vertex, and the same with the limits as whole numbers."""
        edges = self._edges_at(selection)
        steps = np.concatenate([self.summands.directions[edges], self.limits])
        return edges, exact_rows(_whole(steps))

    def _contradicts(self, support: Int64) -> bool:
        """Return whether a few constraints, by edge or −2 − limit, leave no weights: then more leave none, either."""
        edges, limits = support[support >= 0], -2 - support[support < -1]
        rows = np.concatenate([self.summands.directions[edges], self.limits[limits]])
        return len(rows) > 1 and nearest_to_origin(exact_rows(_whole(rows))) is None

    def _child_exactly(self, selection: Int64, kind: int) -> tuple[int, Float64, float]:
        """Return whether a vertex's parent lies across a wall of the class opposite to `kind`, and a point x inside."""
        s = self.summands
        edges, rows = self._constraints(selection)
        classes = [*s.edge_class[edges].tolist(), *self.limit_classes.tolist()]
        nothing = np.zeros(s.n_dims)
        x = nearest_to_origin(rows)
        if x is None:
            return kernels.NO, nothing, 0.0
        goal = [Fraction(value) for value in self.goal.tolist()]
        if first_wall(rows, classes, x, goal, selection.tobytes()) != s.opposite[kind]:
            return kernels.NO, nothing, 0.0
        inner = np.array([float(value / 2**WHOLE_BITS) for value in x])
        return kernels.YES, inner, float((s.directions[edges] @ inner).min())

    def points(self, selections: Int64) -> tuple[Bool, Float64, Float64]:
        """Return which vertices, (V, S) corners, have weights within the limits; points of length 1 there; margins.

        Points are in the features' coordinates; their length is measured in the grid's.
        """
        answers, inner, margins, supports = inner_points(self.summands, selections, self.limits, self.limit_classes)
        answers[np.any(self._corners_beyond[selections], axis=1)] = kernels.NO
        for v in np.flatnonzero(answers == kernels.DOUBT).tolist():
            edges, rows = self._constraints(selections[v])
            x = None if self._contradicts(supports[v]) else nearest_to_origin(rows)
            answers[v] = kernels.NO if x is None else kernels.YES
            inner[v] = 0.0 if x is None else [float(value / 2**WHOLE_BITS) for value in x]
            margins[v] = (self.summands.directions[edges] @ inner[v]).min(initial=np.inf)
        sizes = np.linalg.norm(inner, axis=1)
        sizes[sizes == 0.0] = 1.0
        return answers == kernels.YES, self.summands.from_grid(-inner / sizes[:, None]), margins / sizes


def _whole(steps: Float64) -> Int64:
    """Return vectors on the grids as whole numbers of one unit."""
    return np.ldexp(steps, WHOLE_BITS).astype(np.int64)
