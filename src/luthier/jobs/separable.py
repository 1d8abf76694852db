"""What linear weights can tell apart: ``luthier.separable``, before and after an induction, with proofs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.html import Shown
from luthier.core.params import DEFAULT_SEED, checked, paths_of
from luthier.core.rng import make_rng
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.features.bins import Bins
from luthier.features.bins_file import read_bins
from luthier.features.examples import WORTH
from luthier.features.examples import example as load_example
from luthier.features.induction import induce_pool
from luthier.jobs.opening import AnyPath, AnyPool, pool_at
from luthier.kbest.pool import Pool
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.selections.separability import Constraints, Model, oracle_constraints, separability
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric
from luthier.tuning.neighbours.smooth_fit import Ridge, minimize
from luthier.tuning.ranking.pairs import PairLoss, Pairs, PairSampling, differences, sample_pairs

GIVEN = "as given"
ALL, MOST_PAIRS = "all", 1_000_000
LARGEST_FEATURE = 1e150  # differences are squared and added
# Of the fit that counts misordered pairs: it only keeps weights finite where pairs are separable.
RIDGE, FIT_STEPS = 1e-3, 200


@dataclasses.dataclass(frozen=True, eq=False)
class Separable(Shown):
    """What the features as given, and after each induction, can tell apart."""

    models: tuple[Model, ...]
    all_pairs: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, with all proofs."""
        return {"models": [model.as_dict() for model in self.models], "all_pairs": self.all_pairs}


@checked
def separable(
    pool: AnyPool | None = None,
    metric: str | Metric = "bleu",
    *,
    example: str | None = None,
    bins: AnyPath | Sequence[AnyPath] | Mapping[str, Bins] = (),
    draws: int = 5000,
    kept: int = 50,
    alpha: float = 5.0,
    pairs: str = "largest",
    seed: int = DEFAULT_SEED,
) -> Separable:
    """Find what linear weights can tell apart in a pool, with proofs, before and after the induction of bins.

    Parameters
    ----------
    pool, metric
        Lists, or where they are; a metric or its name.
    example
        ``figure4``, ``figure5`` or ``figure6`` of [clark2014] in place of a pool: as it is, after global bins and
        after local ones.
    bins
        Files of bins, or bins by name: also what features can tell apart after their induction.
    draws, kept, alpha, pairs
        Pairs drawn of each sentence and kept of them, the least difference of gains in a pair (of 0–100), and which
        are kept: those of the ``largest`` differences, as PRO does, or the ``first``, a fair sample; or ``all`` pairs
        of a list whose gains differ.

    Examples
    --------
    >>> [model.pairs.together.separable for model in separable(example="figure4").models]
    [False, True, True]
    """
    check_pairs(draws=draws, kept=kept, alpha=alpha)
    if (pool is None) == (example is None):
        raise LuthierError("expected a pool or an example, found both or neither")
    if example is not None:
        if bins:
            raise LuthierError("an example has bins of its own. hint: leave `bins` out")
        pool, bins = load_example(example)
        metric = f"column:{WORTH}"
    assert pool is not None
    if isinstance(bins, Mapping):
        inductions = dict(bins)
    else:
        inductions = {path: read_bins(path) for path in paths_of(bins, "a file of bins")}
    problem = ListProblem.of(pool_at(pool), as_metric(metric))
    largest = problem.pool.features.largest
    if largest > LARGEST_FEATURE:
        raise LuthierError(f"expected features of at most {LARGEST_FEATURE:g}, found {largest:g}. hint: scale it down")
    if pairs == ALL:
        sampled = all_pairs(problem.sentence_gains, problem.offsets)
    else:
        sampling = PairSampling(draws, kept, alpha, pairs)
        sampled = distinct_pairs(sample_pairs(problem, problem.sentence_gains, sampling, make_rng(seed)))
    pools = [(GIVEN, problem.pool), *((name, induce_pool(problem.pool, one)) for name, one in inductions.items())]
    return Separable(tuple(_model(name, made, problem, sampled) for name, made in pools), pairs == ALL)


def check_pairs(*, draws: int, kept: int, alpha: float) -> None:
    """Raise where no pairs can be drawn by these options."""
    if draws < 1 or kept < 1 or not 0 <= alpha < float("inf"):
        raise LuthierError("expected `draws` and `kept` of at least 1 and `alpha` of at least 0, found others")


def all_pairs(gains: Float64, offsets: Int64) -> Pairs:
    """Return every pair of rows of a list whose gains, (M,), differ.

    >>> found = all_pairs(np.array([1.0, 3.0, 1.0, 5.0]), np.array([0, 3, 4]))
    >>> found.better.tolist(), found.worse.tolist(), found.offsets.tolist()
    ([1, 1], [0, 2], [0, 2, 2])
    """
    better, worse, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
    for first, last in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        above, below = np.nonzero(gains[first:last, None] > gains[None, first:last])
        better.append(first + above)
        worse.append(first + below)
        counts.append(len(above))
        if sum(counts) > MOST_PAIRS:
            raise LuthierError(f"there are more than {MOST_PAIRS:,} pairs. hint: fewer sentences, or a sample of pairs")
    return Pairs(np.concatenate(better), np.concatenate(worse), offsets_from_counts(counts))


def distinct_pairs(pairs: Pairs) -> Pairs:
    """Return each pair once: a short list yields the same one many times."""
    lists = segment_of_rows(pairs.offsets)
    rows = np.unique(np.stack([lists, pairs.better, pairs.worse], axis=1), axis=0)
    return Pairs(rows[:, 1], rows[:, 2], np.searchsorted(rows[:, 0], np.arange(len(pairs.offsets))))


def _model(name: str, pool: Pool, problem: ListProblem, pairs: Pairs) -> Model:
    constraints = Constraints(pairs.better, pairs.worse, segment_of_rows(pairs.offsets))
    return Model(
        name,
        pool,
        separability(pool, oracle_constraints(pool, problem.sentence_gains)),
        separability(pool, constraints),
        _misordered(pool, pairs),
    )


def _misordered(pool: Pool, pairs: Pairs) -> float:
    """Return the share of pairs that a logistic fit does not put in order."""
    if not len(pairs):
        return 0.0
    rows, start = differences(pool.features, pairs), np.zeros(pool.n_features)
    fit = minimize([PairLoss(rows), Ridge(RIDGE, start)], start, Bounds.none(pool.n_features), iterations=FIT_STEPS)
    return float(np.mean(rows.scores(fit.weights) <= 0.0))
