"""From the options of `luthier tune` to a job, and from its report to files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.io import check_writable
from luthier.kbest.storage import open_pool
from luthier.kbest.weights import read_weights
from luthier.landscape.bounds import Bounds, parse_range
from luthier.landscape.units import effect_units
from luthier.metrics.base import Metric
from luthier.pipelines.tuning import (
    TuningJob,
    TuningReport,
    check_replica_paths,
    tune_pool,
    write_answers,
    write_trace,
)
from luthier.report.figures.tuning import MOST_FEATURES, draw_tuning
from luthier.report.pictures import check_picture_path
from luthier.tuning.base import Tuner
from luthier.tuning.run import RunOptions
from luthier.tuning.search.line_search import LineCurve

CURVE_REACH = 4.0  # how far the curves go, in units of the mean effect of a feature


def tune_from_options(
    options: Any, tuner: Tuner, settings: RunOptions, metrics: Mapping[str, Metric], bounds: Mapping[str, str]
) -> TuningReport:
    """Check all that can be checked before the work, then tune."""
    if len(metrics) != 1:
        raise LuthierError(f"expected one metric to tune for, found {len(metrics)}. hint: a sum is one metric")
    if options.replicas < 1:
        raise LuthierError(f"expected at least one replica, found {options.replicas}")
    if options.average_replicas and options.replicas == 1:
        raise LuthierError("--average-replicas needs --replicas of at least 2")
    outputs = [*check_replica_paths(options.output, options.replicas), options.trace, settings.checkpoint]
    for path in filter(None, outputs):
        check_writable(path)
    if options.plot:
        check_picture_path(options.plot)
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
        standardize=options.standardize_features,
        replicas=options.replicas,
        average=options.average_replicas,
    )
    return tune_pool(job)


def _range(name: str, text: str) -> tuple[float, float]:
    try:
        return parse_range(text)
    except LuthierError as error:
        raise LuthierError(f"--bound {name}: {error}") from None


def write_all(report: TuningReport, options: Any) -> list[str]:
    """Write weights, and the trace and the picture where asked for; return the paths."""
    written = write_answers(report, options.output)
    if options.trace:
        write_trace(report, options.trace)
        written.append(options.trace)
    if options.plot:
        draw_report(report, Path(options.plot))
        written.append(options.plot)
    return written


def draw_report(report: TuningReport, path: Path) -> None:
    """Draw the first replica's runs, and the exact curve of each of its weights."""
    tuned, problem = report.replicas[0], report.problem
    sign = float(problem.metric.gain(np.array(1.0)))
    units = effect_units(problem.pool, tuned.weights)
    moving = np.flatnonzero(units > 0)  # the others never differ within a list: their curves are flat
    effects = np.abs(tuned.weights[moving]) / units[moving]
    features = moving[np.argsort(-effects, kind="stable")][:MOST_FEATURES]
    curves = []
    for d, curve in zip(
        features, problem.lines.curves(tuned.weights, np.eye(problem.n_features)[features]), strict=True
    ):
        steps, gains = shown_part(curve, reach=CURVE_REACH * float(units[d]))
        curves.append((problem.names[d], float(tuned.weights[d]), steps + tuned.weights[d], sign * gains))
    draw_tuning(tuned.result.traces, tuned.result.best_restart, sign, curves, problem.metric.name, path)


def shown_part(curve: LineCurve, *, reach: float) -> tuple[Float64, Float64]:
    """Return where the gain changes within ±`reach`, with both ends, and the gain from each place on."""
    inside = (curve.breakpoints > -reach) & (curve.breakpoints < reach)
    steps = np.concatenate([[-reach], curve.breakpoints[inside], [reach]])
    gains = np.array(curve.gains[np.searchsorted(curve.breakpoints, steps[:-1], side="right")])
    return steps, np.append(gains, gains[-1])
