"""Statistics of a whole pool under a metric: computed once, kept with the pool, summed over selections.

This room does not know the pool's type; whatever has its parts will do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64
from luthier.corpus.texts import Texts, Tokens
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch, Numbered

# Selected statistics gathered at a time: bounds memory at some 100 MB for ten statistics.
BLOCK_ITEMS = 1 << 20


class ReferencesLike(Protocol):
    """References of N sentences."""

    @property
    def offsets(self) -> Int64: ...  # noqa: D102
    @property
    def texts(self) -> Texts: ...  # noqa: D102
    @property
    def tokens(self) -> Tokens: ...  # noqa: D102


class PoolLike(Protocol):
    """The parts of a pool that metrics look at."""

    @property
    def offsets(self) -> Int64: ...  # noqa: D102
    @property
    def texts(self) -> Texts: ...  # noqa: D102
    @property
    def tokens(self) -> Tokens: ...  # noqa: D102
    @property
    def vocab(self) -> Texts: ...  # noqa: D102
    @property
    def references(self) -> ReferencesLike | None: ...  # noqa: D102
    @property
    def columns(self) -> Mapping[str, Float64]: ...  # noqa: D102
    @property
    def stats(self) -> Mapping[str, Any]: ...  # noqa: D102
    def with_stats(self, signature: str, names: tuple[str, ...], values: npt.NDArray[Any]) -> Any: ...  # noqa: D102


P = TypeVar("P", bound=PoolLike)


def pool_batch(pool: PoolLike) -> Batch:
    """Return the pool as metrics see it."""
    references = pool.references
    return Batch.of(
        texts=pool.texts,
        offsets=pool.offsets,
        references=None if references is None else references.texts,
        reference_offsets=None if references is None else references.offsets,
        tokens=None if references is None else Numbered(pool.tokens, references.tokens, pool.vocab),
        columns=pool.columns,
    )


def with_statistics(pool: P, metric: Metric) -> P:
    """Return the pool with the statistics of a metric; the pool itself if it has them."""
    if metric.signature in pool.stats:
        return pool
    grown: P = pool.with_stats(metric.signature, tuple(metric.stat_names), metric.stats(pool_batch(pool)))
    return grown


def pool_statistics(pool: PoolLike, metric: Metric) -> npt.NDArray[Any]:
    """Return the statistics of every hypothesis under a metric, (M, S)."""
    values: npt.NDArray[Any] = with_statistics(pool, metric).stats[metric.signature].values
    return values


def score_selections(stats: npt.NDArray[Any], selections: Int64, metric: Metric) -> Float64:
    """Return the corpus score of each selection: (N,) → (), or (W, N) → (W,).

    A selection names one row of `stats` per sentence; −1 (a sentence without hypotheses) adds nothing.
    """
    rows = np.atleast_2d(selections)
    sums = np.zeros((len(rows), stats.shape[1]), dtype=stats.dtype)
    step = max(1, BLOCK_ITEMS // max(1, rows.shape[1]))
    for first in range(0, len(rows), step):
        block = rows[first : first + step]
        chosen = np.where((block >= 0)[:, :, None], stats[np.maximum(block, 0)], 0)
        sums[first : first + step] = chosen.sum(axis=1)
    return metric.score(sums).reshape(selections.shape[:-1])
