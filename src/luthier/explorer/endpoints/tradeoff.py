"""The Pareto front of two metrics or three, as `luthier tradeoff` finds it: what one gains, another pays."""

from __future__ import annotations

import numpy as np

from luthier.core.errors import LuthierError
from luthier.explorer.endpoints.about import metrics_of
from luthier.explorer.sessions.request import LARGEST_NUMBER, CheckedRequest, changed_from_start
from luthier.explorer.sessions.responses import Reply, shown, signed
from luthier.explorer.sessions.session import Session
from luthier.jobs.tradeoff import tradeoff as find_front
from luthier.landscape.tradeoff.result import Tradeoff
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric

PLACES = ("all", "line", "plane")
STARTS, MOST_POINTS, MOST_SEEN, MOST_METRICS = 5, 500, 2000, 3


def tradeoff(session: Session, asked: CheckedRequest) -> Reply:
    """Return the front of some metrics about the weights: over all weights, along one, or over two; or one point."""
    weights = asked.weights(session)
    metrics = _metrics(session, asked)
    place = asked.choice("place", PLACES)
    axes = asked.items("axes", most=2)
    wanted = PLACES.index(place)
    if len(axes) != wanted or not all(type(a) is int and 0 <= a < session.problem.n_features for a in axes):
        raise LuthierError(f"expected the numbers of {wanted} features as axes")
    names = [session.problem.names[axis] for axis in axes]

    def make() -> Tradeoff:
        return find_front(
            session.problem.pool, metrics, axis=names, weights=weights, starts=STARTS,
            heldout=None if session.heldout is None else session.heldout.pool,
            seed=session.seed, threads=session.threads,
        )  # fmt: skip

    found = session.later(("tradeoff", weights.tobytes(), tuple(metrics), tuple(axes)), make)
    if found is None:
        return Reply({"waiting": True})
    if asked.has("point"):
        point = asked.whole("point", low=0, high=min(len(found.scores) - 1, LARGEST_NUMBER))
        return Reply({"point": point, "weights": changed_from_start(session, found.weights[point])})
    return _front(found)


def _metrics(session: Session, asked: CheckedRequest) -> list[str | Metric]:
    known = list(metrics_of(session).values())
    chosen = asked.items("metrics", most=MOST_METRICS)
    if not all(type(item) is int and 0 <= item < len(known) for item in chosen) or len({*chosen}) < max(2, len(chosen)):
        raise LuthierError(f"expected the numbers of two different metrics or three, from 0 to {len(known) - 1}")
    specs = [known[item] or session.problem.metric for item in chosen]
    for spec in specs:
        if isinstance(spec, str):
            load_metric(spec)
    return specs


def _front(found: Tradeoff) -> Reply:
    kept = np.linspace(0, len(found.scores) - 1, min(MOST_POINTS, len(found.scores))).astype(int).tolist()
    unseen, start = found.heldout_scores, found.start_scores
    return Reply(
        {
            "labels": list(found.labels),
            "higher": [part.higher_is_better for part in found.joint.parts],
            "exact": found.exact,
            "cells": found.cells,
            "front": len(found.scores),
            "start": start.tolist(),
            "mix": found.mix,
            "best": found.best,
            "points": [
                {
                    "point": i,
                    "scores": found.scores[i].tolist(),
                    "shown": [shown(score) for score in found.scores[i].tolist()],
                    "changes": [
                        signed(score - first, like=first)
                        for score, first in zip(found.scores[i].tolist(), start.tolist(), strict=True)
                    ],
                    "unseen": None if unseen is None else unseen[i].tolist(),
                    "unseen_shown": [] if unseen is None else [shown(score) for score in unseen[i].tolist()],
                }
                for i in kept
            ],
            "seen": found.seen[: MOST_SEEN].tolist(),
            "conflicts": [
                f"{item.first} and {item.second}: " + (
                    "no conflict, one point is the best for both" if item.points < 2 else
                    f"the best {item.second} costs {item.first_price:.2f} {item.first} ({item.first_noise:.1f} times "
                    f"its noise), the best {item.first} costs {item.second_price:.2f} {item.second} "
                    f"({item.second_noise:.1f} times)"
                )
                for item in found.conflicts
            ],
        }
    )  # fmt: skip
