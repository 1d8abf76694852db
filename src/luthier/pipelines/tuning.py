"""Tuning from a pool to files of weights: replicas, guards, standardisation, what the table needs."""

from __future__ import annotations

import contextlib
import dataclasses
import pickle
import threading
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierWarning
from luthier.core.progress import notice, progress
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine, Given, opened, run_units
from luthier.core.threads import stopping_gently
from luthier.evaluation.bootstrap import bootstrap_systems, difference_interval
from luthier.kbest.features import align_features
from luthier.kbest.pool import Pool
from luthier.kbest.storage import PoolFile
from luthier.kbest.weights import Weights
from luthier.landscape.bounds import Bounds
from luthier.landscape.directions import Directions, directions_along
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.packed_problem import PackedProblem
from luthier.landscape.parted.problem import PartedProblem
from luthier.metrics.base import Metric
from luthier.metrics.oracle import sentence_oracle
from luthier.pipelines.trace_file import WatchSeed, nobody
from luthier.tuning.base import Tuner
from luthier.tuning.baselines import Baselines, baselines
from luthier.tuning.checkpoint import Checkpoint, Saved
from luthier.tuning.guards import warnings_after, warnings_before
from luthier.tuning.overlap import overlap_note
from luthier.tuning.run import RunOptions, open_checkpoint, run
from luthier.tuning.standardize import rescaled, standardized
from luthier.tuning.tuned import Tuned, TuningReport

BOOTSTRAP_DRAWS = 1000
Scored = ListProblem | PackedProblem | PartedProblem


@dataclasses.dataclass(frozen=True, eq=False)
class TuningJob:
    """What to tune, on what, how, and what to watch.

    An `engine` runs the replicas, or the runs of a single one. Other processes open `pool_file` and
    `heldout_file`; without these, the pools themselves are sent to them. `watch` makes, for a seed, who is told of the
    states of its runs. With `axes` weights move along these directions only (`luthier.landscape.directions`).
    """

    tuner: Tuner
    pool: Pool
    metric: Metric
    options: RunOptions
    start: Float64 | None = None
    bounds: Bounds | None = None
    heldout: Pool | None = None
    standardize: bool = False
    replicas: int = 1
    average: bool = False
    engine: Engine | None = None
    pool_file: PoolFile | None = None
    heldout_file: PoolFile | None = None
    watch: WatchSeed = nobody
    axes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Replica:
    """One of several whole answers: its seed, where its finished runs are kept, and those that are done already.

    Where another process does it, its runs are kept by the one that asked: `checkpoint` is then ''.
    """

    seed: int
    checkpoint: str = ""
    finished: Mapping[int, Saved] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class ReadyJob:
    """A job with its problems made."""

    job: TuningJob
    problem: ListProblem
    heldout: ListProblem | None
    start: Float64
    baselines: Baselines
    heldout_baselines: Baselines | None

    @classmethod
    def of(cls, job: TuningJob) -> ReadyJob:
        """Return the job with the statistics of its pools."""
        problem = ListProblem.of(job.pool, job.metric, bounds=job.bounds)
        heldout = None
        if job.heldout is not None:
            features = job.pool.features
            heldout = ListProblem.of(aligned(job.heldout, features.names, features.n_dense), job.metric)
        found = baselines(problem, job.start)
        start = job.start if job.start is not None else found.start_weights()
        return cls(job, problem, heldout, start, found, None if heldout is None else found.on(heldout))


@dataclasses.dataclass(frozen=True)
class JobRecipe:
    """How another process makes a job ready: the pools by path and digest, the rest as it is."""

    pool: PoolFile
    heldout: PoolFile | None
    rest: bytes  # pickled, because records that are compared by value cannot hold arrays

    @classmethod
    def of(cls, job: TuningJob) -> JobRecipe | None:
        """Return the recipe of a job; None if one of its pools is in no file."""
        if job.pool_file is None or (job.heldout is not None and job.heldout_file is None):
            return None
        rest = {f.name: getattr(job, f.name) for f in dataclasses.fields(job)}
        bare = pickle.dumps({**rest, "pool": None, "heldout": None, "engine": None, "watch": nobody})
        return cls(job.pool_file, None if job.heldout is None else job.heldout_file, bare)

    def open(self) -> ReadyJob:
        """Return the job, ready; what there is to warn of was said where it was started."""
        pools = {"pool": self.pool.open(), "heldout": None if self.heldout is None else self.heldout.open()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LuthierWarning)
            return ReadyJob.of(TuningJob(**{**pickle.loads(self.rest), **pools}))


@dataclasses.dataclass(frozen=True)
class ProblemsRecipe:
    """How another process gets the problems that the runs of a job are about."""

    job: JobRecipe

    def open(self) -> tuple[ListProblem, ListProblem | None]:
        """Return the problem and the held-out one, in the units the tuner sees."""
        seen = Seen.of(opened(self.job))
        return seen.problem, seen.heldout


