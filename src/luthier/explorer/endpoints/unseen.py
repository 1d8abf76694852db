"""What holds beyond the lists: the same weights on held-out sentences, what folds say of a step, and resamples.

Nothing here is computed during a drag: the page asks once the weights have come to rest, and what takes long is made in
the background, or read from what the run of the weights has left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.evaluation.bootstrap import bootstrap_scores, difference_interval
from luthier.explorer.endpoints.line import along, best_values
from luthier.explorer.endpoints.surface import plane_of
from luthier.explorer.sessions.folders import number_at, value_at
from luthier.explorer.sessions.request import CheckedRequest
from luthier.explorer.sessions.responses import Reply, finite, shown, signed
from luthier.explorer.sessions.session import Session
from luthier.landscape.lines.projection_cache import ProjectionCache
from luthier.landscape.lines.stability import SHARE, line_stability
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.planes.stability import plane_stability
from luthier.tuning.base import tuner
from luthier.tuning.validation.baselines import Choice, baselines
from luthier.tuning.validation.folds import folds_of
from luthier.tuning.validation.resampling import CONFIDENCE, resample_answer

DRAWS, FOLDS = 1000, 5
LINE_RESAMPLES, PLANE_RESAMPLES, WEIGHT_RESAMPLES = 100, 32, 40
EXACT_LINES = "mert"


def unseen(session: Session, asked: CheckedRequest) -> Reply:
    """Return how weights do on sentences that nobody tuned on: held-out ones, or folds where a run has left these."""
    problem = session.heldout
    against = asked.whole("against", low=0, high=len(session.named) - 1, default=0)
    weights = asked.weights(session)
    if problem is None:
        return Reply(_of_folds(session, weights))
    metric = problem.metric
    before, after = problem.selected(np.array([session.named[against].weights, weights]))
    scores = [float(metric.score(stats.sum(axis=0))) for stats in (before, after)]
    drawn = bootstrap_scores([before[None], after[None]], metric.score, draws=DRAWS, seed=session.seed)
    interval = difference_interval(*drawn, higher_is_better=metric.higher_is_better)
    return Reply(
        {
            "sentences": problem.n_sentences,
            "by": "held-out",
            "score": finite(scores[1]),
            "shown": shown(scores[1]),
            "change": signed(scores[1] - scores[0], like=scores[1]),
            "better": float(metric.gain(np.array(scores[1] - scores[0]))),
            "interval": [signed(end, like=scores[1]) for end in (interval.low, interval.high)],
            "warning": below_alone(session, scores[1]),
        }
    )


def below_alone(session: Session, score: float) -> str:
    """Say which single scorer is better on the held-out sentences; nothing where none is."""
    assert session.heldout is not None
    metric = session.heldout.metric
    single = session.kept(("alone",), lambda: _best_alone(session))
    if single is None or float(metric.gain(np.array(score - single.score))) >= 0:
        return ""
    return f"{single.name} has {shown(single.score)} there"


def _best_alone(session: Session) -> Choice | None:
    """Return the scorer that is the best alone on the lists, with its score on the held-out ones."""
    assert session.heldout is not None
    found = baselines(session.problem)
    return None if found.best_alone is None else found.on(session.heldout).named(found.best_alone.name)


def _of_folds(session: Session, weights: Float64) -> dict[str, Any]:
    """Return what folds came to when named weights were tuned; nothing at other weights, which no fold has made."""
    for item in session.named:
        score, before = (number_at(item.record, "unseen", key) for key in ("score", "before"))
        if score is None or before is None or not np.array_equal(item.weights, weights):
            continue
        if str(value_at(item.record, "signature")) != session.problem.metric.signature:
            continue
        ends = value_at(item.record, "unseen", "interval")
        ends = ends if isinstance(ends, list) and len(ends) == 2 else []
        interval = [signed(float(end), like=score) for end in ends if type(end) in (int, float)]
        metric, alone = session.problem.metric, number_at(item.record, "unseen", "alone", "score")
        worse = alone is not None and float(metric.gain(np.array(score - alone))) < 0
        name = str(value_at(item.record, "unseen", "alone", "name"))[:200]
        return {
            "sentences": int(number_at(item.record, "unseen", "sentences") or 0),
            "by": str(value_at(item.record, "unseen", "by"))[:40],
            "score": score,
            "shown": shown(score),
            "change": signed(score - before, like=score),
            "better": float(metric.gain(np.array(score - before))),
            "interval": interval,
            "warning": f"{name} has {shown(alone)} there" if worse and alone is not None else "",
        }
    return {"sentences": 0}


def promises(session: Session, asked: CheckedRequest) -> Reply:
    """Return what the best value of each weight alone gains on unseen sentences.

    With held-out lists that is the gain there of the value found on the lists. Without, the value is found on all folds
    but one, in turn, and counts on that one.
    """
    weights = asked.weights(session)
    key = "promises", weights.tobytes()
    found = session.later(key, lambda: _promises(session, weights))
    if found is None:
        return Reply({"waiting": True})
    score, gains = found
    metric = session.problem.metric
    return Reply(
        {
            "by": "held-out" if session.heldout is not None else f"{FOLDS} folds",
            "lines": [
                {
                    "feature": d,
                    "shown": signed(after - score, like=score),
                    "better": float(metric.gain(np.array(after - score))),
                }
                for d, after in gains
            ],
        }
    )


def _promises(session: Session, weights: Float64) -> tuple[float, list[tuple[int, float]]]:
    problem, metric = session.problem, session.problem.metric
    if session.heldout is not None:
        vectors, tried = _moved(session.sighted, session, weights)
        scores = [_score(session.heldout, own) for own in np.concatenate([weights[None], vectors])]
        return scores[0], list(zip(tried, scores[1:], strict=True))
    folds = folds_of(problem.pool, min(FOLDS, problem.n_sentences), seed=session.seed)
    here = problem.stats[problem.select(weights)].sum(axis=0)
    sums: dict[int, Any] = {}
    for fold in range(int(folds.max()) + 1):
        inside = folds == fold
        rest = ProjectionCache(problem.resampled((~inside).astype(np.int64)))
        vectors, tried = _moved(rest, session, weights)
        for d, own in zip(tried, vectors, strict=True):
            part = problem.stats[problem.select(own)[inside]].sum(axis=0)
            sums[d] = sums[d] + part if d in sums else part
    return float(metric.score(here)), [(d, float(metric.score(total))) for d, total in sums.items()]


def _moved(problem: ProjectionCache, session: Session, weights: Float64) -> tuple[Float64, list[int]]:
    """Return the weights with each of some at its best value alone, (n, D), and which."""
    found = best_values(problem, session, weights)
    vectors = np.tile(weights, (len(found), 1))
    for own, item in zip(vectors, found, strict=True):
        own[item.feature] += item.position if item.gain > 0 else 0.0
    return vectors, [item.feature for item in found]


def _score(problem: ListProblem, weights: Float64) -> float:
    return float(problem.metric.score(problem.stats[problem.select(weights)].sum(axis=0)))


def intervals(session: Session, asked: CheckedRequest) -> Reply:
    """Return the resampled interval of each of the named weights: what their run has left, or made in background."""
    base = asked.whole("base", low=0, high=len(session.named) - 1, default=0)
    item, names = session.named[base], session.problem.names
    written = value_at(item.record, "resampled")
    if isinstance(written, dict):
        pairs = [_pair(written.get(name)) for name in names]
        if any(pair is not None for pair in pairs):
            return Reply({"base": base, "by": "the run's own resamples", "ends": pairs})
    if session.problem.n_sentences < 2:
        return Reply({"base": base, "by": "", "ends": []})

    def make() -> Float64:
        found = resample_answer(
            session.problem, tuner(EXACT_LINES), item.weights, draws=WEIGHT_RESAMPLES, seed=session.seed
        )
        return found.intervals

    made = session.later(("intervals", base), make)
    if made is None:
        return Reply({"waiting": True, "base": base})
    told = f"{WEIGHT_RESAMPLES} resamples, {CONFIDENCE:.0%}"
    return Reply({"base": base, "by": told, "ends": [_pair(pair) for pair in made.tolist()]})


def _pair(ends: Any) -> list[float] | None:
    if not isinstance(ends, Sequence) or len(ends) != 2 or not all(type(end) in (int, float) for end in ends):
        return None
    return [float(end) for end in ends] if all(np.isfinite(ends)) else None


def region(session: Session, asked: CheckedRequest) -> Reply:
    """Return where the best place of a line, or of a plane's window, is on resamples of the sentences."""
    if session.problem.n_sentences < 2:
        return Reply({"waiting": False, "share": ""})
    if asked.has("axis"):
        return _line_region(session, asked)
    plane, window = plane_of(session, asked)
    key = "region", plane.subspace.matrix.tobytes(), window
    seed, threads = session.seed, session.threads
    found = session.later(key, lambda: plane_stability(plane, resamples=PLANE_RESAMPLES, seed=seed, threads=threads))
    if found is None:
        return Reply({"waiting": True})
    told = {"share": f"{SHARE:.0%} of {PLANE_RESAMPLES} resamples", "centre": found.centre.tolist()}
    return Reply({**told, "axes": found.axes.tolist(), "places": found.position.tolist()})


def _line_region(session: Session, asked: CheckedRequest) -> Reply:
    weights = asked.weights(session)
    axis = asked.whole("axis", low=0, high=session.problem.n_features - 1)
    line = along(session, weights, axis)
    key = "line region", line.matrix.tobytes()
    seed = session.seed
    found = session.later(key, lambda: line_stability(session.problem, line, resamples=LINE_RESAMPLES, seed=seed))
    if found is None:
        return Reply({"waiting": True})
    ends = [finite(end + float(weights[axis])) for end in found.region]
    return Reply({"axis": axis, "region": ends, "share": f"{SHARE:.0%} of {LINE_RESAMPLES} resamples"})
