"""Simplex Armijo downhill: a simplex whose worst vertex takes a line-searched step (Zhao and Chen, 2009)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.problem import Problem
from luthier.tuning.base import State, Tuner
from luthier.tuning.search.simplices import Simplex, first_simplex, reason_to_stop

REFLECTION, EXPANSION, CONTRACTION = 1.0, 2.0, 0.5  # α, γ, ρ as printed
SHRINK, SLOPE, SHRINKS = 0.9, 0.9, 40  # β, η and the largest k, as printed
FULL_SCORE = 100.0  # gains are on 0–100, the paper's errors on 0–1
RULES = ("lowest", "sufficient", "printed")


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Algorithm 1 of the paper, repaired where its print cannot be meant.

    Errors S are on [0, 1] there; here S = −gain / 100, which differs from 1 − BLEU or from TER by a
    constant, and only differences of S are used. With θ_1 … θ_{M+1} sorted by ascending error and θ_o the
    mean of all but the worst:

    1. θ_r = θ_o + α(θ_o − θ_{M+1}).  If S(θ_1) ≤ S(θ_r) ≤ S(θ_M), θ' = θ_r.
    2. If S(θ_r) < S(θ_1):  θ_e = θ_o + γ(θ_o − θ_{M+1}), θ' the lower of θ_e and θ_r (θ_r if equal).
    3. Else θ_c = θ_{M+1} + ρ(θ_o − θ_{M+1}).  If S(θ_c) < S(θ_r), θ' = θ_c; else θ' is the lower of
       θ_{M+1} + ρ(θ_1 − θ_{M+1}) and θ_r + ρ(θ_1 − θ_r) (the first if equal). There is no shrink.
    4. d = θ' − θ_{M+1}, and θ_{M+1} moves to θ_{M+1} + β^k d, k in 0 … 40 by one of three rules.
       ``printed``: the smallest k with S(θ_{M+1} + β^k d) − S(θ_{M+1}) ≤ −η ‖d‖² β^k, which hardly any step
       fulfils where ‖d‖ is near 1. ``sufficient``: the smallest k that lowers the error by at least
       η β^k (S(θ_{M+1}) − S(θ_1)). ``lowest``: the lowest error; if several k have it, the smallest.
    5. No rule accepts a point that is not lower than the worst vertex. Where it accepts none, the worst
       vertex moves half-way to the best one, whatever its error is there; the best vertex stays.

    The search stops when Σ_{i,j} ‖θ_i − θ_j‖² ≤ `tolerance` (printed as the condition to go on), when all
    vertices have the same error, and after `patience` half-way moves since the best vertex last got better
    (steps between them may only undo them, for ever); the last state says which.
    Norms are those of the weights as they are, as in the paper; ``distance="effects"`` divides each weight
    by the mean effect of a feature, which makes ‖d‖ and the tolerance independent of scales.

    A step is two re-ranks: the five points among which θ' is chosen, then the 40 others of the line. Points are
    clipped to the bounds; weights that are fixed, or whose features never differ within a list, do not
    move. The constants α = 1, γ = 2, ρ = 0.5, β = 0.9, η = 0.9, ε = 1e-6 and k ≤ 40 are the paper's.

    References
    ----------
    [zhao2009] Algorithm 1.
    """

    rule: str = param("lowest", choices=RULES, help="which step along the line is taken")
    size: float = param(1.0, low=1e-9, help="edge of the first simplex, in units of the mean effect of a feature")
    tolerance: float = param(1e-6, low=0.0, help="ε: stop when the simplex is smaller")
    distance: str = param("weights", choices=("weights", "effects"), help="what distances are measured in")
    patience: int = param(10, low=1, help="stop after so many half-way moves without a better vertex")
    limit: int = param(2000, low=1, help="stop after so many steps")

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:  # noqa: ARG002
        """Yield the best vertex after each step, and at the end why it is the end."""
        yield State(start, problem.gain(start), "start")
        simplex, effects = first_simplex(problem, start, self.size)
        units = effects if self.distance == "effects" else np.ones(len(start))
        yield simplex.state("first simplex")
        halved = done = 0
        while not (why := reason_to_stop(simplex, simplex.spread(units), self.tolerance)):
            if halved == self.patience:
                why = f"stopped: {halved} half-way moves without a better vertex"
                break
            if done == self.limit:
                why = f"stopped: {done} steps done"
                break
            before, (target, move) = simplex.gains[0], _target(problem, simplex)
            found = self._along(problem, simplex, target, units)
            if found is None:
                halved += 1
                simplex, did = _halfway(problem, simplex), f"{move}: no such step is lower, half-way to the best"
            else:
                k, point, gain = found
                simplex, did = simplex.replaced(point, gain), f"{move}, step {SHRINK}^{k}"
            done, halved = done + 1, 0 if simplex.gains[0] > before else halved
            yield simplex.state(did)
        yield simplex.state(why)

    def _along(
        self, problem: Problem, simplex: Simplex, target: tuple[Float64, float], units: Float64
    ) -> tuple[int, Float64, float] | None:
        """Return k, the point and the gain of the step that the rule takes towards `target`, or None.

        The target is θ' and its gain, which is the step of k = 0.
        """
        worst, (end, end_gain) = simplex.vertices[-1], target
        steps = SHRINK ** np.arange(SHRINKS + 1)  # (41,)
        shorter = problem.bounds.clip(worst + steps[1:, None] * (end - worst))  # (40, D)
        points, gains = np.vstack([end, shorter]), np.concatenate([[end_gain], problem.gains(shorter)])
        decreases = (gains - simplex.gains[-1]) / FULL_SCORE  # S(θ_{M+1}) − S(θ_{M+1} + β^k d)
        if self.rule == "lowest":
            k = int(np.argmax(decreases))
            taken = decreases[k] > 0
        else:
            enough = decreases >= steps * SLOPE * self._scale(simplex, end, units)
            k = int(np.argmax(enough))
            taken = enough[k] and decreases[k] > 0
        return (k, points[k], float(gains[k])) if taken else None

    def _scale(self, simplex: Simplex, target: Float64, units: Float64) -> float:
        """Return what η β^k is multiplied by: ‖d‖² as printed, or the error between worst and best."""
        if self.rule == "sufficient":
            return float(simplex.gains[0] - simplex.gains[-1]) / FULL_SCORE
        d = target - simplex.vertices[-1]
        scaled = np.divide(d, units, out=np.zeros_like(d), where=units != 0)
        return float(scaled @ scaled)


