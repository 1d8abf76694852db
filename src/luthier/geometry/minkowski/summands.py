"""Lists made ready to be summed: corners, edges, and which edges of all lists are parallel.

Rows are moved to grids, one for each list: a row of the list becomes the origin, coordinates are measured in units
of their usual differences, and the list is scaled by a power of two, which changes none of its cones. Then every
coordinate is rounded to a whole multiple of 2⁻³⁶ of (the next power of two above) the list's largest one; a list with a
row far away from the others has up to 16 bits more. Whole-numbered features below 2³⁶ lose nothing. On
the grid rows are equal or not, edges parallel or not, exactly, and what is found is the truth about the lists on the
grid. Edges of other features that should be parallel may differ by a step of the grid, and cut slivers from the
space: vertices whose margins are of that size.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.geometry.minkowski import _search_kernels as kernels
from luthier.geometry.minkowski._algebra_kernels import Limits, Lists
from luthier.geometry.minkowski._facet_kernels import needless_edges
from luthier.geometry.minkowski.grid import Grid, all_pairs, corner_pairs
from luthier.geometry.polytopes.exact_cone import exact_rows, is_positive_combination, nearest_to_origin
from luthier.geometry.polytopes.polytope import distinct_rows

DOUBTFUL = 1e-12  # an edge that stands out less than this is looked at exactly; keeping one too many is safe
MOST_PAIRS = 20_000_000
MOST_ROWS = 1 << 16  # a corner of a list is kept as a 16-bit number
NO_LIMITS = np.empty((0, 0)), np.empty(0, np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Summands:
    """N lists of rows in D dimensions, as corners C and directed edges E.

    Lists with one distinct row have no part in any decision; the other S are *active*.

    Attributes
    ----------
    first_rows : (N,) int64
        The first row of each list.
    active : (S,) int64
        Which lists are active.
    corner_first : (S+1,) int64
        Active list s has the corners ``corner_first[s]:corner_first[s+1]``.
    corner_rows : (C,) int64
        Row of each corner; the lowest if several rows are equal.
    corners : (C, D) float64
        Where they are, in units of the grid's coordinates.
    edge_first : (C+1,) int64
    edge_list, edge_to, edge_class : (E,) int64
        The active list of an edge, the corner it leads to, and the number of its direction.
    directions : (E, D) float64
        ``h_to − h_from``; exact.
    lengths : (E,) float64
    opposite : (number of classes,) int64
        The class of the opposite direction.
    exponents : (D,) int64
    list_exponents, bits : (S,) int64
        Coordinate i of an active list's grid is 2^−(exponents[i] + list_exponents[s]) times the features', and a whole
        multiple of 2^−bits[s].
    nearest : (C,) float64
        How near the nearest other row of its list is to a corner, in units of the corner's longest edge.
    """

    first_rows: Int64
    active: Int64
    corner_first: Int64
    corner_rows: Int64
    corners: Float64
    edge_first: Int64
    edge_list: Int64
    edge_to: Int64
    edge_class: Int64
    directions: Float64
    lengths: Float64
    opposite: Int64
    exponents: Int64
    list_exponents: Int64
    bits: Int64
    nearest: Float64

    @classmethod
    def of(cls, offsets: Int64, features: Float64) -> Summands:
        """Return the lists ``features[offsets[i]:offsets[i+1]]``, each of one row or more."""
        offsets, features = np.asarray(offsets, np.int64), np.asarray(features, np.float64)
        if features.ndim != 2 or offsets[0] != 0 or offsets[-1] != len(features) or np.any(np.diff(offsets) < 1):
            raise LuthierError(f"expected lists of one row or more that cover {len(features)} rows, found others")
        if not np.all(np.isfinite(features)):
            raise LuthierError("features must be finite numbers")
        grid = Grid.of(offsets, features)
        lists = [
            (s, offsets[s] + rows, grid.rows[offsets[s] + rows], pairs)
            for s, rows, pairs in _each_list(offsets, grid.rows)
        ]
        built = _Builder(lists, grid)
        built.settle()
        return built.finish(offsets[:-1])

    @property
    def n_dims(self) -> int:
        """Dimensions of the space, D."""
        return int(self.directions.shape[1])

    @property
    def most_edges(self) -> int:
        """An upper bound on the edges at one vertex of the sum."""
        degrees = np.diff(self.edge_first)
        return int(sum(degrees[low:high].max(initial=0) for low, high in _ranges(self.corner_first)))

    @property
    def kernel_lists(self) -> Any:
        """What kernels need to gather the edges at a vertex."""
        return Lists(flat(self.edge_first), flat(self.edge_class), flat(self.directions), flat(self.lengths))

    @property
    def kernel_ends(self) -> Any:
        """What kernels need to step over a facet."""
        return kernels.Ends(flat(self.edge_list), flat(self.edge_to), flat(self.opposite))

    def rows(self, selections: Int64) -> Int64:
        """Return the rows that corners represent, (..., S) → (..., N)."""
        rows = np.broadcast_to(self.first_rows, (*selections.shape[:-1], len(self.first_rows))).copy()
        rows[..., self.active] = self.corner_rows[selections]
        return rows

    def to_grid(self, weights: Float64) -> Float64:
        """Return weights, (..., D), in the grid's coordinates: products with rows keep their order within a list."""
        return np.ldexp(np.asarray(weights, np.float64), self.exponents)

    def from_grid(self, weights: Float64) -> Float64:
        """Return weights of the grid's coordinates in those of the features."""
        return np.ldexp(weights, -self.exponents)

    def select(self, vectors: Float64) -> tuple[Int64, Float64]:
        """Return the corners that weights of the grid's coordinates select, (V, S), and their margins, (V,)."""
        out, margins = np.empty((len(vectors), len(self.active)), np.int64), np.empty(len(vectors))
        kernels.nearest_rows(flat(self.corners), flat(self.corner_first), flat(vectors), out, margins)
        return out, margins


