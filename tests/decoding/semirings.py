"""Semirings that only tests use: the best derivation, the K best, their number, and the envelope along a line."""

from __future__ import annotations

import bisect
import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.decoding.forests.expectation import Semiring
from luthier.geometry.lines.envelope import envelopes_of_lines

Derivation = tuple[float, tuple[int, ...]]  # score, edges; what is in gap 1 before what is in gap 2


@dataclasses.dataclass(frozen=True, eq=False)
class Best(Semiring[Derivation]):
    """⊗ adds scores, ⊕ takes the higher one; if they are equal, the earlier edge."""

    scores: Float64  # (E,)

    def edge(self, e: int) -> Derivation:
        """Return its score."""
        return float(self.scores[e]), (e,)

    def times(self, first: Derivation, second: Derivation) -> Derivation:
        """Return both together."""
        return first[0] + second[0], first[1] + second[1]

    def plus(self, first: Derivation, second: Derivation) -> Derivation:
        """Return the better one."""
        return second if second[0] > first[0] else first


@dataclasses.dataclass(frozen=True)
class Count(Semiring[int]):
    """⊗ multiplies, ⊕ adds; Python's whole numbers do not overflow."""

    def edge(self, e: int) -> int:
        """Return 1."""
        return 1

    def times(self, first: int, second: int) -> int:
        """Return how many pairs there are."""
        return first * second

    def plus(self, first: int, second: int) -> int:
        """Return how many there are of either kind."""
        return first + second


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


@dataclasses.dataclass(frozen=True, eq=False)
class KBest(Semiring[list[Derivation]]):
    """⊗ combines each with each, ⊕ merges; of both, the k best are kept."""

    scores: Float64  # (E,)
    k: int

    def edge(self, e: int) -> list[Derivation]:
        """Return it alone."""
        return [(float(self.scores[e]), (e,))]

    def times(self, first: list[Derivation], second: list[Derivation]) -> list[Derivation]:
        """Return the best pairs."""
        return self._cut([(a + b, upper + lower) for a, upper in first for b, lower in second])

    def plus(self, first: list[Derivation], second: list[Derivation]) -> list[Derivation]:
        """Return the best of both."""
        return self._cut(first + second)

    def _cut(self, found: list[Derivation]) -> list[Derivation]:
        return sorted(found, key=lambda derivation: -derivation[0])[: self.k]  # equal ones stay as they stood
