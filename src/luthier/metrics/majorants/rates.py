"""Majorants of one sum divided by another."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.metrics.majorants.majorant import ROUNDING, Majorant, between, nothing_known


def rate_majorant(places: tuple[int, int], factor: float, point: Float64, low: Float64, high: Float64) -> Majorant:
    """Return a limit of factor · n/d, (S,) each; `places` are those of n and d.

    Where d is constant it is the rate itself. Otherwise, with ρ = n₀/d₀ at the point, n/d = ρ + (n − ρd)/d, and the
    last is at most (n − ρd)/d_low where n > ρd, and (n − ρd)/d_high where not. So the limit is ρ itself as soon as
    no selection has n > ρd, and ρ rises to the largest rate there is by Dinkelbach's steps [dinkelbach1967].
    """
    above, below = places
    slopes = np.zeros(len(point))
    if not low[below] > 0:
        return nothing_known(len(point))
    if low[below] == high[below]:
        slopes[above] = factor / low[below]
        size = abs(slopes[above]) * max(abs(low[above]), abs(high[above]))
        return Majorant(slopes, ROUNDING * size)
    divisor = between(point[below], low[below], high[below])
    rho = between(point[above], low[above], high[above]) / divisor
    slopes[above], slopes[below] = factor, -factor * rho
    size = abs(factor) * (max(abs(low[above]), abs(high[above])) + abs(rho) * high[below])
    return Majorant(
        slopes, ROUNDING * size, pivot=factor * rho, below=1.0 / float(high[below]), above=1.0 / float(low[below])
    )
