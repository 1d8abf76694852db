"""Exact searches of whole planes: of two features, at random, along the last two moves (Waite & Byrne 2015)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.landscape.lines.places import Choice
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.nearby import Nearby
from luthier.landscape.planes.best_cells import fitting_window
from luthier.tuning.base import ListTuner, State
from luthier.tuning.search.line_search import axes, random_directions, search_in_turn, seen_of
from luthier.tuning.search.planes import distinct_subsets, search_plane, search_space, search_whole, whole_planes

# Planes of a sweep by which the size of its windows is chosen.
SAMPLE = 5


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    """Go to the best cell of a plane, then of another, until no plane of a sweep has a better one.

    All cells of a plane that lie in a window round the weights are enumerated [waite2015]; the step is to the
    centre of the largest circle in the best one, if it is better. So a step is never a step down. At the
    start and after each such step the axes' lines are searched until none improves, as in `mert` [och2003]: the
    answer is never below what `mert` finds from the same start. With ``dims=3`` spaces of three directions are
    searched, each by a reverse search that visits `visits` cells at most, the best first.

    Where only two weights are free, or three and no other feature counts, the `whole` plane is searched instead, once:
    all its cells are enumerated, and the answer is proven to be the best there is.
    """

    planes: str = param("both", choices=("coordinates", "random", "both"), help="planes to search")
    coordinates: int = param(120, low=1, high=1_000_000, help="planes of two features in a sweep, at most")
    random: int = param(100, low=1, high=1_000_000, help="random planes in a sweep")
    conjugate: bool = param(True, help="after each move, search the plane of the last two moves")
    lines: bool = param(True, help="search the axes' lines first and after each move, as mert")
    cells: int = param(8000, low=1, high=1_000_000_000, help="cells a plane should have in its window, about")
    window: float = param(
        0.0, low=0.0, high=1e6, help="half a window's side, in mean effects of features (0: by cells)"
    )
    doublings: int = param(3, low=0, high=30, help="how often a window that cuts its best cell may double")
    dims: int = param(2, low=2, high=3, help="2: planes, searched completely; 3: spaces, searched in part")
    visits: int = param(2000, low=1, high=1_000_000_000, help="cells to visit in a space of three dimensions, at most")
    sweeps: int = param(100, low=1, high=1_000_000, help="sweeps over the planes, at most")
    whole: bool = param(True, help="search the whole plane where only two weights can matter, or three up to scale")

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the weights after each search that improved."""
        here = State(start, problem.gain(start), "start")
        yield here
        planes = whole_planes(problem, start) if self.whole else []
        if planes:
            yield from search_whole(problem, here, planes)
            return
        moves: list[Float64] = []
        for _ in range(self.sweeps):
            before = here
            for states in (self._along_lines, functools.partial(self._over_planes, moves=moves, rng=rng)):
                for state in states(problem, here):
                    here = state
                    yield here
            if here is before:
                return

    def _along_lines(self, problem: ListProblem, here: State) -> Iterator[State]:
        """Search the axes in turn until none improves."""
        (lines, names), seen = axes(problem), seen_of(problem)
        improved = self.lines
        while improved:
            improved = False
            for state in search_in_turn(problem, seen, here, lines, names, Choice()):
                here, improved = state, True
                yield here

    def _over_planes(
        self, problem: ListProblem, here: State, *, moves: list[Float64], rng: np.random.Generator
    ) -> Iterator[State]:
        """Search each plane of a sweep in turn; yield the weights after each that improved."""
        drawn = self._drawn(problem, rng)
        size = self.window or fitting_window(
            problem, here.weights, [vectors[:2] for vectors, _ in drawn[:SAMPLE]], self.cells
        )
        near = Nearby.of(problem, here.weights, float(np.sqrt(self.dims)) * size)
        for vectors, name in drawn:
            better = self._search(problem, here, near, vectors, name)
            while better is not None:
                moves.append(better.weights - here.weights)
                here = better
                yield here
                for state in self._along_lines(problem, here):
                    here = state
                    yield here
                near = Nearby.of(problem, here.weights, float(np.sqrt(self.dims)) * size)
                better = None
                if self.conjugate and len(moves) >= self.dims:
                    better = self._search(problem, here, near, np.array(moves[-self.dims :]), "last moves")

    def _search(self, problem: ListProblem, here: State, near: Nearby, vectors: Float64, name: str) -> State | None:
        if self.dims == 2:
            return search_plane(problem, here, near, vectors, name, doublings=self.doublings)
        return search_space(problem, here, near, vectors, name, visits=self.visits)

    def _drawn(self, problem: ListProblem, rng: np.random.Generator) -> list[tuple[Float64, str]]:
        """Return the planes of a sweep in random order: vectors, (dims, D), and a name."""
        drawn: list[tuple[Float64, str]] = []
        lines, names = axes(problem)
        if len(lines) < self.dims:
            return drawn
        if self.planes != "random":
            for chosen in distinct_subsets(len(lines), self.dims, self.coordinates, rng):
                drawn.append((lines[chosen], " × ".join(names[i] for i in chosen)))
        if self.planes != "coordinates":
            vectors, _ = random_directions(problem, self.dims * self.random, rng)
            each = vectors.reshape(self.random, self.dims, problem.n_features)
            drawn += [(vectors, f"random plane {k}") for k, vectors in enumerate(each)]
        if len(lines) == self.dims:
            return drawn[:1]  # all of them span the one space there is
        return [drawn[k] for k in rng.permutation(len(drawn))]
