"""Tuning as a job: any problem (lists, shards, forests) to weights, with replicas, diagnostics and scores."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import pickle
import threading
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.progress import notice, progress
from luthier.core.rng import child_rng, make_rng
from luthier.core.tasks import Engine, Recipe, Shared, opened, run_units
from luthier.core.threads import stopping_gently
from luthier.evaluation.bootstrap import paired_interval
from luthier.jobs.trace_file import WatchSeed, nobody
from luthier.kbest.shards.shard import open_shard
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem, effect_units
from luthier.landscape.sharded_problem import ShardedProblem
from luthier.landscape.subspaces import Directions, directions_along, rescaled, standardized
from luthier.tuning.answer import Result
from luthier.tuning.base import Tuner
from luthier.tuning.checkpoint import Checkpoint, Saved
from luthier.tuning.diagnostics import warnings_after, warnings_before
from luthier.tuning.options import RunOptions
from luthier.tuning.restarts import draw_start
from luthier.tuning.run import open_checkpoint, run
from luthier.tuning.validation.baselines import Baselines, baselines
from luthier.tuning.validation.folds import overlap_note
from luthier.tuning.validation.report import Tuned, TuningReport, numbered


@dataclasses.dataclass(frozen=True, eq=False)
class TuningJob:
    """What to tune, how, and what to watch.

    An `engine` runs the replicas, or the runs of a single one; a problem of shards has its own, which works on these.
    `watch` makes, for a seed, who is told of the states of its runs. With `axes` weights move along these directions
    only (`luthier.landscape.subspaces`).
    """

    tuner: Tuner
    problem: Problem
    options: RunOptions
    start: Float64 | None = None
    heldout: Problem | None = None
    standardize: bool = False
    axes: tuple[str, ...] = ()
    replicas: int = 1
    average: bool = False
    engine: Engine | None = None
    watch: WatchSeed = nobody
    meant: tuple[str, ...] = ()  # features that are to be trusted, whatever they look like

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise LuthierError(f"expected at least one replica, found {self.replicas}")
        if self.average and self.replicas == 1:
            raise LuthierError(
                "expected several replicas to average, found one. hint: `average_replicas` needs `replicas` of at "
                "least 2"
            )
        if self.axes and (not self.problem.bounds.is_free or self.standardize or self.engine or self.options.certify):
            raise LuthierError(
                "expected axes by themselves. hint: `axis` cannot go with `bound`, `standardize_features`, `cluster` "
                "or `certify`"
            )

    @functools.cached_property
    def first(self) -> Float64:
        """The weights that the first run starts from, (D,): the best baseline's where none are given."""
        if self.start is not None:
            return self.start
        found = self.baselines[0]
        return self.problem.default_start() if found is None else found.start_weights()

    @functools.cached_property
    def baselines(self) -> tuple[Baselines | None, Baselines | None]:
        """What can be had without tuning, on both sets of sentences; None where the candidates cannot be listed."""
        if not isinstance(self.problem, ListProblem | ShardedProblem):
            return None, None
        found = baselines(self.problem, self.start)
        return found, found.on(self.heldout) if isinstance(self.heldout, ListProblem) else None

    def recipe(self) -> JobRecipe | None:
        """Return how another process gets this job; None if one of its problems must travel itself."""
        problems = [self.problem.recipe(), None if self.heldout is None else self.heldout.recipe()]
        if problems[0] is None or (self.heldout is not None and problems[1] is None):
            return None
        rest = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        bare = pickle.dumps({**rest, "problem": None, "heldout": None, "engine": None, "watch": nobody})
        return JobRecipe(problems[0], problems[1], bare)


@dataclasses.dataclass(frozen=True)
class JobRecipe:
    """How another process gets a job: its problems by their own recipes, the rest as it is."""

    problem: Recipe
    heldout: Recipe | None
    rest: bytes  # pickled, because records that are compared by value cannot hold arrays

    def open(self) -> TuningJob:
        """Return the job."""
        problems = {"problem": self.problem.open(), "heldout": None if self.heldout is None else self.heldout.open()}
        return TuningJob(**{**pickle.loads(self.rest), **problems})


@dataclasses.dataclass(frozen=True)
class ProblemsRecipe:
    """How another process gets the problems that the runs of a job are about."""

    job: JobRecipe

    def open(self) -> tuple[Problem, Problem | None]:
        """Return the problem and the held-out one, in the coordinates the tuner sees."""
        seen = Coordinates.of(opened(self.job))
        return seen.problem, seen.heldout


