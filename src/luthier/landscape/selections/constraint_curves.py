"""How constraints tighten with sentences and loosen with features: shares of feasible selections, and costs."""

from __future__ import annotations

import dataclasses
from typing import Any

from luthier.core.params import param, validate

# How much `luthier geometry bounds` tries; a file of its own, so that asking for help loads nothing heavy.


@dataclasses.dataclass(frozen=True)
class GeometrySettings:
    """How much is tried."""

    sample: int = param(100, low=0, high=1_000_000, help="random index vectors to test")
    orders: int = param(5, low=1, high=100_000, help="orders of sentences in which a feasible subset is sought")

    def __post_init__(self) -> None:
        validate(self)


@dataclasses.dataclass(frozen=True)
class CurveSettings:
    """How much is drawn and how long it may take."""

    draws: int = param(20, low=1, high=100_000, help="draws of features and sentences for each number of features")
    timed_sentences: int = param(64, low=1, high=10_000, help="most sentences given to lp-mert")
    timed_k: int = param(20, low=2, high=100_000, help="hypotheses of a sentence given to lp-mert")
    time_limit: float = param(5.0, low=0.0, high=1e6, help="seconds after which an lp-mert run ends")
    timed_draws: int = param(3, low=0, high=1000, help="lp-mert runs for each size (0: none)")

    def __post_init__(self) -> None:
        validate(self)


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
