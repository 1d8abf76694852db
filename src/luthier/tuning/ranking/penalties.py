"""Terms of a smooth objective: losses and penalties, which look the same to whoever adds them up."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import numpy as np

from luthier.core.arrays import Float64


class Term(Protocol):
    """A differentiable function of the weights; an objective is a sum of them.

    A loss is one, and so is a penalty, whatever its structure (weights of neighbouring bins, groups,
    distances): who has value and gradient can join.
    """

    def value_and_gradient(self, weights: Float64) -> tuple[float, Float64]:
        """Return the value and the gradient, (D,), at `weights`; neither is kept or changed."""

    def curvature(self, weights: Float64 | None = None) -> Float64:
        """Return about how much the term curves along each weight, (D,) of numbers ≥ 0: at `weights`, or anywhere.

        It only scales the search, and need not be exact.
        """


class SummedLoss(Term, Protocol):
    """A loss that is a sum over pairs of hypotheses."""

    @property
    def n_pairs(self) -> int:
        """How many pairs it sums over; where each list has the weight of PRO's pairs, as many as those are."""


@dataclasses.dataclass(frozen=True, eq=False)
class Ridge:
    """strength · ‖w − centre‖², on the weights as they are given, not on standardised ones.

    Beside a loss that is summed over pairs, its worth falls as pairs are added.
    """

    strength: float
    centre: Float64

    def value_and_gradient(self, weights: Float64) -> tuple[float, Float64]:
        """Return the value and the gradient, (D,)."""
        away = weights - self.centre
        return self.strength * float(away @ away), 2.0 * self.strength * away

    def curvature(self, weights: Float64 | None = None) -> Float64:  # noqa: ARG002
        """Return the second derivatives, (D,)."""
        return np.full(len(self.centre), 2.0 * self.strength)