@dataclasses.dataclass(frozen=True, eq=False)
class Coordinates:
    """A job's problems as the tuner sees them, with Q weights each, and how these become weights of the problem.

    Attributes
    ----------
    start : (Q,)
    units : (D,), or directions (Q, D)
    """

    problem: Problem
    heldout: Problem | None
    start: Float64
    units: Float64 | Directions

    @classmethod
    def of(cls, job: TuningJob) -> Coordinates:
        """Return the problems as they are, with features of one spread, or along a few directions."""
        problem, heldout = job.problem, job.heldout
        if job.axes:
            along = directions_along(problem, job.first, job.axes, make_rng(job.options.seed))
            return cls(along.seen_from(problem), heldout and along.seen_from(heldout), along.start, along)
        if not job.standardize:
            return cls(problem, heldout, job.first, np.ones(problem.n_features))
        scaled, spread = standardized(problem)
        return cls(scaled, heldout and rescaled(heldout, spread), job.first * spread, spread)

    def weights(self, found: Float64) -> Float64:
        """Return the problem's weights of those of the tuner, (Q,) → (D,)."""
        return self.units.weights(found) if isinstance(self.units, Directions) else found / self.units


@dataclasses.dataclass(frozen=True)
class Replica:
    """One of several whole answers: its seed, where its finished runs are kept, and those that are done already.

    Where another process does it, its runs are kept by the one that asked: `checkpoint` is then ''.
    """

    seed: int
    checkpoint: str = ""
    finished: Mapping[int, Saved] | None = None


def run_job(job: TuningJob) -> TuningReport:
    """Run a job; with replicas, once for each of as many seeds, by default one after another."""
    problem, start = job.problem, job.first
    for sentence in warnings_before(problem, job.meant):
        warnings.warn(sentence, LuthierWarning, stacklevel=2)
    shared = _overlap(problem, job.heldout)
    if shared:
        warnings.warn(shared, LuthierWarning, stacklevel=2)
    if _perturbed(job):
        notice(f"{job.tuner.name} draws nothing: all replicas but the first start from perturbed weights")
    replicas = _all_replicas(job)
    if same := _equal_replicas(replicas):
        warnings.warn(same, LuthierWarning, stacklevel=2)
    average = np.mean([unit_length(tuned.weights) for tuned in replicas], axis=0) if job.average else None
    for tuned in replicas:
        if tuned.result.heldout_note:
            warnings.warn(f"seed {tuned.seed}: {tuned.result.heldout_note}", LuthierWarning, stacklevel=2)
    oracle = problem.oracle_score()
    unbeaten = replicas[0].scores["tune_before"] == oracle
    for sentence in warnings_after(problem, start, replicas[0].weights, unbeaten=unbeaten):
        warnings.warn(sentence, LuthierWarning, stacklevel=2)
    for sentence in problem.notes():
        notice(sentence)
    return TuningReport(
        job.tuner.spec,
        problem.metric.signature,
        problem,
        problem.names,
        start,
        oracle,
        tuple(replicas),
        average,
        *job.baselines,
    )


def _all_replicas(job: TuningJob) -> list[Tuned]:
    """Return the replicas in order; after one that was interrupted no other is begun."""
    stop = threading.Event()
    units = {r: Replica(job.options.seed + r, _checkpoint(job, r)) for r in range(job.replicas)}

    def keep(number: int, tuned: Tuned) -> None:  # noqa: ARG001
        if tuned.result.interrupted:
            stop.set()

    if job.engine is not None and job.replicas > 1:
        found = _replicas_elsewhere(job, units, job.engine)
    else:
        found = run_units(tune_replica, Shared(job), units, keep=keep, stop=stop)
    if not found:
        raise KeyboardInterrupt
    return list(found.values())


def _replicas_elsewhere(job: TuningJob, units: Mapping[int, Replica], engine: Engine) -> dict[int, Tuned]:
    """Return the replicas of an engine; their finished runs are kept here, so that no two processes write one file."""
    stop, seen = threading.Event(), Coordinates.of(job)
    with contextlib.ExitStack() as stack, stopping_gently(stop):
        keepers: dict[int, Checkpoint] = {}
        for number, unit in units.items():
            options = dataclasses.replace(job.options, seed=unit.seed, checkpoint=unit.checkpoint)
            begin = replica_start(job, seen, unit.seed)
            keepers[number] = open_checkpoint(job.tuner, (seen.problem, seen.heldout), begin, options)
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

        unheard = dataclasses.replace(job, watch=nobody, engine=None)
        found = run_units(tune_replica, Shared(unheard, job.recipe()), bare, engine=engine, keep=keep, stop=stop)
    if found and len(found) < len(units):  # the job was interrupted, though these replicas are whole
        last = max(found)
        found[last] = dataclasses.replace(found[last], result=dataclasses.replace(found[last].result, interrupted=True))
    return found


