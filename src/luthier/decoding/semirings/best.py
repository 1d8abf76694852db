"""The best derivation: its score, and its edges from above to below."""

from __future__ import annotations

import dataclasses

from luthier.core.arrays import Float64
from luthier.decoding.semirings.base import Semiring

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
