"""From names and files to lines, planes and larger subspaces of a pool's weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from luthier.core.arrays import Float64, flat
from luthier.core.errors import LuthierError, unwarned
from luthier.geometry.subspace import Subspace
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
    with unwarned():
        return read_weights(axis).vector(names, source=axis, strict=True)


def read_subspace(pool: Pool, weights: str | None, axes: Sequence[str], *, expected: int | None = None) -> Subspace:
    """Return the subspace through `weights` along `axes`; `expected` is how many axes there must be."""
    if expected is not None and len(axes) != expected:
        raise LuthierError(f"expected {'one axis' if expected == 1 else f'{expected} axes'}, found {len(axes)}")
    if not axes:
        raise LuthierError("expected at least one axis, found none")
    return Subspace(read_start(pool, weights), read_axes(pool, axes), tuple(axes))


def read_axes(pool: Pool, axes: Sequence[str]) -> Float64:
    """Return several directions, (Q, D), that are independent."""
    directions = np.array([read_axis(pool, axis) for axis in axes])
    for axis, direction in zip(axes, directions, strict=True):
        if not np.any(direction):
            raise LuthierError(f"the axis {axis!r} moves no weight: all its values are 0")
    if np.linalg.matrix_rank(directions) < len(axes):
        raise LuthierError(f"expected axes that are independent, found {', '.join(axes)}. hint: replace one of them")
    return directions


def read_ends(window: str, ends: str) -> tuple[float, float]:
    """Read ``lo:hi``, the `ends` of a `window`; an end that is left out is infinite.

    >>> read_ends("lm=-1:", "-1:")
    (-1.0, inf)
    """
    low, colon, high = ends.partition(":")
    try:
        found = float(low) if low.strip() else -np.inf, float(high) if high.strip() else np.inf
    except ValueError:
        found = np.nan, np.nan
    if not colon or not found[0] < found[1]:
        raise LuthierError(f"expected a window from low to high such as -0.5:2, found {ends!r} in {window!r}")
    return found


def project(pool: Pool, subspace: Subspace) -> Float64:
    """Return the pool's features seen from within a subspace, ``h Aᵀ``: (M, Q+1).

    Every entry is the same sum in the same order as when the pool is re-ranked with that vector.
    """
    return flat(np.ascontiguousarray(pool.features.scores(subspace.matrix).T))
