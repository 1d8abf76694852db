"""Approximate randomisation by sentence: could whole systems be exchanged unnoticed?"""

from __future__ import annotations

import abc
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine, Shared, run_units
from luthier.evaluation import _shuffle_kernels as kernels

# A metric's score of summed statistics, (..., S) -> (...).
Score = Callable[[npt.NDArray[Any]], Float64]

# Differences that agree to this share of the scores are the same difference: sums in another order may differ so.
TOLERANCE = 1e-12
# Shuffles of one task.
BLOCK = 512
# Pairs of replicas scored at once, over shuffles: it bounds the memory.
MOST_PAIRS = 1 << 14
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
        """Return what is tested: the mean score of the second system's replicas less that of the first's."""
        first, second = self._scores()
        return float(second.mean()) - float(first.mean())

    def tolerance(self) -> float:
        """Return what sums in another order may change a difference by."""
        return TOLERANCE * max(float(np.abs(scores).max()) for scores in self._scores())

    def _scores(self) -> list[Float64]:
        return [self.score(part.sum(axis=1)) for part in (self.first, self.second)]


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

    Per sentence the two *systems* are exchanged or not, each with probability one half: all replicas of one against
    all of the other. The difference d of a shuffle is the mean over every pair of a replica a of the first system
    and b of the second, of the difference of the scores of a and b with these sentences exchanged between them;
    without any exchange it is the difference of the mean scores. With c the number of n shuffles that have
    |d| ≥ |d_observed|, but for rounding,

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
    Time is O(n · (N · R + A · B) · S) with R = A + B replicas, memory O(N · R · S).

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
    test: _Test = _MultEval.of(contrasts) if exchange == "multeval" else _Systems.of(contrasts)
    least = np.abs(test.observed())
    if not test.strict:
        least -= [contrast.tolerance() for contrast in contrasts]
        if least.max() <= 0:  # every shuffle would count
            return np.ones(len(contrasts))
    counting = _Counting(test, np.uint64(make_rng(seed).integers(1 << 63)), least)
    units = {i: Shuffles(a, min(BLOCK, shuffles - a)) for i, a in enumerate(range(0, shuffles, BLOCK))}
    blocks = run_units(count_hits, Shared(counting), units, engine=engine)
    counts = sum(blocks.values(), np.zeros(len(contrasts), np.int64))
    return np.asarray((counts + 1) / (shuffles + 1), dtype=np.float64)


def _in_order(contrast: Contrast) -> list[Float64]:
    """Return both systems, (R, N, S) each, in an order of their own: so exchanging them cannot change a p-value."""
    pair = (np.asarray(part, dtype=np.float64) for part in (contrast.first, contrast.second))
    return sorted(pair, key=lambda part: (part.shape, part.tobytes()))


