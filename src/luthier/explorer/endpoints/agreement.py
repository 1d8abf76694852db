"""Which other hypotheses of a list agree with its winner, and how far its list agrees with it as a whole."""

from __future__ import annotations

import numpy as np

from luthier.corpus.texts import Texts
from luthier.explorer.sessions.request import CheckedRequest
from luthier.explorer.sessions.responses import Reply, shown
from luthier.explorer.sessions.session import Session
from luthier.features.consensus.mbr import expected_utilities
from luthier.features.consensus.utilities import Utility
from luthier.landscape.selections.explanation import explanation_of
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric

UTILITY, MOST_AGREEING, MOST_PAIRS = "chrf", 8, 2000


def agreement(session: Session, asked: CheckedRequest) -> Reply:
    """Return the texts of a list that are closest to its winner, and its place by minimum Bayes risk."""
    pool = session.problem.pool
    number = asked.whole("sentence", low=0, high=pool.n_sentences - 1)
    found = explanation_of(session.problem, asked.weights(session), number)
    texts = [pool.texts[int(row)] for row in found.rows]
    others = [place for place in range(1, len(texts)) if texts[place] != texts[0]]
    others = list({texts[place]: place for place in reversed(others)}.values())[::-1]
    reply: dict[str, object] = {"sentence": number, "utility": UTILITY, "others": len(others)}
    if not others:
        return Reply({**reply, "rows": [], "rank": None})
    winner, evidence = Texts.from_strings([texts[0]] * len(others)), Texts.from_strings(texts[p] for p in others)
    ends = np.arange(len(others) + 1)
    metric = load_metric(UTILITY)
    scores = metric.sentence_score(metric.stats(Batch(winner, ends, evidence, ends)))
    order = np.argsort(-scores, kind="stable")
    rows = [
        {"place": others[i], "shown": shown(float(scores[i])), "text": texts[others[i]]}
        for i in order[:MOST_AGREEING].tolist()
    ]
    reply |= {"rows": rows, "mean": shown(float(scores.mean())), "rank": None}
    if len(texts) <= MOST_PAIRS:  # each text of the list against all others
        own = expected_utilities(pool.take_sentences(np.array([number])), [Utility.of(metric)])[0, :, 0]
        first = int(found.rows[0] - session.problem.offsets[number])
        reply |= {"rank": int(np.count_nonzero(own > own[first])) + 1, "of": len(texts)}
        reply["expected"] = shown(float(own[first]))
    return Reply(reply)
