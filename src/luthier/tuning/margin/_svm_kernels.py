# mypy: ignore-errors
"""The quadratic program of cutting planes: few planes, one slack, weights in a box."""

import numpy as np

from luthier.core.jit import kernel


@kernel
def place(planes, alphas, centre, box, weights):
    """Write the weights of multipliers: clip(centre + M Σ α_k g_k)."""
    scale, low, high = box
    for d in range(len(weights)):
        total = 0.0
        for k in range(len(alphas)):
            total += alphas[k] * planes[k, d]
        weights[d] = min(max(centre[d] + scale[d] * total, low[d]), high[d])


@kernel
def extremes(planes, heights, alphas, rest, weights):
    """Return the planes (−1: none of them) to which multipliers should go and come from, and the slopes there.

    The dual's derivative by α_k is b_k − g_k·w, that by the unused rest is 0.
    """
    up, down = -1, -1
    most = 0.0
    least = 0.0 if rest > 0.0 else np.inf
    for k in range(len(heights)):
        slope = heights[k]
        for d in range(len(weights)):
            slope -= planes[k, d] * weights[d]
        if slope > most:
            most, up = slope, k
        if alphas[k] > 0.0 and slope < least:
            least, down = slope, k
    return up, down, most, least


@kernel
def solve_planes(planes, heights, limit, centre, box, tolerance, steps, alphas, weights):
    """Maximise the dual of min ½‖w − centre‖²_{M⁻¹} + C·ξ, ξ ≥ b_k − g_k·w, ξ ≥ 0, w in the box; return the steps.

    The dual variables α ≥ 0, Σ α ≤ C give w = clip(centre + M Σ α_k g_k), M = diag(`box.scale`). A step moves
    as much as is best from the plane with the lowest slope to that with the highest; where the box cuts
    in, the best is more than that, and the step still climbs. `alphas` is where to start, and the answer.
    """
    place(planes, alphas, centre, box, weights)
    for step in range(steps):
        rest = limit - alphas.sum()
        if rest < 1e-14 * limit:
            rest = 0.0
        up, down, most, least = extremes(planes, heights, alphas, rest, weights)
        if most - least <= tolerance:
            return step
        norm = 0.0
        for d in range(len(weights)):
            x = (planes[up, d] if up >= 0 else 0.0) - (planes[down, d] if down >= 0 else 0.0)
            norm += box.scale[d] * x * x
        amount = alphas[down] if down >= 0 else rest
        if norm > 0.0:
            amount = min(amount, (most - least) / norm)
        if up >= 0:
            alphas[up] += amount
        if down >= 0:
            alphas[down] = max(0.0, alphas[down] - amount)
        place(planes, alphas, centre, box, weights)
    return steps
