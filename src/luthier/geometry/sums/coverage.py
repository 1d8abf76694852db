"""How much of the space of weights the cones found so far cover: an estimate from random directions."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from luthier.geometry.sums.reverse_search import ReverseSearch

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
