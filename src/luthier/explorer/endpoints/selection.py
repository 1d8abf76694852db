"""The metric at given weights, and the sentences that change."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.explorer.sessions.request import CheckedRequest
from luthier.explorer.sessions.responses import Reply, finite, shown, signed, signed_all
from luthier.explorer.sessions.session import Session
from luthier.landscape.selections.explanation import Changes, Order, changes_between

ORDERS = ("worst", "best", "sentence")
MOST_ROWS = 200


def select(session: Session, asked: CheckedRequest) -> Reply:
    """Return the score at weights, what it gains against every named one, and a stretch of the changed sentences."""
    weights = asked.weights(session)
    rows = session.sighted.select(weights)
    score = session.score_of(rows)
    against = asked.whole("against", low=0, high=len(session.named) - 1, default=0)
    found = changes_between(session.problem, session.selections[against], rows)
    order = found.ordered(cast(Order, asked.choice("order", ORDERS)))
    order = order[_wanted(session, found, order, asked.part("filter"))]
    first = asked.whole("first", low=0, high=2**40, default=0)
    count = asked.whole("count", low=0, high=MOST_ROWS, default=50)
    return Reply(
        {
            "score": finite(score),
            "shown": shown(score),
            "changes": [signed(score - other, like=score) for other in session.scores],
            "better": [float(session.problem.metric.gain(np.array(score - other))) for other in session.scores],
            "changed": len(found),
            "listed": len(order),
            "first": first,
            "rows": _rows(session, found, order[first : first + count]),
        }
    )


def _rows(session: Session, found: Changes, places: Int64) -> list[dict[str, Any]]:
    pool, sentences, gains = session.problem.pool, found.sentences[places].tolist(), found.gains[places].tolist()
    texts = pool.texts.strings(np.concatenate([found.before[places], found.after[places]]))
    return [
        {
            "sentence": sentence,
            "id": pool.sentence_ids[sentence],
            "gain": gain,
            "shown": change,
            "before": texts[i],
            "after": texts[len(places) + i],
            "reference": reference_of(session, sentence),
        }
        for i, (sentence, gain, change) in enumerate(
            zip(sentences, gains, signed_all(gains, like=session.scores[0]), strict=True)
        )
    ]


def reference_of(session: Session, sentence: int) -> str:
    """Return the first reference of a sentence, empty where it has none."""
    references = session.problem.pool.references
    found = [] if references is None else references.of(sentence)
    return found[0] if found else ""


def _wanted(session: Session, found: Changes, order: Int64, filters: CheckedRequest) -> Int64:
    """Return which places of an order pass the filters: a text, words from – to, a least change of the gain."""
    pool, keep = session.problem.pool, np.ones(len(order), dtype=np.bool_)
    if filters.has("words_low") or filters.has("words_high"):
        words = pool.tokens.lengths[found.after[order]]
        low, high = filters.number("words_low", 0.0), filters.number("words_high", 1e9)
        keep &= (words >= low) & (words <= high)
    if filters.has("least"):
        sizes: Float64 = np.abs(found.gains[order])
        keep &= sizes >= filters.number("least")
    wanted = filters.text("text").casefold()
    if wanted:
        for i in np.flatnonzero(keep).tolist():
            place = int(order[i])
            keep[i] = any(wanted in text.casefold() for text in _texts(session, found, place))
    return np.flatnonzero(keep)


def _texts(session: Session, found: Changes, place: int) -> list[str]:
    pool, sentence = session.problem.pool, int(found.sentences[place])
    rows = int(found.before[place]), int(found.after[place])
    source = [] if pool.sources is None else [pool.sources[sentence]]
    return [pool.sentence_ids[sentence], *(pool.texts[row] for row in rows), reference_of(session, sentence), *source]
