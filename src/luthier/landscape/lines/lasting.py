"""Places of a line that last: the best mean score under noise of the weights, the best of the worst nearby, most room.

Noise is Gaussian, in units of a feature's mean effect at w0 (`luthier.landscape.units`), independent for every weight;
what counts here is its part along the line. Means are exact sums of error functions over the whole line; a window says
where the place may be, not where noise ends. That no place elsewhere in it has a better mean is not proven.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.landscape.lines.line_report import LineReport
from luthier.landscape.lines.smooth import mean_gains, worst_gains
from luthier.landscape.units import effect_units

LEAST_NOISE, MOST_NOISE = 1e-6, 1e3  # mean effects
PLACES, INTERVALS = 2000, 200  # places that are tried evenly, and the middles of the best intervals
HALVINGS = 30


@dataclasses.dataclass(frozen=True)
class Lasting:
    """A place of a line, its own score, and the mean and the worst score under noise about it.

    `worst` is within one deviation; `radius` is the distance to the nearer end of its interval, in deviations.
    """

    choice: str
    noise: float
    position: float
    score: float
    mean: float
    worst: float
    radius: float

    def as_dict(self, origin: float = 0.0) -> dict[str, Any]:
        """Return it for JSON, the place as `origin` has it; what is infinite is None."""
        places = {"position": self.position + origin, "offset": self.position}
        return {**dataclasses.asdict(self), **places, "radius": self.radius if np.isfinite(self.radius) else None}


def lasting_place(report: LineReport, choice: str, noise: float) -> Lasting:
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
    return Lasting(choice, noise, place, score, mean, worst, float(np.abs(ends - place).min() / deviation))


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
    for _ in range(HALVINGS):
        tried = np.append(np.linspace(low, high, 9), place)
        place = tried[int(np.argmax(means(tried)))]
        quarter = (high - low) / 4
        low, high = max(low, place - quarter), min(high, place + quarter)
    return float(place)
