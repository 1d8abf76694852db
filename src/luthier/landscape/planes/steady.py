"""Points of a plane that last: the best mean score under noise of the weights, the best of the worst nearby, most room.

Noise is Gaussian, in units of a feature's mean effect at w0 (`luthier.landscape.units`), independent for every weight;
what counts here is its part within the plane. The mean is over the cells themselves, each with the exact share of the
noise that reaches it: nothing is sampled. What lies beyond the window is left out of it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.gaussian import gaussian_shares
from luthier.geometry.plane.raster import raster
from luthier.geometry.plane.subdivision import Window
from luthier.landscape.planes.plane import Plane, shown_window
from luthier.landscape.planes.surface import SurfaceReport
from luthier.landscape.units import effect_units

CHOICES = ("highest", "robust", "worst", "disc")
PIXELS = 128  # each way, of the raster that says where to look
REACH = 6.0  # deviations, beyond which a billionth of the noise is left
MOST_CELLS = 300_000
HALVINGS = 8
LEAST_NOISE, MOST_NOISE = 1e-6, 1e3  # mean effects; beyond, shares of cells would be all rounding
OUTSIDE = 1e-9  # deviations: a place this far from every cell is beyond the window, not on a side


@dataclasses.dataclass(frozen=True, eq=False)
class Steady:
    """A point of a plane, its own score, and the mean and the worst score under noise about it.

    `worst` is of all cells within one deviation; `radius` is the room of its cell, in deviations, ∞ where no other
    cell is near.
    """

    choice: str
    noise: float
    position: Float64
    score: float
    mean: float
    worst: float
    radius: float

    def as_dict(self, origin: Float64) -> dict[str, Any]:
        """Return it for JSON, the place as `origin`, (2,), has it; what is infinite is None."""
        places = {"position": (self.position + origin).tolist(), "offset": self.position.tolist()}
        return {**dataclasses.asdict(self), **places, "radius": self.radius if np.isfinite(self.radius) else None}


class Surroundings:
    """The cells about a point, in coordinates in which the noise is a standard Gaussian about 0."""

    def __init__(self, plane: Plane, centre: Float64, shape: Float64, *, threads: int) -> None:
        self.plane, self.centre, self.shape = plane, centre, shape
        limits, reach = np.array(plane.window.limits), REACH * np.sqrt(np.diag(shape @ shape.T)) * 1.5
        low, high = np.maximum(centre - reach, limits[::2]), np.minimum(centre + reach, limits[1::2])
        near = plane.within(Window(float(low[0]), float(high[0]), float(low[1]), float(high[1])))
        if near.overlay.count(threads=threads) > MOST_CELLS:
            raise LuthierError(
                f"the noise reaches more than {MOST_CELLS:,} cells of the plane. hint: a smaller `noise` reaches fewer"
            )
        record = Arrangement.make(near.overlay, near.values, threads=threads)
        cells = np.flatnonzero(record.sized)  # one without an area, where ties meet, has no share and no inside
        self.offsets, corners = record.polygons(cells)
        self.corners: Float64 = np.linalg.solve(shape, (corners - centre).T).T.astype(np.float64)
        self.scores = plane.score(record.sums[cells])

    def mean(self, place: Float64) -> float:
        """Return the mean score about a place (2,), in deviations from the centre."""
        shares = np.maximum(gaussian_shares(self.offsets, self.corners, place), 0.0)
        return float(shares @ self.scores / shares.sum())

    def distances(self, place: Float64) -> Float64:
        """Return how far each cell is from a place, (n,), and 0 for the one it lies in."""
        begin = self.corners - place
        following = np.arange(1, len(begin) + 1)
        following[self.offsets[1:] - 1] = self.offsets[:-1]
        along = begin[following] - begin
        squares = np.einsum("vc,vc->v", along, along)
        t = np.clip(-np.einsum("vc,vc->v", begin, along) / np.where(squares > 0.0, squares, 1.0), 0.0, 1.0)
        nearest = begin + t[:, None] * along
        least = np.minimum.reduceat(np.hypot(nearest[:, 0], nearest[:, 1]), self.offsets[:-1])
        left = begin[:, 0] * along[:, 1] - begin[:, 1] * along[:, 0] >= 0.0
        inside = np.minimum.reduceat(left, self.offsets[:-1])
        return np.where(inside, 0.0, least)

    def describe(self, choice: str, noise: float, place: Float64) -> Steady:
        """Return all there is to say of a place."""
        distances = self.distances(place)
        here, sign = int(np.argmin(distances)), 1.0 if self.plane.problem.metric.higher_is_better else -1.0
        others = np.delete(distances, here)
        reached = self.scores[distances <= 1.0]
        return Steady(
            choice, noise, self.centre + self.shape @ place, float(self.scores[here]), self.mean(place),
            float((sign * reached).min() * sign), float(others.min(initial=np.inf)),
        )  # fmt: skip


def noise_shape(plane: Plane, noise: float) -> Float64:
    """Return the matrix L, (2, 2), by which a standard Gaussian becomes the noise along the plane's two axes.

    Of independent noise of all weights, in mean effects u, the plane's own part has the covariance
    ``noise² (A diag(1/u²) Aᵀ)⁻¹``, A (2, D) being the directions.
    """
    units = effect_units(plane.problem.spread, plane.subspace.start)
    parts = np.divide(plane.subspace.directions, units, out=np.zeros_like(plane.subspace.directions), where=units > 0.0)
    sizes = np.linalg.norm(parts, axis=1)
    if not np.all((sizes > 0.0) & np.isfinite(sizes)):
        raise LuthierError("an axis has no effect beside the others: noise about it cannot be told. hint: other axes")
    unit = parts / sizes[:, None]  # of length 1 each: axes may have unlike units
    try:
        return np.asarray(noise * np.linalg.cholesky(np.linalg.inv(unit @ unit.T)) / sizes[:, None])
    except np.linalg.LinAlgError:
        raise LuthierError("the axes move the same: noise about them cannot be told. hint: other axes") from None


def steady_point(report: SurfaceReport, choice: str, noise: float, *, threads: int = 1) -> Steady:
    """Return the point of a plane that a choice prefers.

    *robust*: the highest mean; *worst*: the highest worst score within a deviation; *disc*: of the best cells that
    are kept, the one with the most room. *robust* and *worst* climb from the optimum and from where a raster of the
    window promises most; each value on the way is exact, that no place elsewhere is better is not proven.
    """
    if not LEAST_NOISE <= noise <= MOST_NOISE:
        raise LuthierError(f"expected noise from {LEAST_NOISE:g} to {MOST_NOISE:g} mean effects, found {noise:g}")
    plane, shape = report.plane, noise_shape(report.plane, noise)
    optimum = report.optimum.cell.position
    if choice in ("highest", "disc"):
        if choice == "disc":
            optimum = max((cell for cell in report.best if cell.representable), key=lambda c: c.cell.radius,
                          default=report.optimum).cell.position  # fmt: skip
        return Surroundings(plane, optimum, shape, threads=threads).describe(choice, noise, np.zeros(2))
    found = []
    for centre in (optimum, promising(plane, shape, threads=threads)):
        around = Surroundings(plane, centre, shape, threads=threads)
        found.append(around.describe(choice, noise, _climbed(around, choice)))
    sign = 1.0 if plane.problem.metric.higher_is_better else -1.0
    key = (lambda s: (sign * s.mean,)) if choice == "robust" else (lambda s: (sign * s.worst, sign * s.mean))
    return max(found, key=key)


def _climbed(around: Surroundings, choice: str) -> Float64:
    """Return the best place found from the centre by steps in eight directions, halved where none is better."""
    sign = 1.0 if around.plane.problem.metric.higher_is_better else -1.0
    turns = np.array([[np.cos(a), np.sin(a)] for a in np.arange(8) * np.pi / 4])

    def value(place: Float64) -> tuple[float, float]:
        distances = around.distances(place)
        if np.abs(place).max() > REACH / 2 or distances.min() > OUTSIDE:
            return -np.inf, -np.inf
        mean = sign * around.mean(place)
        return (mean, 0.0) if choice == "robust" else (float((sign * around.scores[distances <= 1.0]).min()), mean)

    here = np.zeros(2)
    best, step = value(here), 1.0
    for _ in range(HALVINGS):
        moved = True
        while moved:
            moved = False
            for turn in turns:
                there = value(here + step * turn)
                if there > best:
                    here, best, moved = here + step * turn, there, True
                    break
        step /= 2
    return here


def promising(plane: Plane, shape: Float64, *, threads: int = 1) -> Float64:
    """Return where a raster of the window has the highest mean under noise, (2,): a place to look at, no more."""
    x_low, x_high, y_low, y_high = shown_window(plane, np.zeros((1, 2))).limits
    share, rows = (np.arange(PIXELS) + 0.5) / PIXELS, plane.overlay.rows
    xs, ys = x_low + share * (x_high - x_low), y_low + share * (y_high - y_low)
    offsets = np.searchsorted(rows, plane.problem.offsets)
    sums = raster(offsets, plane.points[rows], plane.problem.stats[rows], xs, ys, threads=threads)
    gains = plane.problem.metric.gain(plane.score(sums))
    inverse = np.linalg.inv(shape @ shape.T)
    places = np.fft.fftfreq(2 * PIXELS) * 2 * PIXELS
    dx, dy = np.meshgrid(places * (xs[1] - xs[0]), places * (ys[1] - ys[0]))
    kernel = np.exp(-0.5 * (inverse[0, 0] * dx**2 + 2 * inverse[0, 1] * dx * dy + inverse[1, 1] * dy**2))

    def blurred(image: Float64) -> Float64:
        padded = np.zeros((2 * PIXELS, 2 * PIXELS))
        padded[:PIXELS, :PIXELS] = image
        done: Float64 = np.fft.irfft2(np.fft.rfft2(padded) * np.fft.rfft2(kernel), padded.shape)[:PIXELS, :PIXELS]
        return done

    means = blurred(gains - gains.min()) / np.maximum(blurred(np.ones_like(gains)), 1e-9)
    row, column = np.unravel_index(int(np.argmax(means)), means.shape)
    return np.array([xs[column], ys[row]])