def _ranges(offsets: Int64) -> Iterator[tuple[int, int]]:
    return zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)


def _each_list(offsets: Int64, grid: Int64) -> Iterator[tuple[int, Int64, Int64]]:
    """Yield the active lists: their number, distinct rows and pairs of these."""
    n_pairs = 0
    with progress("hulls of lists", len(offsets) - 1) as advance:
        for s, (low, high) in enumerate(_ranges(offsets)):
            rows = distinct_rows(grid[low:high])
            if len(rows) > 1:
                pairs = corner_pairs(grid[low + rows])
                n_pairs += len(pairs)
                if n_pairs > MOST_PAIRS or len(rows) > MOST_ROWS:
                    raise LuthierError(
                        f"{s + 1} of {len(offsets) - 1} lists have {n_pairs:,} edges already, in {grid.shape[1]} "
                        f"dimensions: too many to search. hint: fewer axes, fewer lists, or shorter ones"
                    )
                yield s, rows, pairs
            advance(1)


class _Builder:
    """Pairs of rows of each list on their way to edges."""

    def __init__(self, lists: list[tuple[int, Int64, Int64, Int64]], grid: Grid) -> None:
        self.numbers = np.array([s for s, *_ in lists], np.int64)
        self.rows = [rows for _, rows, _, _ in lists]
        self.points = [points for _, _, points, _ in lists]
        self.pairs = [pairs for _, _, _, pairs in lists]
        self.units, self.n_dims = grid, len(grid.exponents)
        self.bits = grid.bits[self.numbers]

    def settle(self) -> None:
        """Take all pairs of true corners where a hull's corners are not sure; drop edges that are none."""
        self._lay_out()
        answers, *_ = inner_points(self, np.arange(len(self.corner_rows))[:, None], *NO_LIMITS)
        doubtful = np.unique(self.corner_list[answers != kernels.YES]).tolist()
        for s in doubtful:
            self.pairs[s] = all_pairs(np.unique(self.pairs[s]))
        if doubtful:
            self._lay_out()
            answers, _, _, supports = inner_points(self, np.arange(len(self.corner_rows))[:, None], *NO_LIMITS)
            for s in doubtful:
                low, high = self.corner_first[s : s + 2]
                corners = [c for c in range(low, high) if self._is_corner(c, answers[c], supports[c])]
                self.pairs[s] = all_pairs(np.unique(self.pairs[s])[np.array(corners) - low])
            self._lay_out()
        self._keep(self._farthest())
        self._keep(self._needed())

    def finish(self, first_rows: Int64) -> Summands:
        """Return the edges with their classes."""
        classes, opposite = _classes(self.steps)
        units = self.units
        return Summands(
            first_rows=flat(first_rows),
            active=flat(self.numbers),
            corner_first=flat(self.corner_first),
            corner_rows=flat(self.corner_rows),
            corners=flat(self._scaled(self.grid, self.corner_list)),
            edge_first=flat(self.edge_first),
            edge_list=flat(self.corner_list[self.edge_from]),
            edge_to=flat(self.edge_to),
            edge_class=flat(classes),
            directions=flat(self.directions),
            lengths=flat(self.lengths),
            opposite=flat(opposite),
            exponents=flat(units.exponents),
            list_exponents=flat(units.list_exponents[self.numbers]),
            bits=flat(self.bits),
            nearest=flat(self._nearest()),
        )

    def _scaled(self, whole: Int64, lists: Int64) -> Float64:
        """Return whole numbers of the lists' grids, (n, D) and (n,), as coordinates."""
        return np.ldexp(whole.astype(np.float64), -self.bits[lists][:, None])

    def _nearest(self) -> Float64:
        """Return how near each corner's nearest other row is, in units of its longest edge."""
        out = np.ones(len(self.corner_rows))
        for s, (low, high) in enumerate(_ranges(self.corner_first)):
            points = self._scaled(self.points[s], np.full(len(self.points[s]), s))
            for c in range(low, high):
                away = points - self._scaled(self.grid[c : c + 1], np.array([s]))
                sizes = np.sqrt(np.einsum("ki,ki->k", away, away))
                longest = self.lengths[self.edge_first[c] : self.edge_first[c + 1]].max(initial=0.0)
                out[c] = sizes[sizes > 0].min(initial=longest) / longest if longest else 1.0
        return out

    def _lay_out(self) -> None:
        """Number corners and directed edges of all lists."""
        used = [np.unique(pairs) for pairs in self.pairs]
        self.corner_first = np.concatenate([[0], np.cumsum([len(u) for u in used], dtype=np.int64)])
        self.corner_list = np.repeat(np.arange(len(used)), np.diff(self.corner_first))
        self.corner_rows = _joined([rows[u] for rows, u in zip(self.rows, used, strict=True)])
        self.grid = _joined([p[u] for p, u in zip(self.points, used, strict=True)], self.n_dims)
        numbered = [
            first + np.searchsorted(u, pairs)
            for first, u, pairs in zip(self.corner_first[:-1], used, self.pairs, strict=True)
        ]
        both = _joined([np.concatenate([pairs, pairs[:, ::-1]]) for pairs in numbered], 2)
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        self._set_edges(both[:, 0], both[:, 1])

    def _set_edges(self, edge_from: Int64, edge_to: Int64) -> None:
        self.edge_from, self.edge_to = edge_from, edge_to
        counts = np.bincount(edge_from, minlength=len(self.corner_rows))
        self.edge_first = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.steps = self.grid[edge_to] - self.grid[edge_from]
        self.directions = self._scaled(self.steps, self.corner_list[edge_from])
        self.lengths = np.linalg.norm(self.directions, axis=1)
        self.edge_class = np.zeros(len(edge_to), np.int64)

    def _is_corner(self, corner: int, answer: int, support: Int64) -> bool:
        if answer != kernels.DOUBT:
            return bool(answer == kernels.YES)
        if nearest_to_origin(exact_rows(self.steps[support[support >= 0]])) is None:
            return False  # a few edges contradict one another
        steps = self.steps[self.edge_first[corner] : self.edge_first[corner + 1]]
        return nearest_to_origin(exact_rows(steps)) is not None

    def _keep(self, kept: Bool) -> None:
        if not np.all(kept):
            self._set_edges(self.edge_from[kept], self.edge_to[kept])

    @property
    def kernel_lists(self) -> Any:
        return Lists(flat(self.edge_first), flat(self.edge_class), flat(self.directions), flat(self.lengths))

    @property
    def most_edges(self) -> int:
        return int(np.diff(self.edge_first).max(initial=0))

    def _farthest(self) -> Bool:
        """Return which edges are the longest of their direction at their corner."""
        classes, _ = _classes(self.steps)
        order = np.lexsort((-self.lengths, classes, self.edge_from))
        first = np.ones(len(order), np.bool_)
        first[1:] = (np.diff(self.edge_from[order]) != 0) | (np.diff(classes[order]) != 0)
        kept = np.zeros(len(order), np.bool_)
        kept[order[first]] = True
        return kept

    def _needed(self) -> Bool:
        """Return which edges are no combination of others at their corner, such as diagonals of faces."""
        rests = np.empty(len(self.edge_to))
        supports = np.empty((len(self.edge_to), self.n_dims), np.int64)
        needless_edges(self.kernel_lists, self.most_edges, rests, supports)
        kept = np.ones(len(rests), np.bool_)
        for e in np.flatnonzero(rests < DOUBTFUL).tolist():
            # no two edges of a corner are parallel, so that an edge which is a sum of others is on no border
            others = exact_rows(self.steps[supports[e][supports[e] >= 0]])
            kept[e] = not (others and is_positive_combination(exact_rows(self.steps[[e]])[0], others))
        return kept


