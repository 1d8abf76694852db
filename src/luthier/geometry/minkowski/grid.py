"""The grids on which lists are summed: whole numbers, one unit for each list."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.segments import segment_of_rows
from luthier.geometry.equilibration import balanced, centred, centres
from luthier.geometry.polytopes.exact_cone import rank_columns

# Corners and edges of one list on a whole-numbered grid: all that a search over sums of lists looks at.
#
# A list may be flat, or have repeated or collinear rows. An edge too many costs time (what lies behind it is
# tested, and is no vertex of a sum); one too few would cost vertices. Qhull proposes corners and edges in the
# list's affine hull; small lists get all pairs.

FEW_ROWS = 10  # all pairs are so few that nothing is saved by a hull
HULL_DIMENSIONS = 5  # beyond, a hull has more facets than there are pairs of rows
SURELY_FULL = 1e-6  # singular values in this proportion are independent without a doubt


def corner_pairs(points: Int64) -> Int64:
    """Return pairs of rows that hold every edge of the hull of distinct points, (K, D) → (P, 2)."""
    if len(points) < 2:
        return np.empty((0, 2), np.int64)
    columns = _independent_columns(points)
    if len(columns) == 1:
        along = points[:, columns[0]]
        return np.array([[np.argmin(along), np.argmax(along)]], np.int64)
    if len(points) <= max(FEW_ROWS, len(columns) + 1) or len(columns) > HULL_DIMENSIONS:
        return all_pairs(np.arange(len(points)))
    return _hull_pairs(points[:, columns].astype(np.float64))


def all_pairs(rows: Int64) -> Int64:
    """Return every pair of the rows, lower first: (P, 2)."""
    first, second = np.triu_indices(len(rows), 1)
    return np.stack([rows[first], rows[second]], axis=1)


def _independent_columns(points: Int64) -> list[int]:
    spread = np.ptp(points, axis=0)
    if np.all(spread > 0):
        values = np.linalg.svd((points - points[0]) / spread, compute_uv=False)
        if len(values) == points.shape[1] and values[-1] > SURELY_FULL * values[0]:
            return list(range(points.shape[1]))
    return rank_columns(points)


def _hull_pairs(points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Int64:
    from scipy.spatial import ConvexHull, QhullError

    spread = np.ptp(points, axis=0)
    try:
        simplices = ConvexHull((points - points.mean(axis=0)) / spread).simplices  # (F, rank)
    except QhullError:
        return all_pairs(np.arange(len(points)))
    first, second = np.triu_indices(simplices.shape[1], 1)
    pairs = np.sort(np.stack([simplices[:, first], simplices[:, second]], axis=-1).reshape(-1, 2), axis=1)
    return np.unique(pairs, axis=0).astype(np.int64)


GRID_BITS, MORE_BITS = 36, 16
WHOLE_BITS = GRID_BITS + MORE_BITS  # all coordinates of all grids are whole multiples of 2^−WHOLE_BITS
USUAL_BITS = 6  # a list's largest coordinate may be so many powers of two above its usual ones
WIDE_BITS = 30  # a spread of so many powers of two above the median is worth a warning
COARSE_BITS = GRID_BITS - WIDE_BITS  # and a step of the grid of so many below what values are mostly apart


@dataclasses.dataclass(frozen=True, eq=False)
class Grid:
    """N lists in D dimensions as whole numbers.

    Attributes
    ----------
    rows : (M, D) int64
        Below 2^bits of the row's list.
    exponents : (D,) int64
    list_exponents, bits : (N,) int64
        A step of coordinate i is 2^(exponents[i] + list_exponents[s] − bits[s]) in the features' units.
    """

    rows: Int64
    exponents: Int64
    list_exponents: Int64
    bits: Int64

    @classmethod
    def of(cls, offsets: Int64, features: Float64) -> Grid:
        """Return the lists ``features[offsets[i]:offsets[i+1]]``, each of one row or more, on their grids."""
        moved = centred(offsets, features)
        usual, exponents = balanced(offsets, moved)
        sizes = np.maximum.reduceat(np.abs(np.ldexp(moved, -exponents)), offsets[:-1]).max(axis=1, initial=0.0)
        list_exponents = np.where(sizes > 0, np.frexp(sizes)[1], 0).astype(np.int64)
        bits = GRID_BITS + np.clip(list_exponents - usual - USUAL_BITS, 0, MORE_BITS)
        powers = (bits - list_exponents)[:, None] - exponents
        rows = np.rint(np.ldexp(moved, np.repeat(powers, np.diff(offsets), axis=0))).astype(np.int64)
        return cls(rows, exponents, list_exponents, bits)


def wide_spreads(offsets: Int64, features: Float64) -> list[tuple[int, int, float]]:
    """Return lists, columns and spreads, largest first, beside which other differences may be lost.

    These are 2³⁰ times as far as the median list spreads, or as a list's own values, sorted, are mostly apart: a few
    steps of the grid are then all that tells most rows from one another.
    """
    starts = offsets[:-1]
    spreads = np.maximum.reduceat(features, starts) - np.minimum.reduceat(features, starts)  # (N, D)
    usual = np.array([np.median(column[column > 0]) if np.any(column > 0) else np.inf for column in spreads.T])
    gaps = np.stack([_usual_gaps(offsets, column) for column in features.T], axis=1)
    wide = np.argwhere((spreads > 0) & (spreads >= 2.0**WIDE_BITS * np.minimum(usual, gaps)))
    found = [(int(s), int(i), float(spreads[s, i])) for s, i in wide]
    return sorted(found, key=lambda spread: (-spread[2], spread))


def coarse_lists(offsets: Int64, features: Float64) -> list[tuple[int, int, float]]:
    """Return lists, columns and their roundings, largest first, that are near to what their values are mostly apart.

    That is 2⁻⁶ of it or more. Where nothing is named, a selection is found that leads by Σ_i |w_i|·gap_i / 64 in every
    list, gap_i being what the list's values, sorted, are mostly apart.
    """
    roundings = grid_roundings(offsets, features)
    gaps = np.stack([_usual_gaps(offsets, column) for column in features.T], axis=1)
    coarse = np.argwhere((roundings > 0) & (roundings * 2.0**COARSE_BITS >= gaps))
    found = [(int(s), int(i), float(roundings[s, i])) for s, i in coarse]
    return sorted(found, key=lambda rounding: (-rounding[2], rounding))


def grid_roundings(offsets: Int64, features: Float64) -> Float64:
    """Return by how much at most a difference of two rows changes on the grid of their list, (N, D); 0: not at all.

    So a difference of two scores changes by Σ_i |w_i|·rounding_i at most, and a selection that leads by more in every
    list is found.
    """
    grid, starts = Grid.of(offsets, features), offsets[:-1]
    steps = np.ldexp(1.0, grid.exponents + (grid.list_exponents - grid.bits)[:, None])  # (N, D)
    moved, other = centred(offsets, features), centres(offsets, features)
    back = moved - features
    lost = np.abs((features - (moved - back)) - (other + back))  # what the difference lost: an exact number
    off_grid = moved != grid.rows * np.repeat(steps, np.diff(offsets), axis=0)
    return np.where(np.maximum.reduceat(off_grid, starts), steps, 0.0) + 2.0 * np.maximum.reduceat(lost, starts)


def _usual_gaps(offsets: Int64, column: Float64) -> Float64:
    """Return the median of what lies between different values of each list, sorted, (M,) → (N,); of two the lower."""
    owner = segment_of_rows(offsets)
    order = np.lexsort((column, owner))
    gaps, within = np.diff(column[order]), np.diff(owner[order]) == 0
    gaps, owners = gaps[within & (gaps > 0)], owner[order][1:][within & (gaps > 0)]
    gaps = gaps[np.lexsort((gaps, owners))]
    counts = np.bincount(owners, minlength=len(offsets) - 1)
    ends = np.cumsum(counts)
    out = np.full(len(counts), np.inf)
    out[counts > 0] = gaps[(ends - counts + (counts - 1) // 2)[counts > 0]]
    return out
