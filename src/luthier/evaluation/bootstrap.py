"""Bootstrap over sentences: how much a score, or a difference, owes to the choice of the test set."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.evaluation.randomisation import Score

# Numbers in one block of counts, which bounds the memory.
BLOCK_SIZE = 1 << 21


def resampled_counts(n_sentences: int, *, draws: int, seed: int | np.random.Generator = 0) -> Iterator[Int64]:
    """Yield blocks of rows, `draws` in all, that say how often each sentence is in a resample, (b, N).

    A resample is N sentences drawn with replacement.
    """
    if n_sentences < 1 or draws < 2:
        raise LuthierError(f"expected sentences and at least 2 draws, found {n_sentences} and {draws}")
    rng = make_rng(seed)
    block = max(BLOCK_SIZE // n_sentences, 1)
    for first in range(0, draws, block):
        n = min(block, draws - first)
        drawn = rng.integers(n_sentences, size=(n, n_sentences))
        drawn += np.arange(n)[:, None] * n_sentences  # one range of numbers for each resample
        yield np.bincount(drawn.ravel(), minlength=n * n_sentences).reshape(n, n_sentences)


def bootstrap_scores(
    systems: Sequence[npt.NDArray[Any]],
    score: Score,
    *,
    draws: int = 1000,
    seed: int | np.random.Generator = 0,
) -> list[Float64]:
    """Return the scores of all replicas of all systems on the same resamples of the sentences.

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

    Returns
    -------
    list of (R, B)
    """
    n_sentences, n_stats = systems[0].shape[1:]
    if any(stats.ndim != 3 or stats.shape[1:] != (n_sentences, n_stats) for stats in systems):
        shapes = [stats.shape for stats in systems]
        raise LuthierError(f"expected arrays (replicas, N, S) with the same N and S, found {shapes}")
    every = np.concatenate(systems)  # (ΣR, N, S)
    columns = every.transpose(1, 0, 2).reshape(n_sentences, -1)  # (N, ΣR·S)
    blocks = [
        score(_product(counts, columns).reshape(len(counts), len(every), n_stats))
        for counts in resampled_counts(n_sentences, draws=draws, seed=seed)
    ]
    scores = np.concatenate(blocks).T  # (ΣR, B)
    return np.split(scores, np.cumsum([len(stats) for stats in systems])[:-1])


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


@dataclasses.dataclass(frozen=True)
class Interval:
    """Percentile interval of the difference of two systems, and how often the second is better.

    The replicas are taken as given: this is the uncertainty of the test set alone.
    """

    low: float
    high: float
    confidence: float
    probability_better: float | None


def difference_interval(
    baseline: Float64, system: Float64, *, higher_is_better: bool | None, confidence: float = 0.95
) -> Interval:
    """Return the paired interval of mean(system) − mean(baseline), from scores on the same resamples.

    Parameters
    ----------
    baseline, system : (R, B)
        Of `bootstrap_scores`, with their own R.
    higher_is_better
        Which way a difference must go for `system` to be better; equal scores count half. None where
        neither way is better: then there is no probability either.

    References
    ----------
    [koehn2004].
    """
    if not 0 < confidence < 1:
        raise LuthierError(f"the confidence must lie between 0 and 1, got {confidence}")
    differences = system.mean(axis=0) - baseline.mean(axis=0)  # (B,)
    tail = (1 - confidence) / 2
    low, high = np.quantile(differences, [tail, 1 - tail])
    better = None
    if higher_is_better is not None:
        gains = differences if higher_is_better else -differences
        better = float(np.mean(gains > 0) + np.mean(gains == 0) / 2)
    return Interval(float(low), float(high), confidence, better)
