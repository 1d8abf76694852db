"""Approximate randomisation by sentence: could whole systems be exchanged unnoticed?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine, Shared, run_units
from luthier.evaluation import _shuffle_kernels as kernels

# A metric's score of summed statistics, (..., S) -> (...).
Score = Callable[[npt.NDArray[Any]], Float64]

# Differences that agree to this much are the same difference: sums in another order may differ so.
TOLERANCE = 1e-12
# Shuffles of one task.
BLOCK = 512
# What is exchanged per sentence.
EXCHANGES = ("systems", "multeval")


@dataclasses.dataclass(frozen=True, eq=False)
class Contrast:
    """Two systems under one metric.

    Attributes
    ----------
    first : (A, N, S)
        Statistics of A replicas on N sentences.
    second : (B, N, S)
        Those of the other system, on the same sentences.
    score
        Summed statistics → scores, ``(..., S) -> (...)``.
    """

    first: npt.NDArray[Any]
    second: npt.NDArray[Any]
    score: Score

    def __post_init__(self) -> None:
        shapes = self.first.shape, self.second.shape
        if self.first.ndim != 3 or self.second.ndim != 3 or shapes[0][1:] != shapes[1][1:]:
            raise LuthierError(f"expected two arrays (replicas, N, S) with the same N and S, found {shapes}")
        if 0 in shapes[0][:2] or 0 in shapes[1][:2]:
            raise LuthierError(f"a comparison needs replicas and sentences, found shapes {shapes}")
        if not (np.isfinite(self.first).all() and np.isfinite(self.second).all()):
            raise LuthierError("statistics must be finite numbers")

    def sizes(self) -> tuple[int, int]:
        """Return how many replicas the two systems have."""
        return len(self.first), len(self.second)

    def difference(self) -> float:
        """Return what is tested: the score of the second system's mean statistics less that of the first's."""
        means = [part.sum(axis=1).sum(axis=0) / len(part) for part in (self.first, self.second)]
        return float(self.score(means[1])) - float(self.score(means[0]))


def randomisation_p(
    contrast: Contrast,
    *,
    shuffles: int = 10_000,
    seed: int | np.random.Generator = 0,
    exchange: str = "systems",
    engine: Engine | None = None,
) -> float:
    """Return the two-sided p-value of one contrast; see `randomisation_ps`."""
    return float(randomisation_ps([contrast], shuffles=shuffles, seed=seed, exchange=exchange, engine=engine)[0])


def randomisation_ps(
    contrasts: Sequence[Contrast],
    *,
    shuffles: int = 10_000,
    seed: int | np.random.Generator = 0,
    exchange: str = "systems",
    engine: Engine | None = None,
) -> Float64:
    """Return the two-sided p-value of each contrast, all from the same shuffles.

    Per sentence the two *systems* are exchanged or not, each with probability one half. A system's statistics on a
    sentence are the mean over its replicas. With c the number of n shuffles whose difference d of the two scores has
    |d| ≥ |d_observed| − 1e-12,

        p = (c + 1) / (n + 1).

    So identical systems get p = 1, and no p is below 1 / (n + 1). The null hypothesis is one of sentences:
    replicas of a system may share what they do to a sentence, and a copy of a replica changes nothing. It is about
    these runs: where a run as a whole is better or worse by chance, this rejects too often, and
    `compare_replicas` is the test for that.

    Parameters
    ----------
    contrasts
        Two systems under one or more metrics: same numbers of replicas and of sentences in each. A
        p-value does not depend on the other contrasts, on the order of the systems, or on `engine`.
    shuffles
        Their number, n.
    exchange
        ``"systems"``, or ``"multeval"``: single replicas, as MultEval exchanges them; both systems need as many.

    Notes
    -----
    MultEval permutes the replicas within each sentence, deals the second pseudo-system by the inverse permutation, so
    that an item can be in both or in none, and counts |d| > |d_observed|. It takes replicas for independent, rejects
    true nulls too often, and gives identical systems a p near 0. It is here to check published numbers.
    Time is O(n · N · S), memory O(N · S); for MultEval's, times the number of replicas.

    References
    ----------
    [riezler2005], [clark2011].
    """
    if shuffles < 1:
        raise LuthierError(f"the number of shuffles must be at least 1, got {shuffles}")
    if exchange not in EXCHANGES:
        raise LuthierError(f"expected an exchange of {' or '.join(EXCHANGES)}, found {exchange!r}")
    if not contrasts:
        return np.empty(0)
    if len({(contrast.sizes(), contrast.first.shape[1]) for contrast in contrasts}) > 1:
        raise LuthierError("contrasts tested together must have the same replicas and sentences")
    test = _multeval_test(contrasts) if exchange == "multeval" else _system_test(contrasts)
    least = np.abs(test.differences(test.observed_sums())[:, 0])
    if not test.strict:
        least -= TOLERANCE
        if least.max() <= 0:  # every shuffle would count
            return np.ones(len(contrasts))
    counting = _Counting(test, np.uint64(make_rng(seed).integers(1 << 63)), least)
    units = {i: Shuffles(a, min(BLOCK, shuffles - a)) for i, a in enumerate(range(0, shuffles, BLOCK))}
    blocks = run_units(count_hits, Shared(counting), units, engine=engine)
    counts = sum(blocks.values(), np.zeros(len(contrasts), np.int64))
    return np.asarray((counts + 1) / (shuffles + 1), dtype=np.float64)


def _system_test(contrasts: Sequence[Contrast]) -> _Test:
    """Return the test that exchanges whole systems, (N, 2, S) items.

    Counts stay whole numbers: a system's items are the sums over its replicas, times what brings both systems to the
    same number of them; that number is divided out before a score is taken.
    """
    common = math.lcm(*contrasts[0].sizes())
    items = []
    for contrast in contrasts:
        sums = (part.sum(axis=0) * (common // len(part)) for part in (contrast.first, contrast.second))
        items.append(np.stack(_in_order(sums), axis=1))
    return _test(contrasts, items, common, strict=False)


def _multeval_test(contrasts: Sequence[Contrast]) -> _Test:
    """Return MultEval's test, (N, 2R, S) items."""
    count, other = contrasts[0].sizes()
    if count != other:
        raise LuthierError(f"MultEval's exchange needs as many replicas of both systems, found {count} and {other}")
    pairs = (_in_order((contrast.first, contrast.second)) for contrast in contrasts)
    return _test(contrasts, [np.concatenate(pair).transpose(1, 0, 2) for pair in pairs], count, strict=True)


