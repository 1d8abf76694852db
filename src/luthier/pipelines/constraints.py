"""How constrained a model is by the lists of a pool: the whole job, from the weights to start at to the curves."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.kbest.pool import Pool
from luthier.landscape.dense_rows import dense_rows, varying_rows
from luthier.landscape.problem import Problem
from luthier.landscape.selections.constraint_curves import ConstraintCurves
from luthier.landscape.selections.constraint_settings import CurveSettings, GeometrySettings
from luthier.landscape.selections.constraints import GeometryReport, report_geometry
from luthier.metrics.base import Metric
from luthier.pipelines.constraint_curves import constraint_curves
from luthier.tuning.base import tuner

# Where no weights are given, those it finds are near to the oracle's selection.
CLIMBER = "mert"
MOST_COLUMNS = 100  # many index vectors are put to a linear programme over so many weights each


@dataclasses.dataclass(frozen=True, eq=False)
class ConstraintJob:
    """What is looked at, and how much is tried.

    Attributes
    ----------
    start : (D,), optional
        Weights; sentences where they nearly select the oracle are tried first.
    axes : of 'dims' and 'sentences'
        Against which curves are drawn; none if empty.
    """

    pool: Pool
    metric: Metric
    start: Float64 | None = None
    settings: GeometrySettings = dataclasses.field(default_factory=GeometrySettings)
    axes: tuple[str, ...] = ()
    curve_settings: CurveSettings = dataclasses.field(default_factory=CurveSettings)
    seed: int = 0
    threads: int = 1


def find_constraints(job: ConstraintJob) -> tuple[GeometryReport, ConstraintCurves | None]:
    """Return the report on all lists, and the curves where they are asked for."""
    columns, _ = varying_rows(job.pool, MOST_COLUMNS)
    pool, start = job.pool, job.start
    if pool.features.n_features > pool.features.n_dense:  # of sparse features those that matter
        pool = pool.with_features(pool.features.select([pool.features.names[column] for column in columns]))
        start = None if start is None else start[columns]
    problem = Problem.make(pool, job.metric)
    start = tuner(CLIMBER).tune(problem, seed=job.seed).weights if start is None else start
    features = dense_rows(problem.pool.features)
    report = report_geometry(problem, features, start, job.settings, seed=job.seed, threads=job.threads)
    # the problem has left out sentences without hypotheses
    report = dataclasses.replace(report, sentences=np.flatnonzero(job.pool.list_lengths > 0))
    if not job.axes:
        return report, None
    rows = report.oracle.rows
    return report, constraint_curves(problem, features, rows, job.axes, job.curve_settings, seed=job.seed)