def replica_start(job: TuningJob, seen: Coordinates, seed: int) -> Float64:
    """Return where a replica starts, (Q,): each but the first from perturbed weights where the tuner draws nothing."""
    if seed == job.options.seed or not _perturbed(job):
        return seen.start
    units = job.options.restart_size * effect_units(seen.problem.spread, seen.start)
    return draw_start("perturbed", seen.start, units, seen.problem.bounds, child_rng(seed, 0))


def _perturbed(job: TuningJob) -> bool:
    return job.replicas > 1 and not job.tuner.is_random and not job.options.restarts


def _equal_replicas(replicas: Sequence[Tuned]) -> str:
    """Say which replicas have the same weights; nothing where all differ."""
    first: dict[bytes, int] = {}
    for tuned in replicas:
        key = (tuned.weights + 0.0).tobytes()
        if key in first:
            return (
                f"seeds {first[key]} and {tuned.seed} ended at the same weights: they are one run. Their agreement "
                "says nothing about how runs differ"
            )
        first[key] = tuned.seed
    return ""


def _checkpoint(job: TuningJob, replica: int) -> str:
    path = job.options.checkpoint
    return numbered(path, replica + 1) if path and job.replicas > 1 else path


def tune_replica(job: TuningJob, replica: Replica) -> Tuned:
    """Run a job once, with a seed of its own."""
    options = dataclasses.replace(
        job.options,
        seed=replica.seed,
        checkpoint=replica.checkpoint,
        resume=job.options.resume and replica.finished is None,
        threads=1 if job.problem.parallel else job.options.threads,
    )
    notice(f"{job.tuner.name}, seed {options.seed}: {options.restarts + 1} run{'s' * bool(options.restarts)}")
    seen, recipe = Coordinates.of(job), job.recipe()
    result = run(
        job.tuner,
        seen.problem,
        replica_start(job, seen, replica.seed),
        options,
        heldout=seen.heldout,
        engine=job.engine if job.replicas == 1 else None,
        recipe=None if recipe is None else ProblemsRecipe(recipe),
        finished=replica.finished,
        watch=job.watch(replica.seed),
    )
    return tuned_of(job, replica.seed, seen.weights(result.weights), result)


def tuned_of(job: TuningJob, seed: int, weights: Float64, result: Result) -> Tuned:
    """Return an answer with its scores on both sets, and what it adds to the best baseline."""
    problem, heldout, start = job.problem, job.heldout, job.first
    scores = scores_of(problem, heldout, start, weights)
    found, unseen = job.baselines
    if found is None:
        held = None if heldout is None else interval_of(heldout, start, weights)
        n_held = 0 if heldout is None else heldout.n_sentences
        return Tuned(seed, weights, result, scores, interval_of(problem, start, weights), held, n_held)
    scores["tune_baseline"], interval = against_baseline(found, weights)
    held = None
    if unseen is not None:
        scores["heldout_baseline"], held = against_baseline(unseen, weights)
    n_held = 0 if heldout is None else heldout.n_sentences
    return Tuned(seed, weights, result, scores, interval, held, n_held, baseline=found.best_name)


def _overlap(problem: Problem, heldout: Problem | None) -> str:
    """Say how many held-out sentences are tuning sentences, where both are lists."""
    if not isinstance(problem, ListProblem | ShardedProblem) or not isinstance(heldout, ListProblem):
        return ""
    if isinstance(problem, ListProblem):
        return overlap_note([problem.pool], heldout.pool)
    manifest = problem.source.manifest
    return overlap_note((open_shard(manifest, part) for part in range(len(manifest.parts))), heldout.pool)


def against_baseline(found: Baselines, weights: Float64) -> tuple[float, tuple[float, float]]:
    """Return the score of the best baseline, and the interval of what weights add to it."""
    chosen = found.problem.selected(weights[None])[0]
    return found.best.score, paired_interval(found.problem.metric, found.statistics(found.best), chosen)


def scores_of(problem: Problem, heldout: Problem | None, start: Float64, weights: Float64) -> dict[str, float | None]:
    """Return the scores at the start, the baseline unless there are others, and at the answer, on both sets."""
    before, held = problem.score(start), None if heldout is None else heldout.score(start)
    return {
        "tune_baseline": before,
        "heldout_baseline": held,
        "tune_before": before,
        "tune_after": problem.score(weights),
        "heldout_before": held,
        "heldout_after": None if heldout is None else heldout.score(weights),
    }


def interval_of(problem: Problem, start: Float64, weights: Float64) -> tuple[float, float]:
    """Return the paired-bootstrap interval of the change of the score on a problem's sentences."""
    before, after = problem.selected(np.array([start, weights]))
    return paired_interval(problem.metric, before, after)


def unit_length(weights: Float64) -> Float64:
    """Return weights of length 1: only their direction matters, and lengths must not weigh an average."""
    length = float(np.linalg.norm(weights))
    return weights / length if length else weights
