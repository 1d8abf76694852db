"""From envelopes to a curve: breakpoints swept in order, with running sums of the statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, frozen
from luthier.geometry.lines.envelope import Envelope
from luthier.landscape.lines.curve import LineCurve
from luthier.metrics.base import Metric

SCORED_AT_ONCE = 1 << 13


def curve_of(envelope: Envelope, stats: npt.NDArray[Any], metric: Metric) -> LineCurve:
    """Return the gain on every interval of a line; rows of the envelope are rows of `stats`, (M, S)."""
    order = np.argsort(envelope.breakpoints)
    times, bends = envelope.breakpoints[order], envelope.bends[order]
    sums = envelope.running_sums(stats, order)  # (P + 1, S)
    new = np.ones(len(times) + 1, dtype=np.bool_)  # whether an interval has a width
    np.not_equal(times[1:], times[:-1], out=new[1:-1])
    if not new.all():
        starts = np.flatnonzero(new[:-1])
        times, bends, sums = times[starts], np.minimum.reduceat(bends, starts), sums[_ends(new)]
    return LineCurve(frozen(times), frozen(_gains(sums, metric)), frozen(bends))


def _gains(sums: npt.NDArray[Any], metric: Metric) -> Float64:
    blocks = range(0, len(sums), SCORED_AT_ONCE)
    return metric.gain(np.concatenate([metric.score(sums[b : b + SCORED_AT_ONCE]) for b in blocks]))


def _ends(new: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the last event of each run of equal breakpoints, as rows of running sums (row 0: none)."""
    return np.append(0, np.flatnonzero(new[1:]) + 1)
