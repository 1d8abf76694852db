"""How wrong computed scores may be: what cells and certainty are measured against."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64, flat
from luthier.geometry.plane.certainty import Rounding
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.landscape.planes import _noise_kernels as kernels

UNIT = 2.0**-53


def gamma(n: int) -> float:
    """Return γ_n: a sum of n products is wrong by at most γ_n times the sum of their sizes, in any order of its terms.

    [higham2002] section 3.1.
    """
    return n * UNIT / (1 - n * UNIT)


def height_noise(features: Features, offsets: Int64, matrix: Float64) -> Float64:
    """Return how wrong differences of two rows' scores may be, for every list of rows and every vector: (N, W).

    `matrix` (W, D) are the vectors. Lists are not empty.
    """
    sizes = np.empty((len(offsets) - 1, len(matrix)))
    f, vectors = features, flat(np.abs(matrix))
    kernels.largest_sizes(f.dense, f.indptr, f.indices, f.values, flat(offsets), vectors, sizes)
    return 2 * gamma(features.n_features + 2) * sizes


def rounding_of(features: Features, subspace: Subspace) -> Rounding:
    """Return how wrong the difference of two scores may be over a plane, whoever computes them in whatever order.

    A re-rank at ``fl(w0 + x·a1 + y·a2)`` scores a row with an error of at most γ(D+4)·Σ (|w0_j| + |x a1_j| + |y a2_j|)
    |h_j|, and the row's height over the plane, computed otherwise, with as much again; two rows have twice that. γ is
    taken of D + 8, |h_j| as the largest of all rows.
    """
    largest = np.zeros(features.n_features)
    largest[: features.n_dense] = np.abs(features.dense).max(axis=0, initial=0.0)
    np.maximum.at(largest, features.n_dense + features.indices, np.abs(features.values))
    still, per_x, per_y = (4 * gamma(features.n_features + 8) * np.abs(subspace.matrix) @ largest).tolist()
    return Rounding(still, per_x, per_y)
