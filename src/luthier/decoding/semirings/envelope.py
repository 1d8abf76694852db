"""The derivations that are best somewhere on a line of weights; `luthier.decoding.forests.lines` finds them fast."""

from __future__ import annotations

import bisect
import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.decoding.semirings.base import Semiring
from luthier.geometry.lines.envelope import envelopes_of_lines


@dataclasses.dataclass(frozen=True)
class Line:
    """A derivation along a line: from where it is the highest, its height at 0 and slope, and its edges."""

    start: float
    intercept: float
    slope: float
    edges: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Envelope(Semiring[list[Line]]):
    """⊗ adds lines that are highest at the same place, ⊕ is the envelope of all [macherey2008] [kumar2009]."""

    intercepts: Float64  # (E,)
    slopes: Float64  # (E,)

    def edge(self, e: int) -> list[Line]:
        """Return its one line."""
        return [Line(-np.inf, float(self.intercepts[e]), float(self.slopes[e]), (e,))]

    def times(self, first: list[Line], second: list[Line]) -> list[Line]:
        """Return the sum: a line for each place at which either changes."""
        ends = [[line.start for line in part] for part in (first, second)]
        found = []
        for start in sorted({*ends[0], *ends[1]}):
            a, b = first[bisect.bisect(ends[0], start) - 1], second[bisect.bisect(ends[1], start) - 1]
            found.append(Line(start, a.intercept + b.intercept, a.slope + b.slope, a.edges + b.edges))
        return found

    def plus(self, first: list[Line], second: list[Line]) -> list[Line]:
        """Return what is highest somewhere; if lines are equal, the first."""
        lines = first + second
        (found,) = envelopes_of_lines(
            np.array([0, len(lines)]),
            np.array([line.intercept for line in lines]),
            np.array([[line.slope for line in lines]]),
        )
        starts = [-np.inf, *found.breakpoints.tolist()]
        rows = [int(found.first[0]), *found.after.tolist()]
        return [dataclasses.replace(lines[row], start=start) for row, start in zip(rows, starts, strict=True)]
