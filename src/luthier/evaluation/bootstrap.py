"""Bootstrap over sentences: how much a score, or a difference, owes to the choice of the test set."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine, Shared, run_units
from luthier.metrics.base import Metric
from luthier.metrics.several import Constrained

if TYPE_CHECKING:
    from luthier.evaluation.randomisation import Score

# Numbers in one block of counts, which bounds the memory.
BLOCK_SIZE = 1 << 21
# From so many replicas on an interval says how runs vary: two have one difference only.
MIN_REPLICAS = 3
# Spawn key of the generator of drawn replicas, which no block of resamples has.
REPLICA_STREAM = 1 << 31
BOOTSTRAP_DRAWS = 1000  # of intervals beside an answer


@dataclasses.dataclass(frozen=True, eq=False)
class Resamples:
    """A block of resamples, with the generator from which they are drawn."""

    count: int
    rng: np.random.Generator

    def counts(self, n_sentences: int) -> Int64:
        """Return how often each sentence is in each resample, (b, N); the generator is not moved on."""
        drawn = copy.deepcopy(self.rng).integers(n_sentences, size=(self.count, n_sentences))
        drawn += np.arange(self.count)[:, None] * n_sentences  # one range of numbers for each resample
        return np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)


def resample_blocks(n_sentences: int, *, draws: int, seed: int | np.random.Generator) -> dict[int, Resamples]:
    """Return `draws` resamples in blocks of bounded size, each with a generator of its own.

    The first block has the seed's generator, the others its children: nobody need wait for another's draws.
    """
    if n_sentences < 1 or draws < 2:
        raise LuthierError(f"expected sentences and at least 2 draws, found {n_sentences} and {draws}")
    size = max(BLOCK_SIZE // n_sentences, 1)
    firsts = range(0, draws, size)
    rng = make_rng(seed)
    rngs = [rng, *rng.spawn(len(firsts) - 1)]
    return {i: Resamples(min(size, draws - first), rngs[i]) for i, first in enumerate(firsts)}


def bootstrap_scores(
    systems: Sequence[npt.NDArray[Any]],
    score: Score,
    *,
    draws: int = 1000,
    seed: int | np.random.Generator = 0,
    engine: Engine | None = None,
) -> list[Float64]:
    """Return the scores of all replicas of all systems on the same resamples of the sentences, (R, B) each.

    Resampled statistics are the product of counts (B, N) and statistics (N, S). The same number as
    `seed` gives the same resamples in any other call on N sentences, so metrics are paired as well.

    Parameters
    ----------
    systems
        Statistics (R, N, S) of each system, R being its own number of replicas.
    score
        Summed statistics → scores, ``(..., S) -> (...)``.
    draws
        Number of resamples, B.
    engine
        Who does the blocks of resamples; the scores do not depend on it.
    """
    n_sentences, n_stats = systems[0].shape[1:]
    if any(stats.ndim != 3 or stats.shape[1:] != (n_sentences, n_stats) for stats in systems):
        shapes = [stats.shape for stats in systems]
        raise LuthierError(f"expected arrays (replicas, N, S) with the same N and S, found {shapes}")
    every = np.concatenate(systems)  # (ΣR, N, S)
    columns = every.transpose(1, 0, 2).reshape(n_sentences, -1)  # (N, ΣR·S)
    resampling = _Resampling(columns, n_stats, score)
    units = resample_blocks(n_sentences, draws=draws, seed=seed)
    blocks = run_units(score_resamples, Shared(resampling), units, engine=engine)
    scores = np.concatenate(list(blocks.values())).T  # (ΣR, B)
    return np.split(scores, np.cumsum([len(stats) for stats in systems])[:-1])


@dataclasses.dataclass(frozen=True, eq=False)
class _Resampling:
    """What all blocks of resamples share."""

    columns: npt.NDArray[Any]  # (N, ΣR·S)
    n_stats: int
    score: Score


def score_resamples(resampling: _Resampling, block: Resamples) -> Float64:
    """Return the scores of all replicas on a block of resamples, (b, ΣR)."""
    counts = block.counts(len(resampling.columns))
    sums = _product(counts, resampling.columns).reshape(len(counts), -1, resampling.n_stats)  # (b, ΣR, S)
    return resampling.score(sums)


def _product(counts: Int64, columns: npt.NDArray[Any]) -> Float64:
    """Return counts @ columns, bit for bit the same everywhere.

    Sums of integers are exact in floating point, so BLAS may order them as it likes; other sums are
    left to NumPy's own loop, which has one order.
    """
    if columns.dtype.kind in "iu":
        return counts.astype(np.float64) @ columns.astype(np.float64)
    return np.asarray(np.einsum("bn,nc->bc", counts.astype(np.float64), columns, optimize=False))


def sampling_spread(scores: Float64) -> float:
    """Return s_sel: the standard deviation over resamples, averaged over replicas; (R, B) → number.

    The denominator is B − 1, as in MultEval.

    References
    ----------
    [clark2011].
    """
    return float(scores.std(axis=1, ddof=1).mean())


def score_interval(scores: Float64, confidence: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of a system's score, its replicas averaged; (R, B) → low, high."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(scores.mean(axis=0), [tail, 1 - tail])
    return float(low), float(high)


@dataclasses.dataclass(frozen=True)
class Interval:
    """Percentile interval of the difference of two systems, and how often the second is better.

    Attributes
    ----------
    low, high, confidence
    probability_better
        Share of the resamples where the second system is better, equal scores counting half.
    resampled_replicas
        How many replicas of the first and of the second system were drawn anew; 0 where they are too few to say how
        runs vary, and are taken as given.
    """

    low: float
    high: float
    confidence: float
    probability_better: float | None
    resampled_replicas: tuple[int, int] = (0, 0)


def difference_interval(
    baseline: Float64,
    system: Float64,
    *,
    higher_is_better: bool | None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """Return the interval of the difference of means, system − baseline, from scores on the same resamples.

    A system's score on a resample of the sentences is the mean of its replicas'. A system of at least `MIN_REPLICAS`
    replicas has them drawn anew, too, with replacement: to its score on a resample is added the mean deviation of the
    drawn replicas from the mean of all, times √(R/(R − 1)), since deviations from a mean of R are too small by that.
    The replicas of two systems are drawn independently.

    Parameters
    ----------
    baseline, system : (R, B)
        Of `bootstrap_scores`, each with its own number of replicas.
    higher_is_better
        Which way a difference must go for `system` to be better. None where
        neither way is better: then there is no probability either.
    seed
        Of the drawn replicas.

    References
    ----------
    [koehn2004].
    """
    if not 0 < confidence < 1:
        raise LuthierError(f"the confidence must lie between 0 and 1, got {confidence}")
    means = [part.mean(axis=0) + _replica_shifts(part, seed, n) for n, part in enumerate((baseline, system))]
    differences = means[1] - means[0]  # (B,)
    tail = (1 - confidence) / 2
    low, high = np.quantile(differences, [tail, 1 - tail])
    better = None
    if higher_is_better is not None:
        gains = differences if higher_is_better else -differences
        better = float(np.mean(gains > 0) + np.mean(gains == 0) / 2)
    first, second = (len(part) if len(part) >= MIN_REPLICAS else 0 for part in (baseline, system))
    return Interval(float(low), float(high), confidence, better, (first, second))


def _replica_shifts(scores: Float64, seed: int, number: int) -> Float64:
    """Return by how much replicas drawn anew move a system's score on each resample, (R, B) → (B,)."""
    n_replicas, draws = scores.shape
    if n_replicas < MIN_REPLICAS:
        return np.zeros(draws)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(REPLICA_STREAM, number)))
    drawn = rng.integers(n_replicas, size=(n_replicas, draws))
    deviations = scores - scores.mean(axis=0)
    shifts = np.take_along_axis(deviations, drawn, axis=0).mean(axis=0)
    return np.asarray(shifts * np.sqrt(n_replicas / (n_replicas - 1)))


def paired_interval(metric: Metric, before: npt.NDArray[Any], after: npt.NDArray[Any]) -> tuple[float, float]:
    """Return the paired-bootstrap interval of a change of the score, from statistics of each sentence, (N, S) twice."""
    metric = metric.unlimited if isinstance(metric, Constrained) else metric  # limits are on the whole set
    systems = [np.asarray(part)[None] for part in (before, after)]
    scores = bootstrap_scores(systems, metric.score, draws=BOOTSTRAP_DRAWS, seed=0)
    found = difference_interval(*scores, higher_is_better=metric.higher_is_better, confidence=0.95)
    return found.low, found.high
