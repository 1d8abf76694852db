"""IBM Model 1: each word chooses its partner alone, all places alike (Brown et al. 1993)."""

from __future__ import annotations

import dataclasses

from luthier.alignment import positions
from luthier.alignment.base import EmAligner, Expectation, OneWay
from luthier.alignment.cells import Direction
from luthier.alignment.table import Parameters
from luthier.core.params import param


@dataclasses.dataclass(frozen=True)
class Method(EmAligner):
    """p(a_j = i) = (1 − p0)/n, and p0 for no partner [brown1993]."""

    null: float = param(0.08, low=0.0, high=0.999, help="probability that a word has no partner, p0")

    def expect(self, direction: Direction, parameters: Parameters, number: int) -> Expectation:  # noqa: ARG002
        """Return expected counts."""
        return positions.expect(direction, parameters, tension=0.0, null=self.null)

    def link(self, direction: Direction, parameters: Parameters) -> OneWay:
        """Return the likeliest partner of each word."""
        return positions.link(direction, parameters, tension=0.0, null=self.null)