def inner_points(
    lists: _Builder | Summands, selections: Int64, limits: Float64, limit_classes: Int64
) -> tuple[Int64, Float64, Float64, Int64]:
    """Return for vertices, (V, S) corners, whether their cones hold a point; such points, margins and supports."""
    n_dims = lists.directions.shape[1]
    answers = np.empty(len(selections), np.int64)
    points, margins = np.empty((len(selections), n_dims)), np.empty(len(selections))
    supports = np.full((len(selections), n_dims + 1), -1)
    kernels.points_inside(
        flat(selections),
        lists.kernel_lists,
        Limits(flat(limits.reshape(-1, n_dims)), flat(limit_classes)),
        lists.most_edges + len(limits),
        kernels.Answers(answers, points, margins, supports),
    )
    return answers, points, margins, supports


def _joined(parts: list[Int64], n_columns: int | None = None) -> Int64:
    empty = np.empty(0 if n_columns is None else (0, n_columns), np.int64)
    return np.concatenate([empty, *parts])


def primitive(steps: Int64) -> Int64:
    """Return the shortest whole-numbered vectors of the same directions, (E, D): none is 0."""
    return np.asarray(steps // np.gcd.reduce(steps, axis=1)[:, None], np.int64)


def _classes(steps: Int64) -> tuple[Int64, Int64]:
    """Return a number for each direction, (E,), and for each number that of the opposite direction.

    Directions are the same iff they are after division by their greatest common divisors.
    """
    if not len(steps):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    shortest = primitive(steps)
    kinds, classes = np.unique(np.concatenate([shortest, -shortest]), axis=0, return_inverse=True)
    opposite = np.empty(len(kinds), np.int64)
    one, other = classes.reshape(2, -1)
    opposite[one], opposite[other] = other, one
    return one.astype(np.int64), opposite
