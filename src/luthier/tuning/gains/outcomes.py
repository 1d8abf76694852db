"""Distinct outcomes: hypotheses of a list with the same statistics are the same to every metric."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.landscape.list_problem import ListProblem

# Odd, with bits all over: rows of small counts get hashes that differ.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """The distinct statistics of each list, U of them in all; lists of 1000 hypotheses have some 100.

    Attributes
    ----------
    offsets : (N+1,) int64
        List i has the outcomes ``offsets[i]:offsets[i+1]``.
    stats : (U, S) float64
    groups : (M,) int64
        The outcome of each hypothesis.
    """

    offsets: Int64
    stats: Float64
    groups: Int64

    @classmethod
    def of(cls, problem: ListProblem) -> Outcomes:
        """Return the outcomes of a problem, in O(M log M)."""
        segments = segment_of_rows(problem.offsets)
        order = np.lexsort((_hashes(problem.stats), segments))
        stats = problem.stats[order]
        new = np.any(stats[1:] != stats[:-1], axis=1) | (segments[1:] != segments[:-1])
        starts = np.concatenate([[0], np.flatnonzero(new) + 1])
        groups = np.empty(len(order), dtype=np.int64)
        groups[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
        counts = np.bincount(segments[starts], minlength=len(problem.offsets) - 1)
        distinct = np.ascontiguousarray(stats[starts], dtype=np.float64)
        return cls(frozen(offsets_from_counts(counts)), frozen(distinct), frozen(groups))


def _hashes(stats: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """Return a hash of each row; equal hashes of unlike rows only make an outcome stand twice."""
    bits = stats.view(np.uint64)
    hashes = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        hashes = (hashes ^ column) * MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
    return hashes
