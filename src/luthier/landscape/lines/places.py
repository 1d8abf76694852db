"""The best places of a line: which interval, judged by its neighbours too if asked, and where in it."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param, validate
from luthier.landscape.curve import LineCurve, intervals_of
from luthier.landscape.problem import TRIES

SMOOTHINGS = ("none", "mean", "worst")
POINTS = ("midpoint", "margin")


@dataclasses.dataclass(frozen=True)
class Choice:
    """How an interval, and a place in it, is chosen."""

    smoothing: str = param("none", choices=SMOOTHINGS, help="judge an interval by its neighbours too")
    window: int = param(3, low=0, high=1000, help="neighbours on each side")
    point: str = param("midpoint", choices=POINTS, help="place in the interval")
    tolerance: float = param(1e-7, low=0.0, high=1.0, help="least width of an interval, in lengths of w")

    def __post_init__(self) -> None:
        validate(self)


@dataclasses.dataclass(frozen=True, eq=False)
class Places:
    """Places on a line, the best first: position, gain promised there, and what they were ordered by."""

    positions: Float64
    gains: Float64
    keys: Float64
    widths: Float64


def smoothed(gains: Float64, smoothing: str, window: int) -> Float64:
    """Return the mean or the worst of each interval's neighbours, `window` on each side [cer2008].

    >>> smoothed(np.array([0.0, 3.0, 0.0, 0.0]), "mean", 1).tolist()
    [1.5, 1.0, 1.0, 0.0]
    """
    if smoothing == "none" or not window:
        return gains
    fill = 0.0 if smoothing == "mean" else np.inf
    padded = np.concatenate([np.full(window, fill), gains, np.full(window, fill)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * window + 1)
    if smoothing == "worst":
        worst: Float64 = windows.min(axis=1)
        return worst
    inside = np.lib.stride_tricks.sliding_window_view(np.pad(np.ones(len(gains)), window), 2 * window + 1)
    means: Float64 = windows.sum(axis=1) / inside.sum(axis=1)
    return means


def best_places(
    curve: LineCurve, choice: Choice, *, limits: tuple[float, float], reach: float, above: float, far: float = np.inf
) -> Places:
    """Return the places of a line whose gain is above a value: one in each interval, the best few.

    The highest smoothed gain is the best; if these are equal, the highest gain, then the widest interval, then
    the place nearest to 0.
    In an interval open to one side the place is `reach` beyond its end; intervals narrower than the
    tolerance, in units of `reach` (or of their distance, if that is more), are left out. So are intervals that begin
    beyond `far`, and those that end there count as open.
    """
    keys = smoothed(curve.gains, choice.smoothing, choice.window)
    left, right = intervals_of(curve, limits)
    able = np.flatnonzero((curve.gains > above) & (left < right) & (left < far) & (right > -far))
    left, right, keys, gains = left[able], right[able], keys[able], curve.gains[able]
    left, right = np.where(left < -far, -np.inf, left), np.where(right > far, np.inf, right)
    share = np.full(len(able), 0.5)
    if choice.point == "margin":
        bends = np.concatenate([[np.inf], curve.bends, [np.inf]])
        start_bend, end_bend = bends[able], bends[able + 1]
        with np.errstate(invalid="ignore"):
            share = np.where(np.isinf(start_bend) | np.isinf(end_bend), 0.5, end_bend / (start_bend + end_bend))
    with np.errstate(invalid="ignore"):
        positions = np.where(np.isinf(left), right - reach, left + share * (right - left))
    positions = np.where(np.isinf(right), np.where(np.isinf(left), 0.0, left + reach), positions)
    wide = (right - left) > choice.tolerance * np.maximum(reach, np.abs(positions))
    positions, gains, keys, widths = positions[wide], gains[wide], keys[wide], (right - left)[wide]
    if len(keys) > TRIES:  # sort the best only
        best = np.flatnonzero(keys >= np.partition(keys, -TRIES)[-TRIES])
        positions, gains, keys, widths = positions[best], gains[best], keys[best], widths[best]
    order = np.lexsort((np.abs(positions), -widths, -gains, -keys))[:TRIES]
    return Places(positions[order], gains[order], keys[order], widths[order])
