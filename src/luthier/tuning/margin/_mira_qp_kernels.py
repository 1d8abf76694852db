# mypy: ignore-errors
"""The quadratic program of online MIRA, by Hildreth's method: one multiplier at a time, exactly.

For one list, with d_j = h_j − h_o for its oracle o and losses Δ_j ≥ 0,

    min ½ (w' − w)ᵀ M⁻¹ (w' − w) + C Σ_j ξ_j   subject to   w'·d_j + Δ_j ≤ ξ_j,  ξ_j ≥ 0,

M = diag(`scale`), has the dual max Σ α_j (Δ_j + w·d_j) − ½ ‖Σ α_j d_j‖²_M over 0 ≤ α_j ≤ C, and
w' = w − M Σ α_j d_j. With all others held, α_j is moved by (Δ_j + w'·d_j) / ‖d_j‖²_M and clipped.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel
from luthier.kbest._score_kernels import row_score


class Workspace(NamedTuple):
    """Arrays for the multipliers of a list, for those that push, and for a feature vector, all zeros and left so."""

    alphas: np.ndarray
    active: np.ndarray
    oracle: np.ndarray


@inner_kernel
def visit(dense, indptr, indices, values, row, oracle, o, loss, scale, limit, weights, alphas, j):
    """Set one multiplier to its best, the others held; return by how much its condition was violated.

    `oracle` is h_o as a full vector, `o` its row.
    """
    n_dense = dense.shape[1]
    residual = loss
    norm = 0.0
    for d in range(n_dense):
        x = dense[row, d] - oracle[d]
        residual += weights[d] * x
        norm += scale[d] * x * x
    for e in range(indptr[o], indptr[o + 1]):  # as if the row had none of the oracle's features
        d = n_dense + indices[e]
        residual -= weights[d] * oracle[d]
        norm += scale[d] * oracle[d] * oracle[d]
    for e in range(indptr[row], indptr[row + 1]):
        d = n_dense + indices[e]
        residual += weights[d] * values[e]
        norm += scale[d] * values[e] * (values[e] - 2.0 * oracle[d])
    violation = 0.0
    if norm > 0.0:
        best = min(max(alphas[j] + residual / norm, 0.0), limit)
        step = best - alphas[j]
        if step != 0.0:
            violation = abs(residual)
            alphas[j] = best
            for d in range(n_dense):
                weights[d] -= step * scale[d] * (dense[row, d] - oracle[d])
            for e in range(indptr[o], indptr[o + 1]):
                weights[n_dense + indices[e]] += step * scale[n_dense + indices[e]] * values[e]
            for e in range(indptr[row], indptr[row + 1]):
                weights[n_dense + indices[e]] -= step * scale[n_dense + indices[e]] * values[e]
    return violation


@kernel
def pick(first, last, hope, most, gains, features, weights, fears, rows):
    """Return the oracle's row and write the rows that make conditions, all or the `most` violated; return how many.

    The oracle has the highest gain or, if `hope`, score + gain; ties go to the higher score, the lower row.
    A higher score − gain, which is written to `fears`, violates a condition more.
    """
    dense, indptr, indices, values = features
    oracle = first
    best = top = -np.inf
    for row in range(first, last):
        score = row_score(dense, indptr, indices, values, weights, row)
        fears[row - first] = score - gains[row]
        value = gains[row] + score if hope else gains[row]
        if value > best or (value == best and score > top):
            oracle, best, top = row, value, score
    n = last - first
    least = np.sort(fears[:n])[n - most] if 0 < most < n else -np.inf
    count = 0
    for row in range(first, last):  # the lower rows first, if several are equal
        if fears[row - first] > least or most == 0 or most >= n:
            rows[count] = row
            count += 1
    for row in range(first, last):
        if count < most and fears[row - first] == least:
            rows[count] = row
            count += 1
    return oracle, count


@kernel
def solve_list(rows, o, gains, features, scale, limit, tolerance, sweeps, weights, room):
    """Move the weights to the solution for the conditions of `rows` and the oracle o; return the sweeps it took.

    Sweeps go over all rows, and in between over those that push, until no condition is violated by more
    than `tolerance`.
    """
    dense, indptr, indices, values = features
    alphas, active, oracle = room
    n_dense = dense.shape[1]
    for d in range(n_dense):
        oracle[d] = dense[o, d]
    for e in range(indptr[o], indptr[o + 1]):
        oracle[n_dense + indices[e]] = values[e]
    alphas[: len(rows)] = 0.0
    done = n_active = 0
    whole = True
    while done < sweeps:
        worst = 0.0
        for k in range(len(rows) if whole else n_active):
            j = k if whole else active[k]
            loss = gains[o] - gains[rows[j]]
            by = visit(dense, indptr, indices, values, rows[j], oracle, o, loss, scale, limit, weights, alphas, j)
            worst = max(worst, by)
        done += 1
        if whole:
            if worst <= tolerance:
                break
            n_active = 0
            for j in range(len(rows)):
                if alphas[j] > 0.0:
                    active[n_active] = j
                    n_active += 1
        whole = worst <= tolerance
    oracle[:n_dense] = 0.0
    for e in range(indptr[o], indptr[o + 1]):
        oracle[n_dense + indices[e]] = 0.0
    return done
