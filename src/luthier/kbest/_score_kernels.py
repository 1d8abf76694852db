# mypy: ignore-errors
"""Kernels that score hypotheses and pick winners.

Every score is the plain IEEE sum ``((w_0·h_0) + w_1·h_1) + …`` in the order of the features, one
multiplication and one addition at a time. BLAS gives no such promise (its order depends on shapes
and threads), and with it the same weights could select different hypotheses alone and in a batch.
Zero terms change nothing, so dense and sparse storage agree to the last bit.

Places in the sparse part are unsigned: of signed ones Numba asks whether they are negative, for a third of the time.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel

TILE = 8


class FeatureRows(NamedTuple):
    """The features of M rows: dense columns, (M, n), and the others as CSR."""

    dense: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


@inner_kernel
def row_score(dense, indptr, indices, values, weights, row):
    """Return w·h of a row, summed in the order of the features."""
    n_dense = dense.shape[1]
    total = 0.0
    for d in range(n_dense):
        total += weights[d] * dense[row, d]
    for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
        total += weights[np.uint64(n_dense + indices[e])] * values[e]
    return total


@kernel
def scores_one(dense, indptr, indices, values, weights, first, out):
    """Write the score of rows ``first + r`` for one weight vector, r = 0 … len(out)-1."""
    n_dense = dense.shape[1]
    sparse = len(indices) > 0
    for r in range(len(out)):
        row = first + r
        total = 0.0
        for d in range(n_dense):
            total += weights[d] * dense[row, d]
        if sparse:
            for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
                total += weights[np.uint64(n_dense + indices[e])] * values[e]
        out[r] = total


@kernel
def scores_tile(dense, indptr, indices, values, tile, row, acc):
    """Write the scores of one row for TILE weight vectors, ``tile`` being (D, TILE)."""
    n_dense = dense.shape[1]
    for j in range(TILE):
        acc[j] = 0.0
    for d in range(n_dense):
        h = dense[row, d]
        for j in range(TILE):
            acc[j] += tile[d, j] * h
    for e in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
        h, place = values[e], np.uint64(n_dense + indices[e])
        for j in range(TILE):
            acc[j] += tile[place, j] * h


@kernel
def winners_tile(dense, indptr, indices, values, tile, offsets, first, out):
    """Write, for segments ``first + s`` and TILE weight vectors, the winning row; ties to the lowest.

    ``out`` is (segments, TILE); a segment without rows gets −1.
    """
    n_dense = dense.shape[1]
    sparse = len(indices) > 0
    a = np.empty(TILE)
    top = np.empty(TILE)
    for s in range(out.shape[0]):
        start, stop = offsets[first + s], offsets[first + s + 1]
        for j in range(TILE):
            out[s, j] = start if stop > start else -1
            top[j] = -np.inf
        for row in range(start, stop):
            if sparse:
                scores_tile(dense, indptr, indices, values, tile, row, a)
                a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
            else:
                # eight sums in registers: an array of them would go through memory at each feature
                a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = 0.0
                for d in range(n_dense):
                    h = dense[row, d]
                    a0 += tile[d, 0] * h
                    a1 += tile[d, 1] * h
                    a2 += tile[d, 2] * h
                    a3 += tile[d, 3] * h
                    a4 += tile[d, 4] * h
                    a5 += tile[d, 5] * h
                    a6 += tile[d, 6] * h
                    a7 += tile[d, 7] * h
            better = (
                (a0 > top[0]) | (a1 > top[1]) | (a2 > top[2]) | (a3 > top[3])
                | (a4 > top[4]) | (a5 > top[5]) | (a6 > top[6]) | (a7 > top[7])
            )  # fmt: skip
            if better:  # rare: a list has few records
                a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7] = a0, a1, a2, a3, a4, a5, a6, a7
                for j in range(TILE):
                    if a[j] > top[j]:
                        top[j] = a[j]
                        out[s, j] = row


@kernel
def winners_one(scores, offsets, first, out):
    """Write the winning row of segments ``first + s`` from the scores of their rows."""
    base = offsets[first]
    for s in range(len(out)):
        start, stop = offsets[first + s], offsets[first + s + 1]
        out[s] = start if stop > start else -1
        top = -np.inf
        for row in range(start, stop):
            if scores[row - base] > top:
                top = scores[row - base]
                out[s] = row
