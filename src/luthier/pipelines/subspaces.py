"""From names and files on a command line to lines, planes and larger subspaces of a pool's weights."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.geometry.certainty import Rounding
from luthier.geometry.subspace import Subspace
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.kbest.weights import read_weights


def read_start(pool: Pool, path: str | None) -> Float64:
    """Return the weights of a file, or equal ones (negative for costs) where no file is given: (D,)."""
    if path is None:
        return pool.features.signs
    return read_weights(path).vector(pool.features.names, source=path)


def read_axis(pool: Pool, axis: str) -> Float64:
    """Return a direction in weight space, (D,): one feature by its name, or a file of 'name value' lines.

    In a file a feature that is not named counts 0.
    """
    names = pool.features.names
    if axis in names:
        direction = np.zeros(len(names))
        direction[names.index(axis)] = 1.0
        return direction
    if not Path(axis).exists():
        shown = ", ".join(names[:12]) + (" …" if len(names) > 12 else "")
        raise LuthierError(
            f"the axis {axis!r} is neither a feature nor a file of 'name value' lines. hint: features are {shown}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuthierWarning)
        return read_weights(axis).vector(names, source=axis)


def read_subspace(pool: Pool, weights: str | None, axes: Sequence[str], *, expected: int | None = None) -> Subspace:
    """Return the subspace through `weights` along `axes`; `expected` is how many axes there must be."""
    if expected is not None and len(axes) != expected:
        times = "once" if expected == 1 else f"{expected} times"
        raise LuthierError(f"expected --axis {times}, found {len(axes)}")
    if not axes:
        raise LuthierError("expected --axis at least once, found none")
    return Subspace(read_start(pool, weights), np.array([read_axis(pool, axis) for axis in axes]), tuple(axes))


def project(pool: Pool, subspace: Subspace) -> Float64:
    """Return the pool's features seen from within a subspace, ``h Aᵀ``: (M, Q+1).

    Every entry is the same sum in the same order as when the pool is re-ranked with that vector.
    """
    return flat(np.ascontiguousarray(pool.features.scores(subspace.matrix).T))


def rounding_of_plane(pool: Pool, plane: Subspace) -> Rounding:
    """Return how wrong the difference of two scores may be anywhere on a plane.

    A score of D terms is wrong by at most γ(D)·Σ|w_j||h_j|, γ(n) = nu / (1 − nu) with u = 2⁻⁵³ ([higham2002] section
    3.1); so is each of its three projections. The weights are rounded three times. Two rows, each seen in full
    dimension and in the plane, and the few operations in the plane: 4·(D + 8)·u·Σ (|w0_j| + |x||a1_j| + |y||a2_j|)·H_j
    with H_j the largest |h_j| covers all, rounded up.
    """
    largest = _largest_features(pool)
    still, per_x, per_y = 4.0 * (len(largest) + 8) * 2.0**-53 * (np.abs(plane.matrix) @ largest)
    return Rounding(float(still), float(per_x), float(per_y))


def _largest_features(pool: Pool) -> Float64:
    """Return the largest absolute value of each feature, (D,)."""
    features = pool.features
    largest = np.zeros(features.n_features)
    largest[: features.n_dense] = np.abs(features.dense).max(axis=0, initial=0.0)
    np.maximum.at(largest[features.n_dense :], features.indices, np.abs(features.values))
    return largest


def rows_differ(pool: Pool, a: Int64, b: Int64) -> Bool:
    """Return which of the rows a, (n,), have other features than the rows b."""
    one, other = pool.features.take(a), pool.features.take(b)
    different: Bool = np.any(one.dense != other.dense, axis=1)
    if len(one.values) or len(other.values):
        for i in np.flatnonzero(~different):
            different[i] = _sparse_row(one, int(i)) != _sparse_row(other, int(i))
    return different


def _sparse_row(features: Features, row: int) -> dict[int, float]:
    """Return the sparse features of a row that are not 0."""
    part = slice(features.indptr[row], features.indptr[row + 1])
    pairs = zip(features.indices[part].tolist(), features.values[part].tolist(), strict=True)
    return {d: value for d, value in pairs if value}
