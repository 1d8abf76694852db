"""The cell nearest to the start by angle among all that are nearly as good as the best (Waite and Byrne 2015)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.params import param
from luthier.core.segments import segment_of_rows
from luthier.geometry.joint_selection.nearest_cone import Foot, JointCones
from luthier.landscape.cones.cone_coordinates import ConeCoordinates
from luthier.landscape.dense_rows import dense_rows
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.best_cells import ScoredCell, near_cells, plane_through
from luthier.landscape.problem import Problem, effect_units, slack
from luthier.tuning.base import ListTuner, State
from luthier.tuning.search.line_search import climb_ends

# Whether weights select what they select by more than rounding: strictly inside a cell, not on a tie.

UNIT = 2.0**-53


class ClearSelections:
    """Lists made ready to ask whether weights tie any of them."""

    def __init__(self, problem: ListProblem) -> None:
        f = problem.pool.features
        self.problem, self.features, self.lists = problem, f, segment_of_rows(problem.offsets)
        self._largest = np.zeros(f.n_features)
        self._largest[: f.n_dense] = np.abs(f.dense).max(axis=0, initial=0.0)
        np.maximum.at(self._largest, f.n_dense + f.indices, np.abs(f.values))

    def is_clear(self, weights: Float64, selection: Int64) -> bool:
        """Return whether selected rows, (N,), score higher than all that differ from them, however sums are rounded.

        A score of D products is wrong by γ(D) of the sum of their sizes at most, in any order ([higham2002] section
        3.1). Rows that come near enough for that, by the largest sizes there are, are looked at one by one.
        """
        unit = 4 * (self.features.n_features + 4) * UNIT
        scores = self.problem.pool.scores(weights)
        behind = scores[selection][self.lists] - scores
        near = np.flatnonzero(behind <= unit * float(np.abs(weights) @ self._largest))
        near = near[near != selection[self.lists[near]]]
        if not len(near):
            return True
        rivals = dense_rows(self.features.take(near))
        chosen = dense_rows(self.features.take(selection[self.lists[near]]))
        differ = np.any(rivals != chosen, axis=1)
        leads = (chosen - rivals) @ weights
        sizes = (np.abs(chosen) + np.abs(rivals)) @ np.abs(weights)
        return bool(np.all(leads[differ] > unit * sizes[differ]))


MOST_FEATURES = 100
MOST_STEPS = 60
# A cell at the answer's own angle shall be in sight.
WIDER = 1.01
# The first window of a plane, in degrees, and how much wider each is than the one before.
FIRST_WINDOW, GROWTH = 1.0, 2.0


@dataclasses.dataclass(frozen=True)
class Method(ListTuner):
    """Stay as near to the start w⁰ as a gain within `epsilon` of the best allows.

    Within a cell every length of w selects the same, so a penalty on ‖w‖ means nothing; what does is the
    angle between w⁰ and the nearest member of a cell's cone, 90° at most [waite2015]. The best gain is looked
    for by exact line searches from the start and from random weights, and among all cells of planes through
    w⁰; the cells within `epsilon` of it are candidates, their full cones, in all dimensions, are what w⁰ is
    projected onto. A plane is looked at in windows that grow, until they hold enough cells or everything
    nearer than the answer. Up to three weights have one plane, which holds every cell in front of w⁰: looked
    at to its end (`cells` 0), it makes the answer exact. The answer is a step inside the nearest cone.
    """

    size_means = "the tuner measures them from the start"

    epsilon: float = param(0.1, low=0.0, high=1e9, help="gain that may be given up for being near")
    planes: int = param(10, low=1, high=100_000, help="planes through the start")
    angle: float = param(90.0, low=1e-6, high=90.0, help="how far planes are searched, in degrees (90: to their end)")
    cells: int = param(500_000, low=0, help="cells of a plane, about: it is searched less far if it has more (0: all)")
    candidates: int = param(50, low=1, high=1_000_000, help="cells of a plane, the nearest, whose cones are visited")
    climbs: int = param(10, low=0, high=100_000, help="line searches from random weights for the best gain")
    step: float = param(0.01, low=1e-9, high=1.0, help="how far inside the cone to go, as a share of the way")

    def refuses(self, problem: Problem) -> str:
        """Return why a problem is too large or has no lists, or ''."""
        free = int(np.count_nonzero(~problem.bounds.fixed))
        if free > MOST_FEATURES:
            return f"it can move at most {MOST_FEATURES} weights, here are {free}"
        return super().refuses(problem)

    def steps_on_lists(self, problem: ListProblem, start: Float64, rng: np.random.Generator) -> Iterator[State]:
        """Yield the best weights known, then nearer and nearer ones that are nearly as good."""
        here = State(start, problem.gain(start), "start", objective=0.0)
        yield here
        search = _Search(self, problem, here)
        if not search.able:
            return
        for climbed in climb_ends(problem, start, self.climbs, rng):
            search.meet(climbed)
        yield search.answer()
        for vectors in search.planes(rng):
            before = search.answer()
            search.look_at(vectors)
            if search.answer() is not before:
                yield search.answer()
        answer = search.answer()
        yield dataclasses.replace(answer, did="answer", note=search.note(answer))


@dataclasses.dataclass(frozen=True, eq=False)
class _Near:
    """Weights inside a cell, and the angle of its cone."""

    state: State
    angle: float


class _Search:
    """The best gain known, and the cells within reach of it that have been met."""

    def __init__(self, method: Method, problem: ListProblem, here: State) -> None:
        self.method, self.problem, self.here = method, problem, here
        self.coordinates = ConeCoordinates.of(problem, here.weights, as_given=True)
        self.origin = self.coordinates.directions(here.weights)
        self.able = len(self.origin) > 1 and bool(np.any(self.origin))
        self.cones = JointCones(problem.offsets, self.coordinates.points, self.coordinates.walls)
        self.best = here.gain
        self.clear = ClearSelections(problem)
        # a start on a tie is in no cell: it is the answer only where nothing else is good enough
        self.tied = not self.clear.is_clear(here.weights, problem.select(here.weights))
        self.met: list[_Near] = [] if self.tied else [_Near(here, 0.0)]
        self.seen: set[bytes] = set()

    @property
    def threshold(self) -> float:
        """The least gain that is good enough."""
        return self.best - self.method.epsilon - slack(self.best)

    def answer(self) -> State:
        """Return the nearest state that is good enough; if several are equally near, the best."""
        good = [near for near in self.met if near.state.gain >= self.threshold]
        return min(good, key=lambda near: (near.angle, -near.state.gain)).state if good else self.here

    def meet(self, state: State) -> None:
        """Take in the cell of some weights found by a line search, unless it lies behind the start."""
        place = self.coordinates.directions(state.weights)
        cell = ScoredCell(state.gain, place, selection=self.problem.select(state.weights))
        foot = self.cones.nearest(cell.selection, self.origin)
        near = None if foot is None else self.step_inside(cell, foot)
        if near is not None:
            self.seen.add(cell.selection.tobytes())
            self.best = max(self.best, state.gain)
            self.met.append(near)

    def take(self, cell: ScoredCell) -> None:
        """Project the start onto the cone of a cell; keep a step inside it if nothing as good is nearer."""
        key = cell.selection.tobytes()
        if key in self.seen or cell.gain < self.threshold:
            return
        self.seen.add(key)
        limit = min((near.angle for near in self.met if near.state.gain >= cell.gain), default=math.inf)
        foot = self.cones.nearest(cell.selection, self.origin, limit)
        near = None if foot is None else self.step_inside(cell, foot)
        if near is not None:
            self.met.append(near)

    def step_inside(self, cell: ScoredCell, foot: Foot) -> _Near | None:
        """Return weights a step inside a cone that select what the cell says, without a tie; None if there are none."""
        near = self.walk_inside(cell, foot, cell.position)
        if near is None:  # that point may lie on a side, where the cell has no end
            middle = self.cones.middle(cell.selection)
            near = None if middle is None else self.walk_inside(cell, foot, middle)
        return near

    def walk_inside(self, cell: ScoredCell, foot: Foot, inside: Float64) -> _Near | None:
        """Return the first clear weights on the way from the foot to a point inside; None if there are none."""
        goal = inside * (float(np.linalg.norm(foot.weights)) / float(np.linalg.norm(inside)))
        share = self.method.step if foot.angle > 0 else 0.0
        for _ in range(MOST_STEPS):
            weights = self.coordinates.weights(foot.weights + min(share, 1.0) * (goal - foot.weights))
            selection = self.problem.select(weights)
            if np.array_equal(selection, cell.selection) and self.clear.is_clear(weights, selection):
                gain = self.problem.gain(weights)
                return _Near(State(weights, gain, "nearer", objective=math.degrees(foot.angle)), foot.angle)
            if share >= 1.0:
                return None
            share = 2.0 * share or self.method.step
        return None

    def planes(self, rng: np.random.Generator) -> Iterator[Float64]:
        """Yield vectors, (m, n), the first two of which span a plane: towards the answer, and aside from there."""
        units = self.units()
        axes = np.diag(units)[np.argsort(-np.abs(self.origin) / units, kind="stable")]
        if len(units) <= 3:
            yield axes
            return
        for number in range(self.method.planes):
            towards = self.coordinates.directions(self.answer().weights) - self.origin
            aside = rng.standard_normal(len(units)) * units if number >= len(axes) else axes[number]
            first = [towards] if np.any(towards) else []
            yield np.array([*first, aside, *axes])

    def units(self) -> Float64:
        """Return one unit of each coordinate, (n,), as long as the origin is now."""
        units = effect_units(self.problem.spread, self.here.weights)[self.coordinates.columns]
        units = np.where(units > 0, units, units.max(initial=0.0) or 1.0)  # it differs, in a list of tiny numbers
        lengths = np.ones(int(self.coordinates.sized))  # of λ, where there is one
        largest = np.abs(np.append(self.here.weights[self.coordinates.columns], lengths)).max()
        return np.asarray(np.append(units, lengths) / largest, np.float64)

    def look_at(self, vectors: Float64) -> None:
        """Take in the cells of a plane that are good enough."""
        axes = plane_through(self.origin, vectors)
        angle = self.method.angle if not self.method.cells else min(self.method.angle, FIRST_WINDOW)
        while axes is not None:
            n_cells, best, near = near_cells(
                self.problem,
                self.coordinates,
                axes,
                above=self.threshold,
                reach=math.inf if angle == 90.0 else math.tan(math.radians(angle)),
                count=self.method.candidates,
            )
            before = self.best
            for cell in best:
                if cell.gain > self.best:
                    weights = self.coordinates.weights(cell.position)
                    self.meet(State(weights, self.problem.gain(weights)))
            for cell in near:
                self.take(cell)
            if self.best > before:
                continue  # cells that are not good enough any more may have taken the place of others
            if angle >= self.far() or GROWTH**2 * n_cells > self.method.cells > 0:
                return
            angle = min(GROWTH * angle, self.far())

    def far(self) -> float:
        """Return how far to look, in degrees: with a limit on cells, no farther than the answer is."""
        answer = self.answer().objective or 90.0
        return min(self.method.angle, WIDER * answer) if self.method.cells else self.method.angle

    def note(self, answer: State) -> str:
        """Return what the answer gives up, and how near it is."""
        degrees = 0.0 if answer.objective is None else answer.objective
        tie = "; the start ties hypotheses, and no cell that was met is as good" if self.tied else ""
        tie = tie if answer is self.here else ""
        return f"{degrees:.3g}° from the start, {self.best - answer.gain:.3g} below the best gain that was met{tie}"
