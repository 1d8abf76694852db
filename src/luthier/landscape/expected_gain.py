"""The expected gain of sentences under a softmax over each list, and the way uphill."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.segments import segment_of_rows
from luthier.kbest.pool import Pool


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
