"""Exact search of a plane: the gain of every cell of a window round the weights, and the best place to go.

On the plane ``w + x·a + y·b`` the lists' selections are constant on convex cells [waite2015]. All of them are
enumerated with the sums of their statistics, so that the best of them is the best of the window, whatever lies
between. Distances are in units of a feature's mean effect (`luthier.landscape.units`): directions are at right angles
and of length 1 in them.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.segments import counts_in_segments, offsets_from_counts
from luthier.geometry.plane.inscribed import largest_circle
from luthier.geometry.plane.overlay import CellBlock, Overlay
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.kbest.rerank import segment_blocks
from luthier.landscape.gains import ROUNDING, TRIES, slack
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.units import effect_units
from luthier.tuning.base import State
from luthier.tuning.search.line_search import kept_promise

BLOCK_ROWS = 1 << 13
# A corner this near to the window's border, in windows, lies on it.
ON_BORDER = 1e-9
# A circle smaller than this, in windows, is none: no weights in floating point lie in it.
VOID = 1e-12
# If none of the best few cells has an area, so many times as many are looked at.
MORE = 16
# Directions that leave less than this of their length beside the others do not span a plane.
PARALLEL = 1e-6
# Half a side of the first window looked at when one of a given number of cells is sought, and how far it goes.
FIRST_WINDOW, SMALLEST_WINDOW, LARGEST_WINDOW = 0.125, 2.0**-20, 2.0**10

Gains = Callable[[npt.NDArray[Any]], Float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Nearby:
    """Weights, and the rows that weights near them select: no other row has a part in planes through them.

    A row k loses to the winner v of its list at w + δ wherever ``w·(h_v − h_k) > ‖δ/u‖ ‖u∘(h_k − h_v)‖``
    (Cauchy and Schwarz), u being the units; rows that lose wherever ‖δ/u‖ ≤ reach are left out.

    Attributes
    ----------
    here : State
    units : (D,) float64
        One unit of each weight; 0 where it must not move.
    reach : float
    offsets, features, stats : (N+1,) int64, R rows, (R, S)
        The rows that are left.
    """

    here: State
    units: Float64
    reach: float
    offsets: Int64
    features: Features
    stats: npt.NDArray[Any]

    @classmethod
    def of(cls, problem: ListProblem, here: State, reach: float) -> Nearby:
        """Return the rows near the weights of a state."""
        units = np.where(problem.bounds.fixed, 0.0, effect_units(problem.spread, here.weights))
        rows = np.flatnonzero(_within_reach(problem, here.weights, units, reach))
        offsets = offsets_from_counts(counts_in_segments(problem.offsets, rows))
        return cls(here, units, reach, offsets, problem.pool.features.take(rows), problem.stats[rows])

    def subspace(self, vectors: Float64) -> Subspace | None:
        """Return the subspace that moves along vectors, (M, D) in weights; None if they span less than M dimensions.

        Its directions are at right angles and of length 1 in units; what has no unit is left out.
        """
        free = self.units > 0.0
        steps = vectors[:, free] / self.units[free]
        lengths = np.sqrt(np.einsum("md,md->m", steps, steps))
        if not free.any() or not np.all(lengths > 0.0):
            return None
        basis, triangle = np.linalg.qr((steps / lengths[:, None]).T)  # (D, M), (M, M)
        if len(triangle) < len(vectors) or np.abs(np.diag(triangle)).min() < PARALLEL:
            return None
        directions = np.zeros_like(vectors, dtype=np.float64)
        directions[:, free] = (basis * np.sign(np.diag(triangle))).T * self.units[free]
        return Subspace(self.here.weights, directions)


def _within_reach(problem: ListProblem, weights: Float64, units: Float64, reach: float) -> Bool:
    """Return which rows may be the highest of their list somewhere within reach, (M,)."""
    features, offsets = problem.pool.features, problem.offsets
    scores = problem.pool.scores(weights)
    winners = problem.select(weights)
    sparse_lengths = _sparse_lengths(features, units)
    able = np.empty(len(scores), np.bool_)
    for first, last in segment_blocks(offsets, BLOCK_ROWS):
        rows = slice(int(offsets[first]), int(offsets[last]))
        best = np.repeat(winners[first:last], np.diff(offsets[first : last + 1]))
        apart = (features.dense[rows] - features.dense[best]) * units[: features.n_dense]
        squares = np.einsum("kd,kd->k", apart, apart)
        if len(features.indices):
            squares += (sparse_lengths[rows] + sparse_lengths[best]) ** 2
        slack = ROUNDING * (np.abs(scores[best]) + np.abs(scores[rows]))
        able[rows] = scores[best] - scores[rows] <= reach * (1.0 + ROUNDING) * np.sqrt(squares) + slack
    return able


def _sparse_lengths(features: Features, units: Float64) -> Float64:
    """Return the length of each row's sparse part in units, (M,): no difference is longer than two of them."""
    if not len(features.indices):
        return np.zeros(0)
    entries = np.repeat(np.arange(len(features)), np.diff(features.indptr))
    squares = (features.values * units[features.n_dense :][features.indices]) ** 2
    lengths: Float64 = np.sqrt(np.bincount(entries, weights=squares, minlength=len(features)))
    return lengths


