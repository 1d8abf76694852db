"""The scores at the centres of a window's pixels, exactly, of a pool or of its parts one after another.

What it costs grows with the sentences, not with their square, as the number of cells does.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, frozen
from luthier.core.errors import LuthierError
from luthier.core.tasks import Engine, Shared, run_units
from luthier.geometry.plane.raster import raster_changes
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.kbest.shards.shard import check_files
from luthier.landscape.axes import axes_of, origins
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.shard_work import ShardSource, ShardsRecipe, Vectors, packed, vectors
from luthier.landscape.subspaces import project, read_ends
from luthier.metrics.base import Metric

MOST_PIXELS = 4096  # a side


@dataclasses.dataclass(frozen=True, eq=False)
class Pixels:
    """A raster of scores.

    Attributes
    ----------
    subspace : Subspace with two axes
    window : Window
    metric : Metric
    xs, ys : (nx,), (ny,)
        Centres of the pixels, as offsets.
    scores : (ny, nx)
    """

    subspace: Subspace
    window: Window
    metric: Metric
    xs: Float64
    ys: Float64
    scores: Float64

    @property
    def best(self) -> tuple[int, int]:
        """Row and column of the best pixel; of several the first."""
        row, column = np.unravel_index(int(np.argmax(self.metric.gain(self.scores))), self.scores.shape)
        return int(row), int(column)

    @property
    def told(self) -> tuple[Float64, Float64]:
        """Centres of the pixels as weights, or offsets along a combination of features."""
        x, y = origins(self.subspace)
        return self.xs + x, self.ys + y

    @property
    def weights(self) -> Float64:
        """Weights at the best pixel's centre, (D,)."""
        row, column = self.best
        return self.subspace.weights((float(self.xs[column]), float(self.ys[row])))

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return a table with a row for each pixel: its weights, or offsets along a combination of features."""
        x, y = np.meshgrid(*self.told)
        return {**dict(zip(self.subspace.names, (x.ravel(), y.ravel()), strict=True)), "score": self.scores.ravel()}

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, without the pixels."""
        row, column = self.best
        return {
            "metric": self.metric.signature,
            "axes": list(self.subspace.names),
            "axes_show": [axis.kind for axis in axes_of(self.subspace)],
            "window": absolute_window(self.subspace, self.window),
            "pixels": list(self.scores.shape[::-1]),
            "best_score": float(self.scores[row, column]),
            "best_position": [float(self.told[0][column]), float(self.told[1][row])],
            "offset": [float(self.xs[column]), float(self.ys[row])],
            "lowest": float(self.scores.min()),
            "highest": float(self.scores.max()),
        }


def absolute_window(subspace: Subspace, window: Window) -> list[float]:
    """Return the ends of a window as weights, or offsets along a combination of features; perhaps infinite."""
    ends = np.array(window.limits) + np.repeat(origins(subspace), 2)
    return [float(end) for end in ends]


def read_whole_window(subspace: Subspace, texts: Sequence[str]) -> Window:
    """Read ``axis=lo:hi`` for each of two axes, with finite ends: weights, or offsets along a file of features."""
    origin = {axis.name: axis.origin for axis in axes_of(subspace)}
    ends: dict[str, tuple[float, float]] = {}
    for text in texts:
        name, equals, ends_text = text.rpartition("=")
        if not equals or name not in subspace.names or name in ends:
            raise LuthierError(f"expected one window for each axis, such as {subspace.names[0]}=-1:1, found {text!r}")
        low, high = read_ends(text, ends_text)
        ends[name] = low - origin[name], high - origin[name]
    missing = [name for name in subspace.names if name not in ends or not np.isfinite(ends[name]).all()]
    if missing:
        raise LuthierError(f"a raster needs a window with two ends along {missing[0]!r}. hint: `window` A=LO:HI")
    (x_low, x_high), (y_low, y_high) = (ends[name] for name in subspace.names)
    return Window(x_low, x_high, y_low, y_high)


def pixels_of(
    problems: Iterable[ListProblem], subspace: Subspace, window: Window, side: int, *, threads: int = 1
) -> Pixels:
    """Return the raster of problems whose lists count together; one of them at a time is held."""
    places = centres(window, side)
    changes, metric = None, None
    for problem in problems:
        changes, metric = add_changes(problem, subspace, places, onto=changes, threads=threads), problem.metric
    if changes is None or metric is None:
        raise LuthierError("expected lists with hypotheses, found none")
    return pixels_from(changes, subspace, window, metric)


