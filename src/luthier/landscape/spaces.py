"""Cells of a space of three directions and more: visited one by one from the weights on, the best neighbours first.

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
from luthier.landscape.gains import TRIES
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.nearby import Nearby
from luthier.landscape.planes.scored_cells import ScoredCell
from luthier.metrics.pools import score_selections

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