@dataclasses.dataclass(frozen=True, eq=False)
class Piece:
    """A cell of a plane that promises more than the present gain.

    Attributes
    ----------
    gain : float
    position : (2,) float64
        The centre of its largest circle.
    radius : float
        How far that is from the nearest boundary.
    cut : bool
        Whether the window's border, which is no bound of a weight, cuts it.
    """

    gain: float
    position: Float64
    radius: float
    cut: bool


def best_cells(problem: ListProblem, near: Nearby, plane: Subspace, size: float) -> list[Piece]:
    """Return the best few cells of the window ``|x| ≤ size, |y| ≤ size`` that promise more than the present gain.

    Of equal gains the cell with the larger circle comes first. Bounds cut cells as boundaries do.
    """
    limits = _limits(problem, plane, size)
    if limits is None:
        return []
    walls = _walls(problem, plane, limits)
    points = np.concatenate([near.features.scores(plane.matrix).T, walls])  # (R + 2B, 3)
    offsets = np.concatenate([near.offsets, near.offsets[-1] + 2 * np.arange(1, len(walls) // 2 + 1)])
    overlay = Overlay(offsets, points, Window(*limits))
    n_stats = near.stats.shape[1]
    values = near.stats
    if len(walls):  # one more sum: how many bounds are passed
        values = np.zeros((len(points), n_stats + 1), near.stats.dtype)
        values[: len(near.stats), :n_stats] = near.stats
        values[len(near.stats) + 1 :: 2, n_stats] = 1
    above = near.here.gain + slack(near.here.gain)

    def gains_of(sums: npt.NDArray[Any]) -> Float64:
        gains = problem.gain_of_sums(sums[:, :n_stats])
        return np.where(sums[:, n_stats] == 0, gains, -np.inf) if len(walls) else gains

    return _largest_pieces(overlay, values, gains_of, above=above, size=size)


def _largest_pieces(
    overlay: Overlay, values: npt.NDArray[Any], gains_of: Gains, *, above: float, size: float
) -> list[Piece]:
    """Return the best few cells that have an area.

    Where rows tie in a whole line or point, cells of no area lie in it: if these were the best, more are looked at.
    """
    count = TRIES
    while True:

        def best_of_block(block: CellBlock, count: int = count) -> tuple[Float64, Int64]:
            gains = gains_of(block.sums)
            rows = np.flatnonzero(gains > above)
            kept = rows[_best(gains[rows], block.keys[rows], count)]
            return gains[kept], block.keys[kept]

        found = list(overlay.stream(values, best_of_block))
        gains = np.concatenate([part[0] for part in found])
        keys = np.concatenate([part[1] for part in found])
        pieces: list[Piece] = []
        for k in _best(gains, keys, count):
            polygon = overlay.cell(keys[k]).polygon
            centre, radius = largest_circle(polygon)
            if radius > VOID * size and len(pieces) < TRIES:
                cut = bool(np.any(np.abs(polygon) > size * (1.0 - ON_BORDER)))
                pieces.append(Piece(float(gains[k]), centre, radius, cut))
        if pieces or len(gains) < count:
            return sorted(pieces, key=lambda piece: (-piece.gain, -piece.radius))
        count *= MORE


def _best(gains: Float64, keys: Int64, count: int) -> Int64:
    """Return the `count` best of gains, the best first; of equal ones the lowest key, (n, 2)."""
    rows = np.arange(len(gains))
    if len(gains) > count:  # sort the best only
        rows = np.flatnonzero(gains >= np.partition(gains, -count)[-count])
    order = np.lexsort((keys[rows, 1], keys[rows, 0], -gains[rows]))[:count]
    best: Int64 = rows[order]
    return best


def _limits(problem: ListProblem, plane: Subspace, size: float) -> tuple[float, float, float, float] | None:
    """Return the window, cut by the bounds of weights that move along one axis only; None if nothing is left."""
    limits = []
    for own, other in (plane.directions, plane.directions[::-1]):
        alone = np.where(other == 0.0, own, 0.0)
        low, high = problem.bounds.steps_along(plane.start, alone)
        limits += [max(low, -size), min(high, size)]
    x_low, x_high, y_low, y_high = limits
    return (x_low, x_high, y_low, y_high) if x_low < x_high and y_low < y_high else None


def _walls(problem: ListProblem, plane: Subspace, limits: tuple[float, float, float, float]) -> Float64:
    """Return bounds that cut the window askew, as lists of two rows of which the second is higher beyond: (2B, 3)."""
    x, y = np.meshgrid(limits[:2], limits[2:])
    corners = plane.weights(np.column_stack([x.ravel(), y.ravel()]))  # (4, D)
    askew = np.all(plane.directions != 0.0, axis=0)
    beyond = []
    for bound, sign in ((problem.bounds.low, -1.0), (problem.bounds.high, 1.0)):
        for d in np.flatnonzero(askew & np.any(sign * (corners - bound) > 0.0, axis=0)):
            beyond.append(sign * np.array([plane.start[d] - bound[d], *plane.directions[:, d]]))
    walls = np.zeros((2 * len(beyond), 3))
    walls[1::2] = np.array(beyond).reshape(-1, 3)
    return flat(walls)


def search_plane(problem: ListProblem, near: Nearby, vectors: Float64, name: str, *, doublings: int) -> State | None:
    """Return the best place of the plane through the weights along two vectors, (2, D), if it is better.

    The window is as large as `near` reaches. While its border cuts the best cell it is doubled, `doublings`
    times at most.
    """
    plane = near.subspace(vectors)
    if plane is None:
        return None
    best: State | None = None
    for k in range(doublings + 1):
        pieces = best_cells(problem, near, plane, near.reach / np.sqrt(2.0))
        points = [problem.bounds.clip(plane.weights(piece.position)) for piece in pieces]
        promised = [State(point, piece.gain, name) for point, piece in zip(points, pieces, strict=True)]
        found = kept_promise(problem, near.here if best is None else best, promised)
        best = found or best
        if k == doublings or not pieces or not pieces[0].cut:
            break
        wider = Nearby.of(problem, near.here, 2.0 * near.reach)
        near = dataclasses.replace(wider, units=near.units)
    return best


def fitting_window(problem: ListProblem, here: State, planes: Sequence[Float64], cells: int) -> float:
    """Return half a side of windows that have about `cells` cells, in units: the geometric mean of all planes, (2, D).

    The answer is the largest power of two with so many or fewer, up to where twice the window has no more.
    """

    def mean_count(size: float) -> float:
        near = Nearby.of(problem, here, float(np.sqrt(2.0)) * size)
        counts = [count_cells(near, vectors, size) for vectors in planes]
        return float(np.exp(np.mean(np.log(counts)))) if counts else 1.0

    size, count = FIRST_WINDOW, mean_count(FIRST_WINDOW)
    while count < cells and size < LARGEST_WINDOW and (more := mean_count(2.0 * size)) > count:
        size, count = 2.0 * size, more
    while count > cells and size > SMALLEST_WINDOW:
        size /= 2.0
        count = mean_count(size)
    return size


def count_cells(near: Nearby, vectors: Float64, size: float) -> int:
    """Return how many cells the plane along two vectors, (2, D), has in the window |x| ≤ size, |y| ≤ size."""
    plane = near.subspace(vectors)
    if plane is None:
        return 1
    overlay = Overlay(near.offsets, near.features.scores(plane.matrix).T, Window(-size, size, -size, size))
    return sum(overlay.stream(near.stats[:, :1], len))


def distinct_subsets(n: int, size: int, most: int, rng: np.random.Generator) -> list[list[int]]:
    """Return subsets of `size` of n things, each once: all of them if they are not more than `most`, else some drawn.

    >>> distinct_subsets(3, 2, 10, np.random.default_rng(0))
    [[0, 1], [0, 2], [1, 2]]
    """
    if math.comb(n, size) <= most:
        return [list(chosen) for chosen in itertools.combinations(range(n), size)]
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(rng.choice(n, size, replace=False).tolist())))
    return [list(chosen) for chosen in sorted(drawn)]
