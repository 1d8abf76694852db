"""A plane of weights with the lists seen from within it, and windows of it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64, flat, gamma
from luthier.core.errors import LuthierError
from luthier.core.threads import map_in_order
from luthier.geometry.plane.certainty import Certainty, Rounding
from luthier.geometry.plane.overlay import Overlay
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.kbest.spread import squarable
from luthier.landscape.axes import axes_of
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes import _noise_kernels as kernels
from luthier.landscape.subspaces import project, read_ends


def height_noise(features: Features, offsets: Int64, matrix: Float64) -> Float64:
    """Return how wrong differences of two rows' scores may be, for every list of rows and every vector: (N, W).

    `matrix` (W, D) are the vectors. Lists are not empty.
    """
    sizes = np.empty((len(offsets) - 1, len(matrix)))
    f, vectors = features, flat(np.abs(matrix))
    kernels.largest_sizes(f.dense, f.indptr, f.indices, f.values, flat(offsets), vectors, sizes)
    return 2 * gamma(features.n_features + 2) * sizes


def rounding_of(features: Features, subspace: Subspace) -> Rounding:
    """Return how wrong the difference of two scores may be over a plane, whoever computes them in whatever order.

    A re-rank at ``fl(w0 + x·a1 + y·a2)`` scores a row with an error of at most γ(D+4)·Σ (|w0_j| + |x a1_j| + |y a2_j|)
    |h_j|, and the row's height over the plane, computed otherwise, with as much again; two rows have twice that. γ is
    taken of D + 8, |h_j| as the largest of all rows.
    """
    matrix = np.abs(subspace.matrix)
    still, per_x, per_y = (4 * gamma(features.n_features + 8) * matrix @ features.sizes).tolist()
    return Rounding(still, per_x, per_y)


# Lists seen from within a window of a plane, with limits on weights as further lists.

WALL_NOISE = 2.0**-49  # of what walls are made of: sums of few products


@dataclasses.dataclass(frozen=True, eq=False)
class PlaneLists:
    """Rows of lists over a plane, and what each adds to a cell's sums.

    A *wall* is a limit on weights: beyond it nothing counts. It joins as a list of two rows, of which the second is
    higher beyond the wall and adds 1 to a last column of `values`, the number of walls that are passed.

    Attributes
    ----------
    offsets : (N+1,) int64
    points : (R, 3) float64
        Heights of the rows: c + x·p + y·q.
    values : (R, S) or, with walls, (R, S+1)
        Statistics, and the walls passed.
    window : Window
    n_walls : int
    noise : (N, 3) float64, optional
        How wrong c, p and q of a difference of two rows of each list may be.
    """

    offsets: Int64
    points: Float64
    values: npt.NDArray[Any]
    window: Window
    n_walls: int = 0
    noise: Float64 | None = None

    @functools.cached_property
    def overlay(self) -> Overlay:
        """Every cell of the window."""
        return Overlay(self.offsets, self.points, self.window, noise=self.noise)

    def with_walls(self, walls: Float64) -> PlaneLists:
        """Return the lists with walls ``c + x·p + y·q > 0``, (B, 3)."""
        if not len(walls):
            return self
        rows = np.zeros((2 * len(walls), 3))
        rows[1::2] = walls
        n, n_stats = self.values.shape
        values = np.zeros((n + len(rows), n_stats + 1), self.values.dtype)
        values[:n, :n_stats] = self.values
        values[n + 1 :: 2, n_stats] = 1
        offsets = np.concatenate([self.offsets, self.offsets[-1] + 2 * np.arange(1, len(walls) + 1)])
        points = flat(np.concatenate([self.points, rows]))
        noise = None if self.noise is None else np.concatenate([self.noise, WALL_NOISE * np.abs(walls)])
        return PlaneLists(offsets, points, values, self.window, len(walls), noise)

    def gains(self, problem: ListProblem, sums: npt.NDArray[Any]) -> Float64:
        """Return the gains of cells by their sums, (n, S) or (n, S+1) → (n,); −inf beyond a wall."""
        if not self.n_walls:
            return problem.gain_of_sums(sums)
        return np.where(sums[:, -1] == 0, problem.gain_of_sums(sums[:, :-1]), -np.inf)


WINDOW_REACH = 4.0  # how far the usual window goes, in units of the mean effect of a feature


@dataclasses.dataclass(frozen=True, eq=False)
class Plane:
    """Weights ``w0 + x·a1 + y·a2``, and the pool's rows over them.

    Attributes
    ----------
    problem : ListProblem
    subspace : Subspace with two axes
    window : Window
        What is looked at.
    points : (M, 3) float64
        Heights of the rows: c + x·p + y·q.
    noise : (N, 3) float64
        How wrong c, p and q of differences of each list's rows may be.
    rounding : Rounding
        How wrong the difference of two scores may be.
    threads : int
        That find the faces of the lists.
    """

    problem: ListProblem
    subspace: Subspace
    window: Window
    points: Float64
    noise: Float64
    rounding: Rounding
    threads: int = 1

    @classmethod
    def make(cls, problem: ListProblem, subspace: Subspace, window: Window | None = None, *, threads: int = 1) -> Plane:
        """Return the plane of a problem; without a window, all of it."""
        if subspace.n_axes != 2:
            raise LuthierError(f"expected a plane, which has two axes, found {subspace.n_axes} axes")
        features, offsets = problem.pool.features, problem.offsets
        parts: list[Callable[[], Any]] = [
            lambda: project(problem.pool, subspace),
            lambda: height_noise(features, offsets, subspace.matrix),
            lambda: rounding_of(features, subspace),
        ]
        points, noise, rounding = map_in_order(lambda part: part(), parts, threads)
        return cls(problem, subspace, window or Window(), points, noise, rounding, threads)

    def score(self, sums: npt.NDArray[Any]) -> Float64:
        """Return the metric of summed statistics, (..., S) → (...)."""
        return self.problem.metric.score(sums)

    @functools.cached_property
    def overlay(self) -> Overlay:
        """Every cell of the window."""
        return Overlay(self.problem.offsets, self.points, self.window, noise=self.noise, threads=self.threads)

    @functools.cached_property
    def judge(self) -> Certainty:
        """Tells which cells a re-rank of the lists is certain to find."""
        features = self.problem.pool.features

        def differ(a: Int64, b: Int64) -> Bool:
            return np.array(
                [not same_features(features, i, j) for i, j in zip(a.tolist(), b.tolist(), strict=True)], bool
            )

        return Certainty(self.overlay, self.rounding, differ)

    def within(self, window: Window) -> PlaneLists:
        """Return the part of the plane in a window that lies inside its own."""
        rows = self.overlay.rows
        offsets, points = np.searchsorted(rows, self.problem.offsets), self.points[rows]
        return PlaneLists(offsets, points, self.problem.stats[rows], window, noise=self.noise)


def same_features(features: Features, a: int, b: int) -> bool:
    """Return whether two rows have the same vector, so that they have the same score whatever the weights."""
    if not np.array_equal(features.dense[a], features.dense[b]):
        return False
    ranges = [slice(features.indptr[row], features.indptr[row + 1]) for row in (a, b)]
    return all(np.array_equal(part[ranges[0]], part[ranges[1]]) for part in (features.indices, features.values))


def shown_window(plane: Plane, places: Float64) -> Window:
    """Return the window, its infinite sides moved to where the usual window ends, and beyond `places`, (n, 2)."""
    limits = np.array(plane.window.limits)
    if plane.window.bounded:
        return plane.window
    reach = usual_reach(plane.problem, plane.subspace)
    low = np.minimum(-reach, 1.1 * places.min(axis=0))
    high = np.maximum(reach, 1.1 * places.max(axis=0))
    # one side may be finite, and beyond the usual end of the other
    low = np.where(np.isfinite(limits[::2]), limits[::2], np.minimum(low, limits[1::2] - 2 * reach))
    high = np.where(np.isfinite(limits[1::2]), limits[1::2], np.maximum(high, limits[::2] + 2 * reach))
    return Window(float(low[0]), float(high[0]), float(low[1]), float(high[1]))


def usual_reach(problem: ListProblem, subspace: Subspace) -> Float64:
    """Return how far a window goes along each axis if nothing is said, (M,).

    So far that the score along the axis changes by `WINDOW_REACH` times what a feature changes it on average: with
    s the standard deviation within lists, mean(|w|·s) / s(axis).
    """
    effects = np.abs(subspace.start) * problem.spread
    most = float(effects.max(initial=0.0)) or 1.0
    effect = most * float(np.mean(effects / most)) or 1.0
    changes = problem.pool.features.scores(subspace.directions)  # (Q, M)
    if not np.all(np.isfinite(changes)):
        raise LuthierError("expected finite scores, found others. hint: scale the features")
    # against the rounding of its own list: one list may be a million times as large as another
    noise = height_noise(problem.pool.features, problem.offsets, subspace.directions)
    spread = [_spread(problem.offsets, *axis) for axis in zip(subspace.names, changes, noise.T, strict=True)]
    reach: Float64 = WINDOW_REACH * (effect / np.array(spread))
    return reach


def _spread(offsets: Int64, name: str, changes: Float64, noise: Float64) -> float:
    """Return the standard deviation, about the means of lists, of what an axis changes, (M,), beyond noise, (N,)."""
    offsets, means, moves = flat(offsets), np.empty(len(noise)), np.empty(len(noise), np.bool_)
    largest = kernels.moving_lists(flat(changes), offsets, flat(noise), means, moves)
    if not moves.any():
        raise LuthierError(f"the axis {name!r} is constant in every list: it changes nothing. hint: take another")
    power = max(int(squarable(np.array([largest]))[0]), -1000)  # its factor is a float
    squares = kernels.squared_distances(flat(changes), offsets, means, moves, np.ldexp(1.0, -power))
    return float(np.ldexp(np.sqrt(squares / len(changes)), power + 1))


def read_window(problem: ListProblem, subspace: Subspace, texts: Sequence[str], *, whole: bool = False) -> Window:
    """Read ``axis=lo:hi``, at most one for each axis; an axis without has its usual window, or none if `whole`.

    The ends are weights, or offsets along an axis that combines features (`luthier.landscape.axes`).
    """
    reach = usual_reach(problem, subspace)
    ends = {
        name: (-np.inf, np.inf) if whole else (-r, r) for name, r in zip(subspace.names, reach.tolist(), strict=True)
    }
    origin = {axis.name: axis.origin for axis in axes_of(subspace)}
    given: set[str] = set()
    for text in texts:
        name, equals, range_text = text.rpartition("=")
        if not equals or name not in ends:
            axes = " or ".join(f"{axis}=lo:hi" for axis in subspace.names)
            raise LuthierError(f"expected a window such as {axes}, found {text!r}")
        if name in given:
            raise LuthierError(f"expected one window for each axis, found another for {name!r}")
        given.add(name)
        low, high = read_ends(text, range_text)
        ends[name] = low - origin[name], high - origin[name]
    (x_low, x_high), (y_low, y_high) = (ends[name] for name in subspace.names)
    return Window(x_low, x_high, y_low, y_high)
