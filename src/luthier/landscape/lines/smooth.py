"""The gain along a line when weights are not held exactly: its mean under Gaussian noise, its worst within a radius.

A curve is constant between its breakpoints, so both are exact: the mean is a finite sum of error functions.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from luthier.core.arrays import Float64
from luthier.landscape.lines.curve import LineCurve

FAR = 9.0  # beyond so many deviations a normal distribution has less than a double can tell from 0
AT_ONCE = 1 << 20


def mean_gains(curve: LineCurve, positions: Float64, noise: float) -> Float64:
    """Return the mean gain under Gaussian noise of deviation `noise` about each position, (n,).

    With breakpoints b and gains g it is ``g₀ + Σ (gᵢ₊₁ − gᵢ) Φ((t − bᵢ)/noise)``.

    >>> curve = LineCurve(np.array([0.0]), np.array([1.0, 3.0]), np.ones(1))
    >>> mean_gains(curve, np.array([-9.0, 0.0, 9.0]), 1.0).tolist()
    [1.0, 2.0, 3.0]
    """
    if noise <= 0.0:
        return curve.gains[np.searchsorted(curve.breakpoints, positions)]
    means = np.empty(len(positions))
    near = np.searchsorted(curve.breakpoints, [positions - FAR * noise, positions + FAR * noise])  # (2, n)
    step = max(1, AT_ONCE // max(1, len(curve.breakpoints)))
    for first in range(0, len(positions), step):
        part = slice(first, first + step)
        low, high = int(near[0, part].min()), int(near[1, part].max())
        jumps = np.diff(curve.gains[low : high + 1])
        shares = special.ndtr((positions[part, None] - curve.breakpoints[low:high]) / noise)
        means[part] = curve.gains[low] + np.einsum("nb,b->n", shares, jumps)
    return means


def worst_gains(curve: LineCurve, positions: Float64, radius: float) -> Float64:
    """Return the least gain within `radius` of each position, (n,).

    >>> curve = LineCurve(np.array([0.0, 5.0]), np.array([1.0, 3.0, 2.0]), np.ones(2))
    >>> worst_gains(curve, np.array([0.5, 2.5, 9.0]), 1.0).tolist()
    [1.0, 3.0, 2.0]
    """
    low = np.searchsorted(curve.breakpoints, positions - radius)
    high = np.searchsorted(curve.breakpoints, positions + radius)
    return np.array([curve.gains[a : b + 1].min() for a, b in zip(low.tolist(), high.tolist(), strict=True)])
