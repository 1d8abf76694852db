"""Stratified approximate randomisation: could the two systems' outputs be exchanged unnoticed?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.core.tasks import Engine, Given, run_units
from luthier.evaluation import _shuffle_kernels as kernels

# A metric's score of summed statistics, (..., S) -> (...).
Score = Callable[[npt.NDArray[Any]], Float64]

# Differences that agree to this much are the same difference: sums in another order may differ so.
TOLERANCE = 1e-12
# Shuffles of one task.
BLOCK = 512


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

    def ordered_items(self) -> tuple[Float64, int]:
        """Return the (N, A+B, S) items of both systems, and how many belong to the one that leads.

        Which system leads does not depend on which is called first, so that exchanging them cannot
        change the p-value: it is the one with fewer replicas, then the one whose bytes sort first.
        """
        systems = [np.asarray(part, dtype=np.float64) for part in (self.first, self.second)]
        systems.sort(key=lambda part: (len(part), part.tobytes()))
        items = np.concatenate(systems).transpose(1, 0, 2)
        return np.ascontiguousarray(items), len(systems[0])


def randomisation_p(
    contrast: Contrast,
    *,
    shuffles: int = 10_000,
    seed: int | np.random.Generator = 0,
    engine: Engine | None = None,
) -> float:
    """Return the two-sided p-value of one contrast; see `randomisation_ps`."""
    return float(randomisation_ps([contrast], shuffles=shuffles, seed=seed, engine=engine)[0])


def randomisation_ps(
    contrasts: Sequence[Contrast],
    *,
    shuffles: int = 10_000,
    seed: int | np.random.Generator = 0,
    engine: Engine | None = None,
) -> Float64:
    """Return the two-sided p-value of each contrast, all from the same shuffles.

    Per sentence the items (translations) of both systems' replicas are permuted at random, and dealt
    into slots: the first A make up the A pseudo-replicas of one pseudo-system, the others those of the
    other. No item is in both. With c the number of n shuffles whose difference d of the mean corpus
    scores of the two pseudo-systems has |d| ≥ |d_observed| − 1e-12,

        p = (c + 1) / (n + 1).

    So identical systems get p = 1, and no p is below 1 / (n + 1). The null hypothesis is that
    the items of a sentence are exchangeable *given these replicas*. Where a system's replicas differ
    by more than chance on each sentence, this rejects too often: `compare_replicas` is the test for that.

    Parameters
    ----------
    contrasts
        Two systems under one or more metrics: same numbers of replicas and of sentences in each. A
        p-value does not depend on the other contrasts, on the order of the systems, or on `engine`.
    shuffles
        Their number, n.

    Notes
    -----
    MultEval deals the second pseudo-system by the inverse permutation, so that an item can be in
    both or in none, and counts |d| > |d_observed|: it rejects true nulls too often.
    Time is O(n · N · (A + B) · S), memory O(N · (A + B) · S).

    References
    ----------
    [riezler2005], [clark2011].
    """
    if shuffles < 1:
        raise LuthierError(f"the number of shuffles must be at least 1, got {shuffles}")
    if not contrasts:
        return np.empty(0)
    deals = [contrast.ordered_items() for contrast in contrasts]
    if len({(items.shape[:2], leading) for items, leading in deals}) > 1:
        raise LuthierError("contrasts tested together must have the same replicas and sentences")
    bounds = np.cumsum([0] + [items.shape[2] for items, _ in deals])
    test = _Test(
        *_split_by_difference(np.concatenate([items for items, _ in deals], axis=2)),
        leading=deals[0][1],
        columns=[slice(*pair) for pair in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)],
        scores=[contrast.score for contrast in contrasts],
    )
    least = np.abs(test.differences(test.observed_sums())[:, 0]) - TOLERANCE
    if least.max() <= 0:  # every shuffle would count
        return np.ones(len(contrasts))
    counting = _Counting(test, np.uint64(make_rng(seed).integers(1 << 63)), least)
    units = {i: Shuffles(a, min(BLOCK, shuffles - a)) for i, a in enumerate(range(0, shuffles, BLOCK))}
    blocks = run_units(count_hits, Given(counting), units, engine=engine)
    counts = sum(blocks.values(), np.zeros(len(contrasts), np.int64))
    return np.asarray((counts + 1) / (shuffles + 1), dtype=np.float64)


@dataclasses.dataclass(frozen=True, eq=False)
class _Test:
    """The items to deal, and how the sums of a deal become differences of scores."""

    items: Float64  # (n, K, S): only sentences whose items differ
    sentences: Int64  # (n,)
    constant: Float64  # (S,): what all other sentences give to every slot
    leading: int
    columns: Sequence[slice]
    scores: Sequence[Score]

    def observed_sums(self) -> Float64:
        """Return the sums without any permutation, (1, K, S), added in the order of the kernel."""
        start = np.broadcast_to(self.constant, (1, *self.items.shape[1:]))
        return np.cumsum(np.concatenate([start, self.items]), axis=0)[-1:]

    def shuffled_sums(self, key: np.uint64, first: int, n: int) -> Float64:
        """Return the sums of the slots in n shuffles from number `first` on, (n, K, S)."""
        sums = np.empty((n, *self.items.shape[1:]))
        sums[:] = self.constant
        # Hashes overflow on purpose; where kernels run as plain Python each thread must be told so.
        with np.errstate(over="ignore"):
            kernels.add_shuffled(self.items, self.sentences, key, first, sums)
        return sums

    def differences(self, sums: Float64) -> Float64:
        """Return each contrast's difference of mean scores: (n, K, S) → (contrasts, n)."""
        rows = []
        for columns, score in zip(self.columns, self.scores, strict=True):
            scores = score(sums[:, :, columns])  # (n, K)
            rows.append(scores[:, : self.leading].mean(axis=1) - scores[:, self.leading :].mean(axis=1))
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
    """Return for each contrast how many of the shuffles differ at least as much as what was observed."""
    sums = counting.test.shuffled_sums(counting.key, block.first, block.count)
    differences = np.abs(counting.test.differences(sums))
    hits: Int64 = np.count_nonzero(differences >= counting.least[:, None], axis=1)
    return hits


def _split_by_difference(items: Float64) -> tuple[Float64, Int64, Float64]:
    """Return the items of sentences where they differ, those sentences, and the sum of the others."""
    differ = (items != items[:, :1]).any(axis=(1, 2))
    constant = items[~differ, 0].sum(axis=0)
    return np.ascontiguousarray(items[differ]), np.flatnonzero(differ), constant
