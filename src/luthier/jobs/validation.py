"""How far tuned weights can be trusted: the answer on resamples of its sentences, and cross-validated by folds."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.errors import LuthierError, unwarned
from luthier.core.progress import progress, without_notices
from luthier.evaluation.bootstrap import bootstrap_scores, score_interval
from luthier.jobs.trace_file import nobody
from luthier.jobs.tuning_job import BOOTSTRAP_DRAWS, Replica, TuningJob, paired_interval, tune_replica
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.pools import with_statistics
from luthier.tuning.base import tuner
from luthier.tuning.validation.baselines import FIRST
from luthier.tuning.validation.folds import CrossValidation, Rival, folds_of
from luthier.tuning.validation.report import TuningReport
from luthier.tuning.validation.resampling import Resampling, resample_answer, same_size

EXACT_LINES = "mert"


def check_validation(job: TuningJob, resamples: int | None, folds: int | None, fold_by: str) -> None:
    """Raise where resamples or folds are asked for with what they cannot go with."""
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


def cross_validate(job: TuningJob, report: TuningReport, n_folds: int, *, by: str = "") -> CrossValidation:
    """Tune a job on all folds but one, in turn, and re-rank each by the weights that have not seen it."""
    problem, first = _lists(job), report.replicas[0]
    pool, metric = with_statistics(problem.pool, problem.metric), problem.metric  # without empty lists
    folds = folds_of(pool, n_folds, by=by, seed=first.seed)
    tuned = np.zeros((problem.n_sentences, problem.stats.shape[1]), problem.stats.dtype)
    baseline, first_of_each, alone = tuned.copy(), tuned.copy(), tuned.copy()
    weights, singles = [], []
    with progress("folds", n_folds) as advance:
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
                found = tune_replica(part, Replica(first.seed))
                assert part.baselines[0] is not None
                unseen = part.baselines[0].on(ListProblem.of(pool.take_sentences(inside), metric))
            if found.result.interrupted:
                raise KeyboardInterrupt
            tuned[inside] = unseen.problem.selected(found.weights[None])[0]
            baseline[inside] = unseen.statistics(unseen.best)
            first_of_each[inside] = unseen.statistics(unseen.named(FIRST))
            single = part.baselines[0].best_alone
            if single is not None:
                alone[inside] = unseen.statistics(unseen.named(single.name))
                singles.append(single.name)
            weights.append(same_size(found.weights, first.weights, problem.spread))
            advance(1)
    score, base = (float(metric.score(stats.sum(axis=0))) for stats in (tuned, baseline))
    resampled = bootstrap_scores([tuned[None]], metric.score, draws=BOOTSTRAP_DRAWS, seed=0)[0]
    rivals = {FIRST: first_of_each, **({" or ".join(dict.fromkeys(singles)): alone} if singles else {})}
    optimistic = float(metric.gain(np.array(problem.gain(first.weights))))  # gain is its own inverse
    return CrossValidation(
        folds,
        by,
        score,
        score_interval(resampled),
        base,
        score - base,
        paired_interval(metric, baseline, tuned),
        tuple(_rival(metric, name, stats, tuned) for name, stats in rivals.items()),
        optimistic,
        problem.names,
        first.weights,
        np.array(weights),
    )


def _rival(metric: Metric, name: str, stats: npt.NDArray[Any], tuned: npt.NDArray[Any]) -> Rival:
    """Return what tuning adds to a choice without it, from statistics of each sentence, (N, S) twice."""
    own, score = (float(metric.score(part.sum(axis=0))) for part in (stats, tuned))
    return Rival(name, own, score - own, paired_interval(metric, stats, tuned))
