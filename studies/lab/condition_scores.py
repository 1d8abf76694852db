"""What the conditions of a study reached: scores of replicas, and comparisons with the baselines."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from luthier.evaluation.comparison import Difference


@dataclasses.dataclass(frozen=True)
class Setting:
    """A condition with what was chosen for it: bits of bins (0 for none) and parameters of the tuner, as a text."""

    condition: str
    bits: int
    values: str


@dataclasses.dataclass(frozen=True)
class ConditionResult:
    """The loops of one setting that have ended.

    Attributes
    ----------
    features : int
    scores : on the test sentences, by replica
    decoded : for each replica the score of the decoder's choice on the tuning sentences, turn by turn
    wanted : replicas that the study asks for
    s_opt : standard deviation of `scores`, None for fewer than two
    against : baseline → difference, where that has ended too
    seconds : mean of a loop, decoding and tuning
    together : the most loops at a time among these
    """

    setting: Setting
    features: int
    scores: tuple[float, ...]
    decoded: tuple[tuple[float, ...], ...]
    wanted: int
    s_opt: float | None
    against: Mapping[str, Difference]
    seconds: tuple[float, float]
    together: int

    @property
    def mean(self) -> float:
        """The mean score."""
        return math.fsum(self.scores) / len(self.scores)


@dataclasses.dataclass(frozen=True)
class Tries:
    """The points that were tried for a condition, in the order of the file: setting, features, tuned and held-out."""

    condition: str
    points: tuple[tuple[Setting, int, float, float], ...]
    best: Setting


@dataclasses.dataclass(frozen=True)
class ConditionTables:
    """All that the tables of one data set show.

    Attributes
    ----------
    metric : its name and signature
    main : a result for each condition, None where no loop has ended
    baselines : whom they are compared with
    sweep : one condition with all its bits, and its features if others were cut too, by bits
    confirmed : the chosen setting of some conditions among its neighbours, by decoding
    tries : what choices were made among
    """

    data: str
    metric: tuple[str, str]
    main: Mapping[str, ConditionResult | None]
    baselines: tuple[str, ...]
    sweep: tuple[ConditionResult, ...]
    more_features: Mapping[int, int]
    confirmed: Mapping[str, tuple[ConditionResult, ...]]
    tries: tuple[Tries, ...]
