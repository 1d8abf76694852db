"""Several metrics of one set of lists: how much of each is chance, and one metric that weighs them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.kbest.pool import Pool
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import DRAWS, EQUAL_GAINS
from luthier.metrics.base import Metric
from luthier.metrics.several import Constrained, Limit, WorstOf

# A gain that no selection reaches lies so far below those of single sentences.
FLOOR, FLOOR_TIMES = 1000.0, 10.0


def selection_noise(metric: Metric, selected: npt.NDArray[Any]) -> float:
    """Return s_sel, the standard deviation of a score over resamples of the sentences; (N, S) statistics.

    0 where it is no more than rounding.
    """
    n = len(selected)
    counts = make_rng(0).multinomial(n, np.full(n, 1.0 / n), size=DRAWS).astype(np.float64)
    scores = metric.score(counts @ selected)
    noise = float(scores.std(ddof=1))
    return noise if noise > EQUAL_GAINS * float(np.abs(scores).max()) else 0.0


def worst_of(pool: Pool, metrics: Sequence[Metric], start: Float64 | None = None) -> WorstOf:
    """Return the smallest gain of several metrics, each over its own at `start`, in units of its own noise there.

    Both are fixed before anything is tuned. Without a start they are those of equal weights. A metric without noise,
    as of one sentence, has a unit of 1.
    """
    if len(metrics) < 2:
        raise LuthierError(f"expected two metrics or more, of which the worst counts, found {len(metrics)}")
    baselines, units = [], []
    for metric in metrics:
        problem = ListProblem.of(pool, metric)
        weights = problem.default_start() if start is None else start
        selected = problem.selected(weights[None])[0]
        baselines.append(float(metric.gain(metric.score(selected.sum(axis=0)))))
        units.append(selection_noise(metric, selected) or 1.0)
    return WorstOf(tuple(metrics), tuple(baselines), tuple(units))


def constrained(pool: Pool, metric: Metric, limits: Sequence[Limit]) -> Constrained:
    """Return a metric within limits on others."""
    gains = ListProblem.of(pool, metric).sentence_gains
    floor = -(FLOOR + FLOOR_TIMES * float(np.abs(gains).max()))
    return Constrained((metric, *(limit.metric for limit in limits)), tuple(limits), floor)
