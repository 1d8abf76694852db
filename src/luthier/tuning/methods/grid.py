"""Grid search: every combination, or one feature after the other, on an even grid that is refined."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.landscape.problem import Problem, effect_units, movable
from luthier.tuning.base import State, Tuner

LARGEST_GRID = 1_000_000  # points of one full grid; the best of more is found by other means
MOST_POINTS = 100_001
BATCH = 4096  # points re-ranked at a time


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Try `points` evenly spaced values of each chosen weight, from −`reach` to +`reach` units about it.

    ``full`` tries all combinations, ``coordinate`` one feature after the other, over and over until a
    pass brings nothing. Each of `rounds` further rounds has its centre at the best so far and reaches as
    far as one spacing of the grid before. The best wins; if gains are equal, the nearest to the centre (in units),
    then the first in the order of the grid; the weights stay where nothing is better.

    `range` gives the first grid of a weight by its ends and number of values instead, wherever the start is:
    ``lm=0:2:24`` tries 24 values from 0 to 2; only weights with a range (and `features`) move then.

    A unit is the start weight itself (``start``; where that is 0, as next) or the mean effect of a feature
    (``effect``). Values outside the bounds are clipped to them.
    """

    features: str = param("", help="names of the features to move, separated by commas (all that can move)")
    mode: str = param("coordinate", choices=("coordinate", "full"), help="one feature at a time, or all at once")
    points: int = param(11, low=2, high=MOST_POINTS, help="values tried of a weight")
    reach: float = param(1.0, low=1e-12, help="how far the first grid reaches to each side, in units")
    unit: str = param("start", choices=("start", "effect"), help="the start weight, or the mean effect of a feature")
    rounds: int = param(3, low=0, high=1000, help="rounds of refinement after the first grid")
    range: str = param("", help="ends and number of values of some weights, such as lm=0:2:24,wp=-1:1:9")
    passes: int = param(10, low=1, high=1000, help="passes over the features in a round, at most (coordinate)")

    def refuses(self, problem: Problem) -> str:
        """Return a sentence if a feature is unknown or fixed, or if a full grid is absurdly large."""
        try:
            ranges = read_ranges(self.range)
            named = [problem.index(name) for name in self._names(ranges)]
        except LuthierError as error:
            return str(error)
        for d in named:
            if problem.bounds.fixed[d]:
                return f"the weight of {problem.names[d]!r} is fixed, a grid cannot move it"
        axes = self._axes(problem, ranges) if named else np.flatnonzero(~problem.bounds.fixed)
        sizes = [ranges[problem.names[d]].points if problem.names[d] in ranges else self.points for d in axes]
        if self.mode == "full" and math.prod(map(float, sizes)) > LARGEST_GRID:
            return (
                f"a full grid of {self._sizes(sizes)} values of {len(axes)} weights has "
                f"{math.prod(map(float, sizes)):.1e} points, more than {LARGEST_GRID:,}. hint: name fewer features, "
                "ask for fewer points, or use the mode 'coordinate'"
            )
        return ""

    @property
    def is_random(self) -> bool:
        """Nothing is drawn."""
        return False

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:  # noqa: ARG002
        """Yield the best after each grid, or in coordinate mode after each pass over the features."""
        best = State(start, problem.gain(start), "start")
        yield best
        effects = effect_units(problem.spread, start)
        units = np.where(start != 0, np.abs(start), effects) if self.unit == "start" else effects
        ranges = read_ranges(self.range)
        axes = self._axes(problem, ranges)
        if not len(axes):
            yield dataclasses.replace(best, did="stopped: no weight can move")
            return
        lines = [_Line.of(d, self, problem, units, ranges) for d in axes.tolist()]
        for number in range(self.rounds + 1):
            if self.mode == "full":
                best = _best_of(problem, best, lines)
                yield dataclasses.replace(best, did=f"round {number}: full grid")
            else:
                for sweep in range(1, self.passes + 1):
                    before = best.gain
                    for line in lines:
                        best = _best_of(problem, best, [line])
                    yield dataclasses.replace(best, did=f"round {number}: pass {sweep}")
                    if best.gain <= before:
                        break
            lines = [line.refined() for line in lines]

    @staticmethod
    def _sizes(sizes: Sequence[int]) -> str:
        return str(sizes[0]) if len(set(sizes)) == 1 else " × ".join(map(str, sizes))

    def _names(self, ranges: Mapping[str, Range]) -> list[str]:
        """Return the features that were named, in that order."""
        return list(dict.fromkeys([*(name.strip() for name in self.features.split(",") if name.strip()), *ranges]))

    def _axes(self, problem: Problem, ranges: Mapping[str, Range]) -> Int64:
        """Return the positions of the weights to move, in the order in which they were named."""
        names = self._names(ranges)
        return np.array([problem.index(name) for name in names]) if names else movable(problem)


