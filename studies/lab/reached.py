"""What a tuner reached from one start of a study: the part of a unit's line that tables and pictures show."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

UNTUNED = -1  # number of the start that stands for the weights about which starts are drawn


@dataclasses.dataclass(frozen=True)
class Reached:
    """One tuner on one metric from one start, on the tuning lists and on the test lists.

    Attributes
    ----------
    gain, start_gain : float
        At the end and at the start; more is better.
    test : scores on the test lists, by metric
    """

    metric: str
    tuner: str
    start: int
    gain: float
    start_gain: float
    higher_is_better: bool
    steps: int = 0
    cpu_seconds: float = 0.0
    test: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Reached:
        """Return what a line of units.jsonl says."""
        return cls(**{field.name: record[field.name] for field in dataclasses.fields(cls)})

    @property
    def score(self) -> float:
        """The score at the end."""
        return self.gain if self.higher_is_better else -self.gain

    @property
    def start_score(self) -> float:
        """The score at the start."""
        return self.start_gain if self.higher_is_better else -self.start_gain
