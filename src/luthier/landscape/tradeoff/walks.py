"""Fronts of several metrics: of all intervals of a line, of all cells of a plane, and from within all weights."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Bool, Float64
from luthier.core.progress import progress
from luthier.core.rng import child_rng, make_rng
from luthier.core.tasks import Serial, Shared, Threads, run_units
from luthier.geometry.subspace import Subspace
from luthier.landscape.curve import LineCurve, intervals_of, reach_of, sums_along
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.survey import EdgeRange, SurveyOptions, Walk, edge_ranges
from luthier.landscape.problem import EQUAL_GAINS, effect_units, movable
from luthier.landscape.tradeoff.front import Archive, pareto
from luthier.landscape.tradeoff.several import selection_noise
from luthier.metrics.several import Joint

SAMPLE = 4000  # places that a picture shows
MOST_SWEEPS = 50
LONGEST = 1e300  # of an interval without end
NARROW = 1e-7  # lengths of the weights: rounding may move a place out of a narrower interval


class Found(NamedTuple):
    """A front: scores (n, K), weights (n, D), places by name, how many places there are, and scores of a sample."""

    scores: Float64
    weights: Float64
    places: dict[str, Float64]
    cells: int
    seen: Float64


def noise_at(problem: ListProblem, weights: Float64) -> Float64:
    """Return s_sel of each metric at some weights, (K,); 1 for one without noise."""
    joint = _joint(problem)
    selected = problem.selected(weights[None])[0]
    found = [selection_noise(part, own) for part, own in joint.own(selected)]
    return np.array([noise or 1.0 for noise in found])


def scores_at(problem: ListProblem, weights: Float64) -> Float64:
    """Return the scores of every metric at weights, by re-ranking: (W, D) → (W, K)."""
    rows = problem.select(np.atleast_2d(weights))
    return _joint(problem).scores(np.array([problem.stats[own].sum(axis=0) for own in rows]))


def line_front(problem: ListProblem, line: Subspace, window: tuple[float, float]) -> Found:
    """Return the front of all intervals of a line within a window; if scores are equal, the widest interval's.

    Breakpoints that coincide but for rounding have an interval between them that no weights reach. One that does not
    re-rank to its scores is left out, and the front is that of the others.
    """
    intervals = _Intervals.of(problem, line.start, line.directions[0], window)
    n = len(intervals.scores)
    widths = np.minimum(intervals.places[:, 1] - intervals.places[:, 0], LONGEST)
    reached = np.arange(n)
    while True:
        front = reached[pareto(intervals.gains[reached], widths[reached])]
        weights = line.weights(intervals.places[front, 2:])
        holds = same_scores(scores_at(problem, weights), intervals.scores[front])
        others = np.setdiff1d(reached, front[~holds])
        if holds.all() or not len(others):
            break
        reached = others
    low, high, position = intervals.places[front].T
    seen = intervals.scores[np.sort(make_rng(0).permutation(n)[:SAMPLE])]
    return Found(intervals.scores[front], weights, {"low": low, "high": high, "position": position}, n, seen)


def same_scores(one: Float64, other: Float64) -> Bool:
    """Return which rows of scores, (n, K), agree in every metric, up to rounding."""
    size = np.maximum(np.abs(one), np.abs(other)).max(axis=0, initial=0.0)
    agree: Bool = np.all(np.abs(one - other) <= EQUAL_GAINS * size, axis=1)
    return agree


class _Intervals(NamedTuple):
    """Intervals of a line: scores and gains of every metric, (n, K), ends and a place inside, (n, 3)."""

    scores: Float64
    gains: Float64
    places: Float64

    @classmethod
    def of(cls, problem: ListProblem, start: Float64, direction: Float64, window: tuple[float, float]) -> _Intervals:
        joint = _joint(problem)
        (envelope,) = problem.lines.envelopes(start, direction[None])
        times, bends, sums = sums_along(envelope, problem.stats)
        low, high = intervals_of(LineCurve(times, np.zeros(len(times) + 1), bends), window)
        inside = np.flatnonzero(low < high)
        low, high = low[inside], high[inside]
        reach = reach_of(start, direction)
        left, right = np.where(np.isinf(low), high - 2 * reach, low), np.where(np.isinf(high), low + 2 * reach, high)
        whole = np.isinf(low) & np.isinf(high)
        position = np.where(whole, 0.0, left / 2 + right / 2)
        scores = joint.scores(sums[inside])
        return cls(scores, joint.gains(scores), np.column_stack([low, high, position]))


@dataclasses.dataclass(frozen=True, eq=False)
class _Visited:
    """What is left of the cells of some edges: their front by keys, how many there were, and a sample of scores."""

    front: Archive
    cells: int
    lots: Float64
    seen: Float64


def visit_cells(walk: Walk, edges: EdgeRange) -> _Visited:
    """Visit the cells of a range of edges, each once."""
    joint = walk.metric
    assert isinstance(joint, Joint)
    rng, front, cells = child_rng(walk.options.seed, edges.number), Archive.none(len(joint.parts), 2, np.int64), 0
    lots, seen = np.zeros(0), np.zeros((0, len(joint.parts)))
    for block in walk.blocks(range(edges.first, edges.last)):
        sized = block.with_area
        if not len(sized):
            continue
        scores = joint.scores(sized.sums)
        front = front.plus(joint.gains(scores), sized.keys)
        cells += len(sized)
        lots, seen = np.concatenate([lots, rng.random(len(sized))]), np.concatenate([seen, scores])
        if len(lots) > 2 * SAMPLE:
            lots, seen = _fewest(lots, seen)
    return _Visited(front, cells, *_fewest(lots, seen))


def _fewest(lots: Float64, seen: Float64) -> tuple[Float64, Float64]:
    """Return those with the lowest lots: a fair sample."""
    kept = np.sort(np.argsort(lots, kind="stable")[:SAMPLE])
    return lots[kept], seen[kept]


def plane_front(plane: Plane, *, seed: int = 0, threads: int = 1) -> Found:
    """Return the front of all cells of a plane's window that have an area."""
    joint = _joint(plane.problem)
    options = SurveyOptions(width=1.0, seed=seed, threads=threads)
    walk = Walk(plane.overlay, plane.overlay.face_values(plane.problem.stats), joint, options)
    units = edge_ranges(plane.overlay)
    with progress("edges walked", plane.overlay.edges.n_owners) as advance:
        engine = Serial() if threads == 1 else Threads(threads)

        def keep(number: int, _: _Visited) -> None:
            advance(units[number].last - units[number].first)

        parts = run_units(visit_cells, Shared(walk), units, engine=engine, keep=keep)
    front, cells = Archive.none(len(joint.parts), 2, np.int64), 0
    lots, seen = np.zeros(0), np.zeros((0, len(joint.parts)))
    for part in parts.values():
        front = front.plus(part.front.gains, part.front.places)
        cells += part.cells
        lots, seen = _fewest(np.concatenate([lots, part.lots]), np.concatenate([seen, part.seen]))
    found = list(plane.overlay.cells(front.places))
    position: Float64 = np.array([cell.position for cell in found]).reshape(-1, 2)
    places = {
        "x": position[:, 0],
        "y": position[:, 1],
        "radius": np.array([cell.radius for cell in found]),
        "area": np.array([cell.area for cell in found]),
    }
    stats = plane.problem.stats
    scores = joint.scores(np.array([stats[cell.selection].sum(axis=0) for cell in found]))
    return Found(scores, plane.subspace.weights(position), places, cells, seen)