def _in_order(pair: Iterable[npt.NDArray[Any]]) -> list[Float64]:
    """Return two arrays in an order of their own, so that exchanging the systems cannot change a p-value."""
    return sorted((np.asarray(part, dtype=np.float64) for part in pair), key=lambda part: part.tobytes())


def _test(contrasts: Sequence[Contrast], items: Sequence[Float64], scale: int, *, strict: bool) -> _Test:
    bounds = np.cumsum([0] + [part.shape[2] for part in items])
    return _Test(
        *_split_by_difference(np.concatenate(items, axis=2)),
        scale=scale,
        strict=strict,
        columns=[slice(*pair) for pair in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)],
        scores=[contrast.score for contrast in contrasts],
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Test:
    """The items to deal, and how the sums of a deal become differences of scores."""

    items: Float64  # (n, K, S): only sentences whose items differ
    sentences: Int64  # (n,)
    constant: Float64  # (S,): what all other sentences give to every slot of a system
    scale: int  # what sums are divided by before a score is taken
    strict: bool  # MultEval's: single replicas, and only larger differences count
    columns: Sequence[slice]
    scores: Sequence[Score]

    def observed_sums(self) -> Float64:
        """Return both systems' sums without any exchange, (1, 2, S), added in the order of the kernel."""
        n, n_items, n_stats = self.items.shape
        slots = n_items // 2
        items = self.items.reshape(n, 2, slots, n_stats).transpose(0, 2, 1, 3).reshape(n * slots, 2, n_stats)
        start = np.broadcast_to(self.constant * slots, (1, 2, n_stats))
        return np.cumsum(np.concatenate([start, items]), axis=0)[-1:]

    def shuffled_sums(self, key: np.uint64, first: int, n: int) -> Float64:
        """Return both pseudo-systems' sums in n shuffles from number `first` on, (n, 2, S)."""
        sums = np.empty((n, 2, self.items.shape[2]))
        sums[:] = self.constant * (self.items.shape[1] // 2)
        # Hashes overflow on purpose; where kernels run as plain Python each thread must be told so.
        with np.errstate(over="ignore"):
            add = kernels.add_multeval if self.strict else kernels.add_shuffled
            add(self.items, self.sentences, key, first, sums)
        return sums

    def differences(self, sums: Float64) -> Float64:
        """Return each contrast's difference of scores: (n, 2, S) → (contrasts, n)."""
        rows = []
        for columns, score in zip(self.columns, self.scores, strict=True):
            scores = score(sums[:, :, columns] / self.scale)  # (n, 2)
            rows.append(scores[:, 0] - scores[:, 1])
        return np.array(rows)


@dataclasses.dataclass(frozen=True, eq=False)
class _Counting:
    """What all blocks of shuffles share: the key from which each is drawn, and what counts as a hit."""

    test: _Test
    key: np.uint64
    least: Float64  # (contrasts,)


@dataclasses.dataclass(frozen=True)
class Shuffles:
    """A block of shuffles: each is a function of its number and the key."""

    first: int
    count: int


def count_hits(counting: _Counting, block: Shuffles) -> Int64:
    """Return for each contrast how many of the shuffles differ at least as much as what was observed, or more."""
    sums = counting.test.shuffled_sums(counting.key, block.first, block.count)
    differences = np.abs(counting.test.differences(sums))
    least = counting.least[:, None]
    hits: Int64 = np.count_nonzero(differences > least if counting.test.strict else differences >= least, axis=1)
    return hits


def _split_by_difference(items: Float64) -> tuple[Float64, Int64, Float64]:
    """Return the items of sentences where they differ, those sentences, and the sum of the others."""
    differ = (items != items[:, :1]).any(axis=(1, 2))
    constant = items[~differ, 0].sum(axis=0)
    return np.ascontiguousarray(items[differ]), np.flatnonzero(differ), constant


POWER = 0.8  # the share of test sets in which a detectable effect is seen


def holm(p_values: Sequence[float] | Float64) -> Float64:
    """Return p-values corrected for their number by Holm's step-down method [holm1979].

    Those at or below a level α are rejected; the chance that a true null hypothesis is among them is at most α.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    found = np.asarray(p_values, dtype=np.float64)
    if found.ndim != 1 or not np.all((found >= 0) & (found <= 1)):
        raise LuthierError(f"expected p-values between 0 and 1, found {p_values!r}")
    order = np.argsort(found, kind="stable")
    steps = found[order] * np.arange(len(found), 0, -1)
    corrected = np.empty_like(found)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(found) else steps
    return corrected


def detectable_effect(error: float, *, level: float, tests: int = 1) -> float:
    """Return the effect that one of so many two-sided tests sees with a probability of `POWER`.

    With s the standard error of a difference it is (z(1 − level/(2·tests)) + z(POWER))·s, z being normal quantiles:
    Bonferroni's level, which Holm's is never below.

    >>> round(detectable_effect(1.0, level=0.05), 2)
    2.8
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - level / (2 * tests)) + normal.inv_cdf(POWER)) * error
