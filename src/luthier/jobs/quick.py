"""Tuning in one call, for people at a Python prompt: ``luthier.tune(pool, metric="bleu", method="mert")``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from luthier.core.errors import LuthierError
from luthier.jobs.tuning import TuningJob, tune_pool
from luthier.kbest.derived import with_derived
from luthier.kbest.pool import Pool, pool_of
from luthier.kbest.weights import Weights, vector_of
from luthier.landscape.bounds import Bounds
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric
from luthier.tuning.base import Tuner, tuner
from luthier.tuning.options import RunOptions
from luthier.tuning.report import TuningReport


@dataclasses.dataclass(frozen=True, eq=False)
class TunedWeights:
    """What `tune` found.

    Attributes
    ----------
    weights : Weights
        By name, with the formulas of features that were added to the lists.
    metric : str
        Its signature.
    before, after : float
        Scores of the tuning lists at the start and at `weights`.
    interval : (float, float)
        Of the change, by paired bootstrap over the tuning sentences: it is flattering.
    heldout_before, heldout_after : float or None
        The same of the held-out lists.
    oracle : float or None
        The score of the best selection there is.
    report : TuningReport
        All the rest.
    """

    weights: Weights
    metric: str
    before: float
    after: float
    interval: tuple[float, float]
    heldout_before: float | None
    heldout_after: float | None
    oracle: float | None
    report: TuningReport = dataclasses.field(repr=False)

    def __repr__(self) -> str:
        """Return a short sentence."""
        from luthier.report.console import decimals_for

        scores = [self.before, self.after, self.heldout_before, self.heldout_after, self.oracle]
        p = decimals_for(scores)
        held = (
            "" if self.heldout_after is None else f", held out {self.heldout_before:.{p}f} → {self.heldout_after:.{p}f}"
        )
        low, high = self.interval
        return (
            f"<{self._metric_name()} {self.before:.{p}f} → {self.after:.{p}f} ({low:+.{p}f} … {high:+.{p}f}){held}; "
            f"{len(self.weights)} weights by {self.report.tuner.partition('(')[0]}>"
        )

    def _metric_name(self) -> str:
        """Return the metric's name; of a score of the lists, with its name."""
        name = self.metric.partition("(")[0]
        column = re.match(r"column\(column='([^']*)'", self.metric)
        return f"column:{column[1]}" if column else name


def tune(
    pool: Pool,
    metric: str | Metric = "bleu",
    method: str | Tuner = "mert",
    *,
    start: Mapping[str, float] | Any = None,
    heldout: Pool | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    seed: int = 0,
    restarts: int = 0,
    threads: int = 1,
    **parameters: Any,
) -> TunedWeights:
    """Tune the weights of a pool for a metric; return them by name, with scores.

    Parameters
    ----------
    pool : Pool
        ``luthier.read_pool(...)`` or ``luthier.pool_from_frame(...)`` make one.
    metric
        A name (``"bleu"``, ``"column:comet"``, ``"0.5*ter - 0.5*bleu"``) or a metric.
    method
        A tuner's name or a tuner; `parameters` are those of the tuner by that name.
    start
        Weights by name, or a vector; default: equal ones, negative for costs.
    heldout
        Unseen lists that have a say in which run is the answer.
    bounds
        Limits ``(low, high)`` of some weights, by name.

    Examples
    --------
    >>> frame = {"id": [0, 0, 1, 1], "hyp": ["a", "b", "c", "d"], "lm": [1.0, 2, 1, 2], "comet": [0.9, 0.1, 0.8, 0.2]}
    >>> from luthier import pool_from_frame
    >>> lists = pool_from_frame(frame, columns=["comet"])
    >>> tune(lists, metric="column:comet").weights["lm"] < 0
    True
    """
    pool_of(pool)
    if isinstance(method, Tuner) and parameters:
        raise LuthierError(f"expected parameters inside the tuner that was given, found {', '.join(parameters)}")
    formulas = start.derived if isinstance(start, Weights) else {}
    pool = with_derived(pool, formulas)
    names = pool.features.names
    job = TuningJob(
        tuner=method if isinstance(method, Tuner) else tuner(method, **parameters),
        pool=pool,
        metric=as_metric(metric),
        options=RunOptions(seed=seed, restarts=restarts, threads=threads),
        start=None if start is None else vector_of(start, names),
        bounds=None if bounds is None else Bounds.from_names(names, bounds),
        heldout=None if heldout is None else with_derived(pool_of(heldout), formulas),
    )
    report = tune_pool(job)
    (found,) = report.replicas
    scores = found.scores
    return TunedWeights(
        report.named(found.weights), report.metric, _number(scores["tune_before"]), _number(scores["tune_after"]),
        found.interval, scores["heldout_before"], scores["heldout_after"], report.oracle, report,
    )  # fmt: skip


def _number(value: float | None) -> float:
    assert value is not None
    return value
