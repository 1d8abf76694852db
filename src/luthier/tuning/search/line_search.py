"""Exact line search: the best place of a line through the weights, or of many lines, and a re-rank that proves it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.gains import TRIES, slack
from luthier.landscape.lines.curve import LineCurve, reach_of
from luthier.landscape.lines.places import Choice, best_places
from luthier.landscape.problem import Problem
from luthier.tuning.base import State

FAR = 1e8


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """A curve with the line it belongs to: direction q of those searched, (D,), by its name."""

    curve: LineCurve
    direction: Float64
    name: str

    def places(self, problem: Problem, here: State, choice: Choice) -> list[tuple[tuple[float, ...], State]]:
        """Return the best few places that promise more than the present gain, with keys to sort them by."""
        reach = reach_of(here.weights, self.direction)
        limits = problem.bounds.steps_along(here.weights, self.direction)
        far = _far(problem, here.weights, self.direction)
        best = best_places(self.curve, choice, limits=limits, reach=reach, above=here.gain, far=far)
        points = problem.bounds.clip(here.weights + best.positions[:, None] * self.direction)
        promised = [State(*pair, self.name) for pair in zip(points, best.gains.tolist(), strict=True)]
        keys = np.column_stack([-best.keys, -best.gains, -best.widths / reach, np.abs(best.positions) / reach])
        return list(zip(map(tuple, keys.tolist()), promised, strict=True))


def _far(problem: Problem, weights: Float64, direction: Float64) -> float:
    """Return the step beyond which a line's effect is `FAR` times that of the weights.

    Sums of the same numbers in another order differ in the last bit. Along such a feature rows cross there that differ
    by rounding only, and beside weights so large all others would be lost to rounding.
    """
    spread = problem.spread
    effect, along = float(np.abs(weights) @ spread), float(np.linalg.norm(direction * spread))
    return FAR * effect / along if effect > 0.0 and along > 0.0 else np.inf


def kept_promise(problem: Problem, here: State, promised: Sequence[State]) -> State | None:
    """Return the first of promised states that re-ranks to its gain; else the best that is an improvement.

    Rounding of ``w + t·d`` can move a place beyond a breakpoint that is very near.
    """
    best: State | None = None
    for state in promised[:TRIES]:
        gain = problem.gain(state.weights)
        true = dataclasses.replace(state, gain=gain)
        if gain > here.gain and gain >= state.gain - slack(gain):
            return true
        if gain > (here if best is None else best).gain:
            best = true
    return best


def search_all(
    problem: Problem, here: State, directions: Float64, names: Sequence[str], choice: Choice
) -> State | None:
    """Return the best place of all Q lines through the weights, if it is better; (Q, D)."""
    found = []
    for q, curve in enumerate(problem.curves(here.weights, directions)):
        found += Line(curve, directions[q], names[q]).places(problem, here, choice)
    found.sort(key=lambda place: place[0])
    return kept_promise(problem, here, [place[1] for place in found])


def search_in_turn(
    problem: Problem, here: State, directions: Float64, names: Sequence[str], choice: Choice
) -> Iterator[State]:
    """Go along each of Q directions in turn, (Q, D); yield the weights after each that improved.

    Lines are searched some at a time, more and more as long as none improves: the weights are the same
    for all of them. What is found does not depend on it.
    """
    first, ahead = 0, 1
    while first < len(directions):
        better = None
        curves = problem.curves(here.weights, directions[first : first + ahead])
        for curve in curves:
            found = Line(curve, directions[first], names[first]).places(problem, here, choice)
            better = kept_promise(problem, here, [place[1] for place in found])
            first += 1
            if better is not None:
                here = better
                yield here
                break
        ahead = 1 if better is not None else 2 * ahead
