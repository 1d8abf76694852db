"""The gain along lines through the weights of K-best lists, by their upper envelopes.

Along ``w + t·d`` the selected hypotheses change at the breakpoints of the lists' upper envelopes only
[och2003] [macherey2008]. Merged and swept once, with running sums of the statistics, they give the gain
of every interval between two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, frozen
from luthier.geometry.lines.envelope import Envelope, Envelopes, envelopes_of_lines
from luthier.kbest.pool import Pool
from luthier.landscape.lines.curve import LineCurve
from luthier.metrics.base import Metric

DIRECTIONS_AT_ONCE = 32
SCORED_AT_ONCE = 1 << 13


class ListLines:
    """Lists made ready for line searches; `ListProblem.lines` makes it once."""

    def __init__(self, pool: Pool, stats: npt.NDArray[Any], metric: Metric) -> None:
        self._offsets, self._features = pool.offsets, pool.features
        self._stats, self._metric = stats, metric
        self._sparse = len(self._features.indices) > 0
        self._envelopes = None if self._sparse else Envelopes(pool.offsets, self._features.dense)

    def envelopes(self, start: Float64, directions: Float64) -> list[Envelope]:
        """Return the envelopes of all lists along each direction, (D,) and (Q, D)."""
        if self._envelopes is not None:
            return self._envelopes.along(start, directions)
        scores = self._features.scores
        return envelopes_of_lines(self._offsets, scores(start), scores(directions))

    def curves(self, start: Float64, directions: Float64) -> Iterator[LineCurve]:
        """Yield the gain along ``start + t·direction`` for each direction."""
        for first in range(0, len(directions), DIRECTIONS_AT_ONCE):
            for envelope in self.envelopes(start, directions[first : first + DIRECTIONS_AT_ONCE]):
                yield self._curve(envelope)

    def _curve(self, envelope: Envelope) -> LineCurve:
        order = np.argsort(envelope.breakpoints)
        times, bends = envelope.breakpoints[order], envelope.bends[order]
        sums = envelope.running_sums(self._stats, order)  # (P + 1, S)
        new = np.ones(len(times) + 1, dtype=np.bool_)  # whether an interval has a width
        np.not_equal(times[1:], times[:-1], out=new[1:-1])
        if not new.all():
            starts = np.flatnonzero(new[:-1])
            times, bends, sums = times[starts], np.minimum.reduceat(bends, starts), sums[_ends(new)]
        return LineCurve(frozen(times), frozen(self._gains(sums)), frozen(bends))

    def _gains(self, sums: npt.NDArray[Any]) -> Float64:
        blocks = range(0, len(sums), SCORED_AT_ONCE)
        scores = [self._metric.score(sums[b : b + SCORED_AT_ONCE]) for b in blocks]
        return self._metric.gain(np.concatenate(scores))


def _ends(new: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the last event of each run of equal breakpoints, as rows of running sums (row 0: none)."""
    return np.append(0, np.flatnonzero(new[1:]) + 1)
