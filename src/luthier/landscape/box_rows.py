"""The rows of lists that can win somewhere in a box of weights: searches in it need no others."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64, flat, gamma
from luthier.core.segments import counts_in_segments, offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.landscape import _row_kernels as kernels

LARGEST_WEIGHT = 1e150  # of features of 1: sums stay finite


def rows_in_box(pool: Pool, low: Float64, high: Float64) -> Int64 | None:
    """Return the rows that weights between two corners, (D,) each, may select.

    None if features are sparse, or weights so large that sums might not be finite: then all rows may be.

    Every row that `rerank` selects for such weights is among them, ties included. Computed scores of two rows, at the
    centre and at other weights of the box, are wrong by γ(D) of their sizes each, what their difference changes by over
    the box by γ(D + 3), and a few more roundings follow: less than 4·γ(D + 8) of both sizes together.
    """
    features = pool.features
    largest = np.maximum(np.abs(low), np.abs(high))
    if len(features.indices) or not largest.max(initial=0.0) < LARGEST_WEIGHT / max(features.largest, 1.0):
        return None
    centre = low + (high - low) / 2
    radius = np.nextafter(np.maximum(high - centre, centre - low), np.inf)
    able = np.empty(len(features), np.bool_)
    dense, rounding = flat(features.dense), 4 * gamma(features.n_features + 8)
    scores, winners = pool.scores(centre), rerank(pool, centre)
    kernels.find_rows_in_box(dense, flat(pool.offsets), scores, winners, radius, largest, rounding, able)
    return np.flatnonzero(able)


def bare_pool(pool: Pool, rows: Int64) -> Pool:
    """Return some rows of a pool with their features alone: neither texts nor anything else of hypotheses."""
    m = len(rows)
    return Pool(
        offsets=offsets_from_counts(counts_in_segments(pool.offsets, rows)),
        features=pool.features.take(rows),
        sentence_ids=pool.sentence_ids,
        texts=Texts(np.zeros(m + 1, np.int64), np.zeros(0, np.uint8)),
        tokens=Tokens(np.zeros(m + 1, np.int64), np.zeros(0, np.int32)),
        vocab=Texts.from_strings([]),
    )
