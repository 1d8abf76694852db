"""The gain along lines through the weights of K-best lists, by their upper envelopes.

Along ``w + t·d`` the selected hypotheses change at the breakpoints of the lists' upper envelopes only
[och2003] [macherey2008]. Merged and swept once, with running sums of the statistics, they give the gain
of every interval between two of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Float64, Int64, frozen
from luthier.geometry.lines.envelope import Envelope, Envelopes, Sighting, envelopes_of_lines
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.landscape.lines.curve import LineCurve
from luthier.landscape.lines.sweep import curve_of
from luthier.metrics.base import Metric

DIRECTIONS_AT_ONCE = 32


class ListLines:
    """Lists made ready for line searches; `ListProblem.lines` makes it once."""

    def __init__(self, pool: Pool, stats: npt.NDArray[Any], metric: Metric) -> None:
        self._pool, self._offsets, self._features = pool, pool.offsets, pool.features
        self._stats, self._metric = stats, metric
        self._counted: Bool | None = None
        self._sparse = len(self._features.indices) > 0
        self._envelopes = None if self._sparse else Envelopes(pool.offsets, self._features.dense)

    def counting(self, stats: npt.NDArray[Any], counts: Int64) -> ListLines:
        """Return the same lists with other statistics, (M, S), and how often each counts, (N,); nothing is copied."""
        other = copy.copy(self)
        other._stats, other._counted = stats, counts > 0
        return other

    def sight(self, weights: Float64) -> Sighting | None:
        """Return what makes selections and curves near some weights fast; None where nothing does."""
        return None if self._envelopes is None else self._envelopes.sight(weights)

    def select(self, weights: Float64, near: Sighting | None = None) -> Int64:
        """Return the selected row of each list, (D,) → (N,): as `rerank` does, and faster near what was sighted."""
        known = self._envelopes is not None and near is not None
        rows = self._envelopes.highest(weights, near) if known else None  # type: ignore[union-attr, arg-type]
        return rerank(self._pool, weights) if rows is None else rows

    def envelopes(self, start: Float64, directions: Float64, near: Sighting | None = None) -> list[Envelope]:
        """Return the envelopes of all lists along each direction, (D,) and (Q, D)."""
        if self._envelopes is not None:
            return self._envelopes.along(start, directions, near)
        scores = self._features.scores
        return envelopes_of_lines(self._offsets, scores(start), scores(directions))

    def curves(self, start: Float64, directions: Float64, near: Sighting | None = None) -> Iterator[LineCurve]:
        """Yield the gain along ``start + t·direction`` for each direction."""
        for first in range(0, len(directions), DIRECTIONS_AT_ONCE):
            for envelope in self.envelopes(start, directions[first : first + DIRECTIONS_AT_ONCE], near):
                yield curve_of(self._of_counted(envelope), self._stats, self._metric)

    def _of_counted(self, envelope: Envelope) -> Envelope:
        """Return an envelope without the breakpoints of lists that do not count."""
        if self._counted is None or self._counted.all():
            return envelope
        kept = self._counted[np.searchsorted(self._offsets, envelope.after, side="right") - 1]
        return Envelope(
            first=envelope.first,
            breakpoints=frozen(envelope.breakpoints[kept]),
            before=frozen(envelope.before[kept]),
            after=frozen(envelope.after[kept]),
            bends=frozen(envelope.bends[kept]),
        )
