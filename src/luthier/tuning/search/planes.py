"""Steps of a search over planes and spaces: to the best cell, if a re-rank there keeps what it promises."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Float64
from luthier.geometry.subspace import Subspace
from luthier.landscape.gains import slack
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.nearby import Nearby
from luthier.landscape.planes.best_cells import best_cells
from luthier.landscape.planes.scored_cells import ScoredCell
from luthier.landscape.spaces import best_visited
from luthier.tuning.base import State
from luthier.tuning.search.line_search import kept_promise


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
        best = kept_promise(problem, here if best is None else best, _states(problem, plane, cells, name)) or best
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
    return kept_promise(problem, here, _states(problem, space, cells, name))


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
