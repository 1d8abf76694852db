"""Robust optima of lines and planes: the best mean score under noise of the weights, the best of the worst nearby.

Noise is Gaussian, in units of a feature's mean effect at w0 (`effect_units`), independent for every weight;
what counts here is its part along the line or within the plane. Means are exact: sums of error functions over the
whole line, or over all cells of a window, each with its share of the noise; nothing is sampled. A line's window says
where the optimum may be, not where noise ends; what lies beyond the window of a plane is left out of the mean. That no
place elsewhere has a better mean is not proven.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.geometry.plane.arrangement import Arrangement
from luthier.geometry.plane.polygons import gaussian_shares
from luthier.geometry.plane.raster import raster
from luthier.geometry.plane.subdivision import Window
from luthier.landscape.curve import mean_gains, worst_gains
from luthier.landscape.planes.plane import Plane, shown_window
from luthier.landscape.planes.surface import SurfaceReport
from luthier.landscape.problem import effect_units

if TYPE_CHECKING:
    from luthier.landscape.lines.line_report import LineReport

LEAST_NOISE, MOST_NOISE = 1e-6, 1e3  # mean effects; beyond, shares of cells would be all rounding
PLACES, INTERVALS = 2000, 200  # places that are tried evenly, and the middles of the best intervals
LINE_HALVINGS = 30


@dataclasses.dataclass(frozen=True, eq=False)
class RobustOptimum:
    """A place of a line or a plane, its own score, and the mean and the worst score under noise about it.

    `worst` is within one deviation; `radius` is the distance to the nearest end of its interval or cell, in deviations,
    ∞ where no other is near. `position` is a number on a line, (2,) on a plane.
    """

    choice: str
    noise: float
    position: float | Float64
    score: float
    mean: float
    worst: float
    radius: float

    def as_dict(self, origin: float | Float64 = 0.0) -> dict[str, Any]:
        """Return it for JSON, the place as `origin` has it; what is infinite is None."""
        places = {"position": np.asarray(self.position + origin).tolist(), "offset": np.asarray(self.position).tolist()}
        return {**dataclasses.asdict(self), **places, "radius": self.radius if np.isfinite(self.radius) else None}


def robust_place(report: LineReport, choice: str, noise: float) -> RobustOptimum:
    """Return the place of a line that a choice prefers.

    *robust*: the highest mean; *worst*: the highest worst score within a deviation, of those the highest mean; *disc*:
    of the best intervals that a re-rank confirms, the middle of the widest.
    """
    if not LEAST_NOISE <= noise <= MOST_NOISE:
        raise LuthierError(f"expected noise from {LEAST_NOISE:g} to {MOST_NOISE:g} mean effects, found {noise:g}")
    problem, deviation = report.problem, line_noise(report, noise)
    curve = next(problem.curves(report.line.start, report.line.directions))

    def means(places: Float64) -> Float64:
        return mean_gains(curve, places, deviation)

    if choice == "disc":
        holding = [interval for interval in report.best if interval.holds] or [report.optimum]
        place = max(holding, key=lambda interval: interval.width).position
    else:
        places = _places(report, deviation)
        found = means(places)
        if choice == "worst":
            least = worst_gains(curve, places, deviation)
            place = float(places[np.lexsort((found, least))[-1]])
        else:
            place = _refined(places, int(np.argmax(found)), means)
    at = np.array([place])
    here = int(np.searchsorted(curve.breakpoints, place))
    score, mean, worst = problem.metric.gain(
        np.array([curve.gains[here], means(at)[0], worst_gains(curve, at, deviation)[0]])
    ).tolist()
    ends = np.concatenate([[-np.inf], curve.breakpoints, [np.inf]])[here : here + 2]
    return RobustOptimum(choice, noise, place, score, mean, worst, float(np.abs(ends - place).min() / deviation))


def line_noise(report: LineReport, noise: float) -> float:
    """Return the deviation along the line, in t: of independent noise of all weights, what stays on the line."""
    units, direction = effect_units(report.problem.spread, report.line.start), report.line.directions[0]
    parts = np.divide(direction, units, out=np.zeros_like(direction), where=units > 0.0)
    size = float(np.linalg.norm(parts))
    if not (size > 0.0 and np.isfinite(size)):
        raise LuthierError("the axis has no effect beside the others: noise about it cannot be told. hint: another one")
    return noise / size


def _places(report: LineReport, deviation: float) -> Float64:
    """Return places to try, ascending: evenly, as far as there are steps in the window, and in the best intervals."""
    inner = report.low[1:]
    ends = np.array([inner[0] - 3 * deviation, inner[-1] + 3 * deviation]) if len(inner) else report.position[:1]
    first, last = np.clip(ends[[0, -1]], *report.window).tolist()
    even = np.linspace(first, last, PLACES)
    best = report.position[np.argsort(-report.problem.metric.gain(report.scores), kind="stable")[:INTERVALS]]
    return np.unique(np.concatenate([even, best]))


def _refined(places: Float64, best: int, means: Callable[[Float64], Float64]) -> float:
    """Return where the mean is highest between the neighbours of a place: ever finer looks at nine places."""
    low, high = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
    place = places[best]
    for _ in range(LINE_HALVINGS):
        tried = np.append(np.linspace(low, high, 9), place)
        place = tried[int(np.argmax(means(tried)))]
        quarter = (high - low) / 4
        low, high = max(low, place - quarter), min(high, place + quarter)
    return float(place)


CHOICES = ("highest", "robust", "worst", "disc")
PIXELS = 128  # each way, of the raster that says where to look
NOISE_REACH = 6.0  # deviations, beyond which a billionth of the noise is left
MOST_CELLS = 300_000
PLANE_HALVINGS = 8
BEYOND_CELLS = 1e-9  # deviations: a place this far from every cell is beyond the window, not on a side


class Surroundings:
    """The cells about a point, in coordinates in which the noise is a standard Gaussian about 0."""

    def __init__(self, plane: Plane, centre: Float64, shape: Float64, *, threads: int) -> None:
        self.plane, self.centre, self.shape = plane, centre, shape
        limits, reach = np.array(plane.window.limits), NOISE_REACH * np.sqrt(np.diag(shape @ shape.T)) * 1.5
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

    def describe(self, choice: str, noise: float, place: Float64) -> RobustOptimum:
        """Return all there is to say of a place."""
        distances = self.distances(place)
        here, sign = int(np.argmin(distances)), 1.0 if self.plane.problem.metric.higher_is_better else -1.0
        others = np.delete(distances, here)
        reached = self.scores[distances <= 1.0]
        return RobustOptimum(
            choice,
            noise,
            self.centre + self.shape @ place,
            float(self.scores[here]),
            self.mean(place),
            float((sign * reached).min() * sign),
            float(others.min(initial=np.inf)),
        )


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


def robust_point(report: SurfaceReport, choice: str, noise: float, *, threads: int = 1) -> RobustOptimum:
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
            optimum = max(
                (cell for cell in report.best if cell.representable),
                key=lambda c: c.cell.radius,
                default=report.optimum,
            ).cell.position
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
        if np.abs(place).max() > NOISE_REACH / 2 or distances.min() > BEYOND_CELLS:
            return -np.inf, -np.inf
        mean = sign * around.mean(place)
        return (mean, 0.0) if choice == "robust" else (float((sign * around.scores[distances <= 1.0]).min()), mean)

    here = np.zeros(2)
    best, step = value(here), 1.0
    for _ in range(PLANE_HALVINGS):
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
