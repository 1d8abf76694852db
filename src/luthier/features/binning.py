"""Uniform-population binning: distinct values with frequencies → contiguous bins of like population [clark2014]."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np

from luthier.core.arrays import Float64, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.features import _binning_kernels as kernels

MOST_BINS = 1 << 16
MOST_MASS = 1 << 58  # sums of masses, and what a cut costs, stay far below the end of int64
# The exact programme keeps a number for each value and bin: so many are half a gigabyte.
MOST_CELLS = 1 << 27


@dataclasses.dataclass(frozen=True, eq=False)
class Partition:
    """How n values, in their order, are cut into K bins.

    Attributes
    ----------
    starts : (K+1,) int64
        Bin j has the values ``starts[j]:starts[j+1]``.
    populations : (K,) int64
        Its instances.
    capped : (K,) float64
        The same where no value counts more than one bin's worth.
    ideal : float
        One bin's worth.
    """

    starts: Int64
    populations: Int64
    capped: Float64
    ideal: float

    def __post_init__(self) -> None:
        for name in ("starts", "populations", "capped"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def error(self) -> float:
        """The mean difference of a bin's capped population from the ideal, as a share of the ideal."""
        return float(np.abs(self.capped - self.ideal).mean() / self.ideal)


def cap(frequencies: Int64, n_bins: int) -> tuple[Int64, int, int]:
    """Return whole masses, one bin's worth of them, and by how much both are too large: masses / scale are f̄.

    f̄_i = min(f_i, u) with u = Σ f̄ / N: of the k largest frequencies nothing but u counts, so u = R_k / (N − k), where
    R_k sums the others, for the least k at which none of the others exceeds u. Masses are f̄·(N − k).

    >>> cap(np.array([1, 1, 98]), 2)
    (array([1, 1, 2]), 2, 1)
    """
    largest = np.sort(frequencies)[::-1]
    left = int(frequencies.sum()) - np.concatenate([[0], np.cumsum(largest[: n_bins - 1])])  # R_0 … R_{N−1}
    k = int(np.argmax(largest[:n_bins] * (n_bins - np.arange(n_bins)) <= left))
    scale, ideal = n_bins - k, int(left[k])
    return np.minimum(frequencies * scale, ideal), ideal, scale


def cut_values(frequencies: Int64, n_bins: int, *, exact: bool = False) -> Partition:
    """Cut values with the given frequencies, (n,) above 0 in the order of the values, into min(N, n) bins.

    The greedy fill of the paper, or, if `exact`, the cut whose mean |b̄_j − u| is the least. Nothing but the frequencies
    is looked at, so any strictly increasing transform of a feature has the same bins.
    """
    frequencies = flat(np.asarray(frequencies, dtype=np.int64))
    if frequencies.ndim != 1 or not len(frequencies) or frequencies.min() < 1:
        raise LuthierError("expected at least one value, each with a frequency above 0")
    if not 1 <= n_bins <= MOST_BINS:
        raise LuthierError(f"expected from 1 to {MOST_BINS} bins, found {n_bins}")
    n_bins = min(n_bins, len(frequencies))
    if float(frequencies.sum()) * n_bins**2 > MOST_MASS:
        raise LuthierError(f"expected fewer than {MOST_MASS // n_bins**2} instances in {n_bins} bins, found more")
    masses, ideal, scale = cap(frequencies, n_bins)
    ends = np.empty(n_bins, dtype=np.int64)
    if exact:
        _cut_exactly(masses, ideal, ends)
    else:
        kernels.fill_bins(flat(masses), ideal, ends)
    starts = np.concatenate([[0], ends])
    return Partition(
        starts, np.add.reduceat(frequencies, starts[:-1]), np.add.reduceat(masses, starts[:-1]) / scale,
        float(Fraction(ideal, scale)),
    )  # fmt: skip


def _cut_exactly(masses: Int64, ideal: int, ends: Int64) -> None:
    n, n_bins = len(masses), len(ends)
    if n * n_bins > MOST_CELLS:
        raise LuthierError(
            f"expected at most {MOST_CELLS:,} pairs of a value and a bin for the exact cut, found {n:,} values and "
            f"{n_bins:,} bins. hint: fill them from the left, or ask for at most {MOST_CELLS // n:,} bins"
        )
    choices = np.empty((n_bins, n + 1), dtype=np.int32)
    kernels.best_bins(flat(offsets_from_counts(masses)), ideal, choices, ends)
