"""From the options of `luthier tune` to a job, and from its report to files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.io import check_writable
from luthier.kbest.storage import open_pool
from luthier.kbest.weights import read_weights
from luthier.metrics.base import Metric
from luthier.pipelines.tuning import (
    TuningJob,
    TuningReport,
    check_replica_paths,
    tune_pool,
    write_answers,
    write_trace,
)
from luthier.tuning.base import Tuner
from luthier.tuning.bounds import Bounds, parse_range
from luthier.tuning.run import RunOptions


def tune_from_options(
    options: Any, tuner: Tuner, settings: RunOptions, metrics: Mapping[str, Metric], bounds: Mapping[str, str]
) -> TuningReport:
    """Check all that can be checked before the work, then tune."""
    if len(metrics) != 1:
        raise LuthierError(f"expected one metric to tune for, found {len(metrics)}. hint: a sum is one metric")
    if options.replicas < 1:
        raise LuthierError(f"expected at least one replica, found {options.replicas}")
    outputs = [*check_replica_paths(options.output, options.replicas), options.trace, options.plot, settings.checkpoint]
    for path in filter(None, outputs):
        check_writable(path)
    pool = open_pool(options.pool)
    names = pool.features.names
    job = TuningJob(
        tuner=tuner,
        pool=pool,
        metric=next(iter(metrics.values())),
        options=settings,
        start=read_weights(options.start).vector(names, source=options.start) if options.start else None,
        bounds=Bounds.from_names(names, {name: _range(name, text) for name, text in bounds.items()}),
        heldout=open_pool(options.heldout) if options.heldout else None,
        standardize=options.standardize,
        replicas=options.replicas,
        average=options.average,
    )
    return tune_pool(job)


def _range(name: str, text: str) -> tuple[float, float]:
    try:
        return parse_range(text)
    except ValueError:
        raise LuthierError(f"expected --bound {name}=LO:HI with numbers, found {text!r}") from None


def write_all(report: TuningReport, options: Any) -> list[str]:
    """Write weights, and the trace and the picture where asked for; return the paths."""
    written = write_answers(report, options.output)
    if options.trace:
        write_trace(report, options.trace)
        written.append(options.trace)
    return written