def centres(window: Window, side: int) -> tuple[Float64, Float64]:
    """Return the centres of a window's pixels, along x and along y."""
    if not 1 <= side <= MOST_PIXELS:
        raise LuthierError(f"expected from 1 to {MOST_PIXELS} pixels a side, found {side}")
    share = (np.arange(side) + 0.5) / side
    x_low, x_high, y_low, y_high = window.limits
    xs, ys = x_low + share * (x_high - x_low), y_low + share * (y_high - y_low)
    if np.any(np.diff(xs) <= 0) or np.any(np.diff(ys) <= 0):
        raise LuthierError("the window is too small for so many pixels: their centres cannot be told apart")
    return xs, ys


def add_changes(
    problem: ListProblem,
    subspace: Subspace,
    places: tuple[Float64, Float64],
    *,
    onto: npt.NDArray[Any] | None = None,
    threads: int = 1,
) -> npt.NDArray[Any]:
    """Return what is to be summed along x for a problem's raster, added to that of the lists before it."""
    points = project(problem.pool, subspace)
    return raster_changes(problem.offsets, points, problem.stats, places, onto=onto, threads=threads)


def pixels_from(changes: npt.NDArray[Any], subspace: Subspace, window: Window, metric: Metric) -> Pixels:
    """Return the raster of all lists' changes, (n, n, S)."""
    xs, ys = centres(window, len(changes))
    scores = metric.score(np.cumsum(changes, axis=1))
    return Pixels(subspace, window, metric, frozen(xs), frozen(ys), frozen(scores))


# The raster of a sharded pool, by whoever works on the parts.
#
# Whole numbers are added part by part. Other numbers must be added in the order of the sentences, so that there a unit
# is some rows of pixels, for which it goes through all parts.

ROWS = 64  # of pixels, a unit
MOST_BYTES = 1 << 30  # of answers that wait to be added


@dataclasses.dataclass(frozen=True)
class RasterRequest:
    """Parts, a plane as the rows of its matrix, the limits of a window, its pixels a side, and which rows of them."""

    parts: tuple[int, ...]
    plane: Vectors
    limits: tuple[float, ...]
    side: int
    first: int
    end: int


def shard_raster(source: ShardSource, asked: RasterRequest) -> npt.NDArray[Any]:
    """Return what is to be summed along x for some rows of a raster, (rows, side, S), packed."""
    subspace = Subspace(np.array(asked.plane[0]), np.array(asked.plane[1:]))
    xs, ys = centres(Window(*asked.limits), asked.side)
    changes = None
    for part in asked.parts:
        changes = add_changes(source.problem(part), subspace, (xs, ys[asked.first : asked.end]), onto=changes)
    assert changes is not None  # no unit is without parts
    return packed(changes)


def sharded_pixels(
    source: ShardSource, subspace: Subspace, window: Window, side: int, *, engine: Engine | None = None
) -> Pixels:
    """Return the raster of all parts, in the bytes of the pool in one piece."""
    centres(window, side)  # checked before anybody is asked
    check_files(source.manifest)
    if not source.filled:
        raise LuthierError("expected lists with hypotheses, found none")
    plane, limits = vectors(subspace.matrix), tuple(map(float, window.limits))
    if source.whole_numbers:
        asked = [RasterRequest((part,), plane, limits, side, 0, side) for part in source.filled]
    else:
        all_parts, firsts = tuple(source.filled), range(0, side, ROWS)
        asked = [RasterRequest(all_parts, plane, limits, side, first, min(first + ROWS, side)) for first in firsts]
    total = np.zeros((side, side, len(source.metric.stat_names)), np.int64 if source.whole_numbers else np.float64)
    at_once = max(1, MOST_BYTES // total.nbytes)
    given = Shared(source, ShardsRecipe.of(source))
    for begin in range(0, len(asked), at_once):
        some = asked[begin : begin + at_once]
        found = run_units(shard_raster, given, dict(enumerate(some)), engine=engine)
        for number, changes in found.items():
            total[some[number].first : some[number].end] += changes
    return pixels_from(total, subspace, window, source.metric)
