"""How far the optimum of a plane moves with its sentences: the best cell of every resample, exactly.

The edges of a plane are those of its lists, whatever the sentences count: they are found once. Each resample passes by
all cells with statistics times counts. Lists that it lacks cut its best cell into several of one gain; of these the
roomiest is taken, so the place is inside the best cell of a pool in which sentences stand as often as drawn.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.arrays import Bool, Float64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.rng import resample_counts
from luthier.landscape.lines.stability import SHARE
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.survey import SurveyOptions, survey

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
    options = SurveyOptions(width=1.0, keep=1, seed=seed, threads=threads)
    places, scores = np.empty((resamples, 2)), np.empty(resamples)
    with progress("resamples", resamples) as advance:
        for number in range(resamples):
            drawn = problem.resampled(resample_counts(seed, number, problem.n_sentences))
            found = survey(plane.overlay, drawn, options)
            if found.share < 1.0:
                raise KeyboardInterrupt
            best = found.best.take(found.best.gains == found.best.gains[0])
            cells = [plane.overlay.cell(key) for key in best.keys]
            roomiest = max(cells, key=lambda cell: cell.radius)
            places[number], scores[number] = roomiest.position, float(problem.metric.gain(best.gains[0]))
            advance(1)
    return PlaneStability(places, scores)
