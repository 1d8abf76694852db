"""Which hypothesis each weight vector selects: argmax of w·h, ties to the lowest row."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, segment_blocks, segment_of_rows
from luthier.core.threads import executor
from luthier.kbest import _score_kernels as kernels
from luthier.kbest.derived import with_derived
from luthier.kbest.features import align_features
from luthier.kbest.pool import Pool, pool_of
from luthier.kbest.weights import Weights, check_sizes, no_weights, vector_of

# The N best hypotheses of each list by given weights.


def n_best(pool: Pool, scores: Float64, n: int) -> tuple[Int64, Int64]:
    """Return the rows of the `n` best of each list, best first, and where those of each sentence begin, (N+1,).

    Ties go to the lower row. `scores` are those of all rows, (M,).
    """
    if n < 1:
        raise LuthierError(f"expected at least 1 hypothesis for each sentence, found {n}")
    segments = segment_of_rows(pool.offsets)
    order = np.lexsort((-scores, segments))  # stable
    place = np.arange(len(order)) - pool.offsets[segments]
    return order[place < n], offsets_from_counts(np.minimum(pool.list_lengths, n))


# Segments one task works on: large enough to hide the call, small enough to share out evenly.
BLOCK_ROWS = 1 << 16


def rerank(pool: Pool, weights: Float64 | Mapping[str, float], *, threads: int = 1) -> Int64:
    """Return the selected row of each sentence: (D,) → (N,), or (W, D) → (W, N).

    Weights by name (a dictionary, or `Weights` with formulas of features that the pool may lack) are one vector, and
    sums are then in their order.

    A sentence without hypotheses gets −1. The same vector selects the same rows alone and among
    others, in dense and in sparse storage, with any number of threads: all scores are summed in one
    order. Memory is O(W·N); scores are never kept.

    References
    ----------
    [waite2015] eq. 1 and 3.
    """
    pool_of(pool)
    if isinstance(weights, Mapping):
        pool, weights = _named(pool, weights)
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise no_weights(weights) from None
    if weights.ndim not in (1, 2) or weights.shape[-1] != pool.n_features:
        raise LuthierError(
            f"expected weights of shape ({pool.n_features},) or (W, {pool.n_features}), found {weights.shape}"
        )
    check_sizes(weights, pool.features.largest)
    if weights.ndim == 1:
        return _rerank_one(pool, weights)
    return _rerank_many(pool, weights, threads)


def _named(pool: Pool, weights: Mapping[str, float]) -> tuple[Pool, Float64]:
    """Return the vector of named weights, and the pool with the features that their formulas make."""
    pool = with_derived(pool, weights.derived) if isinstance(weights, Weights) else pool
    ordered = in_order_of(pool, weights)
    return ordered, vector_of(weights, ordered.features.names)


def in_order_of(pool: Pool, weights: Mapping[str, float]) -> Pool:
    """Return the pool with its features in the order of the weights, those without a weight last.

    Scores are summed in that order: which hypothesis wins a near tie does not depend on the order of a list's columns.
    """
    names = pool.features.names
    there = set(names)
    known = [name for name in weights if name in there]
    if known == [name for name in names if name in weights]:
        return pool
    dense, n_dense = set(names[: pool.features.n_dense]), 0
    ordered = (*known, *(name for name in names if name not in weights))
    while n_dense < len(ordered) and ordered[n_dense] in dense:
        n_dense += 1
    return pool.with_features(align_features(pool.features, ordered, n_dense))


def _rerank_one(pool: Pool, weights: Float64) -> Int64:
    winners = np.empty(pool.n_sentences, dtype=np.int64)
    kernels.winners_one(pool.scores(weights), pool.offsets, 0, winners)
    return winners


def _rerank_many(pool: Pool, weights: Float64, threads: int) -> Int64:
    """Work in tiles of weight vectors × blocks of segments, so that a block stays in the cache."""
    n_vectors, tile_width = len(weights), kernels.TILE
    n_tiles = -(-n_vectors // tile_width)
    padded = np.zeros((n_tiles * tile_width, pool.n_features))
    padded[:n_vectors] = weights
    tiles = np.ascontiguousarray(padded.reshape(n_tiles, tile_width, pool.n_features).transpose(0, 2, 1))  # (T, D, 8)
    winners = np.empty((n_tiles, pool.n_sentences, tile_width), dtype=np.int64)
    f = pool.features

    def work(first: int, last: int) -> None:
        for tile, out in zip(tiles, winners, strict=True):
            kernels.winners_tile(f.dense, f.indptr, f.indices, f.values, tile, pool.offsets, first, out[first:last])

    blocks = segment_blocks(pool.offsets, BLOCK_ROWS)
    if threads == 1 or len(blocks) == 1:  # a pool of threads costs more than a small job
        for block in blocks:
            work(*block)
    else:
        with executor(threads) as workers:
            for task in [workers.submit(work, *block) for block in blocks]:
                task.result()
    return winners.transpose(0, 2, 1).reshape(n_tiles * tile_width, pool.n_sentences)[:n_vectors]


def selected_texts(pool: Pool, rows: Int64) -> list[str]:
    """Return the text of each selected row, '' where a sentence has none."""
    return [pool.texts[row] if row >= 0 else "" for row in rows.tolist()]


@dataclasses.dataclass(frozen=True)
class Reranked:
    """What one file of weights selected, and where it was written."""

    weights: str
    output: str
    sentences: int
    not_first: int
    mean_score: float | None
    mean_words: float | None
