"""Exact line search: the best place of a line through the weights, or of many lines, and a re-rank that proves it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from luthier.core.arrays import Float64
from luthier.landscape.curve import LineCurve, intervals_of, reach_of
from luthier.landscape.lines.places import Choice, best_places
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import TRIES, Problem, effect_units, movable, slack
from luthier.tuning.base import State
from luthier.tuning.restarts import draw_start

if TYPE_CHECKING:
    from luthier.tuning.neighbours.penalty import Neighbours

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


FARTHEST_STEP = 1e8

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
    """Return the step beyond which a line's effect is `FARTHEST_STEP` times that of the weights.

    Sums of the same numbers in another order differ in the last bit. Along such a feature rows cross there that differ
    by rounding only, and beside weights so large all others would be lost to rounding.
    """
    spread = problem.spread
    effect, along = float(np.abs(weights) @ spread), float(np.linalg.norm(direction * spread))
    return FARTHEST_STEP * effect / along if effect > 0.0 and along > 0.0 else np.inf


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


# How far inside an interval its nearest point is taken, as a share of the width and in units of `reach`.
INSIDE, STEP_INSIDE = 0.01, 1e-3
MOST_FAVOURITES = 16


class Price(Protocol):
    """A penalty that is known everywhere on a line."""

    def of(self, weights: Float64) -> Float64:
        """Return the penalty of weights, (…, D) → (…)."""

    def favourites(self, weights: Float64, direction: Float64) -> Float64:
        """Return steps along a line near which the penalty is low."""

    def points(self, weights: Float64, direction: Float64, positions: Float64) -> Float64:
        """Return the weights at steps along a line, (T, D)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Penalty:
    """What a distance from `origin` costs: ``strength · ‖w − origin‖²`` or, for ``l0``, per weight changed."""

    kind: str
    strength: float
    origin: Float64

    def of(self, weights: Float64) -> Float64:
        """Return the penalty of weights, (…, D) → (…)."""
        moved = weights - self.origin
        size = (moved != 0).sum(axis=-1) if self.kind == "l0" else (moved**2).sum(axis=-1)
        return np.asarray(self.strength * size, dtype=np.float64)

    def favourites(self, weights: Float64, direction: Float64) -> Float64:
        """Return the steps at which the penalty along a line is least, or lower than about it.

        For ``l2`` that is one: the foot of the perpendicular from the origin. For ``l0`` every weight that
        the line takes back to its origin gives one.
        """
        moved = weights - self.origin
        if self.kind == "l2":
            return np.array([-float(moved @ direction) / float(direction @ direction)])
        returning = (direction != 0) & (moved != 0)
        return np.unique(-moved[returning] / direction[returning])

    def points(self, weights: Float64, direction: Float64, positions: Float64) -> Float64:
        """Return ``weights + t·direction``, (T, D); a weight that comes back to its origin does so exactly."""
        points = weights + positions[:, None] * direction
        if self.kind == "l0":
            back = (direction != 0) & np.isclose(points, self.origin, rtol=1e-12, atol=0.0)
            points = np.where(back, self.origin, points)
        return points


@dataclasses.dataclass(frozen=True, eq=False)
class NeighbourPrice:
    """What weights of neighbouring bins cost once they are scaled to Σ|w| = 1: selections do not know their length."""

    neighbours: Neighbours

    def of(self, weights: Float64) -> Float64:
        """Return the penalty of weights, (…, D) → (…); 0 where all of them are 0."""
        size = np.abs(weights).sum(axis=-1, keepdims=True)
        return self.neighbours.values(weights / np.where(size > 0.0, size, 1.0))

    def favourites(self, weights: Float64, direction: Float64) -> Float64:
        """Return where bins come to the mean of their neighbours; at most so many, evenly taken."""
        found = self.neighbours.straight(weights, direction)
        if len(found) <= MOST_FAVOURITES:
            return found
        return found[np.linspace(0, len(found) - 1, MOST_FAVOURITES).round().astype(np.int64)]

    def points(self, weights: Float64, direction: Float64, positions: Float64) -> Float64:
        """Return ``weights + t·direction``, (T, D)."""
        return np.asarray(weights + positions[:, None] * direction)


def candidates(
    curve: LineCurve, favourites: Float64, *, limits: tuple[float, float], reach: float, tolerance: float
) -> tuple[Float64, Float64]:
    """Return positions on a line, and the gain promised at each: two or more for every interval.

    In each interval: its point nearest to each favourite, and to 0, a step strictly inside [waite2015];
    the favourite itself where it is inside.
    """
    left, right = intervals_of(curve, limits)
    wide = np.flatnonzero(right - left > tolerance * reach)
    left, right, gains = left[wide], right[wide], curve.gains[wide]
    step = np.minimum(INSIDE * (right - left), STEP_INSIDE * reach)
    wanted = np.append(favourites, 0.0)[:, None]
    inside = (left < wanted) & (wanted < right)
    near = np.where(inside, wanted, np.clip(wanted, left + step, right - step))  # (F, P)
    return near.ravel(), np.broadcast_to(gains, near.shape).ravel()


def penalized_search(
    problem: Problem, seen: Seen, here: State, direction: Float64, curve: LineCurve, penalty: Price, *, tolerance: float
) -> State | None:
    """Return the place of a line with the highest objective, if it is above the present one.

    As in `luthier.tuning.search.line_search`, a promise is checked by re-ranking at the very weights returned.
    """
    assert here.objective is not None
    limits = problem.bounds.steps_along(here.weights, direction)
    positions, promised = candidates(
        curve,
        penalty.favourites(here.weights, direction),
        limits=limits,
        reach=reach_of(here.weights, direction),
        tolerance=tolerance,
    )
    hopeful = promised > here.objective  # a penalty only takes
    positions, promised = positions[hopeful], promised[hopeful]
    points = problem.bounds.clip(penalty.points(here.weights, direction, positions))
    objectives = promised - penalty.of(points)
    for i in np.lexsort((np.abs(positions), -objectives))[:TRIES]:
        if objectives[i] <= here.objective:
            return None
        gain = seen.gain(points[i])
        objective = gain - float(penalty.of(points[i]))
        if objective > here.objective:
            return State(points[i], gain, objective=objective)
    return None
