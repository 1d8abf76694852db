"""Whether some weights make a given selection where features are many: a linear program in floating point.

With a few hundred features exact proofs take too long (`luthier.landscape.selections.feasibility`). Here weights that
are found are confirmed by a re-rank, so that a yes is certain. A no is the solver's word, without a proof.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, sparse

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_of_rows
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank

MOST_ROUNDS, FEW_ROUNDS = 60, 12
JOINING = 4  # constraints of a list that join a program at a time
REACH = 1e4  # of weights, of columns scaled to at most 1, where a margin is 1
CLEAR = 1e-7  # a margin, of columns scaled to at most 1, below which constraints count as contradicting


def weights_that_select(pool: Pool, rows: Int64) -> Float64 | None:
    """Return weights, (D,), whose re-rank selects the features of the given row of each list, (N,); None if none were
    found, in floating point.

    Constraints join the program as its answers hurt them: of every list the four that are hurt most.
    """
    constraints = _Wishes(pool, rows)
    weights, chosen = np.zeros(constraints.n_columns), np.zeros(pool.n_hypotheses, np.bool_)
    for _ in range(MOST_ROUNDS):
        hurt = constraints.hurt(weights, CLEAR / 2)
        if not len(hurt):
            selects = constraints.selects(weights)
            return weights / constraints.scale if np.all(selects) else None
        new = constraints.worst(weights, hurt[~chosen[hurt]])
        chosen[new] = True
        margin, weights = _largest_margin(constraints.table[np.flatnonzero(chosen)])
        if not len(new) or margin <= CLEAR:
            return None
    raise LuthierError(f"the linear program of {constraints.n_columns:,} weights did not end in {MOST_ROUNDS} rounds")


def lists_followed(pool: Pool, rows: Int64) -> Bool:
    """Return lists, (N,), in which one weight vector selects the features of the given row, as many as were found.

    The weights hurt the constraints of lists as little as they can, summed over lists: a hinge for each. A re-rank
    says in which lists nothing is hurt. More lists may be possible.
    """
    constraints = _Wishes(pool, rows)
    weights, chosen = np.zeros(constraints.n_columns), np.zeros(pool.n_hypotheses, np.bool_)
    best = constraints.selects(weights)
    for _ in range(FEW_ROUNDS):
        hurt = constraints.hurt(weights, 1.0 - CLEAR)
        new = constraints.worst(weights, hurt[~chosen[hurt]])
        if not len(new):
            break
        chosen[new] = True
        asked = np.flatnonzero(chosen)
        weights = _least_hurt(constraints.table[asked], constraints.lists[asked], pool.n_sentences)
        found = constraints.selects(weights)
        best = found if found.sum() > best.sum() else best
    return best


class _Wishes:
    """That the given row of each list beats all others with other features: differences, (M, D), scaled by column."""

    def __init__(self, pool: Pool, rows: Int64) -> None:
        self.pool, self.rows = pool, rows
        self.features = _table(pool)
        self.lists = segment_of_rows(pool.offsets)
        differences = (self.features[rows[self.lists]] - self.features).tocsr()
        differences.eliminate_zeros()
        self.asked = np.flatnonzero(np.diff(differences.indptr) > 0)
        largest = np.asarray(np.abs(differences).max(axis=0).todense()).ravel()
        self.scale = np.where(largest > 0, largest, 1.0)
        self.table = (differences @ sparse.diags_array(1.0 / self.scale)).tocsr()
        self.n_columns = int(self.table.shape[1])

    def hurt(self, weights: Float64, least: float) -> Int64:
        """Return the constraints that scaled weights fulfil by no more than `least`."""
        return np.asarray(self.asked[(self.table @ weights)[self.asked] <= least])

    def worst(self, weights: Float64, hurt: Int64) -> Int64:
        """Return the constraints of each list that are hurt most, of those given."""
        order = hurt[np.lexsort(((self.table @ weights)[hurt], self.lists[hurt]))]
        owner = self.lists[order]
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        return np.asarray(order[rank < JOINING])

    def selects(self, weights: Float64) -> Bool:
        """Return in which lists scaled weights fulfil every constraint, and a re-rank selects what is wanted, (N,)."""
        rest = (self.features[rerank(self.pool, weights / self.scale)] - self.features[self.rows]).tocsr()
        rest.eliminate_zeros()
        found = np.asarray(np.diff(rest.indptr) == 0)
        found[self.lists[self.hurt(weights, CLEAR / 2)]] = False  # a tie that the first row wins is no choice
        return found


def _table(pool: Pool) -> sparse.csr_array:
    f = pool.features
    many = sparse.csr_array((f.values, f.indices, f.indptr), shape=(len(f), f.n_features - f.n_dense))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(f.dense), many], format="csr"))


def _largest_margin(constraints: sparse.csr_array) -> tuple[float, Float64]:
    """Return the largest t with constraints·w ≥ t, t ≤ 1, |w_k| ≤ 1, and such a w."""
    n_rows, n_columns = constraints.shape
    matrix = sparse.hstack([-constraints, sparse.csr_array(np.ones((n_rows, 1)))], format="csr")
    aim = np.zeros(n_columns + 1)
    aim[-1] = -1.0
    limits = [(-1.0, 1.0)] * n_columns + [(None, 1.0)]
    found = optimize.linprog(aim, A_ub=matrix, b_ub=np.zeros(n_rows), bounds=limits, method="highs")
    if found.x is None:
        raise LuthierError(f"the linear program has no answer: {found.message}")
    return float(found.x[-1]), np.asarray(found.x[:-1])


def _least_hurt(constraints: sparse.csr_array, lists: Int64, n_lists: int) -> Float64:
    """Return the w, |w_k| ≤ `REACH`, for which the sum over lists of max(0, 1 − least constraint·w) is least."""
    n_rows, n_columns = constraints.shape
    slack = sparse.csr_array((np.ones(n_rows), (np.arange(n_rows), lists)), shape=(n_rows, n_lists))
    matrix = sparse.hstack([-constraints, -slack], format="csr")
    aim = np.concatenate([np.zeros(n_columns), np.ones(n_lists)])
    limits = [(-REACH, REACH)] * n_columns + [(0.0, None)] * n_lists
    found = optimize.linprog(aim, A_ub=matrix, b_ub=-np.ones(n_rows), bounds=limits, method="highs-ipm")
    if found.x is None:
        raise LuthierError(f"the linear program has no answer: {found.message}")
    return np.asarray(found.x[:n_columns])
