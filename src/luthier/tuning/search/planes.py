"""Steps of a search over planes and spaces: to the best cell, if a re-rank there keeps what it promises."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.progress import Advance, speaking
from luthier.geometry.lp.lp import largest_margin
from luthier.geometry.minkowski.reverse_search import ReverseSearch
from luthier.geometry.minkowski.summands import Summands
from luthier.geometry.plane.subdivision import Window
from luthier.geometry.subspace import Subspace
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.nearby import Nearby
from luthier.landscape.planes.best_cells import ScoredCell, best_cells
from luthier.landscape.planes.plane import Plane
from luthier.landscape.planes.surface import SurfaceOptions, look_at_plane
from luthier.landscape.problem import TRIES, movable, slack
from luthier.metrics.pools import score_selections
from luthier.tuning.base import State
from luthier.tuning.search.line_search import kept_gain

# Cells of a space of three directions and more: visited one by one from the weights on, the best neighbours first.
#
# The cells of ``w + Σ γ_i a_i`` are too many to be enumerated. They are the cones, cut at γ_0 = 1, of the vertices of
# the Minkowski sum of the lists seen from within the space [waite2015]; a reverse search walks over them from
# the cell of the weights, going on from the one with the highest gain [fukuda2004].

# How far the search's start is moved into the window where the weights stand on a bound, in windows.
OFF_BOUNDS = 1e-3


def best_visited(problem: ListProblem, near: Nearby, space: Subspace, *, visits: int, above: float) -> list[ScoredCell]:
    """Return the best few of at most `visits` cells within the reach of `near` whose gain is above a value."""
    limits = _limits(problem, space, near.reach / np.sqrt(space.n_axes))
    start = _start(limits)
    if start is None:
        return []

    def gains_of(rows: Int64) -> Float64:
        return problem.metric.gain(score_selections(near.stats, rows, problem.metric))

    gains, points = np.zeros(0), np.zeros((0, 1 + space.n_axes))
    with speaking(_no_display, lambda _: None):  # a space is a moment's work: no bars for each
        summands = Summands.of(near.offsets, near.features.scores(space.matrix).T)
        search = ReverseSearch(summands, start, limits=limits, order="best", score=gains_of)
        for block in search.run(visits):
            found = gains_of(summands.rows(block.selections)) if block.gains is None else block.gains
            gains = np.concatenate([gains, found])
            points = np.concatenate([points, block.points])
            best = np.argsort(-gains, kind="stable")[:TRIES]
            gains, points = gains[best], points[best]
    able = (gains > above) & (points[:, 0] > 0.0)
    positions = points[able, 1:] / points[able, :1]
    return [ScoredCell(*pair) for pair in zip(gains[able].tolist(), positions, strict=True)]


def _no_display(label: str, total: int | None) -> AbstractContextManager[Advance]:  # noqa: ARG001
    return nullcontext(lambda amount, note="": None)  # noqa: ARG005


def _limits(problem: ListProblem, space: Subspace, size: float) -> Float64:
    """Return the window |γ_i| ≤ size·γ_0, and bounds that cut it, as rows with ``rows·(γ_0, γ) ≤ 0``: (R, M+1)."""
    n = space.n_axes
    window = np.concatenate([np.eye(n), -np.eye(n)])
    rows = [np.column_stack([np.full(2 * n, -size), window])]
    reach = size * np.abs(space.directions).sum(axis=0)  # how far each weight may move
    for bound, sign in ((problem.bounds.low, -1.0), (problem.bounds.high, 1.0)):
        cutting = np.flatnonzero((reach > 0.0) & (sign * (space.start - bound) + reach > 0.0))
        ahead = (space.start - bound)[cutting, None]
        rows.append(sign * np.column_stack([ahead, space.directions[:, cutting].T]))
    return np.concatenate(rows)


def _start(limits: Float64) -> Float64 | None:
    """Return where the search begins: at γ = 0, or near it where that lies on a limit; None if nothing is inside."""
    origin = np.zeros(limits.shape[1])
    origin[0] = 1.0
    if np.all(limits @ origin < 0.0):
        return origin
    inside = largest_margin(limits, normalize=True)
    if not inside.margin > 0.0 or not inside.weights[0] > 0.0:
        return None
    start: Float64 = origin + OFF_BOUNDS * (inside.weights / inside.weights[0] - origin)
    return start


def search_plane(
    problem: ListProblem, here: State, near: Nearby, vectors: Float64, name: str, *, doublings: int
) -> State | None:
    """Return the best place of the plane through the weights along two vectors, (2, D), if it is better.

    The window is as large as `near` reaches. While its border cuts the best cell it is doubled, `doublings`
    times at most.
    """
    plane = near.subspace(vectors)
    if plane is None:
        return None
    best: State | None = None
    for k in range(doublings + 1):
        cells = best_cells(problem, near, plane, near.reach / np.sqrt(2.0), above=here.gain + slack(here.gain))
        best = kept_gain(problem, here if best is None else best, _states(problem, plane, cells, name)) or best
        if k == doublings or not cells or not cells[0].cut:
            break
        wider = Nearby.of(problem, near.weights, 2.0 * near.reach)
        near = dataclasses.replace(wider, units=near.units)
    return best


def search_space(
    problem: ListProblem, here: State, near: Nearby, vectors: Float64, name: str, *, visits: int
) -> State | None:
    """Return the best place found in the space through the weights along vectors, (M, D), if it is better.

    At most `visits` cells are visited, all within the reach of `near`. What is found is the best of those, not of
    the whole space, unless there are no more.
    """
    space = near.subspace(vectors)
    if space is None:
        return None
    cells = best_visited(problem, near, space, visits=visits, above=here.gain + slack(here.gain))
    return kept_gain(problem, here, _states(problem, space, cells, name))


def _states(problem: ListProblem, space: Subspace, cells: Sequence[ScoredCell], name: str) -> list[State]:
    """Return what cells promise: a step to their positions."""
    return [State(problem.bounds.clip(space.weights(cell.position)), cell.gain, name) for cell in cells]


def distinct_subsets(n: int, size: int, most: int, rng: np.random.Generator) -> list[list[int]]:
    """Return subsets of `size` of n things, each once: all of them if they are not more than `most`, else some drawn.

    >>> distinct_subsets(3, 2, 10, np.random.default_rng(0))
    [[0, 1], [0, 2], [1, 2]]
    """
    if math.comb(n, size) <= most:
        return [list(chosen) for chosen in itertools.combinations(range(n), size)]
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(rng.choice(n, size, replace=False).tolist())))
    return [list(chosen) for chosen in sorted(drawn)]


# Whole planes of weights, where no more than a plane can matter: searched to the proven optimum.
#
# With two free weights all choices are one plane. With three, and no other feature that counts, only the direction of
# the weights matters: either sign of one of them, with the other two anywhere, is every direction but those where it
# is 0, and these are borders of cells.

KEPT = 20  # cells of which the best that a re-rank confirms is the answer


def whole_planes(problem: ListProblem, start: Float64) -> list[Plane]:
    """Return the planes that hold every choice of the free weights, one or two; none where they do not suffice."""
    free = movable(problem)
    if len(free) == 2:
        return [_plane(problem, start, free)]
    others = np.ones(problem.n_features, dtype=np.bool_)
    others[free] = False
    if len(free) != 3 or np.any(others & (start != 0) & (problem.spread > 0)) or not _are_cones(problem, free):
        return []
    base = np.where(others, start, 0.0)
    size = abs(float(start[free[2]])) or 1.0
    planes = []
    for sign in (1.0, -1.0):
        if problem.bounds.low[free[2]] < sign * size < problem.bounds.high[free[2]]:
            here = base.copy()
            here[free[2]] = sign * size
            planes.append(_plane(problem, here, free[:2]))
    return planes


def _are_cones(problem: ListProblem, free: Int64) -> bool:
    """Return whether limits say no more than signs, so that a multiple of allowed weights is allowed."""
    ends = np.array([problem.bounds.low[free], problem.bounds.high[free]])
    return bool(np.all((ends == 0) | np.isinf(ends)))


def _plane(problem: ListProblem, start: Float64, free: Int64) -> Plane:
    axes = np.zeros((2, problem.n_features))
    axes[[0, 1], free] = 1.0
    names = tuple(problem.names[d] for d in free.tolist())
    low, high = problem.bounds.low[free] - start[free], problem.bounds.high[free] - start[free]
    window = Window(float(low[0]), float(high[0]), float(low[1]), float(high[1]))
    return Plane.make(problem, Subspace(start, axes, names), window)


def search_whole(problem: ListProblem, here: State, planes: list[Plane]) -> Iterator[State]:
    """Yield the best place of all cells of the planes, with the size of the proof."""
    cells, best = 0, here
    for plane in planes:
        report = look_at_plane(plane, SurfaceOptions(keep=KEPT, check=0))
        if report.survey.share < 1.0:
            raise KeyboardInterrupt
        cells += report.survey.cells
        name = " × ".join(plane.subspace.names)
        states = [
            State(
                problem.bounds.clip(plane.subspace.weights(cell.cell.position)),
                float(problem.metric.gain(np.array(cell.score))),
                f"plane {name}",
            )
            for cell in report.best
        ]
        best = kept_gain(problem, best, states) or best
    what = " × ".join(planes[0].subspace.names)
    both = " with either sign of the third weight" if len(planes) > 1 else ""
    yield dataclasses.replace(best, note=f"proven: the best of all {cells:,} cells of the plane {what}{both}")
