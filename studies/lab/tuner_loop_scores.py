"""What tuners reached in whole loops: on the tuning sentences, and on test sentences beside a baseline."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from luthier.evaluation.comparison import Difference


@dataclasses.dataclass(frozen=True)
class TunerLoop:
    """One loop of one tuner for one metric.

    Attributes
    ----------
    starts : in every turn
    decoded, tuned : by turn, the score of the decoder's own choice and that on all lists, tuned
    hypotheses : on all lists
    tune_cpu : CPU seconds of tuning, all turns
    before, after : test scores with the weights of the start and of the end, by metric
    against : differences from the baseline on the test sentences, by metric; none of the baseline itself
    """

    metric: str
    tuner: str
    starts: int
    decoded: tuple[float, ...]
    tuned: tuple[float, ...]
    hypotheses: int
    tune_cpu: float
    ended: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    against: Mapping[str, Difference]


@dataclasses.dataclass(frozen=True)
class TunerLoopTables:
    """All that the tables of one data set show.

    Attributes
    ----------
    size : sentences to tune on, hypotheses of each in a turn, features
    baseline : the tuner that others are compared with
    loops : in the order of the study
    """

    data: str
    size: tuple[int, int, int]
    baseline: str
    loops: tuple[TunerLoop, ...]
