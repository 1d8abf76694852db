"""Minimum error rate training: exact line searches along axes and other directions (Och 2003)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.lines.places import POINTS, SMOOTHINGS, Choice
from luthier.landscape.problem import Problem
from luthier.tuning.base import State, Tuner
from luthier.tuning.search.line_search import (
    Seen,
    axes,
    conjugate,
    random_directions,
    search_all,
    search_in_turn,
    seen_of,
)


@dataclasses.dataclass(frozen=True)
class Method(Tuner):
    """Go to the best place of a line, then of another, until no line has a better one.

    The gain is known everywhere on a line [och2003], so a step is never a step down. With `smoothing`,
    of the intervals that improve the gain the one whose neighbours are best too is taken [cer2008].
    ``powell`` begins with the axes and, after each sweep, replaces the direction that gained most by
    the whole move; it goes along its lines in turn, whatever the order [powell1964].
    """

    published = {"directions": "coordinates", "smoothing": "none"}  # noqa: RUF012 - never changed

    directions: str = param("coordinates", choices=("coordinates", "random", "both", "powell"), help="lines to search")
    random: int = param(10, low=1, high=100_000, help="random directions in a sweep, where there are any")
    order: str = param("first", choices=("first", "greedy"), help="along each line that improves, or the best of all")
    sweeps: int = param(100, low=1, high=1_000_000, help="sweeps over the directions, at most")
    smoothing: str = param("none", choices=SMOOTHINGS, help="judge an interval by its neighbours too")
    window: int = param(3, low=0, high=1000, help="neighbours on each side, for smoothing")
    point: str = param("midpoint", choices=POINTS, help="place in the interval")
    tolerance: float = param(1e-7, low=0.0, high=1.0, help="least width of an interval, in lengths of the weights")

    @property
    def is_random(self) -> bool:
        """Only random directions are drawn."""
        return self.directions in ("random", "both")

    def steps(self, problem: Problem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each line search that improved."""
        seen = seen_of(problem)
        here = State(start, seen.gain(start), "start")
        yield here
        lines, names = axes(problem)
        for _ in range(self.sweeps):
            if self.directions in ("random", "both"):
                lines, names = self._drawn(problem, rng)
            path = [here]
            for state in self._sweep(problem, seen, here, lines, names):
                path.append(state)
                yield state
            if self.directions == "powell" and len(path) > 2:
                lines, names, whole = conjugate(lines, names, path)
                for state in self._sweep(problem, seen, path[-1], whole[None], ["the whole move"]):
                    path.append(state)
                    yield state
            if len(path) == 1:
                return
            here = path[-1]

    def _drawn(self, problem: Problem, rng: np.random.Generator) -> tuple[Float64, list[str]]:
        """Return random directions, and before them the axes where both are wanted."""
        drawn, drawn_names = random_directions(problem, self.random, rng)
        if self.directions == "random":
            return drawn, drawn_names
        lines, names = axes(problem)
        return np.concatenate([lines, drawn]), names + drawn_names

    def _sweep(
        self, problem: Problem, seen: Seen, here: State, lines: Float64, names: Sequence[str]
    ) -> Iterator[State]:
        choice = Choice(self.smoothing, self.window, self.point, self.tolerance)
        if self.order == "greedy" and self.directions != "powell":
            better = search_all(problem, seen, here, lines, names, choice)
            return iter([] if better is None else [better])
        return search_in_turn(problem, seen, here, lines, names, choice)
