"""The gain along a line, exactly: its intervals, and how far a step goes."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64


@dataclasses.dataclass(frozen=True, eq=False)
class LineCurve:
    """The gain along a line, exactly: constant on each of P + 1 open intervals.

    Attributes
    ----------
    breakpoints : (P,)
        Ascending, all different.
    gains : (P+1,)
        Interval i lies between breakpoints i − 1 and i.
    bends : (P,)
        By how much the best score of the list that changes gains slope at a breakpoint; the least of
        them where several change.
    """

    breakpoints: Float64
    gains: Float64
    bends: Float64

    def gain_at(self, t: float) -> float:
        """Return the gain at a position that is no breakpoint."""
        return float(self.gains[np.searchsorted(self.breakpoints, t)])

    def gains_at(self, steps: Float64) -> Float64:
        """Return the gain at each position, (T,) → (T,); at a breakpoint, that of the interval before it."""
        found: Float64 = self.gains[np.searchsorted(self.breakpoints, steps)]
        return found


def intervals_of(curve: LineCurve, limits: tuple[float, float]) -> tuple[Float64, Float64]:
    """Return left and right ends of the intervals, cut to the limits, (P+1,) each; perhaps infinite."""
    low, high = limits
    left = np.maximum(np.concatenate([[-np.inf], curve.breakpoints]), low)
    right = np.minimum(np.concatenate([curve.breakpoints, [np.inf]]), high)
    return left, right


def reach_of(start: Float64, direction: Float64) -> float:
    """Return the step that moves the weights by their own length."""
    length = float(np.linalg.norm(start)) or 1.0
    return length / float(np.linalg.norm(direction))
