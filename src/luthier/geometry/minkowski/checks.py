"""Which vertices of a sum a re-rank at given weights is certain to find, in spite of rounding."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64, flat
from luthier.core.errors import LuthierError
from luthier.core.progress import progress
from luthier.core.segments import offsets_from_counts
from luthier.geometry.minkowski import _algebra_kernels as kernels
from luthier.geometry.minkowski.reverse_search import ReverseSearch
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.polytopes.counting import exact_rank, vertices_by_subsets


class Certainty:
    """Judges the selections of weights.

    Parameters
    ----------
    summands : Summands of the lists
    offsets, features : (N+1,) and (M, D)
        The lists as they are.
    rounding : (N, D) float64
        How wrong the difference of two scores of a list may be, per unit of each weight.
    """

    def __init__(self, summands: Summands, offsets: Int64, features: Float64, rounding: Float64) -> None:
        s, active = summands, summands.active
        powers = s.list_exponents[:, None] + s.exponents
        ends = np.stack([offsets[:-1], offsets[1:]], axis=1)[active]
        self._corners = kernels.Corners(
            flat(s.edge_first), flat(s.directions), flat(s.nearest), flat(s.corner_rows), flat(np.ldexp(1.0, powers))
        )
        self._rows = kernels.Rows(flat(np.asarray(features, np.float64)), flat(ends))
        self._rounding = flat(rounding[active] + np.ldexp(1.0, powers - s.bits[:, None]))  # and a step of the grid

    def judge(self, weights: Float64, selections: Int64) -> tuple[Float64, Bool]:
        """Return the margins of weights, (V, D), that select corners, (V, S), as scores; and which are certain."""
        margins, certain = np.empty(len(weights)), np.empty(len(weights), np.bool_)
        kernels.judge(flat(weights), flat(selections), self._corners, self._rows, self._rounding, margins, certain)
        return margins, certain


# A checksum of a search: the vertices of a sum in general position follow from those of its small partial sums.
#
# A partial sum takes fewer lists than the space has dimensions. Its vertices are counted by searches of their own,
# which have no part in the search that is checked but the code. Where edges of several lists are parallel, or otherwise
# tie, a sum has fewer vertices than in general position, and never more.

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


# How much of the space of weights the cones found so far cover: an estimate from random directions.

MOST_DIRECTIONS, LEAST_DIRECTIONS, MOST_PRODUCTS = 20_000, 1_000, 4e8
AT_ONCE = 256


@dataclasses.dataclass(frozen=True)
class Coverage:
    """A share of all directions within a search's limits; `error` is half of a 95 % interval, 0 where it is exact."""

    share: float
    error: float
    directions: int


def share_covered(search: ReverseSearch, keys: npt.NDArray[np.uint64], rng: np.random.Generator) -> Coverage:
    """Return the share of directions that select a vertex whose key is among `keys`.

    Directions are drawn evenly, in units in which the largest spread of every coordinate within a list is
    between a half and 1. The error is that of a share of so many draws, after Wilson.
    """
    if search.complete:
        return Coverage(1.0, 0.0, 0)
    summands, limits = search.summands, search.steps.limits
    n = int(np.clip(MOST_PRODUCTS / max(1, summands.corners.size), LEAST_DIRECTIONS, MOST_DIRECTIONS))
    hits = done = 0
    while done < n:
        drawn = rng.standard_normal((AT_ONCE, summands.n_dims))
        if len(limits) == 1:  # a half-space: the opposite of a direction outside is inside
            drawn[drawn @ limits[0] >= 0] *= -1.0
        drawn = drawn[np.all(drawn @ limits.T < 0, axis=1)]
        selections, _ = summands.select(drawn)
        hits += int(np.isin(search.keys(selections), keys).sum())
        done += len(drawn)
    share = hits / done
    z = 1.96
    half = z * math.sqrt(share * (1 - share) / done + z * z / (4 * done * done)) / (1 + z * z / done)
    return Coverage(share, half, done)
