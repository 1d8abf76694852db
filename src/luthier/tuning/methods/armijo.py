"""Simplex Armijo downhill: a simplex whose worst vertex takes a line-searched step (Zhao and Chen, 2009)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from luthier.core.arrays import Bool, Float64
from luthier.core.params import param
from luthier.landscape.problem import Problem
from luthier.tuning.search.simplices import Simplex, SimplexTuner, in_units

REFLECTION, EXPANSION, CONTRACTION = 1.0, 2.0, 0.5  # α, γ, ρ as printed
SHRINK, SLOPE, SHRINKS = 0.9, 0.9, 40  # β, η and the largest k, as printed
FULL_SCORE = 100.0  # gains are on 0–100, the paper's errors on 0–1
RULES = ("printed", "largest")


@dataclasses.dataclass(frozen=True)
class Method(SimplexTuner):
    """Algorithm 1 of the paper, repaired where its print cannot be meant.

    Errors S are on [0, 1] there; here S = −gain / 100, which differs from 1 − BLEU or from TER by a
    constant, and only differences of S are used. With θ_1 … θ_{M+1} sorted by ascending error and θ_o the
    mean of all but the worst:

    1. θ_r = θ_o + α(θ_o − θ_{M+1}).  If S(θ_1) ≤ S(θ_r) ≤ S(θ_M), θ' = θ_r.
    2. If S(θ_r) < S(θ_1):  θ_e = θ_o + γ(θ_o − θ_{M+1}), θ' the lower of θ_e and θ_r (θ_r if equal).
    3. Else θ_c = θ_{M+1} + ρ(θ_o − θ_{M+1}).  If S(θ_c) < S(θ_r), θ' = θ_c; else θ' is the lower of
       θ_{M+1} + ρ(θ_1 − θ_{M+1}) and θ_r + ρ(θ_1 − θ_r) (the first if equal). There is no shrink.
    4. d = θ' − θ_{M+1}, and θ_{M+1} moves to θ_{M+1} + β^k d, k in 0 … 40 by one of the rules.
       ``printed``: the smallest k with S(θ_{M+1} + β^k d) − S(θ_{M+1}) ≤ −η ‖d‖² β^k. ``largest``: the smallest k
       that lowers the error at all, which is what the printed rule comes to for ever shorter weights.
    5. Neither accepts a point that is not lower than the worst vertex. Where there is none, the worst
       vertex moves half-way to the best one, whatever its error is there; the best vertex stays.

    The length of the weights of a linear model is free, and so is ‖d‖ in the printed rule: with weights ten times
    as long the same step would have to lower the error by a hundred times as much. So ‖d‖ is measured in units of the
    mean effect of a feature, of which one counts as `scale`. When the search ends, and how it may begin again, is
    said by `SimplexTuner`; the last state says why.

    A step re-ranks the two to four points among which θ' is chosen and, where θ' itself is not accepted, searches the
    line to it once, exactly, for all 40 shorter steps. Points are clipped to the bounds; weights that are fixed, or
    whose features never differ within a list, do not move. The constants α = 1, γ = 2, ρ = 0.5, β = 0.9, η = 0.9,
    ε = 1e-6 and k ≤ 40 are the paper's.

    References
    ----------
    [zhao2009] Algorithm 1.
    """

    published: ClassVar[Mapping[str, Any]] = {"rule": "printed"}

    rule: str = param("printed", choices=RULES, help="which step along the line is taken")
    scale: float = param(0.01, low=0.0, high=1e6, help="what one unit of distance counts in the printed rule")

    @property
    def farthest(self) -> float:
        """That of an expansion."""
        return EXPANSION

    def step(self, problem: Problem, simplex: Simplex, units: Float64) -> tuple[Simplex, str]:
        """Return the simplex after one step, and what the step was."""
        worst, ((target, gain), move) = simplex.vertices[-1], _target(problem, simplex)
        least = self._least_decrease(target - worst, units)
        if self._accepts(simplex, np.array([gain]), np.array([least]))[0]:
            return simplex.replaced(target, gain), f"{move}, step {SHRINK}^0"
        found = self._shorter(problem, simplex, target, least)
        if found:
            k, point, gain = found
            return simplex.replaced(point, gain), f"{move}, step {SHRINK}^{k}"
        return _halfway(problem, simplex), f"{move}: no such step is lower, half-way to the best"

    def _shorter(
        self, problem: Problem, simplex: Simplex, target: Float64, least: float
    ) -> tuple[int, Float64, float] | None:
        """Return k, point and gain of the largest shorter step that is accepted.

        Between two points within the bounds all are, so one exact line knows all 40; a re-rank confirms the one taken,
        for on a tie the line may say either side's gain.
        """
        worst, exponents = simplex.vertices[-1], np.arange(1, SHRINKS + 1)
        steps: Float64 = SHRINK ** exponents.astype(np.float64)  # (40,)
        gains = problem.gains_along(worst, target - worst, steps)
        for i in np.flatnonzero(self._accepts(simplex, gains, steps * least)):
            point = problem.bounds.clip(worst + steps[i] * (target - worst))  # rounding may leave them
            gain = problem.gain(point)
            if self._accepts(simplex, np.array([gain]), steps[i : i + 1] * least)[0]:
                return int(exponents[i]), point, gain
        return None

    def _least_decrease(self, d: Float64, units: Float64) -> float:
        """Return η‖d‖², or 0 where any decrease will do."""
        scaled = self.scale * in_units(d, units)
        return SLOPE * float(scaled @ scaled) if self.rule == "printed" else 0.0

    @staticmethod
    def _accepts(simplex: Simplex, gains: Float64, least: Float64) -> Bool:
        """Return whether the error at each point is lower than at the worst vertex, by at least so much."""
        decreases = (gains - simplex.gains[-1]) / FULL_SCORE  # S(θ_{M+1}) − S(θ_{M+1} + β^k d)
        enough: Bool = (decreases > 0) & (decreases >= least)
        return enough


def _target(problem: Problem, simplex: Simplex) -> tuple[tuple[Float64, float], str]:
    """Return θ', towards which the worst vertex moves, with its gain, and the name of the move."""
    best, worst, centre = simplex.vertices[0], simplex.vertices[-1], simplex.centroid()

    def tried(point: Float64) -> tuple[Float64, float]:
        inside = problem.bounds.clip(point)
        return inside, problem.gain(inside)

    reflected = tried(centre + REFLECTION * (centre - worst))
    if reflected[1] > simplex.gains[0]:
        expanded = tried(centre + EXPANSION * (centre - worst))
        return (expanded, "expansion") if expanded[1] > reflected[1] else (reflected, "reflection")
    if reflected[1] >= simplex.gains[-2]:
        return reflected, "reflection"
    contracted = tried(worst + CONTRACTION * (centre - worst))
    if contracted[1] > reflected[1]:
        return contracted, "contraction"
    from_worst = tried(worst + CONTRACTION * (best - worst))
    from_reflected = tried(reflected[0] + CONTRACTION * (best - reflected[0]))
    if from_worst[1] >= from_reflected[1]:
        return from_worst, "contraction from the worst to the best"
    return from_reflected, "contraction from the reflected to the best"


def _halfway(problem: Problem, simplex: Simplex) -> Simplex:
    """Return the simplex with its worst vertex moved half-way to the best."""
    point = 0.5 * (simplex.vertices[-1] + simplex.vertices[0])
    return simplex.replaced(point, problem.gain(point))
