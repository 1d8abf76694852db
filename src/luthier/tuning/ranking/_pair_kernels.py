# mypy: ignore-errors
"""Kernels that draw pairs of hypotheses, subtract their features and add rows up.

Random numbers are Marsaglia's xorshift of 64 bits, whose state is never 0. A sentence has a seed of its
own, so its pairs do not depend on other sentences.
"""

import math
from typing import NamedTuple

import numpy as np

from luthier.core.jit import kernel
from luthier.kbest._score_kernels import row_score

LEFT_13, RIGHT_7, LEFT_17, HALF = np.uint64(13), np.uint64(7), np.uint64(17), np.uint64(32)
LOW_HALF = np.uint64(0xFFFFFFFF)


class Sampling(NamedTuple):
    """How many pairs are drawn of a list, which of them count, and whether those with the largest gaps are kept."""

    draws: int
    least_gap: float
    length_gap: int
    largest: bool


@kernel
def sift_down(gaps, better, worse, size):
    """Put the root of a heap, of which all else is in order, to its place; the least gap is on top."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return
        if child + 1 < size and gaps[child + 1] < gaps[child]:
            child += 1
        if gaps[at] <= gaps[child]:
            return
        gaps[at], gaps[child] = gaps[child], gaps[at]
        better[at], better[child] = better[child], better[at]
        worse[at], worse[child] = worse[child], worse[at]
        at = child


@kernel
def sift_up(gaps, better, worse, at):
    """Put the last of a heap to its place."""
    while at > 0:
        parent = (at - 1) // 2
        if gaps[parent] <= gaps[at]:
            return
        gaps[at], gaps[parent] = gaps[parent], gaps[at]
        better[at], better[parent] = better[parent], better[at]
        worse[at], worse[parent] = worse[parent], worse[at]
        at = parent


@kernel
def draw_pairs(gains, lengths, offsets, seeds, sampling, better, worse, counts):
    """Draw pairs of each list, and keep some of those that differ enough.

    A pair counts if its gains differ by `least_gap` at least, and at all, and the worse one is not more
    than `length_gap` words longer (no limit if negative). If `largest`, those
    with the largest gaps are kept, and the earlier ones if gaps are equal; otherwise the first ones. Segment s
    may fill ``better[s], worse[s]``, (N, kept), with rows; how many it did is in ``counts[s]``.
    """
    draws, least_gap, length_gap, largest = sampling
    room = better.shape[1]
    gaps = np.empty(room)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        k = np.uint64(offsets[s + 1] - start)
        bits = seeds[s]
        size = 0
        for _ in range(draws):
            bits ^= bits << LEFT_13
            bits ^= bits >> RIGHT_7
            bits ^= bits << LEFT_17
            i = start + np.int64(((bits & LOW_HALF) * k) >> HALF)
            j = start + np.int64(((bits >> HALF) * k) >> HALF)
            gap = gains[i] - gains[j]
            if gap < 0.0:
                gap = -gap
                i, j = j, i
            if not (gap > 0.0 and gap >= least_gap) or (length_gap >= 0 and lengths[j] - lengths[i] > length_gap):
                continue
            if size < room:
                gaps[size], better[s, size], worse[s, size] = gap, i, j
                if largest:
                    sift_up(gaps, better[s], worse[s], size)
                size += 1
            elif not largest:
                break
            elif gap > gaps[0]:
                gaps[0], better[s, 0], worse[s, 0] = gap, i, j
                sift_down(gaps, better[s], worse[s], size)
        counts[s] = size


@kernel
def count_differences(indptr, indices, better, worse, counts):
    """Write how many sparse features either row of each pair has."""
    for p in range(len(better)):
        a, a_end = indptr[better[p]], indptr[better[p] + 1]
        b, b_end = indptr[worse[p]], indptr[worse[p] + 1]
        total = 0
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and indices[a] < indices[b]):
                a += 1
            elif a == a_end or indices[b] < indices[a]:
                b += 1
            else:
                a += 1
                b += 1
            total += 1
        counts[p] = total


@kernel
def write_differences(indptr, indices, values, better, worse, out_indptr, out_indices, out_values):
    """Write ``h[better] − h[worse]`` of the sparse features; equal values cancel and are left out."""
    at = 0
    out_indptr[0] = 0
    for p in range(len(better)):
        a, a_end = indptr[better[p]], indptr[better[p] + 1]
        b, b_end = indptr[worse[p]], indptr[worse[p] + 1]
        while a < a_end or b < b_end:
            if b == b_end or (a < a_end and indices[a] < indices[b]):
                column, value = indices[a], values[a]
                a += 1
            elif a == a_end or indices[b] < indices[a]:
                column, value = indices[b], -values[b]
                b += 1
            else:
                column, value = indices[a], values[a] - values[b]
                a += 1
                b += 1
            if value != 0.0:
                out_indices[at] = column
                out_values[at] = value
                at += 1
        out_indptr[p + 1] = at


@kernel
def add_rows(dense, indptr, indices, values, coefficients, out):
    """Add ``Σ_r coefficients[r]·h[r]`` to `out`, in the order of the rows."""
    n_dense = dense.shape[1]
    sparse = len(indices) > 0
    for r in range(len(coefficients)):
        c = coefficients[r]
        if c != 0.0:
            for d in range(n_dense):
                out[d] += c * dense[r, d]
            if sparse:
                for e in range(np.uint64(indptr[r]), np.uint64(indptr[r + 1])):  # unsigned: as in scores
                    out[np.uint64(n_dense + indices[e])] += c * values[e]


@kernel
def add_pair_gradients(dense, indptr, indices, values, counts, first, last, weights, out):
    """Add the gradient of the logistic losses of rows ``first … last − 1``, times `counts`; return their sum."""
    n_dense = dense.shape[1]
    loss = 0.0
    for r in range(first, last):
        margin = row_score(dense, indptr, indices, values, weights, r)
        shrunk = math.exp(-abs(margin))
        loss += counts[r] * (max(-margin, 0.0) + math.log1p(shrunk))
        c = -counts[r] * (shrunk if margin > 0.0 else 1.0) / (1.0 + shrunk)
        for d in range(n_dense):
            out[d] += c * dense[r, d]
        for e in range(np.uint64(indptr[r]), np.uint64(indptr[r + 1])):
            out[np.uint64(n_dense + indices[e])] += c * values[e]
    return loss
