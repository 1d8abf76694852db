"""A checksum of a search: the vertices of a sum in general position follow from those of its small partial sums.

A partial sum takes fewer lists than the space has dimensions. Its vertices are counted by searches of their own, which
have no part in the search that is checked but the code. Where edges of several lists are parallel, or otherwise tie, a
sum has fewer vertices than in general position, and never more.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.segments import offsets_from_counts
from luthier.geometry.polytopes.counting import vertices_by_subsets
from luthier.geometry.polytopes.exact_rank import exact_rank
from luthier.geometry.sums.reverse_search import ReverseSearch
from luthier.geometry.sums.summands import Summands

MOST_SUMS = 50_000


@dataclasses.dataclass(frozen=True)
class Checksum:
    """How many vertices partial sums promise in general position, how many sums that took, and how many were found."""

    expected: int
    sums: int
    found: int

    @property
    def agrees(self) -> bool:
        """Whether as many were found; fewer say that lists tie."""
        return self.found == self.expected


def partial_sums(offsets: Int64, points: Float64) -> tuple[Int64, int]:
    """Return the lists that have a choice, and how many of them a partial sum takes at most.

    Raises
    ------
    LuthierError
        If there are too many partial sums to look at.
    """
    active = np.array([s for s in range(len(offsets) - 1) if np.any(np.ptp(points[offsets[s] : offsets[s + 1]], 0))])
    largest = min(max(0, exact_rank(points, offsets) - 1), len(active))
    count = sum(math.comb(len(active), j) for j in range(1, largest + 1))
    if count > MOST_SUMS:
        raise LuthierError(
            f"expected at most {MOST_SUMS:,} partial sums for a checksum, found {count:,}. "
            "hint: fewer sentences or axes"
        )
    return active, largest


def count_by_parts(offsets: Int64, points: Float64, found: int) -> Checksum:
    """Return the checksum of a complete search over the whole fan of a sum of lists, (M, D), that found so many.

    Raises
    ------
    LuthierError
        If that is more than there can be.
    """
    active, largest = partial_sums(offsets, points)
    sizes, sums = dict.fromkeys(range(1, largest + 1), 0), 0
    start = np.eye(points.shape[1])[0]
    with progress("partial sums") as advance:
        for j in sizes:
            for few in itertools.combinations(active.tolist(), j):
                own = [points[offsets[s] : offsets[s + 1]] for s in few]
                summands = Summands.of(offsets_from_counts([len(rows) for rows in own]), np.concatenate(own))
                search = ReverseSearch(summands, start, limits=None, order="depth", score=None, threads=1)
                sizes[j] += sum(len(block) for block in search.run())
                sums += 1
                advance(1)
    if largest == len(active):  # so few lists that the largest partial sum is the whole one
        expected = sizes.get(largest, 1)
    else:
        expected = vertices_by_subsets(sizes, len(active), largest + 1)
    if found > expected:
        raise LuthierError(
            f"{found:,} vertices were found, and by partial sums there are at most {expected:,}: this is a fault of "
            "ours"
        )
    return Checksum(expected, sums, found)
