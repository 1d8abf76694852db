"""The exact curve along one weight."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.explorer.sessions.request import CheckedRequest
from luthier.explorer.sessions.responses import Reply, finite, shown, signed
from luthier.explorer.sessions.session import Session
from luthier.geometry.subspace import Subspace
from luthier.landscape.lines.coordinate_gains import CoordinateGain, coordinate_gains
from luthier.landscape.lines.line_report import Interval, see_line
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.report.console import decimals_for

MOST_LINES = 64  # features with the largest effect


def line(session: Session, asked: CheckedRequest) -> Reply:
    """Return every step of the curve along a feature, within a window of what is added to its weight."""
    weights = asked.weights(session)
    axis = asked.whole("axis", low=0, high=session.problem.n_features - 1)
    low, high = asked.window("window", 1) or (-np.inf, np.inf)
    report = see_line(session.sighted, along(session, weights, axis), (low, high))
    best = report.optimum
    return Reply(
        {
            "axis": axis,
            "origin": float(weights[axis]),
            "intervals": len(report.scores),
            "start": report.start_score,
            "start_shown": shown(report.start_score),
            "decimals": decimals_for([report.start_score]),
            "best": {
                **best.as_dict(float(weights[axis])),
                "shown": shown(best.score),
                "shown_exact": f"{best.score:.4f}",
                "width_shown": _width(best),
            },
            "low": finite(float(report.low[0])),
            "high": finite(float(report.high[-1])),
        },
        {"steps": report.low[1:], "scores": report.scores},
    )


def lines(session: Session, asked: CheckedRequest) -> Reply:
    """Return what the best value of each weight alone would gain, and the feature with the most to gain."""
    problem, weights = session.problem, asked.weights(session)
    found = best_values(session.sighted, session, weights)
    most = max(found, key=lambda item: item.gain, default=None)
    sign = float(problem.metric.gain(np.array(1.0)))
    return Reply(
        {
            "lines": [
                {
                    "feature": item.feature,
                    "value": float(weights[item.feature]) + item.position,
                    "gain": item.gain,
                    "shown": signed(sign * item.gain, like=item.best),
                    "score_shown": shown(sign * item.best),
                }
                for item in found
            ],
            "most": most.feature if most is not None and most.gain > 0 else None,
        }
    )


def best_values(problem: ProjectionCache, session: Session, weights: Float64) -> list[CoordinateGain]:
    """Return the best place along each of the features with the largest effect, by the sentences of a problem."""
    usable = np.flatnonzero(session.units > 0)
    effects = np.abs(weights[usable]) * session.problem.spread[usable]
    tried = np.sort(usable[np.argsort(-effects, kind="stable")[:MOST_LINES]])
    return coordinate_gains(problem, weights, tried)


def along(session: Session, weights: Float64, axis: int) -> Subspace:
    """Return the line along a feature."""
    direction = np.zeros(len(weights))
    direction[axis] = 1.0
    return Subspace(weights, direction[None], (session.problem.names[axis],))


def _width(best: Interval) -> str:
    return f"{best.width:.2g}" if np.isfinite(best.width) else "without end"
