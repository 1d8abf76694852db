"""Pairs of hypotheses of one list whose gains differ: drawing them, their differences, their loss."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.core.segments import offsets_from_counts
from luthier.kbest.features import Features
from luthier.landscape.list_problem import ListProblem
from luthier.tuning.ranking import _pair_kernels as kernels

SELECTIONS = ("largest", "first")
VECTORS_OF_A_PAIR = 2.0


@dataclasses.dataclass(frozen=True)
class PairSampling:
    """How pairs are drawn; the letters are those of [hopkins2011].

    Attributes
    ----------
    draws : int
        Γ, pairs drawn of each sentence, with replacement.
    kept : int
        Ξ, pairs kept of each sentence, at most.
    least_gap : float
        α, the least difference of sentence gains, in points: gains are on 0–100 here, so the paper's
        0.05 is 5.
    select : str
        Keep the pairs with the ``largest`` gaps, or the ``first`` ones: a fair sample of those allowed,
        which [nakov2013] found to be safe from monsters.
    length_gap : int or None
        Leave out pairs whose worse one is longer than the better one by more than so many words
        [nakov2013].
    """

    draws: int
    kept: int
    least_gap: float
    select: str = "largest"
    length_gap: int | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Pairs:
    """P pairs of rows, those of sentence s being ``offsets[s]:offsets[s+1]``.

    Attributes
    ----------
    better, worse : (P,) int64
        Rows of the pool; the gain of the first is higher.
    offsets : (N+1,) int64
    """

    better: Int64
    worse: Int64
    offsets: Int64

    def __len__(self) -> int:
        return len(self.better)


def sample_pairs(problem: ListProblem, gains: Float64, sampling: PairSampling, rng: np.random.Generator) -> Pairs:
    """Draw pairs of every sentence by the gains of its hypotheses, (M,), each by a seed of its own.

    A list of few different gains yields the same pair many times, as in [hopkins2011]: every sentence
    with enough difference counts the same.
    """
    n = len(problem.offsets) - 1
    seeds = rng.integers(1, 1 << 64, size=n, dtype=np.uint64)
    better, worse = np.empty((n, sampling.kept), np.int64), np.empty((n, sampling.kept), np.int64)
    counts = np.empty(n, np.int64)
    plain = kernels.Sampling(
        sampling.draws,
        sampling.least_gap,
        -1 if sampling.length_gap is None else sampling.length_gap,
        sampling.select == "largest",
    )
    lengths = np.zeros(0, np.int64) if sampling.length_gap is None else problem.pool.tokens.lengths
    kernels.draw_pairs(flat(gains), flat(lengths), problem.offsets, flat(seeds), plain, better, worse, counts)
    filled = np.arange(sampling.kept) < counts[:, None]  # (N, Ξ)
    return Pairs(better[filled], worse[filled], offsets_from_counts(counts))


def differences(features: Features, pairs: Pairs) -> Features:
    """Return h[better] − h[worse] of every pair, P rows; what cancels takes no room in the sparse part."""
    better, worse = flat(pairs.better), flat(pairs.worse)
    indptr = np.zeros(len(pairs) + 1, np.int64)
    indices, values = np.zeros(0, np.int32), np.zeros(0)
    if len(features.indices):
        counts = np.empty(len(pairs), np.int64)
        kernels.count_differences(features.indptr, features.indices, better, worse, counts)
        indices, values = np.empty(counts.sum(), np.int32), np.empty(counts.sum())
        kernels.write_differences(
            features.indptr, features.indices, features.values, better, worse, indptr, indices, values
        )
        indices, values = indices[: indptr[-1]], values[: indptr[-1]]
    dense = features.dense[better] - features.dense[worse]
    return Features(features.names, dense, indptr, indices, values)


def sum_rows(features: Features, coefficients: Float64) -> Float64:
    """Return Σ_r c_r h_r, (M,) → (D,), summed in the order of the rows whatever the machine."""
    out = np.zeros(features.n_features)
    kernels.add_rows(features.dense, features.indptr, features.indices, features.values, flat(coefficients), out)
    return out


def sum_squares(features: Features) -> Float64:
    """Return Σ_r h_r² of each feature, (D,)."""
    dense = np.einsum("rd,rd->d", features.dense, features.dense)
    n_sparse = features.n_features - features.n_dense
    sparse = np.bincount(features.indices, weights=features.values**2, minlength=n_sparse)
    return np.concatenate([dense, sparse])


def count_entries(features: Features) -> Int64:
    """Return in how many rows each feature is not 0, (D,)."""
    n_sparse = features.n_features - features.n_dense
    sparse = np.bincount(features.indices, minlength=n_sparse)
    return np.concatenate([np.count_nonzero(features.dense, axis=0), sparse])


class PairLoss:
    """The logistic loss of a classifier without intercept, summed over both vectors of every pair.

    L(w) = 2 Σ_p u_p log(1 + exp(−w·d_p)): a pair gives d = h[better] − h[worse] with the label + and −d with
    the label −, whose losses are equal. u is how much a pair counts, (P,); 1 if not given.
    """

    def __init__(self, rows: Features, counts: Float64 | None = None) -> None:
        self.rows = rows
        self.counts = np.ones(len(rows)) if counts is None else counts

    def value_and_gradient(self, weights: Float64) -> tuple[float, Float64]:
        """Return the value and the gradient, (D,)."""
        margins = self.rows.scores(weights)  # (P,)
        shrunk = np.exp(-np.abs(margins))
        value = self.counts * (np.maximum(-margins, 0.0) + np.log1p(shrunk))
        slopes = -self.counts * (np.where(margins > 0, shrunk, 1.0) / (1.0 + shrunk))
        return VECTORS_OF_A_PAIR * float(value.sum()), sum_rows(self.rows, VECTORS_OF_A_PAIR * slopes)

    @property
    def n_pairs(self) -> int:
        """How many pairs there are."""
        return len(self.rows)

    def curvature(self, weights: Float64 | None = None) -> Float64:
        """Return the second derivatives at `weights`, (D,); at 0, where they are largest, if none are given."""
        if weights is None:
            return sum_rows(self.squares, VECTORS_OF_A_PAIR / 4.0 * self.counts)
        return sum_rows(self.squares, self._curves(weights))

    def product_at(self, weights: Float64) -> Callable[[Float64], Float64]:
        """Return the product of the second derivatives at `weights` with a direction, (D,) → (D,)."""
        curves = self._curves(weights)
        return lambda direction: sum_rows(self.rows, curves * self.rows.scores(direction))

    def _curves(self, weights: Float64) -> Float64:
        """Return the second derivative of each pair's loss by its margin, (P,)."""
        shrunk = np.exp(-np.abs(self.rows.scores(weights)))
        return VECTORS_OF_A_PAIR * (self.counts * shrunk / (1.0 + shrunk) ** 2)

    @functools.cached_property
    def squares(self) -> Features:
        """The squares of all differences."""
        return dataclasses.replace(self.rows, dense=self.rows.dense**2, values=self.rows.values**2)


def shares_of_gaps(gains: Float64, pairs: Pairs) -> Float64:
    """Return how much each pair counts: by the difference of its gains, 1 on average, (P,)."""
    gaps = gains[pairs.better] - gains[pairs.worse]
    mean = float(gaps.mean()) if len(gaps) else 0.0
    return gaps / mean if mean > 0 else np.ones(len(gaps))
