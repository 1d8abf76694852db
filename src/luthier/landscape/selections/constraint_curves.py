"""How constraints tighten with sentences and loosen with features: shares of feasible selections, and costs."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Share:
    """On how many of all draws the oracle's selection was feasible."""

    n_features: int
    n_sentences: int
    feasible: int
    draws: int


@dataclasses.dataclass(frozen=True)
class Cost:
    """What lp-mert took along an axis: CPU seconds of each draw, and how many of them ended before the limit."""

    axis: str
    n_features: int
    n_sentences: int
    seconds: tuple[float, ...]
    finished: int


@dataclasses.dataclass(frozen=True)
class ConstraintCurves:
    """Shares and costs by numbers of features and sentences.

    Attributes
    ----------
    axes : what the picture is drawn against, of 'dims' and 'sentences'
    shares : for each number of features, numbers of sentences up to the first that no draw reached
    costs : along each of the axes, the other one fixed
    """

    axes: tuple[str, ...]
    shares: tuple[Share, ...]
    costs: tuple[Cost, ...]
    k: int
    time_limit: float

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dataclasses.asdict(self)
