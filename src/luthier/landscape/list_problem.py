"""The problem of K-best lists: candidates with features and statistics under a metric."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import pickle
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64, frozen
from luthier.core.errors import LuthierError, LuthierWarning, unwarned
from luthier.core.segments import segment_of_rows
from luthier.kbest.derived import derived_of, missing_of
from luthier.kbest.features import align_features
from luthier.kbest.groups import Groups
from luthier.kbest.inspect import linear_relations
from luthier.kbest.pool import Pool, pool_of
from luthier.kbest.rerank import rerank
from luthier.kbest.spread import differing, spread_in_lists
from luthier.kbest.storage.pool_file import PoolFile
from luthier.landscape.bounds import Bounds
from luthier.landscape.box_rows import bare_pool, rows_in_box
from luthier.landscape.curve import LineCurve, ListLines
from luthier.landscape.problem import Problem, errors_of_differences
from luthier.metrics.base import Metric
from luthier.metrics.loading import as_metric
from luthier.metrics.oracle import best_rows, sentence_oracle
from luthier.metrics.pools import pool_statistics, score_selections
from luthier.metrics.several import Constrained

FEW_DIFFERENCES = 10  # between hypotheses of one list, below which any correlation may be chance

# The expected gain of sentences under a softmax over each list, and the way uphill.


def expected_gain(pool: Pool, gains: Float64, weights: Float64, sharpness: float) -> tuple[float, Float64]:
    """Return the mean expected gain of a list under a softmax, and its gradient, (D,).

    With p_k ∝ exp(γ w·h_k) in a list, g_k the gain of hypothesis k as a corpus of its own, (M,) in all, and
    E = Σ p_k g_k: the value is the mean of E over lists, its gradient the mean of γ Σ p_k (g_k − E) h_k [galley2013].
    """
    offsets, features = pool.offsets, pool.features
    segments, starts = segment_of_rows(offsets), offsets[:-1]
    scores = sharpness * pool.scores(weights)
    chances = np.exp(scores - np.maximum.reduceat(scores, starts)[segments])
    chances /= np.add.reduceat(chances, starts)[segments]
    expected = np.add.reduceat(chances * gains, starts)  # (N,)
    slopes = sharpness / len(starts) * chances * (gains - expected[segments])  # (M,)
    dense = np.einsum("m,md->d", slopes, features.dense)
    if not len(features.indices):
        return float(expected.mean()), dense
    rows = np.repeat(np.arange(len(features)), np.diff(features.indptr))
    n_sparse = features.n_features - features.n_dense
    sparse = np.bincount(features.indices, weights=slopes[rows] * features.values, minlength=n_sparse)
    return float(expected.mean()), np.concatenate([dense, sparse])


@dataclasses.dataclass(frozen=True, eq=False)
class ListProblem(Problem):
    """Find weights whose selections of one hypothesis from each list have the highest gain.

    Sentences without hypotheses are left out when it is made. A sentence may count several times, or not at all
    (`resampled`): the gain is that of a pool with the sentence as often, and no row is copied.

    Attributes
    ----------
    pool : Pool of N sentences, M hypotheses, D features
    metric : Metric
    stats : (M, S)
        Of each hypothesis, times how often its sentence counts.
    bounds : Bounds
    file : PoolFile or None
        Where another process finds the pool.
    counts : (N,), or None where each sentence counts once
    once : the problem in which each sentence counts once; None where this is it
    """

    pool: Pool
    metric: Metric
    stats: npt.NDArray[Any]
    bounds: Bounds
    file: PoolFile | None = None
    counts: Int64 | None = None
    once: ListProblem | None = None

    @classmethod
    def of(
        cls, pool: Pool, metric: Metric | str, *, bounds: Bounds | None = None, file: PoolFile | None = None
    ) -> ListProblem:
        """Return the problem of a pool and a metric; statistics are computed if the pool has none."""
        pool_of(pool)
        metric = as_metric(metric)
        if metric.higher_is_better is None:
            raise LuthierError(f"the metric {metric.name!r} has no direction: there is nothing to tune for")
        if not pool.n_hypotheses:
            raise LuthierError("expected a pool with hypotheses, found an empty one")
        if not pool.n_features:
            raise LuthierError(
                "expected a pool with features, found none: there are no weights to choose. hint: 'luthier pool' says "
                "which numbers of a list are features"
            )
        if np.any(pool.list_lengths == 0):
            pool = pool.take_sentences(np.flatnonzero(pool.list_lengths > 0))
        stats = frozen(np.ascontiguousarray(pool_statistics(pool, metric)))
        return cls(pool, metric, stats, bounds or Bounds.none(pool.n_features), file)

    @classmethod
    def beside(cls, problem: Problem, pool: Pool, *, file: PoolFile | None = None) -> ListProblem:
        """Return the problem of other lists (held-out ones) with the features and the metric of a problem."""
        known = set(problem.names)
        extra = [name for name in pool.features.names if name not in known]
        if extra:
            message = (
                f"the held-out pool has {len(extra)} features that are not tuned, {extra[0]!r} among them: they count 0"
            )
            warnings.warn(message, LuthierWarning, stacklevel=3)
        features = align_features(pool.features, problem.names, problem.n_dense)
        return cls.of(pool.with_features(features), problem.metric, file=file)

    def __repr__(self) -> str:
        """Return a short sentence."""
        return f"<Problem: {self.metric.name} of {self.pool!r}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the D features."""
        return self.pool.features.names

    @property
    def groups(self) -> Groups:
        """Which features are the ordered bins of one, as the pool says."""
        return self.pool.features.groups

    @property
    def offsets(self) -> Int64:
        """Rows of each sentence, (N+1,); no sentence is empty."""
        return self.pool.offsets

    @property
    def n_sentences(self) -> int:
        """How many lists there are, N; none is empty."""
        return len(self.pool.offsets) - 1

    @functools.cached_property
    def spread(self) -> Float64:
        """Each feature's standard deviation about the mean of its list, (D,)."""
        if self.once is not None and self.once.pool is self.pool:
            return self.once.spread
        return frozen(spread_in_lists(self.pool))

    def oracle_score(self) -> float:
        """Return the score of the best hypotheses of all lists, each by its own sentence score."""
        metric = self.metric.unlimited if isinstance(self.metric, Constrained) else self.metric
        return sentence_oracle(metric, self.stats, self.offsets).score

    @property
    def n_dense(self) -> int:
        """How many of the features are dense."""
        return self.pool.features.n_dense

    @property
    def derived(self) -> Mapping[str, str]:
        """Formulas of features that were added to the lists."""
        return derived_of(self.pool)

    @property
    def missing(self) -> Mapping[str, float]:
        """What sparse features, and those with missing values, count in a candidate that lacks them."""
        return missing_of(self.pool)

    def lists_alike(self) -> int:
        """Return in how many lists all hypotheses have the same statistics."""
        high, low = (f.reduceat(self.stats, self.offsets[:-1], axis=0) for f in (np.maximum, np.minimum))
        return int(np.count_nonzero(np.all(high == low, axis=1)))

    def lists_tied(self, weights: Float64) -> int:
        """Return in how many lists the winner ties with hypotheses of other statistics: the first one is taken then."""
        scores, winners = self.pool.scores(weights), np.repeat(self.select(weights), self.pool.list_lengths)
        tied = np.flatnonzero(scores == scores[winners])
        rivals = np.zeros(len(scores), np.bool_)
        rivals[tied] = np.any(self.stats[tied] != self.stats[winners[tied]], axis=1)
        return int(np.count_nonzero(np.logical_or.reduceat(rivals, self.offsets[:-1])))

    def redundant(self) -> list[str]:
        """Return dense features that can be computed from the others."""
        return [] if self.n_dense < self.n_features else list(linear_relations(self.pool))

    def twins(self) -> list[list[str]]:
        """Return sets of dense features that have the same number in every hypothesis."""
        same: dict[bytes, list[str]] = {}
        for d, name in enumerate(self.names[: self.n_dense]):
            same.setdefault(hashlib.blake2b(self.pool.features.dense[:, d].tobytes()).digest(), []).append(name)
        return [names for names in same.values() if len(names) > 1]

    def correlations(self) -> dict[str, float]:
        """Return the correlation, within lists, of dense features with the column that is tuned for, if one is.

        A feature, or the column, that is the same within each list has none; nor has anything in a few short lists.
        """
        judged = self.pool.columns.get(getattr(self.metric, "column", ""))
        lengths = self.pool.list_lengths
        if judged is None or self.pool.n_hypotheses - np.count_nonzero(lengths) < FEW_DIFFERENCES:
            return {}
        values = np.column_stack([self.pool.features.dense, judged])
        full = np.flatnonzero(lengths)
        means = np.add.reduceat(values, self.offsets[:-1][full], axis=0) / lengths[full][:, None]
        values -= np.repeat(means, lengths[full], axis=0)
        sizes = np.sqrt((values**2).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (values[:, -1:] * values[:, :-1]).sum(axis=0) / (sizes[:-1] * sizes[-1])
        names = zip(self.names[: self.n_dense], found.tolist(), strict=True)
        return {name: r for name, r in names if np.isfinite(r)}

    def recipe(self) -> ListRecipe | None:
        """Return how another process opens this problem, if its pool is in a file."""
        if self.file is None:
            return None
        return ListRecipe(self.file, pickle.dumps((self.metric, self.bounds, self.names, self.n_dense)))

    def resampled(self, counts: npt.ArrayLike) -> ListProblem:
        """Return the problem in which each sentence counts as often as said, (N,) whole numbers, not all 0.

        Spreads, and gains of sentences, stay those of this problem.
        """
        found = np.asarray(counts)
        if found.shape != (self.n_sentences,) or found.dtype.kind not in "iu" or found.min(initial=0) < 0:
            raise LuthierError(
                f"expected {self.n_sentences} whole numbers of at least 0, found {found.dtype} of shape {found.shape}"
            )
        if not found.any():
            raise LuthierError("expected a sentence that counts, found none")
        once = self.once or self
        times = np.repeat(found.astype(np.int64), np.diff(self.offsets))[:, None]
        stats = frozen(np.ascontiguousarray(once.stats * times))
        return dataclasses.replace(self, stats=stats, counts=frozen(found.astype(np.int64)), once=once)

    def identity(self) -> dict[str, str]:
        """Return the metric's signature and the pool's digest, and how often sentences count where that differs."""
        found = {"metric": self.metric.signature, "pool": self.pool.digest()}
        if self.counts is not None:
            found["counts"] = hashlib.sha256(self.counts.tobytes()).hexdigest()
        return found

    def default_start(self) -> Float64:
        """Return equal weights, negative for costs, inside the bounds: (D,)."""
        return self.bounds.clip(self.pool.features.signs)

    def select(self, weights: Float64) -> Int64:
        """Return the selected row of each sentence: (D,) → (N,), or (W, D) → (W, N)."""
        return rerank(self.pool, weights)

    def selected(self, weights: Float64) -> npt.NDArray[Any]:
        """Return the statistics of what each weight vector selects: (W, D) → (W, N, S)."""
        chosen: npt.NDArray[Any] = self.stats[self.select(weights)]
        return chosen

    def gain_of_sums(self, sums: npt.NDArray[Any]) -> Float64:
        """Return the gain of summed statistics, (..., S) → (...)."""
        return self.metric.gain(self.metric.score(sums))

    def gains(self, weights: Float64) -> Float64:
        """Return the gain of each weight vector, (W, D) → (W,): all are re-ranked at once."""
        return self.metric.gain(score_selections(self.stats, self.select(weights), self.metric))

    def gain(self, weights: Float64) -> float:
        """Return the gain of one weight vector, (D,); alone it is re-ranked faster than among eight."""
        return float(self.gains(weights))

    @functools.cached_property
    def sentence_gains(self) -> Float64:
        """The (smoothed) gain of every hypothesis as a corpus of its own, (M,), however often its sentence counts."""
        if self.once is not None:
            return self.once.sentence_gains
        return frozen(self.metric.sentence_gains(self.stats))

    @functools.cached_property
    def lines(self) -> ListLines:
        """The lists made ready for line searches, once for all of them."""
        if self.counts is None or self.once is None:
            return ListLines(self.pool, self.stats, self.metric)
        ready = self.once.lines if self.once.pool is self.pool else ListLines(self.pool, self.stats, self.metric)
        return ready.counting(self.stats, self.counts)

    def curves(self, start: Float64, directions: Float64) -> Iterator[LineCurve]:
        """Yield the gain along ``start + t·direction`` for each direction, (D,) and (Q, D)."""
        return self.lines.curves(start, directions)

    def gains_along(self, start: Float64, direction: Float64, steps: Float64) -> Float64:
        """Return the gain at ``start + t·direction`` for each step t, (T,) → (T,), by one line search."""
        (curve,) = self.curves(start, direction[None])
        return curve.gains_at(steps)

    def within(self, low: Float64, high: Float64) -> ListProblem:
        """Return the problem of the rows that weights between two corners may select; itself if these are most rows."""
        rows = rows_in_box(self.pool, low, high)
        if rows is None or 2 * len(rows) > self.pool.n_hypotheses:
            return self
        return dataclasses.replace(
            self, pool=bare_pool(self.pool, rows), stats=frozen(self.stats[rows]), file=None, once=None
        )

    @property
    def signs(self) -> Float64:
        """+1 for a score, −1 for a cost, as declared, (D,)."""
        return self.pool.features.signs

    @functools.cached_property
    def moving(self) -> Bool:
        """Which features differ within some list, (D,): all others select nothing."""
        return frozen(differing(self.pool))

    def mean_statistics(self) -> Float64:
        """Return the mean statistics of each list, (N, S): what a random choice has on average."""
        sums = np.add.reduceat(self.stats, self.offsets[:-1], axis=0)
        return np.asarray(sums / np.diff(self.offsets)[:, None], np.float64)

    def tied_statistics(self, weights: Float64) -> Float64:
        """Return the mean statistics of the rows that tie for the best score in each list, (D,) → (N, S).

        What weights choose by themselves: the order of a list does not help them.
        """
        scores, starts = self.pool.scores(weights), self.offsets[:-1]
        tied = np.flatnonzero(scores == np.repeat(np.maximum.reduceat(scores, starts), np.diff(self.offsets)))
        firsts = np.searchsorted(tied, starts)  # every list has one
        counts = np.diff(firsts, append=len(tied))
        return np.asarray(np.add.reduceat(self.stats[tied], firsts, axis=0) / counts[:, None], np.float64)

    def best_statistics(self) -> npt.NDArray[Any]:
        """Return the statistics of the hypothesis with the best sentence score of each list, (N, S)."""
        found: npt.NDArray[Any] = self.stats[best_rows(self.sentence_gains, self.offsets)]
        return found

    def agreement(self, columns: Sequence[int]) -> Float64:
        """Return Σ h·(g − mean g) of each list for some features, (N, Q): summed, the sign of their correlation."""
        starts, counts = self.offsets[:-1], np.diff(self.offsets)
        means = np.add.reduceat(self.sentence_gains, starts) / counts
        centred = self.sentence_gains - np.repeat(means, counts)
        found = np.empty((self.n_sentences, len(columns)))
        for place, column in enumerate(columns):
            found[:, place] = np.add.reduceat(self.pool.features.column(self.names[column]) * centred, starts)
        return found if self.counts is None else found * self.counts[:, None]

    def uphill(self, weights: Float64, sharpness: float) -> Float64:
        """Return the gradient of the expected gain of sentences under a softmax, (D,)."""
        return expected_gain(self.pool, self.sentence_gains, weights, sharpness)[1]

    def errors_of_differences(self, weights: Float64, to: int) -> Float64:
        """Return standard errors of differences in gain, by resampling the sentences: (W, D) → (W,)."""
        return errors_of_differences(self.metric, (self.stats[rows] for rows in self.select(weights)), to)

    def with_bounds(self, bounds: Bounds) -> ListProblem:
        """Return the same problem under other limits."""
        return dataclasses.replace(self, bounds=bounds)


@dataclasses.dataclass(frozen=True)
class ListRecipe:
    """How another process opens the problem of lists: the pool by path and digest, the rest as it is."""

    file: PoolFile
    rest: bytes  # pickled, because records that are compared by value cannot hold arrays

    def open(self) -> ListProblem:
        """Return the problem; what there is to warn of was said where it was made."""
        metric, bounds, names, n_dense = pickle.loads(self.rest)
        pool = self.file.open()
        if pool.features.names != names:
            pool = pool.with_features(align_features(pool.features, names, n_dense))
        with unwarned():
            return ListProblem.of(pool, metric, bounds=bounds, file=self.file)
