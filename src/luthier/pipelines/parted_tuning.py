"""Tuning on a pool in parts: the tuner runs here, and asks the parts, which other processes may hold."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierWarning
from luthier.core.progress import notice
from luthier.core.tasks import Engine
from luthier.kbest.parts.manifest import Manifest
from luthier.kbest.pool import Pool
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.parted.problem import PartedProblem
from luthier.metrics.base import Metric
from luthier.pipelines.trace_file import WatchSeed, nobody
from luthier.pipelines.tuning import against_baseline, aligned, numbered, scores_of, unit_length
from luthier.tuning.base import Tuner
from luthier.tuning.baselines import Baselines, baselines
from luthier.tuning.guards import warnings_after, warnings_before
from luthier.tuning.run import RunOptions, run
from luthier.tuning.tuned import Tuned, TuningReport


@dataclasses.dataclass(frozen=True, eq=False)
class PartedTuningJob:
    """What to tune on which parts, how, and what to watch; an `engine` works on the parts, not on runs or replicas.

    `watch` makes, for a seed, who is told of the states of its runs.
    """

    tuner: Tuner
    manifest: Manifest
    metric: Metric
    options: RunOptions
    start: Float64 | None = None
    bounds: Bounds | None = None
    heldout: Pool | None = None
    replicas: int = 1
    average: bool = False
    engine: Engine | None = None
    watch: WatchSeed = nobody


def tune_parts(job: PartedTuningJob) -> TuningReport:
    """Run a job; with replicas, once for each of as many seeds, one after another."""
    problem = PartedProblem.of(job.manifest, job.metric, bounds=job.bounds, engine=job.engine)
    heldout = None
    if job.heldout is not None:
        pool = aligned(job.heldout, job.manifest.feature_names, job.manifest.n_dense)
        heldout = ListProblem.of(pool, job.metric)
    found = baselines(problem, job.start)
    start = job.start if job.start is not None else found.start_weights()
    for sentence in warnings_before(problem):
        warnings.warn(sentence, LuthierWarning, stacklevel=2)
    both = found, None if heldout is None else found.on(heldout)
    replicas: list[Tuned] = []
    for r in range(job.replicas):
        replicas.append(_replica(job, both, heldout, start, r))
        if replicas[-1].result.heldout_note:
            said = f"seed {replicas[-1].seed}: {replicas[-1].result.heldout_note}"
            warnings.warn(said, LuthierWarning, stacklevel=2)
        if replicas[-1].result.interrupted:
            break
    average = np.mean([unit_length(tuned.weights) for tuned in replicas], axis=0) if job.average else None
    oracle = problem.oracle_score()
    unbeaten = replicas[0].scores["tune_before"] == oracle
    for sentence in warnings_after(problem, start, replicas[0].weights, unbeaten=unbeaten):
        warnings.warn(sentence, LuthierWarning, stacklevel=2)
    sent = problem.traffic
    notice(
        f"{len(job.manifest.parts)} parts sent {sent.n_bytes:,} bytes in {sent.answers:,} answers, "
        f"{sent.lines:,} lines among what was asked"
    )
    return TuningReport(
        job.tuner.spec, job.metric.signature, problem, problem.names, start, oracle, tuple(replicas), average, *both
    )


def _replica(
    job: PartedTuningJob,
    found: tuple[Baselines, Baselines | None],
    heldout: ListProblem | None,
    start: Float64,
    number: int,
) -> Tuned:
    problem = found[0].problem
    path = job.options.checkpoint
    options = dataclasses.replace(
        job.options, seed=job.options.seed + number,
        checkpoint=numbered(path, number + 1) if path and job.replicas > 1 else path,
        threads=job.options.threads if job.engine is None else 1,  # one run at a time has all workers to itself
    )  # fmt: skip
    notice(f"{job.tuner.name}, seed {options.seed}: {options.restarts + 1} run{'s' * bool(options.restarts)}")
    result = run(job.tuner, problem, start, options, heldout=heldout, watch=job.watch(options.seed))
    scores = scores_of(problem, heldout, start, result.weights)
    scores["tune_baseline"], interval = against_baseline(found[0], result.weights)
    held = None
    if found[1] is not None:
        scores["heldout_baseline"], held = against_baseline(found[1], result.weights)
    n_held = 0 if heldout is None else heldout.n_sentences
    return Tuned(options.seed, result.weights, result, scores, interval, held, n_held, baseline=found[0].best_name)