def _target(problem: Problem, simplex: Simplex) -> tuple[tuple[Float64, float], str]:
    """Return θ', towards which the worst vertex moves, with its gain, and the name of the move."""
    best, worst, centre = simplex.vertices[0], simplex.vertices[-1], simplex.centroid()
    reflected = problem.bounds.clip(centre + REFLECTION * (centre - worst))
    points = np.array([
        reflected,
        centre + EXPANSION * (centre - worst),
        worst + CONTRACTION * (centre - worst),
        worst + CONTRACTION * (best - worst),
        reflected + CONTRACTION * (best - reflected),
    ])  # fmt: skip
    points = problem.bounds.clip(points)
    gains = problem.gains(points)
    r, e, c, from_worst, from_reflected = gains
    if r > simplex.gains[0]:
        chosen, move = (1, "expansion") if e > r else (0, "reflection")
    elif r >= simplex.gains[-2]:
        chosen, move = 0, "reflection"
    elif c > r:
        chosen, move = 2, "contraction"
    elif from_worst >= from_reflected:
        chosen, move = 3, "contraction from the worst to the best"
    else:
        chosen, move = 4, "contraction from the reflected to the best"
    return (points[chosen], float(gains[chosen])), move


def _halfway(problem: Problem, simplex: Simplex) -> Simplex:
    """Return the simplex with its worst vertex moved half-way to the best."""
    point = 0.5 * (simplex.vertices[-1] + simplex.vertices[0])
    return simplex.replaced(point, problem.gain(point))
