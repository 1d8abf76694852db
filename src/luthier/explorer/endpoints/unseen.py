"""The same weights on held-out sentences: the score, its change with an interval, and the best single scorer there."""

from __future__ import annotations

import numpy as np

from luthier.evaluation.bootstrap import bootstrap_systems, difference_interval
from luthier.explorer.endpoints.request import CheckedRequest
from luthier.explorer.endpoints.responses import Reply, finite, shown, signed
from luthier.explorer.endpoints.session import Session
from luthier.tuning.validation.baselines import Choice, baselines

DRAWS = 1000


def unseen(session: Session, asked: CheckedRequest) -> Reply:
    """Return how weights do on sentences that nobody tuned on; nothing where the session has none."""
    problem = session.heldout
    if problem is None:
        return Reply({"sentences": 0})
    metric, weights = problem.metric, asked.weights(session)
    against = asked.whole("against", low=0, high=len(session.named) - 1, default=0)
    before, after = problem.selected(np.array([session.named[against].weights, weights]))
    scores = [float(metric.score(stats.sum(axis=0))) for stats in (before, after)]
    drawn = bootstrap_systems([before[None], after[None]], metric.score, draws=DRAWS, seed=session.seed)
    interval = difference_interval(*drawn, higher_is_better=metric.higher_is_better)
    single = session.kept(("alone",), lambda: _best_alone(session))
    worse = single is not None and float(metric.gain(np.array(scores[1] - single.score))) < 0
    return Reply(
        {
            "sentences": problem.n_sentences,
            "score": finite(scores[1]),
            "shown": shown(scores[1]),
            "change": signed(scores[1] - scores[0], like=scores[1]),
            "better": float(metric.gain(np.array(scores[1] - scores[0]))),
            "interval": [signed(end, like=scores[1]) for end in (interval.low, interval.high)],
            "warning": f"{single.name} has {shown(single.score)} there" if worse and single is not None else "",
        }
    )


def _best_alone(session: Session) -> Choice | None:
    """Return the scorer that is the best alone on the lists, with its score on the held-out ones."""
    assert session.heldout is not None
    found = baselines(session.problem)
    return None if found.best_alone is None else found.on(session.heldout).named(found.best_alone.name)
