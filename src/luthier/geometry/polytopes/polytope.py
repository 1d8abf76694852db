"""Polytopes of lists, in any dimension: which rows can ever be selected, and between which the choice flips.

The rows h of a list span the polytope H = conv(h_1, …, h_K) [waite2015]. Row i can be selected iff it is a
*vertex*: some w has ``w·(h_j − h_i) < 0`` for every j with h_j ≠ h_i. If rows are equal, the lowest represents all.
Two vertices are joined by an *edge* iff some w has ``w·(h_j − h_i) = 0`` and ``w·(h_k − h_i) < 0`` for every k
that is not on the segment between them (Eq. 9). The *normal cone* of a vertex is the set of weights that
select it; each of its facets belongs to one edge, and is the decision boundary towards the edge's other
end. All normal cones together are the *normal fan*.

A list is first moved into its affine hull, where it has the same spread in every direction (an invertible
map changes neither vertices nor edges; columns that are constant, repeated or sums of others
disappear). There most vertices are the highest rows in the direction of their own vector, or of another
row's; one product of the list with itself finds them. What is left is decided one row at a time by an
active-set method that takes constraints in as they are violated; what is not clear then is settled by exact
arithmetic and by the width of the row's cone (`settle_vertices`), which must be 10⁻⁹. Edges count as none if the two
rows stand out from the others by less than about 10⁻⁹ of the list's spread. In one and two dimensions all is exact.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.threads import available_threads, executor, one_blas_thread
from luthier.geometry.polytopes import _cone_kernels as kernels
from luthier.geometry.polytopes.cone import scratch, steps_allowed
from luthier.geometry.polytopes.exact_cone import settle_vertices

# Two differences, two products and one more difference, each rounded once: 3 units of the sum of the
# products' sizes are enough ([higham2002] section 3.1), 8 are more.
PRODUCT_ROUNDING = 8 * 2.0**-53
FEW, DIRECTIONS = 40, 16
SMALLEST = 1e-280  # below, numbers may have lost digits to underflow

Pair = tuple[float, float]


def turn(a: Pair, b: Pair, c: Pair, d: Pair) -> int:
    """Return the sign of ``(b − a) × (d − c)``: 1 if the second direction lies left of the first, exactly.

    >>> turn((0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1e-300))
    1
    """
    left = (b[0] - a[0]) * (d[1] - c[1])
    right = (b[1] - a[1]) * (d[0] - c[0])
    area, size = left - right, abs(left) + abs(right)
    if abs(area) > PRODUCT_ROUNDING * size and size > SMALLEST:
        return 1 if area > 0 else -1
    ratios = [x.as_integer_ratio() for x in (*a, *b, *c, *d)]
    unit = max(below for _, below in ratios)  # all are powers of two: over the largest, all are whole numbers
    ax, ay, bx, by, cx, cy, dx, dy = (above * (unit // below) for above, below in ratios)
    exact = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx)
    return (exact > 0) - (exact < 0)


def planar_hull(points: npt.ArrayLike) -> Int64:
    """Return the corners of the convex hull of points, (K, 2), counter-clockwise from the leftmost.

    If several points are equal, the lowest row counts; points on a side are no corners. Andrew's monotone chain,
    O(K log K).

    >>> planar_hull([[0, 0], [1, 0], [2, 0], [2, 2], [0, 2], [1, 1], [2, 2]]).tolist()
    [0, 2, 3, 4]
    """
    array = np.asarray(points, np.float64)
    if array.ndim != 2 or array.shape[1] != 2 or not np.all(np.isfinite(array)):
        raise LuthierError(f"expected finite points of two coordinates, found shape {array.shape}")
    order = np.lexsort((array[:, 1], array[:, 0]))  # stable: if points are equal, the lowest row comes first
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any(array[order[1:]] != array[order[:-1]], axis=1)
    rows: list[int] = _not_inside(array, order[new]).tolist()
    if len(rows) < 3:
        return np.array(rows, np.int64)
    places: list[Pair] = [(float(x), float(y)) for x, y in array]
    lower, upper = _chain(rows, places), _chain(rows[::-1], places)
    return np.array(lower[:-1] + upper[:-1], np.int64)


def _not_inside(points: Float64, rows: Int64) -> Int64:
    """Return the rows that are not for certain inside the polygon of the farthest points in a few directions.

    A point strictly to the left of all sides of a closed polygon is inside its hull, and no corner.
    """
    if len(rows) < FEW:
        return rows
    spread = np.ptp(points[rows], axis=0)
    scaled = points[rows] / np.where(spread > 0, spread, 1.0)
    turns = np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)
    farthest = rows[np.argmax(scaled @ np.stack([np.cos(turns), np.sin(turns)]), axis=0)]
    inside = np.ones(len(rows), np.bool_)
    x, y = points[rows].T
    for a, b in zip(points[farthest], points[np.roll(farthest, -1)], strict=True):
        if np.any(a != b):
            left, right = (b[0] - a[0]) * (y - a[1]), (b[1] - a[1]) * (x - a[0])
            size = np.abs(left) + np.abs(right)
            inside &= (left - right > PRODUCT_ROUNDING * size) & (size > SMALLEST)
    return rows[~inside]


def _chain(rows: Sequence[int], places: Sequence[Pair]) -> list[int]:
    chain: list[int] = []
    for row in rows:
        while len(chain) > 1:
            a, b = places[chain[-2]], places[chain[-1]]
            if turn(a, b, a, places[row]) > 0:
                break
            chain.pop()
        chain.append(row)
    return chain


def half(a: Pair, b: Pair) -> int:
    """Return 0 if the direction from a to b points right (or straight up), 1 if left (or straight down).

    A hull from its leftmost corner has its sides in this order, each half ordered by turns.
    """
    if a == b:
        raise LuthierError("expected two different points, found one twice")
    return 0 if (b[0], b[1]) > (a[0], a[1]) else 1


MARGIN = 1e-9  # by how much a vertex is asked to win, in units of the list's spread and of the weights
FLAT = 1e-11  # directions with less than this share of the largest spread are rounding
LEAST_STRETCH = 1e-4  # thinner directions are not stretched further: rounding would be stretched as well
LONGEST_NORMAL = 100.0  # a direction longer than this wins by so little that rounding might have made it
UNKNOWN = 2
PAIRS_AT_ONCE = 1 << 16


def distinct_rows(points: npt.ArrayLike) -> Int64:
    """Return the lowest row of each set of equal rows, ascending: (K, D) → (≤K,).

    >>> distinct_rows([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [-0.0, 0.0]]).tolist()
    [0, 1]
    """
    points = _checked(points)
    if not len(points):
        return np.empty(0, np.int64)
    order = np.lexsort(points.T) if points.shape[1] else np.arange(len(points))  # stable: the lowest comes first
    ordered = points[order]
    new = np.ones(len(points), np.bool_)
    new[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    return np.sort(order[new])


def reduced(points: npt.ArrayLike) -> Float64:
    """Return a list in coordinates of its affine hull, with equal spread in all of them: (K, D) → (K, rank).

    The image is centred, and its longest vector has the length 1.
    """
    points = _checked(points)
    if not len(points):
        return np.empty((0, 0))
    centred = points - points[0]  # first, and exactly where numbers are close: a large offset costs no digits
    span = np.abs(centred).max(axis=0, initial=0.0)
    centred = centred[:, span > 0] / span[span > 0]
    centred = centred - centred.mean(axis=0)
    if not centred.size:
        return np.empty((len(points), 0))
    _, spreads, axes = np.linalg.svd(centred, full_matrices=False)
    kept = spreads > FLAT * spreads[0]
    image = centred @ (axes[kept] / np.maximum(spreads[kept], LEAST_STRETCH * spreads[0])[:, None]).T
    return np.asarray(image / np.sqrt(np.max(np.sum(image * image, axis=1))), np.float64)


def extreme_rows(points: npt.ArrayLike) -> Int64:
    """Return the vertices of one list, ascending: (K, D) → (V,); if rows are equal, the lowest.

    >>> extreme_rows([[0, 0], [2, 0], [1, 0], [0, 2], [0.5, 0.5], [0, 0]]).tolist()
    [0, 1, 3]
    """
    points = _checked(points)
    distinct = distinct_rows(points)
    if len(distinct) < 3:
        return distinct
    if points.shape[1] == 1:
        return np.sort(distinct[[np.argmin(points[distinct, 0]), np.argmax(points[distinct, 0])]])
    if points.shape[1] == 2:
        return np.sort(planar_hull(points))
    return distinct[_extreme(points[distinct], reduced(points[distinct]))]


def distinct_rows_of_lists(offsets: Int64, features: Float64, *, threads: int | None = None) -> tuple[Int64, Int64]:
    """Return the distinct rows of N lists (if rows are equal, the lowest): (N+1,) offsets and the rows, ascending."""
    return _of_lists(distinct_rows, offsets, features, "distinct rows", threads)


def extreme_rows_of_lists(offsets: Int64, features: Float64, *, threads: int | None = None) -> tuple[Int64, Int64]:
    """Return the vertices of N lists: (N+1,) offsets and the rows, ascending.

    List i has the rows ``offsets[i]:offsets[i+1]`` of `features`, (M, D); none is allowed.
    """
    return _of_lists(extreme_rows, offsets, features, "vertices", threads)


def _of_lists(
    question: Callable[[Float64], Int64], offsets: Int64, features: Float64, label: str, threads: int | None
) -> tuple[Int64, Int64]:
    """Ask the same of every list, in parallel; return where each answer begins and all answers, in order."""
    offsets, features = np.asarray(offsets, np.int64), _checked(features)

    def job(i: int) -> Int64:
        return np.asarray(offsets[i] + question(features[offsets[i] : offsets[i + 1]]), np.int64)

    with (
        one_blas_thread(),
        progress(label, len(offsets) - 1) as advance,
        executor(threads or available_threads()) as pool,
    ):
        found = []
        for answer in pool.map(job, range(len(offsets) - 1)):
            found.append(answer)
            advance(1)
    starts = np.concatenate([[0], np.cumsum([len(answer) for answer in found], dtype=np.int64)])
    return starts, np.concatenate(found) if found else np.empty(0, np.int64)


def adjacent_vertices(points: npt.ArrayLike, vertices: Int64 | None = None) -> Int64:
    """Return the edges of one list as pairs of rows, lower row first, ascending: (E, 2).

    `vertices` saves finding them again. Each pair of vertices is decided by itself, V²/2 of them.
    """
    points = _checked(points)
    vertices = extreme_rows(points) if vertices is None else np.asarray(vertices, np.int64)
    if points.shape[1] == 2 and len(vertices) > 2:
        return _around(planar_hull(points))
    first, second = np.triu_indices(len(vertices), 1)
    joined = _adjacent(reduced(points[vertices]), first, second)
    return np.stack([vertices[first[joined]], vertices[second[joined]]], axis=1)


def neighbours(points: npt.ArrayLike, vertex: int, vertices: Int64 | None = None) -> Int64:
    """Return the vertices that share an edge with one vertex, ascending; V decisions."""
    points = _checked(points)
    vertices = extreme_rows(points) if vertices is None else np.asarray(vertices, np.int64)
    if vertex not in vertices:
        raise LuthierError(f"expected a vertex of the list, found row {vertex}, which is none")
    here = int(np.searchsorted(vertices, vertex))
    others = np.delete(np.arange(len(vertices)), here)
    joined = _adjacent(reduced(points[vertices]), np.full(len(others), here), others)
    return vertices[others[joined]]


@dataclasses.dataclass(frozen=True, eq=False)
class Polytope:
    """A list, its vertices and, once asked for, its edges and normal cones.

    Attributes
    ----------
    points : (K, D) float64
    vertices : (V,) int64
        Rows that some weights select, ascending; if rows are equal, the lowest.
    """

    points: Float64
    vertices: Int64

    @classmethod
    def of(cls, points: npt.ArrayLike) -> Polytope:
        """Return the polytope of a list, (K, D) with K ≥ 1."""
        array = np.array(_checked(points))
        if not len(array):
            raise LuthierError("expected a list of one row or more, found none")
        return cls(frozen(array), frozen(extreme_rows(array)))

    @cached_property
    def edges(self) -> Int64:
        """Pairs of adjacent vertices, (E, 2), lower row first: the decision boundaries."""
        return frozen(adjacent_vertices(self.points, self.vertices))

    def neighbours(self, vertex: int) -> Int64:
        """Return the vertices on the other side of this one's decision boundaries."""
        if "edges" in self.__dict__:
            here = self.edges[np.any(self.edges == vertex, axis=1)]
            return np.sort(here[here != vertex])
        return neighbours(self.points, vertex, self.vertices)

    def normal_cone(self, vertex: int) -> Float64:
        """Return the facets of a vertex's normal cone, (R, D): it is ``{w : rows·w ≤ 0}``, no row to spare.

        Row r is ``h_j − h_vertex`` for the r-th neighbour j. No row means all weights.
        """
        return np.asarray(self.points[self.neighbours(vertex)] - self.points[vertex], np.float64)

    def select(self, weights: npt.ArrayLike) -> int:
        """Return the row that weights select; ties go to the lowest."""
        return int(np.argmax(self.points @ np.asarray(weights, np.float64)))


