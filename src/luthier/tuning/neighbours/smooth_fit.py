"""Minimising a sum of smooth terms within bounds, by L-BFGS."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.bounds import Bounds

# Terms of a smooth objective: losses and penalties, which look the same to whoever adds them up.


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


# Steps the search remembers: more than the usual ten pays where evaluations cost more than vectors.
MEMORY = 20
# Where the gradient, in units in which the objective at the start and its curvature are about 1, has
# come down to this, the objective is within its square.
GRADIENT_TOLERANCE = 1e-5


@dataclasses.dataclass(frozen=True, eq=False)
class Fit:
    """Where a search ended.

    Attributes
    ----------
    weights : (D,)
    value : float
        Of the objective, at `weights`.
    iterations : int
    converged : bool
        Whether it ended because there was no way down, rather than by the limit.
    """

    weights: Float64
    value: float
    iterations: int
    converged: bool


def objective(terms: Sequence[Term], weights: Float64) -> tuple[float, Float64]:
    """Return value and gradient of a sum of terms."""
    value, gradient = 0.0, np.zeros(len(weights))
    for term in terms:
        more, slope = term.value_and_gradient(weights)
        value += more
        gradient += slope
    return value, gradient


def minimize(terms: Sequence[Term], start: Float64, bounds: Bounds, *, iterations: int, tolerance: float = 1e-9) -> Fit:
    """Return where the sum of terms is least, from `start` on, by L-BFGS-B.

    The search works in units in which every weight curves the objective alike; the objective itself is
    that of the weights as given, so units change how fast the end is reached, not where it is. It ends
    when a step lowers the objective by less than `tolerance` of it.
    """
    free = np.flatnonzero(~bounds.fixed)
    first, _ = objective(terms, start)
    curvature = sum((term.curvature() for term in terms), np.zeros(len(start)))[free]
    if not len(free) or not first > 0.0:
        return Fit(start, first, 0, converged=True)
    floor = curvature.max(initial=0.0) * 1e-12 or 1.0
    unit = np.sqrt(first / np.maximum(curvature, floor))  # (free,)
    weights = np.array(start)

    def scaled(z: Float64) -> tuple[float, Float64]:
        weights[free] = z * unit
        value, gradient = objective(terms, weights)
        return value / first, gradient[free] * unit / first

    limits = None
    if not bounds.is_free:
        limits = np.stack([bounds.low[free] / unit, bounds.high[free] / unit], axis=1)
    from scipy import optimize  # a quarter of a second that a tuner without such a penalty need not spend

    found = optimize.minimize(
        scaled,
        start[free] / unit,
        jac=True,
        method="L-BFGS-B",
        bounds=limits,
        options={
            "maxiter": iterations,
            "maxfun": 4 * iterations + 20,
            "maxcor": MEMORY,
            "ftol": tolerance,
            "gtol": GRADIENT_TOLERANCE,
        },
    )
    weights[free] = found.x * unit
    return Fit(bounds.clip(weights), float(found.fun) * first, int(found.nit), converged=found.status == 0)
