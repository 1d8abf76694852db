"""How far tuned weights can be trusted: the answer on resamples of its sentences, and cross-validated by folds."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError, LuthierWarning, unwarned
from luthier.core.progress import notice, progress, without_notices
from luthier.evaluation.bootstrap import BOOTSTRAP_DRAWS, bootstrap_scores, paired_interval, score_interval
from luthier.jobs.trace_file import nobody
from luthier.jobs.tuning_job import Replica, TuningJob, tune_replica
from luthier.kbest.pool import Pool
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import pool_statistics, with_statistics
from luthier.tuning.base import tuner
from luthier.tuning.validation.baselines import FIRST
from luthier.tuning.validation.folds import CrossMetric, CrossValidation, Rival, folds_of
from luthier.tuning.validation.report import TuningReport
from luthier.tuning.validation.resampling import Resampling, resample_answer, same_size

EXACT_LINES = "mert"
TOTAL = "score"  # the column of the decoder's own total: what was tuned takes its place
MOST_COLUMNS = 8  # of the pool that the cross-metric table shows


def check_validation(job: TuningJob, resamples: int | None, folds: int | None, fold_by: str) -> None:
    """Raise where resamples or folds exclude another option."""
    for name, value in (("resamples", resamples), ("folds", folds)):
        if value is not None and value < 2:
            raise LuthierError(f"expected at least 2, found {value}. hint: `{name}`")
    if fold_by and folds is None:
        raise LuthierError("expected a number of folds, found none. hint: `fold_by` needs `folds`")
    if folds is not None and job.heldout is not None:
        raise LuthierError("expected folds or held-out lists, found both. hint: `folds` is in place of `heldout`")
    if resamples is not None or folds is not None:
        problem = _lists(job)
        if folds is not None:  # raises where there are too few sentences, or no such column: before the work
            folds_of(problem.pool, folds, by=fold_by, seed=job.options.seed)
        if resamples is not None and problem.n_sentences < 2:
            raise LuthierError(f"expected at least 2 sentences to resample, found {problem.n_sentences}")
        if job.axes:
            raise LuthierError("expected all weights. hint: `resamples` and `folds` cannot go with `axis`")


def _lists(job: TuningJob) -> ListProblem:
    if not isinstance(job.problem, ListProblem):
        raise LuthierError("resamples and folds take lists in one pool, found shards or forests")
    return job.problem


def resample_job(job: TuningJob, report: TuningReport, draws: int) -> Resampling:
    """Tune the first answer of a job again on resamples of its sentences, by its own exact lines or by plain ones."""
    problem = _lists(job)
    by = job.tuner if job.tuner.name == EXACT_LINES else tuner(EXACT_LINES)
    first = report.replicas[0]
    return resample_answer(problem, by, first.weights, draws=draws, seed=first.seed, threads=job.options.threads)


@dataclasses.dataclass(frozen=True, eq=False)
class OutOfFold:
    """Every sentence re-ranked by weights that have not seen it.

    Attributes
    ----------
    pool : Pool
        The lists, without empty ones.
    folds : (N,)
    tuned, baseline, alone : (N,)
        The rows that the weights of the other folds choose, those of the baseline that is the best there, and those
        of the scorer that is the best alone.
    single : the name of that scorer, or of those of the folds; '' where none was tried
    weights : (F, D)
    tried : the scores of all tuners that folds chose from, by name; empty where there was no choice
    """

    pool: Pool
    folds: Int64
    tuned: Int64
    baseline: Int64
    alone: Int64
    single: str
    weights: Float64
    tried: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def statistics(self, rows: Int64, metric: Metric) -> npt.NDArray[Any]:
        """Return the statistics of one row of each sentence under any metric, (N, S)."""
        return pool_statistics(self.pool.take(rows), metric)


def out_of_fold(job: TuningJob, n_folds: int, *, by: str = "") -> OutOfFold:
    """Tune a job on all folds but one, in turn, and re-rank each by the weights that have not seen it."""
    problem = _lists(job)
    pool, metric = with_statistics(problem.pool, problem.metric), problem.metric  # without empty lists
    folds = folds_of(pool, n_folds, by=by, seed=job.options.seed)
    rows = np.zeros((3, problem.n_sentences), np.int64)
    weights, singles = [], []
    with progress(f"{job.tuner.name}: folds", n_folds) as advance:
        for fold in range(n_folds):
            inside, outside = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            with unwarned(), without_notices():  # what there is to say was said of all sentences
                seen = ListProblem.of(pool.take_sentences(outside), metric, bounds=problem.bounds)
                part = dataclasses.replace(
                    job,
                    problem=seen,
                    heldout=None,
                    engine=None,
                    replicas=1,
                    average=False,
                    watch=nobody,
                    options=dataclasses.replace(job.options, checkpoint="", resume=False, certify=0),
                )
                found = tune_replica(part, Replica(job.options.seed))
                assert part.baselines[0] is not None
                best = part.baselines[0].best.weights
                unseen = ListProblem.of(pool.take_sentences(inside), metric)
            if found.result.interrupted:
                raise KeyboardInterrupt
            none = np.zeros(problem.n_features)  # with which all tie, and the first is chosen
            single = part.baselines[0].best_alone
            if single is not None:
                singles.append(single.name)
            others = [best, None if single is None else single.weights]
            vectors = np.array([found.weights, *(none if own is None else own for own in others)])
            rows[:, inside] = unseen.select(vectors) + (pool.offsets[inside] - unseen.offsets[:-1])
            weights.append(found.weights)
            advance(1)
    return OutOfFold(pool, folds, rows[0], rows[1], rows[2], " or ".join(dict.fromkeys(singles)), np.array(weights))


def decided(job: TuningJob, n_folds: int | None, *, by: str = "") -> tuple[TuningJob, OutOfFold | None]:
    """Return a job with the tuner whose answers hold best on unseen sentences, and what its folds came to.

    Only `auto` leaves folds a choice; where there is none, nothing is done. Of equal scores the first tuner's counts.
    """
    tuners = job.tuner.on_trial(job.problem)
    if n_folds is None or len(tuners) < 2:
        return job, None
    jobs = [dataclasses.replace(job, tuner=one) for one in tuners]
    found = [out_of_fold(one, n_folds, by=by) for one in jobs]
    metric = job.problem.metric
    scores = [float(metric.score(one.statistics(one.tuned, metric).sum(axis=0))) for one in found]
    best = int(np.argmax(metric.gain(np.array(scores))))
    tried = {one.name: score for one, score in zip(tuners, scores, strict=True)}
    notice(f"auto takes {tuners[best].name}, by {n_folds} folds")
    return jobs[best], dataclasses.replace(found[best], tried=tried)


def cross_validation(
    job: TuningJob, report: TuningReport, found: OutOfFold, *, by: str = "", also: Sequence[Metric] = ()
) -> CrossValidation:
    """Return what folds came to beside an answer that was tuned on all sentences."""
    problem, first, metric = _lists(job), report.replicas[0], job.problem.metric
    tuned, baseline = (found.statistics(rows, metric) for rows in (found.tuned, found.baseline))
    score, base = (float(metric.score(stats.sum(axis=0))) for stats in (tuned, baseline))
    resampled = bootstrap_scores([tuned[None]], metric.score, draws=BOOTSTRAP_DRAWS, seed=0)[0]
    rivals = {FIRST: found.pool.offsets[:-1], **({found.single: found.alone} if found.single else {})}
    return CrossValidation(
        found.folds,
        by,
        score,
        score_interval(resampled),
        base,
        score - base,
        paired_interval(metric, baseline, tuned),
        tuple(_rival(metric, name, found.statistics(rows, metric), tuned) for name, rows in rivals.items()),
        problem.score(first.weights),
        problem.names,
        first.weights,
        np.array([same_size(own, first.weights, problem.spread) for own in found.weights]),
        tuple(_cross_metrics(found, metric, also, by=by)),
        found.tried,
    )


def check_also(job: TuningJob, also: Sequence[Metric]) -> None:
    """Raise where a further metric cannot be had of the lists, before anything is tuned."""
    if also:
        pool = _lists(job).pool
        first = pool.take(pool.offsets[:-1][pool.list_lengths > 0])
        for metric in also:
            pool_statistics(first, metric)


def _cross_metrics(found: OutOfFold, tuned_for: Metric, also: Sequence[Metric], *, by: str) -> Iterator[CrossMetric]:
    """Yield what the answer does to BLEU, chrF, length, given columns and those named; never at the answer's cost."""
    pool = found.pool
    named = ["bleu", "chrf", "length"] if pool.references is not None else []
    columns = [name for name in pool.columns if name not in (by, TOTAL) and name.isidentifier()][:MOST_COLUMNS]
    metrics = {one.signature: one for one in [*also, *map(load_metric, named)]}
    metrics |= {one.signature: one for one in (load_metric(f"column:{name}") for name in columns)}
    known = {metric.signature for metric in also} | {load_metric(name).signature for name in named}
    for signature, metric in metrics.items():
        if signature == tuned_for.signature:
            continue
        try:
            with unwarned():  # nobody asked for this metric, or what there is to say of it
                before, after = (found.statistics(rows, metric) for rows in (found.baseline, found.tuned))
        except LuthierError as error:
            warnings.warn(f"{metric.label} is left out of the other metrics: {error}", LuthierWarning, stacklevel=2)
            continue
        base, score = (float(metric.score(stats.sum(axis=0))) for stats in (before, after))
        better = metric.higher_is_better if signature in known else None  # of a given column nobody has said it
        yield CrossMetric(metric.label, better, base, score, paired_interval(metric, before, after))


def _rival(metric: Metric, name: str, stats: npt.NDArray[Any], tuned: npt.NDArray[Any]) -> Rival:
    """Return what tuning adds to a choice without it, from statistics of each sentence, (N, S) twice."""
    own, score = (float(metric.score(part.sum(axis=0))) for part in (stats, tuned))
    return Rival(name, own, score - own, paired_interval(metric, stats, tuned))
