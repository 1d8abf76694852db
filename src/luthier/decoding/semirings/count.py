"""The number of derivations: a whole number of any size, exact."""

from __future__ import annotations

import dataclasses

from luthier.decoding.semirings.base import Semiring


@dataclasses.dataclass(frozen=True)
class Count(Semiring[int]):
    """⊗ multiplies, ⊕ adds; Python's whole numbers do not overflow."""

    def edge(self, e: int) -> int:  # noqa: ARG002
        """Return 1."""
        return 1

    def times(self, first: int, second: int) -> int:
        """Return how many pairs there are."""
        return first * second

    def plus(self, first: int, second: int) -> int:
        """Return how many there are of either kind."""
        return first + second