def _differing(parts: Iterable[npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Return on which sentences the replicas of any contrast differ, of (R, N, S) each."""
    return np.asarray(np.logical_or.reduce([(part != part[:1]).any(axis=(0, 2)) for part in parts]))


class _Test(abc.ABC):
    """What is exchanged, and how large the differences then are."""

    strict: ClassVar[bool]  # whether only larger differences count

    @abc.abstractmethod
    def observed(self) -> Float64:
        """Return each contrast's difference without any exchange, (contrasts,)."""

    @abc.abstractmethod
    def shuffled(self, key: np.uint64, first: int, count: int) -> Float64:
        """Return the differences of shuffles from number `first` on, (contrasts, count)."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Exchanged:
    """One contrast among the columns of all: those of the first system's replicas, and of the second's."""

    columns: tuple[slice, slice]
    sizes: tuple[int, int]
    constant: Float64  # (S,): what sentences on which nothing differs give to every replica
    score: Score

    def differences(self, kept: Float64, totals: Float64) -> Float64:
        """Return the mean over all pairs of replicas, (n,); `kept` are the sums of what is not exchanged, (n, W).

        A pair of replicas a and b becomes a's kept sentences with b's exchanged ones, and the other way round.
        """
        own, other, all_own, all_other = (
            sums[..., columns].reshape(*sums.shape[:-1], size, -1)
            for sums in (kept, totals)
            for columns, size in zip(self.columns, self.sizes, strict=True)
        )
        found = np.empty(len(own))
        step = max(1, MOST_PAIRS // (self.sizes[0] * self.sizes[1]))
        for start in range(0, len(found), step):
            a, b = own[start : start + step, :, None], other[start : start + step, None]  # (n, A, 1, S), (n, 1, B, S)
            first = self.score(a + (all_other - b) + self.constant)
            second = self.score((all_own[:, None] - a) + b + self.constant)
            found[start : start + step] = (first - second).mean(axis=(1, 2))
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class _Systems(_Test):
    """Whole systems: all replicas of one against all of the other."""

    strict = False

    statistics: Float64  # (n, W), of all replicas and contrasts: only sentences on which replicas differ
    sentences: Int64  # (n,)
    contrasts: Sequence[_Exchanged]

    @classmethod
    def of(cls, contrasts: Sequence[Contrast]) -> _Systems:
        """Lay the replicas of each system beside each other, contrast after contrast."""
        pairs = [_in_order(contrast) for contrast in contrasts]
        differs = _differing(np.concatenate(pair) for pair in pairs)
        statistics: list[Float64] = []
        exchanged, width = [], 0
        for contrast, (first, second) in zip(contrasts, pairs, strict=True):
            middle = width + first.shape[0] * first.shape[2]
            end = middle + second.shape[0] * second.shape[2]
            statistics += [part[:, differs].transpose(1, 0, 2) for part in (first, second)]
            columns, constant = (slice(width, middle), slice(middle, end)), first[0, ~differs].sum(axis=0)
            exchanged.append(_Exchanged(columns, (len(first), len(second)), constant, contrast.score))
            width = end
        n = np.count_nonzero(differs)
        whole = np.concatenate([part.reshape(n, part.shape[1] * part.shape[2]) for part in statistics], axis=1)
        return cls(whole, np.flatnonzero(differs), exchanged)

    @functools.cached_property
    def totals(self) -> Float64:
        """The sums over all sentences, (W,), added in the order of the kernel."""
        return np.cumsum(self.statistics, axis=0)[-1] if len(self.statistics) else np.zeros(self.statistics.shape[1])

    def observed(self) -> Float64:
        """Return each contrast's difference: every sentence of the first is kept, none of the second's exchanged."""
        return self._differences(self.totals[None])[:, 0]

    def shuffled(self, key: np.uint64, first: int, count: int) -> Float64:
        """Return the differences of shuffles."""
        kept = np.zeros((count, self.statistics.shape[1]))
        # Hashes overflow on purpose; where kernels run as plain Python each thread must be told so.
        with np.errstate(over="ignore"):
            kernels.add_kept(self.statistics, self.sentences, key, first, kept)
        return self._differences(kept)

    def _differences(self, kept: Float64) -> Float64:
        return np.array([contrast.differences(kept, self.totals) for contrast in self.contrasts])


@dataclasses.dataclass(frozen=True, eq=False)
class _MultEval(_Test):
    """Single replicas, as MultEval deals them to two pseudo-systems."""

    strict = True

    items: Float64  # (n, 2R, S): only sentences on which replicas differ
    sentences: Int64  # (n,)
    constant: Float64  # (S,): what all other sentences give to a pseudo-system
    columns: Sequence[slice]
    scores: Sequence[Score]

    @classmethod
    def of(cls, contrasts: Sequence[Contrast]) -> _MultEval:
        """Lay the replicas of both systems beside each other, and the statistics of all contrasts."""
        count, other = contrasts[0].sizes()
        if count != other:
            raise LuthierError(f"MultEval's exchange needs as many replicas of both systems, found {count} and {other}")
        every = [np.concatenate(_in_order(contrast)) for contrast in contrasts]  # (2R, N, S)
        differs, whole = _differing(every), np.concatenate(every, axis=2)
        bounds = np.cumsum([0] + [part.shape[2] for part in every]).tolist()
        return cls(
            np.ascontiguousarray(whole[:, differs].transpose(1, 0, 2)),
            np.flatnonzero(differs),
            whole[0, ~differs].sum(axis=0) * count,
            [slice(*pair) for pair in itertools.pairwise(bounds)],
            [contrast.score for contrast in contrasts],
        )

    def observed(self) -> Float64:
        """Return each contrast's difference: of the scores of the mean statistics."""
        n_stats = self.items.shape[2]
        halves = (half.reshape(-1, n_stats) for half in np.split(self.items, 2, axis=1))
        start = np.zeros((1, n_stats))
        sums = np.stack([np.cumsum(np.concatenate([start, half]), axis=0)[-1] for half in halves])  # as the kernel adds
        return self._differences(sums[None])[:, 0]

    def shuffled(self, key: np.uint64, first: int, count: int) -> Float64:
        """Return the differences of shuffles."""
        sums = np.zeros((count, 2, self.items.shape[2]))
        with np.errstate(over="ignore"):
            kernels.add_multeval(self.items, self.sentences, key, first, sums)
        return self._differences(sums)

    def _differences(self, sums: Float64) -> Float64:
        means = (sums + self.constant) / (self.items.shape[1] // 2)
        scored = (score(means[:, :, columns]) for columns, score in zip(self.columns, self.scores, strict=True))
        return np.array([scores[:, 0] - scores[:, 1] for scores in scored])


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
    differences = np.abs(counting.test.shuffled(counting.key, block.first, block.count))
    least = counting.least[:, None]
    hits: Int64 = np.count_nonzero(differences > least if counting.test.strict else differences >= least, axis=1)
    return hits


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