def tune_pool(job: TuningJob) -> TuningReport:
    """Run a job; with replicas, once for each of as many seeds, by default one after another."""
    ready = ReadyJob.of(job)
    problem, start = ready.problem, ready.start
    for sentence in warnings_before(problem):
        warnings.warn(sentence, LuthierWarning, stacklevel=2)
    shared = "" if ready.heldout is None else overlap_note(problem.pool, ready.heldout.pool)
    if shared:
        warnings.warn(shared, LuthierWarning, stacklevel=2)
    replicas = _all_replicas(ready)
    average = np.mean([unit_length(tuned.weights) for tuned in replicas], axis=0) if job.average else None
    for tuned in replicas:
        if tuned.result.heldout_note:
            warnings.warn(f"seed {tuned.seed}: {tuned.result.heldout_note}", LuthierWarning, stacklevel=2)
    oracle = sentence_oracle(job.metric, problem.stats, problem.offsets)
    unbeaten = replicas[0].scores["tune_before"] == oracle.score
    for sentence in warnings_after(problem, start, replicas[0].weights, unbeaten=unbeaten):
        warnings.warn(sentence, LuthierWarning, stacklevel=2)
    return TuningReport(
        job.tuner.spec, job.metric.signature, problem, problem.names, start, oracle.score, tuple(replicas), average,
        ready.baselines, ready.heldout_baselines,
    )  # fmt: skip


def _all_replicas(ready: ReadyJob) -> list[Tuned]:
    """Return the replicas in order; after one that was interrupted no other is begun."""
    job, stop = ready.job, threading.Event()
    units = {r: Replica(job.options.seed + r, _checkpoint(job, r)) for r in range(job.replicas)}

    def keep(number: int, tuned: Tuned) -> None:  # noqa: ARG001
        if tuned.result.interrupted:
            stop.set()

    if job.engine is not None and job.replicas > 1:
        found = _replicas_elsewhere(ready, units, job.engine)
    else:
        found = run_units(tune_replica, Given(ready), units, keep=keep, stop=stop)
    if not found:
        raise KeyboardInterrupt
    return list(found.values())


def _replicas_elsewhere(ready: ReadyJob, units: Mapping[int, Replica], engine: Engine) -> dict[int, Tuned]:
    """Return the replicas of an engine; their finished runs are kept here, so that no two processes write one file."""
    job, stop = ready.job, threading.Event()
    seen = Seen.of(ready)
    with contextlib.ExitStack() as stack, stopping_gently(stop):
        keepers: dict[int, Checkpoint] = {}
        for number, unit in units.items():
            options = dataclasses.replace(job.options, seed=unit.seed, checkpoint=unit.checkpoint)
            keepers[number] = open_checkpoint(job.tuner, (seen.problem, seen.heldout), seen.start, options)
            stack.callback(keepers[number].close)

        bare = {number: Replica(unit.seed, finished=keepers[number].finished) for number, unit in units.items()}
        advance = stack.enter_context(progress(f"{job.tuner.name}: replicas", len(bare)))

        def keep(number: int, tuned: Tuned) -> None:
            keeper = keepers[number]
            for trace in tuned.result.traces:
                trace.tell(job.watch(tuned.seed))
                if trace.finished and trace.restart not in keeper.finished:
                    keeper.keep(trace.restart, trace.states, trace.heldout_gains)
            advance(1)

        unheard = dataclasses.replace(ready, job=dataclasses.replace(job, watch=nobody))
        given = Given(unheard, JobRecipe.of(job))
        found = run_units(tune_replica, given, bare, engine=engine, keep=keep, stop=stop)
    if found and len(found) < len(units):  # the job was interrupted, though these replicas are whole
        last = max(found)
        found[last] = dataclasses.replace(found[last], result=dataclasses.replace(found[last].result, interrupted=True))
    return found


def aligned(pool: Pool, names: tuple[str, ...], n_dense: int) -> Pool:
    """Return a pool with the features of another, in its order: lists name them as they first come."""
    other = set(names)
    extra = [name for name in pool.features.names if name not in other]
    if extra:
        message = (
            f"the held-out pool has {len(extra)} features that are not tuned, {extra[0]!r} among them: they count 0"
        )
        warnings.warn(message, LuthierWarning, stacklevel=3)
    return pool.with_features(align_features(pool.features, names, n_dense))


def _checkpoint(job: TuningJob, replica: int) -> str:
    path = job.options.checkpoint
    return numbered(path, replica + 1) if path and job.replicas > 1 else path