def _extreme(points: Float64, image: Float64) -> Int64:
    """Return which distinct points are vertices, ascending; `image` is the list reduced."""
    n_points, rank = image.shape
    state = np.full(n_points, UNKNOWN, np.int64)
    products = image @ image.T  # [direction, row]: every row's vector is tried as a direction
    winners = np.argmax(products, axis=1)
    best = products[np.arange(n_points), winners]
    products[np.arange(n_points), winners] = -np.inf
    state[winners[best - products.max(axis=1) > MARGIN]] = kernels.FOUND
    del products
    supports, lengths = np.full((n_points, rank + 1), -1), np.ones(n_points)
    margins = flat(np.full(n_points, MARGIN))
    kernels.extreme_points(flat(image.T), margins, scratch(rank), steps_allowed(rank), state, supports, lengths)
    return settle_vertices(points, image, (state == kernels.FOUND) & (lengths < LONGEST_NORMAL), supports)


def _adjacent(image: Float64, first: Int64, second: Int64) -> npt.NDArray[np.bool_]:
    """Return which pairs of vertices of a reduced list share an edge."""
    n_points, rank = image.shape
    state = np.full(len(first), UNKNOWN, np.int64)
    if n_points <= 2 or n_points == rank + 1:  # a segment or a simplex: all pairs do
        return np.ones(len(first), np.bool_)
    decide = partial(kernels.adjacent_points, flat(image.T))
    room, margins = scratch(rank), flat(np.full(n_points, MARGIN))
    with progress("edges", len(first)) as advance:
        for low in range(0, len(first), PAIRS_AT_ONCE):
            part = slice(low, low + PAIRS_AT_ONCE)
            decide(flat(first[part]), flat(second[part]), margins, room, steps_allowed(rank), state[part])
            advance(len(first[part]))
    _refuse_lost(state)
    return np.asarray(state == kernels.FOUND)


def _around(hull: Int64) -> Int64:
    """Return the edges of a polygon's corners in order, as sorted pairs."""
    pairs = np.sort(np.stack([hull, np.roll(hull, -1)], axis=1), axis=1)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _refuse_lost(state: Int64) -> None:
    lost = int(np.sum(state == kernels.LOST))
    if lost:
        raise LuthierError(f"{lost} decisions about a list are too near to a tie to be made")


def _checked(points: npt.ArrayLike) -> Float64:
    array = np.asarray(points, np.float64)
    if array.ndim != 2:
        raise LuthierError(f"expected rows of numbers, (K, D), found shape {array.shape}")
    if not np.all(np.isfinite(array)):
        raise LuthierError("features must be finite numbers")
    return array
