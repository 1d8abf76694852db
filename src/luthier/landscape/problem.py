"""What a tuner works on: candidates with features, statistics under a metric, limits on the weights."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.errors import LuthierError
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.landscape.bounds import Bounds
from luthier.metrics.base import Metric
from luthier.metrics.pools import pool_statistics, score_selections

if TYPE_CHECKING:
    from luthier.tuning.search.line_search import Lines


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """Find weights whose selections have the highest gain.

    A *gain* is the metric's corpus score with the sign that makes more better; nothing else in this room
    knows about minimising or maximising. Sentences without hypotheses are left out when it is made.

    Attributes
    ----------
    pool : Pool of N sentences, M hypotheses, D features
    metric : Metric
    stats : (M, S)
    bounds : Bounds
    """

    pool: Pool
    metric: Metric
    stats: npt.NDArray[Any]
    bounds: Bounds

    @classmethod
    def make(cls, pool: Pool, metric: Metric, *, bounds: Bounds | None = None) -> Problem:
        """Return the problem of a pool and a metric; statistics are computed if the pool has none."""
        if metric.higher_is_better is None:
            raise LuthierError(f"the metric {metric.name!r} has no direction: there is nothing to tune for")
        if not pool.n_hypotheses:
            raise LuthierError("expected a pool with hypotheses, found an empty one")
        if np.any(pool.list_lengths == 0):
            pool = pool.take_sentences(np.flatnonzero(pool.list_lengths > 0))
        stats = frozen(np.ascontiguousarray(pool_statistics(pool, metric)))
        return cls(pool, metric, stats, bounds or Bounds.none(pool.n_features))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the D features."""
        return self.pool.features.names

    @property
    def n_features(self) -> int:
        """How many weights there are, D."""
        return self.pool.n_features

    @property
    def offsets(self) -> Int64:
        """Rows of each sentence, (N+1,); no sentence is empty."""
        return self.pool.offsets

    def default_start(self) -> Float64:
        """Return equal weights, negative for costs, inside the bounds: (D,)."""
        return self.bounds.clip(self.pool.features.signs)

    def select(self, weights: Float64) -> Int64:
        """Return the selected row of each sentence: (D,) → (N,), or (W, D) → (W, N)."""
        return rerank(self.pool, weights)

    def gain_of_sums(self, sums: npt.NDArray[Any]) -> Float64:
        """Return the gain of summed statistics, (..., S) → (...)."""
        return self.metric.gain(self.metric.score(sums))

    def gains(self, weights: Float64) -> Float64:
        """Return the gain of each weight vector, (W, D) → (W,): all are re-ranked at once."""
        return self.metric.gain(score_selections(self.stats, self.select(weights), self.metric))

    def gain(self, weights: Float64) -> float:
        """Return the gain of one weight vector, (D,)."""
        return float(self.gains(weights[None])[0])

    @functools.cached_property
    def sentence_gains(self) -> Float64:
        """The (smoothed) gain of every hypothesis as a corpus of its own, (M,)."""
        return frozen(self.metric.gain(self.metric.sentence_score(self.stats)))

    @functools.cached_property
    def lines(self) -> Lines:
        """The candidates made ready for line searches, once for all of them."""
        from luthier.tuning.search.line_search import Lines

        return Lines(self)

    def with_bounds(self, bounds: Bounds) -> Problem:
        """Return the same problem under other limits."""
        return dataclasses.replace(self, bounds=bounds)
