"""Model 2 along the diagonal: partners stand at about the same place (Dyer et al. 2013)."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.alignment import positions
from luthier.alignment.base import EmAligner, Expectation, OneWay
from luthier.alignment.cells import Direction
from luthier.alignment.table import Parameters
from luthier.core.arrays import Float64
from luthier.core.params import param


@dataclasses.dataclass(frozen=True)
class Method(EmAligner):
    """p(a_j = i) = (1 − p0)·exp(−λ·|i/n − j/m|)/Z_j, and p0 for no partner [dyer2013].

    The method's own parameter is the tension λ, (1,).
    """

    null: float = param(0.08, low=0.0, high=0.999, help="probability that a word has no partner, p0")
    tension: float = param(4.0, low=0.0, high=100.0, help="how strongly links keep to the diagonal, at the start")
    optimize_tension: bool = param(False, help="fit the tension in [0.1, 14], from the second pass on")

    def start(self) -> Float64:
        """Return the tension."""
        return np.array([self.tension])

    def expect(self, direction: Direction, parameters: Parameters, number: int) -> Expectation:  # noqa: ARG002
        """Return expected counts."""
        return positions.expect(direction, parameters, tension=float(parameters.own[0]), null=self.null)

    def maximize(self, direction: Direction, parameters: Parameters, found: Expectation, number: int) -> Float64:  # noqa: ARG002
        """Return the tension that the posterior of this pass makes likeliest, where that is asked for."""
        if not self.optimize_tension or number == 0:  # the first posterior is that of the start alone
            return parameters.own
        before = float(parameters.own[0])
        slants = positions.Slants(direction, parameters, tension=before, null=self.null)
        return np.array([slants.best_tension(before)])

    def link(self, direction: Direction, parameters: Parameters) -> OneWay:
        """Return the likeliest partner of each word."""
        return positions.link(direction, parameters, tension=float(parameters.own[0]), null=self.null)