def inner_front(problem: ListProblem, start: Float64, noise: Float64, *, starts: int, seed: int) -> Found:
    """Return a front from within all weights: the best of all intervals of exact line searches.

    Each search goes for another mix of the metrics in units of their noise, first each alone and all alike, then mixes
    drawn at random. Every second one begins at random weights. Other weights may beat the front.
    """
    rng, joint = make_rng(seed), _joint(problem)
    n = len(joint.parts)
    mixes = [*np.eye(n), np.full(n, 1.0 / n)]
    mixes += list(rng.dirichlet(np.ones(n), size=max(0, starts - len(mixes))))
    units = effect_units(problem.spread, start)
    search = _Search(problem, noise, Archive.none(n, problem.n_features), 0, np.zeros((0, n)))
    with progress("line searches", max(starts, 1)) as advance:
        for number, mix in enumerate(mixes[: max(starts, 1)]):
            begin = start if number % 2 == 0 else rng.standard_normal(len(start)) * units
            search.climb(begin, mix, rng)
            advance(1)
    scores = scores_at(problem, search.front.places)
    kept = pareto(joint.gains(scores))  # rounding may have moved a place beyond a breakpoint
    return Found(scores[kept], search.front.places[kept], {}, search.intervals, search.seen)


@dataclasses.dataclass
class _Search:
    """Exact line searches, and the front of all intervals that they saw."""

    problem: ListProblem
    noise: Float64
    front: Archive
    intervals: int
    seen: Float64

    def climb(self, weights: Float64, mix: Float64, rng: np.random.Generator) -> None:
        """Go to the best interval of one axis after another, until no axis has a better one."""
        axes = movable(self.problem)
        value = -np.inf
        for _ in range(MOST_SWEEPS):
            before = value
            for axis in axes.tolist():
                weights, value = self._line(weights, axis, mix, value, rng)
            if not value > before + 1e-9 * max(1.0, abs(value)):
                return

    def _line(
        self, weights: Float64, axis: int, mix: Float64, value: float, rng: np.random.Generator
    ) -> tuple[Float64, float]:
        direction = np.zeros(len(weights))
        direction[axis] = 1.0
        found = _Intervals.of(self.problem, weights, direction, (-np.inf, np.inf))
        self.intervals += len(found.scores)
        wide = found.places[:, 1] - found.places[:, 0] > NARROW * reach_of(weights, direction)
        found = _Intervals(*(part[wide] for part in found))
        if len(self.seen) < SAMPLE:
            drawn = rng.permutation(len(found.scores))[: max(8, SAMPLE // 200)]
            self.seen = np.concatenate([self.seen, found.scores[drawn]])
        widths = np.minimum(found.places[:, 1] - found.places[:, 0], LONGEST)
        known = Archive.none(len(mix), 1).plus(found.gains, found.places[:, 2:], widths)
        self.front = self.front.plus(known.gains, weights + known.places * direction)
        worth = (found.gains / self.noise) @ mix
        best = int(np.argmax(worth))
        if not worth[best] > value + 1e-9 * max(1.0, abs(worth[best])):
            return weights, value
        return weights + found.places[best, 2] * direction, float(worth[best])


def _joint(problem: ListProblem) -> Joint:
    assert isinstance(problem.metric, Joint)
    return problem.metric
