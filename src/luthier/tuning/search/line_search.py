"""Exact line search: the best place of a line through the weights, or of many lines, and a re-rank that proves it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.curve import LineCurve, reach_of
from luthier.landscape.lines.places import Choice, best_places
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import TRIES, Problem, slack
from luthier.landscape.units import effect_units, movable
from luthier.tuning.base import State
from luthier.tuning.restarts import draw_start

# Directions to search along: axes, random ones, uphill, the whole of a move.


def axes(problem: Problem) -> tuple[Float64, list[str]]:
    """Return the axes of movable features, (Q, D), and their names."""
    columns = movable(problem)
    directions = np.zeros((len(columns), problem.n_features))
    directions[np.arange(len(columns)), columns] = 1.0
    return directions, [problem.names[d] for d in columns]


def random_directions(problem: Problem, count: int, rng: np.random.Generator) -> tuple[Float64, list[str]]:
    """Return random directions, (count, D): normal, in units in which all features spread alike."""
    columns = movable(problem)
    count = count if len(columns) else 0
    directions = np.zeros((count, problem.n_features))
    directions[:, columns] = rng.standard_normal((count, len(columns))) / problem.spread[columns]
    return directions, [f"random {i}" for i in range(count)]


def conjugate(lines: Float64, names: Sequence[str], path: Sequence[State]) -> tuple[Float64, list[str], Float64]:
    """Return the lines with the one that gained most replaced by the whole move, and that move, (D,).

    `path` are the states before and after each step of a sweep, each named after its line [powell1964].
    """
    rises = [after.gain - before.gain for before, after in itertools.pairwise(path)]
    best = list(names).index(path[1 + int(np.argmax(rises))].did)
    whole = path[-1].weights - path[0].weights
    number = 1 + max((int(name.split()[-1]) for name in names if name.startswith("move ")), default=0)
    kept = [name for i, name in enumerate(names) if i != best]
    return np.concatenate([np.delete(lines, best, axis=0), whole[None]]), [*kept, f"move {number}"], whole


def uphill(problem: Problem, weights: Float64, sharpness: float) -> tuple[Float64, list[str]]:
    """Return where the gain is likely to rise, (1, D), fixed weights left out; no direction if that is not known."""
    gradient = np.where(problem.bounds.fixed, 0.0, problem.uphill(weights, sharpness))
    return gradient[None][: int(np.any(gradient))], ["uphill"]


FAR = 1e8

Seen = Problem | ProjectionCache  # whom a search asks for gains and curves


def seen_of(problem: Problem) -> Seen:
    """Return what answers as the problem does, and sooner where weights differ little from the last ones."""
    return ProjectionCache(problem) if isinstance(problem, ListProblem) else problem


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


def kept_gain(problem: Seen, here: State, promised: Sequence[State]) -> State | None:
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
    problem: Problem, seen: Seen, here: State, directions: Float64, names: Sequence[str], choice: Choice
) -> State | None:
    """Return the best place of all Q lines through the weights, if it is better; (Q, D)."""
    found = []
    for q, curve in enumerate(seen.curves(here.weights, directions)):
        found += Line(curve, directions[q], names[q]).places(problem, here, choice)
    found.sort(key=lambda place: place[0])
    return kept_gain(seen, here, [place[1] for place in found])


def search_in_turn(
    problem: Problem, seen: Seen, here: State, directions: Float64, names: Sequence[str], choice: Choice
) -> Iterator[State]:
    """Go along each of Q directions in turn, (Q, D); yield the weights after each that improved.

    `seen` is `seen_of` the problem, the same for all of a search. Lines are searched some at a time, more and more as
    long as none improves: the weights are the same for all of them. What is found does not depend on it.
    """
    first, ahead = 0, 1
    while first < len(directions):
        better = None
        curves = seen.curves(here.weights, directions[first : first + ahead])
        for curve in curves:
            found = Line(curve, directions[first], names[first]).places(problem, here, choice)
            better = kept_gain(seen, here, [place[1] for place in found])
            first += 1
            if better is not None:
                here = better
                yield here
                break
        ahead = 1 if better is not None else 2 * ahead


# Climbs by exact line searches along the axes, from the start and from random weights.


def climb_ends(problem: Problem, start: Float64, others: int, rng: np.random.Generator) -> Iterator[State]:
    """Yield where each climb ends: one from the start, then as many `others` from random weights."""
    lines, names = axes(problem)
    units, seen = effect_units(problem.spread, start), seen_of(problem)
    for number in range(others + 1):
        begin = draw_start("random", start, units, problem.bounds, rng) if number else start
        here, path = State(begin, seen.gain(begin)), [State(begin, -np.inf)]
        while path:
            path = list(search_in_turn(problem, seen, here, lines, names, Choice()))
            here = path[-1] if path else here
        yield State(here.weights, here.gain, "line searches")
