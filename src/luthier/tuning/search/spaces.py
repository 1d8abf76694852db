"""Search of a space of three directions and more: cell by cell from the weights on, the best neighbours first.

The cells of ``w + Σ γ_i a_i`` are too many to be enumerated. They are the cones, cut at γ_0 = 1, of the vertices of
the Minkowski sum of the lists seen from within the space [waite2015]; a reverse search walks over them from
the cell of the weights, going on from the one with the highest gain [fukuda2004].
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.progress import Advance, speaking
from luthier.geometry.lp.lp import largest_margin
from luthier.geometry.subspace import Subspace
from luthier.geometry.sums.reverse_search import ReverseSearch
from luthier.geometry.sums.summands import Summands
from luthier.landscape.gains import TRIES, slack
from luthier.landscape.list_problem import ListProblem
from luthier.metrics.pools import score_selections
from luthier.tuning.base import State
from luthier.tuning.search.line_search import kept_promise
from luthier.tuning.search.planes import Nearby

# How far the search's start is moved into the window where the weights stand on a bound, in windows.
OFF_BOUNDS = 1e-3


def search_space(problem: ListProblem, near: Nearby, vectors: Float64, name: str, *, cells: int) -> State | None:
    """Return the best place found in the space through the weights along vectors, (M, D), if it is better.

    At most `cells` cells are visited, all within the reach of `near`. What is found is the best of those, not of
    the whole space, unless there are no more.
    """
    space = near.subspace(vectors)
    if space is None:
        return None
    limits = _limits(problem, space, near.reach / np.sqrt(len(vectors)))
    start = _start(limits)
    if start is None:
        return None

    def gains_of(rows: Int64) -> Float64:
        return problem.metric.gain(score_selections(near.stats, rows, problem.metric))

    above = near.here.gain + slack(near.here.gain)
    gains, points = np.zeros(0), np.zeros((0, 1 + len(vectors)))
    with speaking(_no_display, lambda _: None):  # a space is a moment's work: no bars for each
        summands = Summands.of(near.offsets, near.features.scores(space.matrix).T)
        search = ReverseSearch(summands, start, limits=limits, order="best", score=gains_of)
        for block in search.run(cells):
            found = gains_of(summands.rows(block.selections)) if block.gains is None else block.gains
            gains = np.concatenate([gains, found])
            points = np.concatenate([points, block.points])
            best = np.argsort(-gains, kind="stable")[:TRIES]
            gains, points = gains[best], points[best]
    able = (gains > above) & (points[:, 0] > 0.0)
    weights = problem.bounds.clip(space.weights(points[able, 1:] / points[able, :1]))
    promised = [State(*pair, name) for pair in zip(weights, gains[able].tolist(), strict=True)]
    return kept_promise(problem, near.here, promised)


def _no_display(label: str, total: int | None) -> AbstractContextManager[Advance]:  # noqa: ARG001
    return nullcontext(lambda _: None)


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
