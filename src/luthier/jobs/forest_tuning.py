"""Tuning on forests: every derivation that the search has seen is a candidate, and none of them is listed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.progress import notice
from luthier.core.segments import rows_of_segments
from luthier.decoding.forests.files import Forests
from luthier.decoding.forests.lines import ForestLines
from luthier.jobs.trace_file import WatchSeed, nobody
from luthier.jobs.tuning import interval_of, numbered, scores_of, unit_length
from luthier.kbest.building.sentences import read_sentence_table
from luthier.landscape.bounds import Bounds
from luthier.landscape.forest_problem import PackedProblem
from luthier.metrics.base import Metric
from luthier.tuning.base import Tuner
from luthier.tuning.report import Tuned, TuningReport
from luthier.tuning.run import RunOptions, run


@dataclasses.dataclass(frozen=True, eq=False)
class ForestTuningJob:
    """What to tune on which forests, how.

    Attributes
    ----------
    refs : files of references, a line per sentence
    start : (D,) or None
        None is the weights that the forests were found with.
    watch : makes, for a seed, who is told of the states of its runs
    """

    tuner: Tuner
    forests: Forests
    refs: Sequence[str]
    metric: Metric
    options: RunOptions
    start: Float64 | None = None
    bounds: Bounds | None = None
    replicas: int = 1
    average: bool = False
    watch: WatchSeed = nobody


def forest_problem(
    forests: Forests, refs: Sequence[str], metric: Metric, bounds: Bounds | None = None
) -> PackedProblem:
    """Return the problem of forests and the references of their sentences; those without translation are left out."""
    table = read_sentence_table(refs, None, first_id=0, keyed=False, mend=False)
    if table is None or table.references is None or table.reference_offsets is None:
        raise LuthierError("expected references of the forests' sentences, found none. hint: give `refs`")
    if len(table.ids) != len(forests.forests):
        raise LuthierError(
            f"expected a reference for each of {len(forests.forests)} forests, found {len(table.ids)} lines"
        )
    kept = np.array([i for i, forest in enumerate(forests.forests) if forest.n_nodes], dtype=np.int64)
    rows = rows_of_segments(table.reference_offsets, kept)
    per_sentence = int(table.reference_offsets[1]) if len(kept) else 0
    return PackedProblem.of(
        ForestLines([forests.forests[i] for i in kept], forests.rules), metric, table.references.take(rows),
        per_sentence * np.arange(len(kept) + 1), bounds=bounds,
    )  # fmt: skip


def tune_forests(job: ForestTuningJob) -> TuningReport:
    """Run a job; with replicas, once for each of as many seeds, one after another."""
    problem = forest_problem(job.forests, job.refs, job.metric, job.bounds)
    start = problem.bounds.clip(job.forests.weights) if job.start is None else job.start
    replicas: list[Tuned] = []
    for r in range(job.replicas):
        replicas.append(_replica(job, problem, start, r))
        if replicas[-1].result.interrupted:
            break
    average = np.mean([unit_length(tuned.weights) for tuned in replicas], axis=0) if job.average else None
    return TuningReport(
        job.tuner.spec, job.metric.signature, problem, problem.names, start, None, tuple(replicas), average
    )


def _replica(job: ForestTuningJob, problem: PackedProblem, start: Float64, number: int) -> Tuned:
    path = job.options.checkpoint
    options = dataclasses.replace(
        job.options,
        seed=job.options.seed + number,
        checkpoint=numbered(path, number + 1) if path and job.replicas > 1 else path,
    )
    notice(f"{job.tuner.name}, seed {options.seed}: {options.restarts + 1} run{'s' * bool(options.restarts)}")
    result = run(job.tuner, problem, start, options, watch=job.watch(options.seed))
    scores = scores_of(problem, None, start, result.weights)
    return Tuned(options.seed, result.weights, result, scores, interval_of(problem, start, result.weights))
