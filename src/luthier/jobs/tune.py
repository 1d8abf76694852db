"""Tune weights for a metric: ``luthier.tune(pool, metric="bleu")``, on lists, shards of a pool, or forests."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import Interrupted, LuthierError
from luthier.core.files.written import secondary
from luthier.core.params import DEFAULT_SEED, checked, names_of, path_of, paths_of
from luthier.core.plugins import load
from luthier.core.segments import rows_of_segments
from luthier.core.tasks import Engine
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, axes_at, cores, formulas_of, lists_at, pool_at
from luthier.jobs.trace_file import GrowingTrace, WatchSeed, nobody, write_trace
from luthier.jobs.tuning_job import TuningJob, run_job
from luthier.jobs.validation import check_also, check_validation, cross_validation, decided, out_of_fold, resample_job
from luthier.kbest.derived import LENGTHS, Derived, add_derived, with_derived
from luthier.kbest.pool import Pool
from luthier.kbest.shards.manifest import Manifest
from luthier.kbest.storage.pool_file import PoolFile
from luthier.kbest.weights import read_weights, vector_of
from luthier.landscape.bounds import Bounds, parse_range
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import Problem
from luthier.landscape.sharded_problem import ShardedProblem
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric, split_specs
from luthier.metrics.pools import with_statistics
from luthier.metrics.several import Constrained, Limit
from luthier.tuning.base import PACKAGE, Tuner, tuner
from luthier.tuning.options import RunOptions
from luthier.tuning.validation.report import TuningReport

if TYPE_CHECKING:
    from luthier.decoding.forests.files import Forests
    from luthier.features.bins import Bins
    from luthier.jobs.length_penalty import Searched
    from luthier.landscape.forest_problem import PackedProblem

    Candidates = Pool | Manifest | Forests

RUN_FIELDS = {field.name for field in dataclasses.fields(RunOptions)} - {"seed", "threads"}


@checked
def tune(
    pool: AnyPool | Manifest | Forests,
    metric: str | Metric = "bleu",
    method: str | Tuner = "auto",
    *,
    start: AnyWeights | None = None,
    heldout: AnyPool | None = None,
    worst_of: str | Sequence[str | Metric] = (),
    constraint: str | Sequence[str] = (),
    bound: Mapping[str, tuple[float, float] | str] | None = None,
    bins: Bins | AnyPath | None = None,
    add: str | Sequence[str] = (),
    feature: str | Sequence[str] = (),
    search: str | None = None,
    axis: AnyPath | Sequence[AnyPath] = (),
    standardize_features: bool = False,
    replicas: int = 1,
    average_replicas: bool = False,
    published: bool = False,
    refs: AnyPath | Sequence[AnyPath] = (),
    trace: str | None = None,
    resamples: int | None = None,
    folds: int | None = None,
    fold_by: str = "",
    also: str | Sequence[str | Metric] = (),
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
    engine: Engine | None = None,
    files: tuple[PoolFile | None, PoolFile | None] = (None, None),
    watch: WatchSeed = nobody,
    **options: Any,
) -> TuningReport:
    """Tune the weights of a linear model for a metric; return them by name, with scores.

    Parameters
    ----------
    pool : Pool, Manifest, Forests or a path
        K-best lists (``luthier.read_pool(...)`` or ``luthier.pool_from_frame(...)``), the manifest of a sharded pool,
        where one of these is, or forests (``luthier.open_forests(...)``) with `refs`, files of references.
    metric
        A name (``"bleu"``, ``"column:comet"``, ``"0.5*ter - 0.5*bleu"``) or a metric.
    method
        A tuner's name or a tuner.
    start
        Weights by name, a file of them, or a vector; default: equal ones, negative for costs; of forests, those that
        they were decoded with.
    heldout : Pool or a path
        Unseen lists that have a say in which run is the answer.
    worst_of
        Several metrics in place of one: the smallest of their gains counts, each over its own at the start, in units of
        its own noise there.
    constraint
        Limits on other metrics, such as ``"length>=98"``, on the tuning sentences; less violation comes first.
    bound
        Limits of some weights by name: ``{"lm": (0, 1)}`` or ``{"lm": "0:1"}``.
    bins
        Bins, or a file of them: features of the lists that are made from their derivations.
    add, search
        Formulas of more features, and the range of a constant in them, ``"a=0:1.5"``.
    feature
        Features that were made without the references, though they look as if they knew the score.
    axis
        Weights move along these only: features, files, ``"random:5"``, ``"leading:5"``, ``"sums"``.
    resamples, folds, fold_by
        Tune again on so many resamples of the sentences; cross-validate by so many folds, which keep sentences of equal
        numbers in a column (documents) together. With folds, `auto` takes the tuner that they say holds best.
    also
        Further metrics: what tuning does to them on the unseen sentences of each fold.
    trace
        File that gets every state of every run, as it comes.
    engine, files
        Who runs replicas or restarts elsewhere, and where other processes find the two pools.
    watch
        Who is told of the states of each seed, as they come.
    options
        Those of every tuner (`luthier.RunOptions`: ``restarts=20`` …), and of this one.

    Raises
    ------
    Interrupted
        A KeyboardInterrupt whose `result` is the report of the best weights so far, if Ctrl-C is pressed.

    Examples
    --------
    >>> frame = {"id": [0, 0, 1, 1], "hyp": ["a", "b", "c", "d"], "lm": [1.0, 2, 1, 2], "comet": [0.9, 0.1, 0.8, 0.2]}
    >>> from luthier import pool_from_frame
    >>> lists = pool_from_frame(frame, columns=["comet"])
    >>> tune(lists, metric="column:comet", method="mert", start={"lm": 1.0}).weights["lm"] < 0
    True
    """
    run_options = {name: options.pop(name) for name in RUN_FIELDS & options.keys()}
    settings = RunOptions(**run_options, seed=seed, threads=cores(threads))
    axis, refs, add = axes_at(axis), paths_of(refs, "a file of references"), names_of(add, "formulas")
    if axis and "axis" in _own_fields(method):
        options["axis"], axis = tuple(axis), ()
    if isinstance(method, Tuner) and options:
        raise LuthierError(f"expected parameters inside the tuner that was given, found {', '.join(options)}")
    chosen = method if isinstance(method, Tuner) else tuner(method, published=published, **options)
    wanted = _Wanted.of(metric, worst_of, constraint)

    def job_on(source: Candidates, unseen: Pool | None) -> TuningJob:
        problem = problem_of(source, wanted.on(source, start), refs=refs, bound=bound, engine=engine, file=files[0])
        return TuningJob(
            tuner=chosen,
            problem=problem,
            options=settings,
            start=_start(problem, start),
            heldout=None if unseen is None else _beside(problem, unseen, files[1]),
            standardize=standardize_features,
            axes=tuple(axis),
            replicas=replicas,
            average=average_replicas,
            engine=None if isinstance(source, Manifest) else engine,
            meant=tuple(names_of(feature, "features")),
        )

    pools = _prepared(pool, heldout, start, bins, add if search is None else ())
    searched: Searched | None = None
    with GrowingTrace(trace, watch) as growing:
        if search is None:
            job = job_on(*pools)
        else:
            job, searched = _searched(search, [Derived.parse(text) for text in add], pools, wanted.metric, job_on)
        check_validation(job, resamples, folds, fold_by)
        others = _metrics(also, "also")
        check_also(job, others)
        job, unseen = decided(job, folds, by=fold_by)
        report = dataclasses.replace(run_job(dataclasses.replace(job, watch=growing.watch)), searched=searched)
    if trace:
        with secondary(trace):
            write_trace(report, trace)
    if report.interrupted:
        raise Interrupted(report)
    try:
        resampled = None if resamples is None else resample_job(job, report, resamples)
        validated = None
        if folds is not None:
            unseen = unseen or out_of_fold(job, folds, by=fold_by)
            validated = cross_validation(job, report, unseen, by=fold_by, also=others)
    except KeyboardInterrupt:
        raise Interrupted(report) from None  # the answer stands, whatever else was to be found out about it
    return dataclasses.replace(report, resampled=resampled, folds=validated)


def _metrics(given: str | Sequence[str | Metric], what: str) -> tuple[Metric, ...]:
    """Return metrics: of a text, in which commas are between them, or of a list."""
    several = split_specs(given) if isinstance(given, str) else given
    if not isinstance(several, Sequence):
        raise LuthierError(f"expected metrics as `{what}`, such as 'bleu,chrf', found {given!r}")
    return tuple(as_metric(one) for one in several if one != "")


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """What to tune for: a metric, or several of which the worst counts, and limits on others."""

    metric: Metric
    several: tuple[Metric, ...]
    limits: tuple[Limit, ...]

    @classmethod
    def of(cls, metric: str | Metric, worst: str | Sequence[str | Metric], limits: str | Sequence[str]) -> _Wanted:
        texts = names_of(limits, "constraints")
        return cls(as_metric(metric), _metrics(worst, "worst_of"), tuple(Limit.parse(text) for text in texts))

    def on(self, source: Candidates, start: AnyWeights | None) -> Metric:
        """Return the metric to tune for on these candidates."""
        if not (self.several or self.limits):
            return self.metric
        if not isinstance(source, Pool):
            raise LuthierError("`worst_of` and `constraint` are for whole lists, found shards or forests")
        from luthier.landscape.tradeoff.several import constrained, worst_of

        metric = self.metric
        if self.several:
            metric = worst_of(source, self.several, _start(ListProblem.of(source, self.several[0]), start))
        return constrained(source, metric, self.limits) if self.limits else metric


def problem_of(
    source: Candidates,
    metric: Metric,
    *,
    refs: Sequence[str] = (),
    bound: Mapping[str, tuple[float, float] | str] | None = None,
    engine: Engine | None = None,
    file: PoolFile | None = None,
) -> Problem:
    """Return the problem of candidates: lists, the shards of a pool, or forests with files of references."""
    names = feature_names(source)
    limits: Any = bound
    if isinstance(bound, Mapping):
        limits = {name: _range(name, ends) for name, ends in bound.items()}
    bounds = None if not limits else Bounds.from_names(names, limits)
    if isinstance(source, Pool):
        return ListProblem.of(source, metric, bounds=bounds, file=file)
    if isinstance(source, Manifest):
        return ShardedProblem.of(source, metric, bounds=bounds, engine=engine)
    return forest_problem(source, refs, metric, bounds)


def forest_problem(
    forests: Forests, refs: Sequence[str], metric: Metric, bounds: Bounds | None = None
) -> PackedProblem:
    """Return the problem of forests and the references of their sentences; those without translation are left out."""
    from luthier.decoding.forests.lines import ForestLines
    from luthier.kbest.building.sentences import read_sentence_table
    from luthier.landscape.forest_problem import PackedProblem

    table = read_sentence_table(refs, None, first_id=0, keyed=False)
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
        ForestLines([forests.forests[i] for i in kept], forests.rules),
        metric,
        table.references.take(rows),
        per_sentence * np.arange(len(kept) + 1),
        bounds=bounds,
        start=forests.weights,
    )


def _beside(problem: Problem, unseen: Pool, file: PoolFile | None) -> ListProblem:
    """Return the problem of held-out lists: limits are on the tuning sentences alone."""
    found = ListProblem.beside(problem, unseen, file=file)
    metric = found.metric
    return dataclasses.replace(found, metric=metric.unlimited) if isinstance(metric, Constrained) else found


def _own_fields(method: str | Tuner) -> set[str]:
    kind = type(method) if isinstance(method, Tuner) else load(PACKAGE, method)
    return {field.name for field in dataclasses.fields(kind)}


def feature_names(source: Candidates) -> tuple[str, ...]:
    """Return the names of the features that are tuned."""
    if isinstance(source, Pool):
        return source.features.names
    return source.feature_names if isinstance(source, Manifest) else source.rules.names


def _range(name: str, ends: tuple[float, float] | str) -> tuple[float, float]:
    try:
        return parse_range(ends) if isinstance(ends, str) else ends
    except LuthierError as error:
        raise LuthierError(f"the bound of {name}: {error}") from None


def _start(problem: Problem, start: AnyWeights | None) -> Float64 | None:
    if isinstance(start, str | os.PathLike):
        return read_weights(start).vector(problem.names, source=str(start))
    return None if start is None else vector_of(start, problem.names)


def _prepared(
    pool: AnyPool | Manifest | Forests,
    heldout: AnyPool | None,
    start: AnyWeights | None,
    bins: Bins | AnyPath | None,
    add: Sequence[str],
) -> tuple[Candidates, Pool | None]:
    """Return both pools with the features that the start, bins and formulas ask for."""
    formulas = {} if start is None else formulas_of(start)
    source: Candidates = cast("Forests", pool) if hasattr(pool, "forests") else lists_at(cast(AnyPool, pool))
    unseen = None if heldout is None else pool_at(heldout)
    if not isinstance(source, Pool):
        if bins or add or formulas:
            raise LuthierError("`bins` and `add` make features of whole lists, found shards or forests")
        return source, unseen
    pools = [source, *([] if unseen is None else [unseen])]
    pools = [add_derived(with_derived(one, formulas), [Derived.parse(text) for text in add]) for one in pools]
    if bins is not None:
        from luthier.features.bins import Bins
        from luthier.features.bins_file import read_bins
        from luthier.features.induction import with_bins

        made = bins if isinstance(bins, Bins) else read_bins(path_of(bins, "a file of bins"))
        pools = [with_bins(one, made) for one in pools]
    return pools[0], None if unseen is None else pools[1]


def _searched(
    constant: str,
    formulas: Sequence[Derived],
    pools: tuple[Candidates, Pool | None],
    metric: Metric,
    job_on: Callable[[Candidates, Pool | None], TuningJob],
) -> tuple[TuningJob, Searched]:
    """Return the job at the best value of a constant of formulas, and what was tried."""
    from luthier.jobs.length_penalty import Search, search_constant

    search = Search.parse(constant)
    if not any(search.name in item.formula.names for item in formulas):
        raise LuthierError(f"the constant {search.name!r} to `search`: no formula of `add` has it")
    pool, heldout = pools
    if not isinstance(pool, Pool):
        raise LuthierError("a constant is searched on whole lists, found shards or forests")
    if search.name in (*pool.features.names, *pool.columns, *LENGTHS):
        raise LuthierError(f"{search.name!r}: the lists have that already. hint: call the constant otherwise")
    ready = [None if one is None else with_statistics(one, metric) for one in (pool, heldout)]

    def job_at(value: float) -> TuningJob:
        made = [None if one is None else add_derived(one, formulas, {search.name: value}) for one in ready]
        assert made[0] is not None
        return job_on(made[0], made[1])

    found = search_constant(search, job_at)
    return job_at(found.best.value), found
