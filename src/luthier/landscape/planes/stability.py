"""How far the optimum of a plane moves with its sentences: the best cell of every resample, exactly.

The edges of a plane are those of its lists, whatever the sentences count: they are found once. One walk past all cells
sums statistics times counts of several resamples. Lists that a resample lacks cut its best cell into several of one
gain. Of these the roomiest is taken: the place is inside the best cell of a pool with sentences as often as drawn.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.rng import resample_counts
from luthier.core.tasks import Serial, Shared, Threads, run_units
from luthier.core.threads import stopping_gently
from luthier.geometry.plane.overlay import FaceValues, Overlay, Workspace
from luthier.landscape.lines.stability import SHARE
from luthier.landscape.planes.best_cells import ScoredCells
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.survey import KEPT_AT_LEAST, EdgeRange, edge_ranges
from luthier.metrics.base import Metric

AT_ONCE = 16  # resamples that one walk serves: more are no faster
FLAT = 1e-12  # of the longer axis: below it an ellipse is a segment


@dataclasses.dataclass(frozen=True, eq=False)
class PlaneStability:
    """Where the optimum of a plane is on B resamples of its sentences, as offsets from w0.

    Attributes
    ----------
    position : (B, 2)
        A place inside the best cell of each resample.
    scores : (B,)
        There, on the resample.
    """

    position: Float64
    scores: Float64

    @property
    def centre(self) -> Float64:
        """The mean of the places, (2,)."""
        return np.asarray(self.position.mean(axis=0), np.float64)

    @property
    def axes(self) -> Float64:
        """The half-axes of the region, (2, 2), a row each: an ellipse of the places' covariance about their mean.

        It is the smallest of that shape that holds 90 % of the places.
        """
        lengths, directions = self._shape
        distances = np.sqrt(np.sort(self._distances(self.position)))
        size = distances[int(np.ceil(SHARE * len(distances))) - 1]
        return np.asarray(size * lengths[:, None] * directions.T, np.float64)

    @property
    def _shape(self) -> tuple[Float64, Float64]:
        """Standard deviations along the principal axes, (2,), and these as columns, (2, 2)."""
        values, directions = np.linalg.eigh(np.cov(self.position.T))
        return np.sqrt(np.maximum(values, 0.0)), directions

    def _distances(self, places: Float64) -> Float64:
        """Return squared Mahalanobis distances from the mean, (n, 2) → (n,); infinite off a region without width."""
        lengths, directions = self._shape
        along = (places - self.centre) @ directions  # (n, 2)
        wide = lengths > FLAT * max(float(lengths.max()), np.finfo(float).tiny)
        reach = max(float(np.abs(self.position).max()), float(lengths.max()))
        off = np.any(np.abs(along[:, ~wide]) > 1e-9 * reach, axis=1)
        found = np.sum((along[:, wide] / lengths[wide]) ** 2, axis=1)
        return np.where(off, np.inf, found)

    def holds(self, places: Float64) -> Bool:
        """Return which places the region holds, (n, 2) → (n,)."""
        own = np.sort(self._distances(self.position))
        limit = own[int(np.ceil(SHARE * len(own))) - 1]
        found: Bool = self._distances(np.atleast_2d(places)) <= limit * (1 + 1e-12)
        return found

    def outline(self, points: int = 120) -> Float64:
        """Return places on the region's border, (points, 2)."""
        turns = np.linspace(0.0, 2.0 * np.pi, points)
        return self.centre + np.column_stack([np.cos(turns), np.sin(turns)]) @ self.axes

    def as_dict(self, origin: Float64) -> dict[str, Any]:
        """Return it for JSON, places as `origin`, (2,), has them."""
        return {
            "resamples": len(self.position),
            "share": SHARE,
            "region": {"centre": (self.centre + origin).tolist(), "half_axes": self.axes.tolist()},
            "positions": (self.position + origin).tolist(),
            "scores": self.scores.tolist(),
        }


def plane_stability(plane: Plane, *, resamples: int, seed: int = 0, threads: int = 1) -> PlaneStability:
    """Return where the optimum of a plane, within its window, is on resamples of the sentences."""
    problem = plane.problem
    if resamples < 2:
        raise LuthierError(f"expected at least 2 resamples, found {resamples}")
    if problem.n_sentences < 2:
        raise LuthierError("expected at least 2 sentences to resample, found 1")
    found: list[ScoredCells] = []
    with progress("resamples", resamples) as advance:
        for first in range(0, resamples, AT_ONCE):
            numbers = range(first, min(first + AT_ONCE, resamples))
            counts = np.array([resample_counts(seed, number, problem.n_sentences) for number in numbers])
            found += _best_cells(plane, counts, threads)
            advance(len(numbers))
    roomiest = [max(plane.overlay.cells(best.keys), key=lambda cell: cell.radius) for best in found]
    scores = problem.metric.gain(np.array([best.gains[0] for best in found]))
    return PlaneStability(np.array([cell.position for cell in roomiest]), scores)


@dataclasses.dataclass(frozen=True, eq=False)
class Resamples:
    """What all runs of edges share: the values of faces in each resample of a group."""

    overlay: Overlay
    values: FaceValues
    metric: Metric
    n_stats: int
    own: threading.local = dataclasses.field(default_factory=threading.local)


def best_of_run(work: Resamples, run: EdgeRange) -> list[ScoredCells]:
    """Return the best cells of a run of edges in each resample, those of one gain, in order."""
    if not hasattr(work.own, "workspace"):
        work.own.workspace = Workspace(work.overlay, work.values, low=False)
    best = [ScoredCells.none()] * (work.values.each.shape[1] // work.n_stats)
    for block in work.overlay.blocks(work.values, range(run.first, run.last), work.own.workspace):
        cells = block.with_area
        if not len(cells):
            continue
        gains = work.metric.gain(work.metric.score(cells.sums.reshape(len(cells), -1, work.n_stats)))  # (n, G)
        for b, top in enumerate(gains.max(axis=0).tolist()):
            if not len(best[b]) or top >= best[b].gains[0]:
                rows = np.flatnonzero(gains[:, b] == top)
                best[b] = _better(best[b], ScoredCells(cells.keys[rows], gains[rows, b]))
    return best


def _best_cells(plane: Plane, counts: Int64, threads: int) -> list[ScoredCells]:
    """Return the best cells of each resample of a group, (G, N): one walk past all cells serves them all."""
    problem, overlay = plane.problem, plane.overlay
    values = overlay.face_values(problem.stats, counts)
    work = Resamples(overlay, values, problem.metric, problem.stats.shape[1])
    units, stop = edge_ranges(overlay), threading.Event()
    engine = Serial() if threads == 1 else Threads(threads)
    with stopping_gently(stop):
        parts = run_units(best_of_run, Shared(work), units, engine=engine, stop=stop)
    if len(parts) < len(units):
        raise KeyboardInterrupt
    best = [ScoredCells.none()] * len(counts)
    for part in parts.values():
        best = [_better(one, other) for one, other in zip(best, part, strict=True)]
    return best


def _better(one: ScoredCells, other: ScoredCells) -> ScoredCells:
    """Return the cells of the higher gain; both, in order and not too many, where it is the same."""
    if not len(one) or not len(other):
        return other if not len(one) else one
    if one.gains[0] != other.gains[0]:
        return one if one.gains[0] > other.gains[0] else other
    joined = ScoredCells.join(one, other)
    return joined.take(np.arange(min(len(joined), KEPT_AT_LEAST)))
