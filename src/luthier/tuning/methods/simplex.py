"""Downhill simplex: reflection, expansion, contraction and shrink on the error (Nelder and Mead, 1965)."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.problem import Problem
from luthier.tuning.search.simplices import Simplex, SimplexTuner


@dataclasses.dataclass(frozen=True)
class Method(SimplexTuner):
    """Move the worst of the vertices of a simplex, step by step, by the errors at its vertices alone.

    With θ_1 … θ_{V} sorted by ascending error S and θ_o the mean of all but the worst, a step tries

        θ_r = θ_o + α(θ_o − θ_V),  θ_e = θ_o + γ(θ_o − θ_V),  θ_c = θ_o ± ρ(θ_o − θ_V)

    (+ outside, − inside), each re-ranked when it is asked for: θ_e or θ_r if S(θ_r) < S(θ_1), whichever is lower;
    θ_r if S(θ_r) < S(θ_{V−1}); the outside contraction if S(θ_r) < S(θ_V) and it is not above S(θ_r); the inside
    one if S(θ_r) ≥ S(θ_V) and it is below S(θ_V). If none applies, all vertices move towards the best:
    θ_i ← θ_1 + σ(θ_i − θ_1), one more re-rank. The error is the negative gain. Trial points are clipped to
    the bounds; weights that are fixed, or whose features never differ within a list, do not move.

    When the search ends, and how it may begin again, is said by `SimplexTuner`; the last state says why.

    References
    ----------
    [nelder1965]; which comparisons are strict is from [lagarias1998].
    """

    published = {"reflection": 1.0, "expansion": 2.0, "contraction": 0.5, "shrink": 0.5, "reopen": 0}  # noqa: RUF012 - never changed

    reflection: float = param(1.0, low=1e-6, high=1e6, help="α, how far the worst vertex is reflected")
    expansion: float = param(2.0, low=1.0, high=1e6, help="γ, how far it is moved where that was good")
    contraction: float = param(0.5, low=1e-6, high=1.0, help="ρ, how far it is moved where that was bad")
    shrink: float = param(0.5, low=1e-6, high=1.0, help="σ, what is left of all edges where nothing helped")

    @property
    def farthest(self) -> float:
        """That of a reflection or an expansion."""
        return max(self.reflection, self.expansion)

    def step(self, problem: Problem, simplex: Simplex, units: Float64) -> tuple[Simplex, str]:  # noqa: ARG002
        """Return the simplex after one step, and what the step was."""
        centre = simplex.centroid()
        best, second_worst, worst = simplex.gains[0], simplex.gains[-2], simplex.gains[-1]

        def tried(factor: float) -> tuple[Float64, float]:
            point = problem.bounds.clip(centre + factor * (centre - simplex.vertices[-1]))
            return point, problem.gain(point)

        reflected = tried(self.reflection)
        if reflected[1] > best:
            expanded = tried(self.expansion)
            if expanded[1] > reflected[1]:
                return simplex.replaced(*expanded), "expansion"
            return simplex.replaced(*reflected), "reflection"
        if reflected[1] > second_worst:
            return simplex.replaced(*reflected), "reflection"
        outside = reflected[1] > worst
        contracted = tried(self.contraction if outside else -self.contraction)
        if outside and contracted[1] >= reflected[1]:
            return simplex.replaced(*contracted), "outside contraction"
        if not outside and contracted[1] > worst:
            return simplex.replaced(*contracted), "inside contraction"
        return self._shrunk(problem, simplex), "shrink"

    def _shrunk(self, problem: Problem, simplex: Simplex) -> Simplex:
        best = simplex.vertices[0]
        moved = problem.bounds.clip(best + self.shrink * (simplex.vertices[1:] - best))
        gains = np.concatenate([simplex.gains[:1], problem.gains(moved)])
        return Simplex.sorted(np.concatenate([best[None], moved]), gains)
