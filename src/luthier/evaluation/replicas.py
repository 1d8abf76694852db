"""Tests between whole runs: is the difference larger than what the optimizer does by itself?"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.evaluation.randomisation import TOLERANCE

# More splits than this (10 against 10 are 184,756) are sampled, not enumerated.
MAX_SPLITS = 200_000
SAMPLED_SPLITS = 99_999
SIGNIFICANCE = 0.05


@dataclasses.dataclass(frozen=True)
class ReplicaTest:
    """What the scores of the replicas alone, one number each, say about a difference.

    Attributes
    ----------
    permutation_p
        Share of the ways to split all replicas into two groups of the same sizes whose means differ
        at least as much, two-sided.
    smallest_p
        The least that `permutation_p` can be with so few replicas: 0.1 for 3 against 3.
    splits
        How many ways there are.
    welch_p
        Of Welch's t-test, two-sided; None with a single replica, or where no replica differs from
        the others of its system.
    least_significant_difference
        The difference that Welch's test needs, with these spreads, to be significant at 5 %; None as above.
    """

    permutation_p: float
    smallest_p: float
    splits: int
    welch_p: float | None
    least_significant_difference: float | None


def optimizer_spread(scores: npt.ArrayLike) -> float | None:
    """Return s_opt: the standard deviation of the scores (R,) of replicas, R − 1 in the denominator.

    None for a single replica, which says nothing about the optimizer.

    References
    ----------
    [clark2011], s_Test there.
    """
    scores = np.asarray(scores, dtype=np.float64)
    return float(scores.std(ddof=1)) if len(scores) > 1 else None


def compare_replicas(
    first: npt.ArrayLike, second: npt.ArrayLike, *, seed: int | np.random.Generator = 0
) -> ReplicaTest:
    """Return the tests between the scores of two systems' replicas, (A,) and (B,).

    Unlike stratified randomisation these hold when replicas differ by more than the chances of
    single sentences; they ask for more replicas in return.

    >>> compare_replicas([18.4, 18.5, 18.6], [18.8, 18.9, 19.1]).permutation_p
    0.1
    """
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if not (first.size and second.size) or first.ndim != 1 or second.ndim != 1:
        raise LuthierError(f"expected scores of replicas, found shapes {first.shape} and {second.shape}")
    n_splits = math.comb(len(first) + len(second), len(first))
    # Groups of equal size can change names, so the most extreme split always has a twin.
    smallest = (2 if len(first) == len(second) else 1) / n_splits
    observed = abs(first.mean() - second.mean())
    scores = np.concatenate([first, second])
    if n_splits <= MAX_SPLITS:
        differences = _all_differences(scores, len(first))
        p = float(np.mean(differences >= observed - TOLERANCE))
    else:
        differences = _sampled_differences(scores, len(first), make_rng(seed))
        smallest = max(smallest, 1 / (SAMPLED_SPLITS + 1))
        p = float((np.sum(differences >= observed - TOLERANCE) + 1) / (SAMPLED_SPLITS + 1))
    return ReplicaTest(p, smallest, n_splits, *_welch(first, second))


def _all_differences(scores: Float64, size: int) -> Float64:
    """Return |difference of means| for every split into `size` scores and the rest."""
    n_splits = math.comb(len(scores), size)
    chosen = itertools.chain.from_iterable(itertools.combinations(range(len(scores)), size))
    members = np.fromiter(chosen, dtype=np.int64, count=n_splits * size).reshape(n_splits, size)
    return _differences(scores[members].sum(axis=1), scores, size)


def _sampled_differences(scores: Float64, size: int, rng: np.random.Generator) -> Float64:
    """Return |difference of means| for splits drawn at random."""
    rows = np.tile(scores, (SAMPLED_SPLITS, 1))
    rng.permuted(rows, axis=1, out=rows)
    return _differences(rows[:, :size].sum(axis=1), scores, size)


def _differences(sums: Float64, scores: Float64, size: int) -> Float64:
    return np.asarray(np.abs(sums / size - (scores.sum() - sums) / (len(scores) - size)))


def _welch(first: Float64, second: Float64) -> tuple[float | None, float | None]:
    """Return the p-value of Welch's test and the difference it needs; None where it is undefined."""
    if len(first) < 2 or len(second) < 2:
        return None, None
    squares = first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)
    error = math.sqrt(sum(squares))
    if error <= TOLERANCE:
        return None, None
    # Not scipy.stats, which does the same and takes half a second to import.
    from scipy.special import stdtr, stdtrit

    freedom = sum(squares) ** 2 / (squares[0] ** 2 / (len(first) - 1) + squares[1] ** 2 / (len(second) - 1))
    p = 2 * stdtr(freedom, -abs(first.mean() - second.mean()) / error)
    return float(p), float(stdtrit(freedom, 1 - SIGNIFICANCE / 2) * error)
