"""Whether some weights make a given selection where features are many: a linear programme in floating point.

With a few hundred features exact proofs take too long (`luthier.landscape.selections.feasibility`). Here weights that
are found are confirmed by a re-rank, so that a yes is certain. A no is the solver's word, without a proof.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize, sparse

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import segment_of_rows
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank

MOST_ROUNDS = 60
CLEAR = 1e-7  # a margin, of columns scaled to at most 1, below which wishes count as contradicting


def weights_that_select(pool: Pool, rows: Int64) -> Float64 | None:
    """Return weights, (D,), whose re-rank selects the features of the given row of each list, (N,); None if none were
    found, in floating point.

    Wishes join the programme as its answers hurt them: of every list the one that is hurt most.
    """
    table = _table(pool)
    lists = segment_of_rows(pool.offsets)
    wishes = (table[rows[lists]] - table).tocsr()
    wishes.eliminate_zeros()
    asked = np.flatnonzero(np.diff(wishes.indptr) > 0)
    largest = np.asarray(np.abs(wishes).max(axis=0).todense()).ravel()
    scale = np.where(largest > 0, largest, 1.0)
    wishes = (wishes @ sparse.diags_array(1.0 / scale)).tocsr()
    if not len(asked):
        return np.zeros(table.shape[1])
    weights, chosen = np.zeros(table.shape[1]), np.zeros(len(lists), np.bool_)
    for _ in range(MOST_ROUNDS):
        hurt = asked[(wishes @ weights)[asked] <= CLEAR / 2]
        new = _worst_of_lists(wishes @ weights, lists, hurt[~chosen[hurt]])
        if not len(hurt):
            return _confirmed(pool, rows, table, weights / scale)
        if not len(new):
            return None
        chosen[new] = True
        margin, weights = _largest_margin(wishes[np.flatnonzero(chosen)])
        if margin <= CLEAR:
            return None
    raise LuthierError(f"the linear programme of {table.shape[1]:,} weights did not end in {MOST_ROUNDS} rounds")


def _table(pool: Pool) -> sparse.csr_array:
    f = pool.features
    many = sparse.csr_array((f.values, f.indices, f.indptr), shape=(len(f), f.n_features - f.n_dense))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(f.dense), many], format="csr"))


def _worst_of_lists(margins: Float64, lists: Int64, hurt: Int64) -> Int64:
    """Return up to four of the wishes of each list that are hurt most."""
    order = hurt[np.lexsort((margins[hurt], lists[hurt]))]
    owner = lists[order]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return np.asarray(order[rank < 4])


def _largest_margin(wishes: sparse.csr_array) -> tuple[float, Float64]:
    """Return the largest t with wishes·w ≥ t, t ≤ 1, |w_k| ≤ 1, and such a w."""
    n_rows, n_columns = wishes.shape
    matrix = sparse.hstack([-wishes, sparse.csr_array(np.ones((n_rows, 1)))], format="csr")
    aim = np.zeros(n_columns + 1)
    aim[-1] = -1.0
    limits = [(-1.0, 1.0)] * n_columns + [(None, 1.0)]
    found = optimize.linprog(aim, A_ub=matrix, b_ub=np.zeros(n_rows), bounds=limits, method="highs")
    if found.x is None:
        raise LuthierError(f"the linear programme has no answer: {found.message}")
    return float(found.x[-1]), np.asarray(found.x[:-1])


def _confirmed(pool: Pool, rows: Int64, table: sparse.csr_array, weights: Float64) -> Float64 | None:
    """Return the weights if a re-rank with them selects rows that have the features of the wanted ones."""
    rest = table[rerank(pool, weights)] - table[rows]
    rest.eliminate_zeros()
    return weights if rest.nnz == 0 else None
