"""What the margin methods share: the best rows of lists, the size of steps, arrays for kernels."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.kbest._score_kernels import FeatureRows, winners_one
from luthier.kbest.features import Features
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import NEGLIGIBLE
from luthier.tuning.margin._mira_kernels import Box, Gap

ORACLES = ("gain", "hope", "sentence")
ABOVE_EQUALS = 0.01  # words that a fixed target is worth more than rows of the same gain

# Averages of weights over many small steps, at the cost of what the steps change.


@dataclasses.dataclass
class AveragedWeights:
    """Weights that move, and the mean of all they have been.

    With w_t the weights after step t, the mean of w_1 … w_T is w_T − (1/T) Σ_t (t−1)·(w_t − w_{t−1}): the
    sum, `drift`, grows only where a step changes something, which makes averages of sparse weights
    cheap [daume2006].

    Attributes
    ----------
    weights : (D,) as they are
    drift : (D,), the sum above
    clock : steps taken, T
    """

    weights: Float64
    drift: Float64
    clock: float = 0.0

    @classmethod
    def of(cls, weights: Float64) -> AveragedWeights:
        """Return the average of nothing but `weights`."""
        return cls(np.array(weights), np.zeros(len(weights)))

    def restart(self) -> None:
        """Forget the past of the mean."""
        self.drift[:] = 0.0
        self.clock = 0.0

    def put(self, weights: Float64) -> None:
        """Take one step, to `weights`."""
        self.drift += self.clock * (weights - self.weights)
        self.weights[:] = weights
        self.clock += 1.0

    def mean(self) -> Float64:
        """Return the mean of the weights after each step since the last restart."""
        return self.weights - self.drift / self.clock if self.clock else self.weights.copy()


def best_rows(values: Float64, offsets: Int64) -> Int64:
    """Return the row of the greatest value of each list, ties to the lowest, (N,)."""
    out = np.empty(len(offsets) - 1, dtype=np.int64)
    winners_one(flat(values), flat(offsets), 0, out)
    return out


def oracle_rows(gains: Float64, scores: Float64, offsets: Int64) -> Int64:
    """Return the row of the greatest gain of each list; if several have it, the one that scores highest, (N,)."""
    most = gains[best_rows(gains, offsets)]
    tied: Bool = gains == np.repeat(most, np.diff(offsets))
    return best_rows(np.where(tied, scores, -np.inf), offsets)


def sentence_oracles(problem: ListProblem) -> Int64:
    """Return the row of the highest gain of each sentence alone, the lowest of equals, (N,)."""
    return best_rows(problem.sentence_gains, problem.offsets)


def target_gains(problem: ListProblem, gains: Float64) -> Float64:
    """Return gains in words, (M,), by which each sentence oracle is the target: worth a little more than its equals."""
    out, targets = gains.copy(), sentence_oracles(problem)
    highest = np.maximum.reduceat(gains, problem.offsets[:-1])
    out[targets] = highest + ABOVE_EQUALS
    return out


def step_scale(problem: ListProblem, *, standardize: bool) -> Float64:
    """Return what a step multiplies each feature's difference by, (D,); 0 where a weight is fixed.

    Standardised features h/s, s their spread within lists, have the weights w·s: a step along their
    difference moves w by (h_i − h_j)/s². No copy of the features is made.
    """
    scale = np.ones(problem.n_features)
    if standardize:
        spread = problem.spread
        moves = spread > NEGLIGIBLE * spread.max(initial=0.0)
        scale = np.divide(1.0, spread**2, out=np.zeros(len(spread)), where=moves)
    scale[problem.bounds.fixed] = 0.0
    return scale


def shared_scale(problem: ListProblem, scale: Float64) -> Float64:
    """Return a scale in which the bins of one feature have one, that of their mean square: (D,) → (D,)."""
    out, position = scale.copy(), {name: d for d, name in enumerate(problem.names)}
    for group in problem.groups:
        columns = [position[name] for name in group.columns]
        square = float(np.mean(problem.spread[columns] ** 2))
        out[columns] = 1.0 / square if square > 0.0 else 0.0
    return out


def sum_of_rows(features: Features, rows: Int64) -> Float64:
    """Return the sum of the feature vectors of `rows`, (D,)."""
    taken = features.take(rows)
    sparse = np.bincount(taken.indices, weights=taken.values, minlength=features.n_features - features.n_dense)
    return np.concatenate([taken.dense.sum(axis=0), sparse])


@dataclasses.dataclass
class Workspace:
    """What every kernel call of a margin method passes along, and room for the difference of two rows."""

    features: FeatureRows
    box: Box
    room: Gap

    @classmethod
    def of(cls, problem: ListProblem, *, standardize: bool) -> Workspace:
        """Return the parts of a problem as kernels take them."""
        f = problem.pool.features
        longest = int(np.diff(f.indptr).max(initial=0))
        size = f.n_dense + 2 * longest
        return cls(
            f.arrays,
            Box(flat(step_scale(problem, standardize=standardize)), problem.bounds.low, problem.bounds.high),
            Gap(np.empty(size, dtype=np.int64), np.empty(size)),
        )
