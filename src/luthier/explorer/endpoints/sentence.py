"""One sentence: its list, why the winner won, its derivation, its fan over two features."""

from __future__ import annotations

from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.explorer.endpoints.selection import reference_of
from luthier.explorer.sessions.request import CheckedRequest
from luthier.explorer.sessions.responses import Reply, finite, shown
from luthier.explorer.sessions.session import Session
from luthier.geometry.polytopes.fan import planar_fan
from luthier.landscape.selections.explanation import SentenceExplanation, explanation_of

MOST_LISTED, MOST_BARS, MOST_OVERTURNS, MOST_USES = 100, 40, 6, 400


def sentence(session: Session, asked: CheckedRequest) -> Reply:
    """Return how the hypotheses of a sentence stand at some weights."""
    problem, pool = session.problem, session.problem.pool
    number = asked.whole("sentence", low=0, high=pool.n_sentences - 1)
    count = asked.whole("count", low=1, high=MOST_LISTED, default=20)
    found = explanation_of(problem, asked.weights(session), number)
    places = list(range(min(count, len(found.rows))))
    places += [place for place in (found.second, found.oracle) if place is not None and place not in places]
    return Reply(
        {
            "sentence": number,
            "place": int(session.numbers[number]),
            "id": pool.sentence_ids[number],
            "source": "" if pool.sources is None else pool.sources[number],
            "references": [] if pool.references is None else pool.references.of(number),
            "hypotheses": len(found.rows),
            "rows": [_row(session, found, place) for place in places],
            "oracle": found.oracle,
            "second": found.second,
            "gap": None if found.gap is None else f"{found.gap:.5g}",
            "bars": _bars(found),
            "overturns": [
                {
                    "feature": item.feature,
                    "change": item.change,
                    "shown": f"{item.change:+.4g}".replace("-", "−"),
                    "text": pool.texts[item.row],
                }
                for item in found.overturns[:MOST_OVERTURNS]
            ],
            "derivation": _derivation(session, int(found.rows[0])),
        }
    )


def _row(session: Session, found: SentenceExplanation, place: int) -> dict[str, Any]:
    return {
        "place": place,
        "score": f"{found.scores[place]:.5g}",
        "metric": shown(float(found.metric_scores[place])),
        "text": session.problem.pool.texts[int(found.rows[place])],
    }


def _bars(found: SentenceExplanation) -> list[dict[str, Any]]:
    """Return w·h of the features that tell winner and second apart most."""
    parts = found.contributions
    apart = np.abs(parts[0] - parts[-1]) if len(parts) > 1 else np.abs(parts[0])
    order = np.lexsort((-np.abs(parts[0]), -apart))[:MOST_BARS]
    return [
        {
            "feature": int(d),
            "first": finite(parts[0, d]),
            "second": finite(parts[-1, d]) if len(parts) > 1 else None,
            "apart": f"{parts[0, d] - parts[-1, d]:+.4g}".replace("-", "−") if len(parts) > 1 else "",
        }
        for d in order.tolist()
        if parts[:, d].any()
    ]


def _derivation(session: Session, row: int) -> list[dict[str, Any]] | None:
    """Return the rules of a hypothesis, the upper before the lower, with depth, source words and local features."""
    found = session.problem.pool.derivations
    if found is None:
        return None
    first, last = int(found.offsets[row]), int(found.offsets[row + 1])
    uses: list[dict[str, Any]] = []
    depths: list[int] = []
    for use in range(first, min(last, first + MOST_USES)):
        rule = int(found.rules[use])
        parent = -1 if found.tree is None else int(found.tree.parents[use])
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        local = found.features.take([rule])
        entries = zip((local.n_dense + local.indices).tolist(), local.values.tolist(), strict=True)
        named = [*enumerate(local.dense[0].tolist()), *entries]
        uses.append(
            {
                "rule": found.texts[rule],
                "depth": depths[-1],
                "words": None if found.tree is None else found.tree.spans[use].tolist(),
                "features": [[local.names[d], value] for d, value in named if value],
            }
        )
    return uses


def fan(session: Session, asked: CheckedRequest) -> Reply:
    """Return which weights of two features alone select what, for one sentence: the cones of `luthier geometry fan`."""
    problem, pool = session.problem, session.problem.pool
    number = asked.whole("sentence", low=0, high=pool.n_sentences - 1)
    axes = asked.items("axes", most=2)
    if len(axes) != 2 or not all(type(a) is int and 0 <= a < problem.n_features for a in axes) or axes[0] == axes[1]:
        raise LuthierError("expected two different features as axes")
    weights = asked.weights(session)
    directions = np.zeros((2, problem.n_features))
    directions[[0, 1], axes] = 1.0
    start, stop = int(problem.offsets[number]), int(problem.offsets[number + 1])
    points = pool.features.take(np.arange(start, stop)).scores(directions).T
    found = planar_fan([np.ascontiguousarray(points)])
    rows = start + found.selections[:, 0]
    scores = problem.metric.sentence_score(problem.stats[rows])
    return Reply(
        {
            "names": [problem.names[axis] for axis in axes],
            "weights": weights[axes].tolist(),
            "cones": [
                {
                    "rays": found.rays(i).tolist(),
                    "text": pool.texts[int(row)],
                    "row": int(row) - start,
                    "score": finite(score),
                    "metric": shown(float(score)),
                }
                for i, (row, score) in enumerate(zip(rows.tolist(), scores.tolist(), strict=True))
            ],
            "reference": reference_of(session, number),
        }
    )
