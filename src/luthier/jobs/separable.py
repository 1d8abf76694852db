"""What features can tell apart, before and after an induction: from a pool to reports with proofs."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.rng import make_rng
from luthier.core.segments import segment_of_rows
from luthier.features.bins import Bins
from luthier.features.induction import induce_pool
from luthier.kbest.pool import Pool
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.separability import Constraints, Model, oracle_constraints, separability
from luthier.metrics.base import Metric
from luthier.tuning.neighbours.smooth_fit import Ridge, minimize
from luthier.tuning.ranking.pairs import PairLoss, Pairs, PairSampling, differences, sample_pairs

GIVEN = "as given"
# Of the fit that counts misordered pairs: it only keeps weights finite where pairs are separable.
RIDGE, FIT_STEPS = 1e-3, 200


@dataclasses.dataclass(frozen=True, eq=False)
class SeparableJob:
    """Of which pool, by which metric, with which pairs; and after which inductions, by name."""

    pool: Pool
    metric: Metric
    sampling: PairSampling
    seed: int = 0
    inductions: tuple[tuple[str, Bins], ...] = ()


def separable(job: SeparableJob) -> list[Model]:
    """Return what the features as given, and after each induction, can tell apart; all by the same pairs."""
    problem = ListProblem.of(job.pool, job.metric)
    pairs = distinct_pairs(sample_pairs(problem, problem.sentence_gains, job.sampling, make_rng(job.seed)))
    models = [(GIVEN, problem.pool), *((name, induce_pool(problem.pool, bins)) for name, bins in job.inductions)]
    return [_model(name, pool, problem, pairs) for name, pool in models]


def distinct_pairs(pairs: Pairs) -> Pairs:
    """Return each pair once: a short list yields the same one many times."""
    lists = segment_of_rows(pairs.offsets)
    rows = np.unique(np.stack([lists, pairs.better, pairs.worse], axis=1), axis=0)
    return Pairs(rows[:, 1], rows[:, 2], np.searchsorted(rows[:, 0], np.arange(len(pairs.offsets))))


def _model(name: str, pool: Pool, problem: ListProblem, pairs: Pairs) -> Model:
    constraints = Constraints(pairs.better, pairs.worse, segment_of_rows(pairs.offsets))
    return Model(
        name, pool, separability(pool, oracle_constraints(pool, problem.sentence_gains)), separability(pool, constraints),
        _misordered(pool, pairs),
    )  # fmt: skip


def _misordered(pool: Pool, pairs: Pairs) -> float:
    """Return the share of pairs that a logistic fit does not put in order."""
    if not len(pairs):
        return 0.0
    rows, start = differences(pool.features, pairs), np.zeros(pool.n_features)
    fit = minimize([PairLoss(rows), Ridge(RIDGE, start)], start, Bounds.none(pool.n_features), iterations=FIT_STEPS)
    return float(np.mean(rows.scores(fit.weights) <= 0.0))
