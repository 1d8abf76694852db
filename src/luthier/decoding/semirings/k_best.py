"""The K best derivations, all K in every node; `luthier.decoding.lazy_kbest` finds the same ones without that."""

from __future__ import annotations

import dataclasses

from luthier.core.arrays import Float64
from luthier.decoding.semirings.base import Semiring
from luthier.decoding.semirings.best import Derivation


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
