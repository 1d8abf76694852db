"""What the page needs to begin: the lists, the metric, every feature, the weights by name."""

from __future__ import annotations

from typing import Any

from luthier import __version__
from luthier.core.plugins import available
from luthier.explorer.sessions.folders import value_at
from luthier.explorer.sessions.request import CheckedRequest
from luthier.explorer.sessions.responses import Reply, finite, shown, signed
from luthier.explorer.sessions.session import Session
from luthier.kbest.inspect import FeatureSummary
from luthier.landscape.planes.plane import WINDOW_REACH
from luthier.metrics.loading import PACKAGE


def about(session: Session, asked: CheckedRequest | None = None) -> Reply:  # noqa: ARG001
    """Return what there is."""
    problem, pool = session.problem, session.problem.pool
    first = session.scores[0]
    return Reply(
        {
            "version": __version__,
            "title": session.title,
            "lists": {
                "sentences": pool.n_sentences,
                "hypotheses": pool.n_hypotheses,
                "features": pool.n_features,
                "left_out": session.n_left_out,
                "unseen": 0 if session.heldout is None else session.heldout.n_sentences,
                "references": pool.references is not None,
                "sources": pool.sources is not None,
                "derivations": pool.derivations is not None,
            },
            "metric": {
                "name": problem.metric.name,
                "signature": problem.metric.signature,
                "higher_is_better": bool(problem.metric.higher_is_better),
            },
            "named": [
                {"name": item.name, "score": score, "shown": shown(score), "change": signed(score - first, like=first)}
                for item, score in zip(session.named, session.scores, strict=True)
            ],
            "features": [_feature(session, d, summary) for d, summary in enumerate(session.features)],
            "weights": [item.weights.tolist() for item in session.named],
            "traces": list(session.traces),
            "unseen": session.heldout is not None or any(value_at(own.record, "unseen") for own in session.named),
            "curves": session.bins is not None or bool(pool.features.groups),
            "metrics": list(metrics_of(session)),
            "seed": session.seed,
        }
    )


def metrics_of(session: Session) -> dict[str, str]:
    """Return the metrics that these lists can be scored by, by their labels: the session's own first."""
    pool, own = session.problem.pool, session.problem.metric
    found = {own.label: ""}
    if pool.references is not None:
        found |= {name: name for name in available(PACKAGE) if name not in ("column", own.name)}
    return found | {f"column:{name}": f"column:{name}" for name in pool.columns if f"column:{name}" != own.label}


def _feature(session: Session, d: int, summary: FeatureSummary) -> dict[str, Any]:
    unit, start = float(session.units[d]), float(session.start[d])
    return {
        "name": summary.name,
        "unit": unit,
        "low": finite(start - WINDOW_REACH * unit),
        "high": finite(start + WINDOW_REACH * unit),
        "unused": _unused(summary, unit),
        "range": [summary.low, summary.high],
    }


def _unused(summary: FeatureSummary, unit: float) -> str:
    """Return why a weight needs no attention; empty where it does."""
    if summary.constant:
        return "the same value everywhere: its weight changes nothing"
    if summary.constant_in_lists or not unit:
        return "the same value within every list: its weight changes nothing"
    if summary.relation:
        return f"redundant: it is {summary.relation}, up to a constant in each list"
    return ""
