"""A constant of a formula, such as the exponent of a length penalty, searched outside of tuning.

The weights are tuned at each value that is tried, so the curve is that of the best weights there; on held-out lists if
there are any. Between the values that were tried nothing is promised.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.jobs.tuning_job import Coordinates, TuningJob, scores_of
from luthier.kbest.serving.formula import LARGEST
from luthier.landscape.bounds import parse_range
from luthier.tuning.run import run

POINTS, ROUNDS = 13, 3


@dataclasses.dataclass(frozen=True)
class Search:
    """A constant and its range."""

    name: str
    low: float
    high: float

    @classmethod
    def parse(cls, text: str) -> Search:
        """Read ``a=0:1.5``.

        >>> Search.parse("a=0:1.5")
        Search(name='a', low=0.0, high=1.5)
        """
        name, _, ends = text.partition("=")
        try:
            low, high = parse_range(ends)
        except LuthierError:
            low, high = 0.0, 0.0
        if not name.strip() or not -LARGEST < low < high < LARGEST:
            raise LuthierError(f"expected a constant and its range such as a=0:1.5 to search, found {text!r}")
        return cls(name.strip(), low, high)


@dataclasses.dataclass(frozen=True)
class SearchPoint:
    """A value, and what weights tuned there score; `gain` decides, of the held-out lists if there are any."""

    value: float
    tuned: float
    heldout: float | None
    gain: float


@dataclasses.dataclass(frozen=True)
class Searched:
    """All points in the order of their values; of equally good ones the lowest is the best."""

    name: str
    points: tuple[SearchPoint, ...]

    @property
    def best(self) -> SearchPoint:
        """The point that is chosen."""
        return max(self.points, key=lambda point: point.gain)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        points = [dataclasses.asdict(point) for point in self.points]
        return {"name": self.name, "best": self.best.value, "points": points}


def search_constant(search: Search, job_at: Callable[[float], TuningJob]) -> Searched:
    """Tune at even steps from one end to the other, then three times half-way to the neighbours of the best."""
    step = (search.high - search.low) / (POINTS - 1)
    found: dict[float, SearchPoint] = {}
    with progress(f"searching {search.name}", POINTS + 2 * ROUNDS) as advance:

        def look_at(value: float) -> None:
            if search.low <= value <= search.high and value not in found:
                found[value] = _tuned_at(value, job_at(value))
            advance(1)

        for k in range(POINTS):
            look_at(search.high if k == POINTS - 1 else search.low + k * step)
        for _ in range(ROUNDS):
            step, centre = step / 2, _sorted(search.name, found).best.value
            look_at(centre - step)
            look_at(centre + step)
    return _sorted(search.name, found)


def _sorted(name: str, found: dict[float, SearchPoint]) -> Searched:
    return Searched(name, tuple(found[value] for value in sorted(found)))


def _tuned_at(value: float, job: TuningJob) -> SearchPoint:
    seen = Coordinates.of(job)
    result = run(job.tuner, seen.problem, seen.start, job.options, heldout=seen.heldout)
    if result.interrupted:
        raise KeyboardInterrupt
    scores = scores_of(job.problem, job.heldout, job.first, seen.weights(result.weights))
    tuned, held = scores["tune_after"], scores["heldout_after"]
    assert tuned is not None
    gain = float(job.problem.metric.gain(np.array(tuned if held is None else held)))
    return SearchPoint(value, tuned, held, gain)
