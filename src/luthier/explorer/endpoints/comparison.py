"""Weights compared by `evaluation`: interval, p-value, and the sentences that differ most."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.tasks import Threads
from luthier.evaluation.comparison import Comparison, Settings, compare
from luthier.evaluation.ranking import most_different
from luthier.evaluation.systems import System, system_from_pool
from luthier.explorer.sessions.request import CheckedRequest
from luthier.explorer.sessions.responses import Reply, shown, signed
from luthier.explorer.sessions.session import Session
from luthier.landscape.list_problem import ListProblem
from luthier.report.tables.comparison import comparison_columns, comparison_rows

MOST_SYSTEMS, MOST_SENTENCES = 8, 50


def comparison(session: Session, asked: CheckedRequest) -> Reply:
    """Compare several weights with the first, as `luthier compare` does with files of them."""
    problem = session.problem
    vectors = asked.systems(session, "systems", most=MOST_SYSTEMS)
    names = [str(name)[:200] for name in asked.items("names", most=MOST_SYSTEMS)]
    if len(vectors) < 2 or len(names) != len(vectors) or len(set(names)) < len(names):
        raise LuthierError("expected two weight vectors or more, each with a name of its own")
    found, systems = _compared(session, problem, names, vectors)
    unseen = None if session.heldout is None else _compared(session, session.heldout, names, vectors)[0]
    different = most_different(systems, [], {problem.metric.name: problem.metric}, count=MOST_SENTENCES)
    return Reply(
        {
            "columns": comparison_columns(found),
            "rows": [row for part in found.metrics for row in comparison_rows(part)],
            "unseen_columns": [] if unseen is None else comparison_columns(unseen),
            "unseen_rows": [] if unseen is None else [row for part in unseen.metrics for row in comparison_rows(part)],
            "sentences": [
                {
                    "system": part.system,
                    "sentence": item.sentence,
                    "id": problem.pool.sentence_ids[item.sentence],
                    "shown": signed(item.difference),
                    "effect": f"{item.effect:+.3f}".replace("-", "−"),
                    "before": item.baseline_text,
                    "after": item.system_text,
                    "scores": [shown(item.baseline_score), shown(item.system_score)],
                }
                for part in different
                for item in part.sentences
            ],
        }
    )


def _compared(
    session: Session, problem: ListProblem, names: list[str], vectors: list[Float64]
) -> tuple[Comparison, list[System]]:
    """Return weights compared on the sentences of a problem, and the systems that they make of it."""
    metric = problem.metric
    systems = [
        system_from_pool(
            name, problem.pool, np.array(vector)[None], {metric.name: problem.stats}, threads=session.threads
        )
        for name, vector in zip(names, vectors, strict=True)
    ]
    found = compare(systems, {metric.name: metric}, Settings(seed=session.seed), engine=Threads(session.threads))
    return found, systems