class Range(NamedTuple):
    """The first grid of a weight: from `low` to `high` in so many values."""

    low: float
    high: float
    points: int


def read_ranges(text: str) -> dict[str, Range]:
    """Read ``name=low:high:points`` between commas.

    >>> read_ranges("lm=0:2:24")
    {'lm': Range(low=0.0, high=2.0, points=24)}
    """
    found: dict[str, Range] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, ends = item.rpartition("=")
        try:
            low, high, points = ends.split(":")
            made = Range(float(low), float(high), int(points))
        except ValueError:
            made = Range(0.0, 0.0, 0)
        if (
            not name
            or name in found
            or not -np.inf < made.low < made.high < np.inf
            or not 2 <= made.points <= MOST_POINTS
        ):
            raise LuthierError(f"expected a range as NAME=LOW:HIGH:POINTS, each name once, found {item!r}")
        found[name] = made
    return found


@dataclasses.dataclass(frozen=True)
class _Line:
    """The values of one weight that a grid tries: `points` up to `reach` to each side, of `centre` or of the best."""

    axis: int
    points: int
    reach: float
    centre: float | None

    @classmethod
    def of(cls, axis: int, method: Method, problem: Problem, units: Float64, ranges: Mapping[str, Range]) -> _Line:
        """Return the first grid of a weight."""
        given = ranges.get(problem.names[axis])
        if given is None:
            return cls(axis, method.points, method.reach * float(units[axis]), None)
        return cls(axis, given.points, (given.high - given.low) / 2, (given.low + given.high) / 2)

    def refined(self) -> _Line:
        """Return the next grid: about the best, as far as one spacing of this one."""
        return _Line(self.axis, self.points, self.reach * 2.0 / (self.points - 1), None)

    def values(self, weights: Float64) -> tuple[Float64, Float64]:
        """Return the values it tries, and how far each is from the weight, in units of the reach: (points,)."""
        even, here = np.linspace(-1.0, 1.0, self.points), weights[self.axis]
        if self.centre is None:
            return np.asarray(here + even * self.reach), even
        values = self.centre + even * self.reach
        return values, np.asarray((values - here) / self.reach)


def _best_of(problem: Problem, best: State, lines: Sequence[_Line]) -> State:
    """Return the best point of a grid, or `best` if none is better."""
    centre, found, nearest = best.weights, best, 0.0
    tried = [line.values(centre) for line in lines]
    shape = tuple(line.points for line in lines)
    total = math.prod(shape)
    for first in range(0, total, BATCH):
        places = np.unravel_index(np.arange(first, min(first + BATCH, total)), shape)
        drawn = np.repeat(centre[None], len(places[0]), axis=0)
        distances = np.zeros(len(drawn))
        for line, place, (values, moves) in zip(lines, places, tried, strict=True):
            drawn[:, line.axis] = values[place]
            distances += moves[place] ** 2
        drawn = problem.bounds.clip(drawn)
        gains = problem.gains(drawn)
        top = int(np.lexsort((distances, -gains))[0])
        nearer = gains[top] == found.gain and found is not best and distances[top] < nearest
        if gains[top] > found.gain or nearer:
            found, nearest = State(drawn[top], float(gains[top])), float(distances[top])
    return found
