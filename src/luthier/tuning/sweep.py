"""What a choice of constants leaves: every point that was tried, and which is the best."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Tried:
    """One point: its values, and what weights tuned there reach.

    Attributes
    ----------
    values : axis → value, as texts
    features : how many there were
    tuned, heldout : scores on the tuning lists and on the held-out ones
    gain : of the held-out lists, which is what counts
    note : what the tuner says of its answer
    record : constants as they were used
    """

    values: Mapping[str, str]
    features: int
    tuned: float
    heldout: float
    gain: float
    cpu_seconds: float
    note: str
    record: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Chosen:
    """All points in the order they were tried; the best has the highest gain; ties go to the first."""

    metric: str
    method: str
    axes: Mapping[str, tuple[str, ...]]
    points: tuple[Tried, ...]

    @property
    def best(self) -> Tried:
        """The point that is chosen."""
        return max(self.points, key=lambda point: point.gain)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "metric": self.metric,
            "method": self.method,
            "axes": {name: list(values) for name, values in self.axes.items()},
            "points": [dataclasses.asdict(point) for point in self.points],
            "best": dict(self.best.values),
        }
