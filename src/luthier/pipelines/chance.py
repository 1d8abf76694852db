"""How far better weights can be trusted: chance on these sentences and on others, resamples, folds."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierWarning
from luthier.core.progress import progress
from luthier.evaluation.bootstrap import bootstrap_scores, score_interval
from luthier.kbest.features import align_features
from luthier.kbest.pool import Pool
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.base import Metric
from luthier.metrics.pools import with_statistics
from luthier.pipelines.trace_file import nobody
from luthier.pipelines.tuning import (
    BOOTSTRAP_DRAWS,
    ReadyJob,
    Replica,
    TuningJob,
    interval_of,
    paired_interval,
    tune_replica,
)
from luthier.tuning.base import tuner
from luthier.tuning.folds import CrossValidation, folds_of
from luthier.tuning.resampling import Resampling, resample_answer, same_size
from luthier.tuning.tuned import TuningReport

EXACT_LINES = "mert"


def changes(
    problem: ListProblem, start: Float64, weights: Float64, heldout: Pool | None, metric: Metric
) -> dict[str, dict[str, float]]:
    """Return scores at two weight vectors with the interval of their difference: on these sentences, on held-out ones.

    Intervals are by paired bootstrap, 95 %. On the sentences on which the weights were chosen they flatter.
    """
    found = {"these": _change(problem, start, weights)}
    if heldout is not None:
        features = align_features(heldout.features, problem.names, problem.pool.features.n_dense)
        found["heldout"] = _change(ListProblem.of(heldout.with_features(features), metric), start, weights)
    return found


def _change(problem: ListProblem, start: Float64, weights: Float64) -> dict[str, float]:
    before, after = problem.metric.gain(problem.gains(np.array([start, weights]))).tolist()  # gain is its own inverse
    low, high = interval_of(problem, start, weights)
    return {"before": before, "after": after, "low": low, "high": high, "sentences": problem.n_sentences}


def resample_job(job: TuningJob, report: TuningReport, draws: int) -> Resampling:
    """Tune the first answer of a job again on resamples of its sentences, by its own exact lines or by plain ones."""
    assert isinstance(report.problem, ListProblem)  # jobs of one pool have no other
    by = job.tuner if job.tuner.name == EXACT_LINES else tuner(EXACT_LINES)
    first = report.replicas[0]
    return resample_answer(
        report.problem, by, first.weights, draws=draws, seed=first.seed, threads=job.options.threads
    )  # fmt: skip


def cross_validate(job: TuningJob, report: TuningReport, n_folds: int, *, by: str = "") -> CrossValidation:
    """Tune a job on all folds but one, in turn, and re-rank each by the weights that have not seen it."""
    assert isinstance(report.problem, ListProblem)
    problem, first = report.problem, report.replicas[0]
    pool = with_statistics(problem.pool, job.metric)  # without empty lists
    folds = folds_of(pool, n_folds, by=by, seed=first.seed)
    tuned = np.zeros((problem.n_sentences, problem.stats.shape[1]), problem.stats.dtype)
    baseline = tuned.copy()
    weights = []
    with progress("folds", n_folds) as advance:
        for fold in range(n_folds):
            inside, outside = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            part = dataclasses.replace(
                job, pool=pool.take_sentences(outside), heldout=None, pool_file=None, heldout_file=None, engine=None,
                replicas=1, average=False, watch=nobody,
                options=dataclasses.replace(job.options, checkpoint="", resume=False, certify=0),
            )  # fmt: skip
            with warnings.catch_warnings():  # what there is to say was said of all sentences
                warnings.simplefilter("ignore", LuthierWarning)
                ready = ReadyJob.of(part)
                found = tune_replica(ready, Replica(first.seed))
                unseen = ready.baselines.on(ListProblem.of(pool.take_sentences(inside), job.metric))
            if found.result.interrupted:
                raise KeyboardInterrupt
            tuned[inside] = unseen.problem.selected(found.weights[None])[0]
            baseline[inside] = unseen.statistics(unseen.best)
            weights.append(same_size(found.weights, first.weights, problem.spread))
            advance(1)
    metric = job.metric
    score, base = (float(metric.score(stats.sum(axis=0))) for stats in (tuned, baseline))
    resampled = bootstrap_scores([tuned[None]], metric.score, draws=BOOTSTRAP_DRAWS, seed=0)[0]
    optimistic = float(metric.gain(np.array(problem.gain(first.weights))))  # gain is its own inverse
    return CrossValidation(
        folds, by, score, score_interval(resampled), base, score - base, paired_interval(metric, baseline, tuned),
        optimistic, problem.names, first.weights, np.array(weights),
    )  # fmt: skip