@dataclasses.dataclass(frozen=True, eq=False)
class Seen:
    """A job's problems as the tuner sees them, (Q,) weights each, and how these become weights of the pool.

    Attributes
    ----------
    start : (Q,)
    units : (D,), or directions (Q, D)
    """

    problem: ListProblem
    heldout: ListProblem | None
    start: Float64
    units: Float64 | Directions

    @classmethod
    def of(cls, ready: ReadyJob) -> Seen:
        """Return the problems as they are, with features of one spread, or along a few directions."""
        job, problem, heldout = ready.job, ready.problem, ready.heldout
        if job.axes:
            along = directions_along(problem, ready.start, job.axes, make_rng(job.options.seed))
            return cls(along.seen_from(problem), heldout and along.seen_from(heldout), along.start, along)
        if not job.standardize:
            return cls(problem, heldout, ready.start, np.ones(problem.n_features))
        scaled, spread = standardized(problem)
        return cls(scaled, heldout and rescaled(heldout, spread), ready.start * spread, spread)

    def weights(self, found: Float64) -> Float64:
        """Return the pool's weights of those of the tuner, (Q,) → (D,)."""
        return self.units.weights(found) if isinstance(self.units, Directions) else found / self.units


def tune_replica(ready: ReadyJob, replica: Replica) -> Tuned:
    """Run a job once, with a seed of its own."""
    job, start = ready.job, ready.start
    options = dataclasses.replace(
        job.options, seed=replica.seed, checkpoint=replica.checkpoint,
        resume=job.options.resume and replica.finished is None,
    )  # fmt: skip
    notice(f"{job.tuner.name}, seed {options.seed}: {options.restarts + 1} run{'s' * bool(options.restarts)}")
    seen, recipe = Seen.of(ready), JobRecipe.of(job)
    result = run(
        job.tuner, seen.problem, seen.start, options, heldout=seen.heldout,
        engine=job.engine if job.replicas == 1 else None,
        recipe=None if recipe is None else ProblemsRecipe(recipe), finished=replica.finished,
        watch=job.watch(replica.seed),
    )  # fmt: skip
    weights = seen.weights(result.weights)
    scores = scores_of(ready.problem, ready.heldout, start, weights)
    scores["tune_baseline"], interval = against_baseline(ready.baselines, weights)
    held = None
    if ready.heldout_baselines is not None:
        scores["heldout_baseline"], held = against_baseline(ready.heldout_baselines, weights)
    n_held = 0 if ready.heldout is None else ready.heldout.n_sentences
    return Tuned(
        replica.seed, weights, result, scores, interval, held, n_held, baseline=ready.baselines.best_name
    )  # fmt: skip


def against_baseline(found: Baselines, weights: Float64) -> tuple[float, tuple[float, float]]:
    """Return the score of the best baseline, and the interval of what weights add to it."""
    chosen = found.problem.selected(weights[None])[0]
    return found.best.score, paired_interval(found.problem.metric, found.statistics(found.best), chosen)


def scores_of(
    problem: Scored, heldout: ListProblem | None, start: Float64, weights: Float64
) -> dict[str, float | None]:
    """Return the scores at the start, the baseline unless there are others, and at the answer, on both sets."""

    def score(part: Scored | None, vector: Float64) -> float | None:
        return None if part is None else float(part.metric.gain(np.array(part.gain(vector))))  # its own inverse

    before, held = score(problem, start), score(heldout, start)
    return {
        "tune_baseline": before,
        "heldout_baseline": held,
        "tune_before": before,
        "tune_after": score(problem, weights),
        "heldout_before": held,
        "heldout_after": score(heldout, weights),
    }


def interval_of(problem: Scored, start: Float64, weights: Float64) -> tuple[float, float]:
    """Return the paired-bootstrap interval of the change of the score on a problem's sentences."""
    before, after = problem.selected(np.array([start, weights]))
    return paired_interval(problem.metric, before, after)


def paired_interval(metric: Metric, before: npt.NDArray[Any], after: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the paired-bootstrap interval of a change of the score, from statistics of each sentence, (N, S) twice."""
    systems = [np.asarray(part)[None] for part in (before, after)]
    scores = bootstrap_systems(systems, metric.score, draws=BOOTSTRAP_DRAWS, seed=0)
    found = difference_interval(*scores, higher_is_better=metric.higher_is_better, confidence=0.95)
    return found.low, found.high


def unit_length(weights: Float64) -> Float64:
    """Return weights of length 1: only their direction matters, and lengths must not weigh an average."""
    length = float(np.linalg.norm(weights))
    return weights / length if length else weights


def numbered(path: str, number: int) -> str:
    """Return ``weights.3.txt`` for ``weights.txt`` and 3."""
    place = Path(path)
    return str(place.with_name(f"{place.stem}.{number}{place.suffix}"))


def answers(report: TuningReport, output: str) -> dict[str, Weights]:
    """Return the weights of each replica (numbered if there are several), and the average as `output`, by file."""
    several = len(report.replicas) > 1
    found = {
        numbered(output, number) if several else output: report.named(tuned.weights)
        for number, tuned in enumerate(report.replicas, start=1)
    }
    return found if report.average is None else {**found, output: report.named(report.average)}


def answer_paths(output: str, replicas: int) -> Sequence[str]:
    """Return the files that a job will write, so that they can be checked before it runs."""
    return [output] if replicas == 1 else [numbered(output, number + 1) for number in range(replicas)]
