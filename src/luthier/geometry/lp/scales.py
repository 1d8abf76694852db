"""Units of the unknowns of a linear program, where columns are far apart or limits tiny beside the box; and checks."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64

TINY = 1e-6  # limits beside the box, below which an answer is looked at again
FAR_APART = 1e4  # sizes of columns that are brought to one
BROKEN = 1e-7  # beyond a row of length 1, or of that part of its limit


def column_scales(a: Float64) -> Float64 | None:
    """Return what brings columns to about one size, (d,), powers of two; None where they are that already."""
    sizes = np.abs(a).max(axis=0, initial=0.0)
    used = sizes[sizes > 0.0]
    if len(used) == 0 or used.max() <= FAR_APART * used.min():
        return None
    scales: Float64 = np.exp2(-np.round(np.log2(np.where(sizes > 0.0, sizes, np.median(used)))))
    return scales


def small_unit(a: Float64, b: Float64, sides: Float64) -> Float64 | None:
    """Return a small unit for all unknowns, (d,), where all limits of rows of length 1 are tiny beside the box."""
    lengths = np.sqrt((a * a).sum(axis=1))
    used = (lengths > 0.0) & np.isfinite(b)
    largest = float((np.abs(b[used]) / lengths[used]).max(initial=0.0))
    if not 0.0 < largest < TINY * sides.min():
        return None
    return np.full(a.shape[1], np.exp2(np.round(np.log2(largest))))


def is_broken(rows: Float64, limits: Float64, point: Float64) -> bool:
    """Return whether a point is beyond a row by more than rounding explains."""
    lengths = np.sqrt((rows * rows).sum(axis=1))
    return bool((rows @ point - limits > BROKEN * np.maximum(lengths, np.abs(limits))).any())


def is_beyond(rows: Float64, limits: Float64, point: Float64) -> bool:
    """Return whether a point is beyond a row by more than a part of the limits, however small these are."""
    return bool((rows @ point - limits > BROKEN * np.abs(limits[np.isfinite(limits)]).max(initial=0.0)).any())


def is_proven(rows: Float64, objectives: Float64, active: Int64, multipliers: Float64, optimal: Bool) -> bool:
    """Return whether the multipliers of all optima add their rows, and sides of the box, up to the objectives."""
    sides = np.eye(rows.shape[1])
    for q in np.flatnonzero(optimal):
        total = np.zeros(rows.shape[1])
        for k, share in zip(active[q].tolist(), multipliers[q].tolist(), strict=True):
            total += share * (rows[k] if k >= 0 else sides[(-1 - k) // 2] * (1.0 if k % 2 else -1.0))
        if np.abs(total - objectives[q]).max() > BROKEN * np.abs(objectives[q]).max():
            return False
    return True
