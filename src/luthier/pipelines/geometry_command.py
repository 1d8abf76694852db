"""From the options of `luthier geometry` to its report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.kbest.storage import open_pool
from luthier.landscape.dense_rows import dense_rows
from luthier.landscape.problem import Problem
from luthier.landscape.selections.constraint_settings import CurveSettings, GeometrySettings
from luthier.landscape.selections.constraints import report_geometry
from luthier.landscape.subspaces import read_start
from luthier.metrics.base import Metric
from luthier.pipelines.constraint_curves import constraint_curves, parse_axes
from luthier.report.figures.constraints import draw_constraints
from luthier.report.pictures import check_picture_path
from luthier.tuning.base import tuner

# Where no weights are given, those it finds are near to the oracle's selection.
CLIMBER = "mert"


def geometry_from_options(
    options: Any, metric: Metric, settings: GeometrySettings, curve_settings: CurveSettings
) -> dict[str, Any]:
    """Check what can be checked before the work; return the report, JSON-able, with the curves if asked for."""
    axes = parse_axes(options.against) if options.against else ()
    if options.plot and not axes:
        raise LuthierError("--plot shows what --against draws. hint: add --against dims,sentences")
    if options.plot:
        check_picture_path(options.plot)
    pool = open_pool(options.pool)
    problem = Problem.make(pool, metric)
    if options.weights:
        start = read_start(pool, options.weights)
    else:
        start = tuner(CLIMBER).tune(problem, seed=options.seed).weights
    features = dense_rows(problem.pool.features)
    report = report_geometry(problem, features, start, settings, seed=options.seed, threads=options.threads)
    result = report.as_dict()
    full = np.flatnonzero(pool.list_lengths > 0)  # the problem has left out sentences without hypotheses
    for wish in result["oracle"].get("contradiction", ()):
        wish["sentence"] = int(full[wish["sentence"]])
    if axes:
        curves = constraint_curves(problem, features, report.oracle.rows, axes, curve_settings, seed=options.seed)
        result["against"] = curves.as_dict()
        if options.plot:
            draw_constraints(curves, Path(options.plot))
            result["written"] = [options.plot]
    return result
