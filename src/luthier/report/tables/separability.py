"""What features can tell apart: a row for each model, and the wishes that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.landscape.selections.separability import Model, Report
from luthier.report.console import stack, table

MOST_WISHES = 8


def separability_tables(models: Sequence[Model]) -> Any:
    """Return oracles and pairs of every model, then the proofs against them."""
    rows = [_row(model, "oracles", model.oracle, None) for model in models]
    rows += [_row(model, "pairs", model.pairs, model.misordered) for model in models]
    verdicts = table(
        "separable",
        ("model", "features", "wishes", "how many", "sentences, each alone", "in conflict", "all together",
         "in conflict", "misordered"),
        rows,
        caption="A wish: one hypothesis beats another. In conflict: all weights that go against no wish leave it\n"
        "tied. Misordered: by a logistic fit. Verdicts were proved, and the proofs checked in exact arithmetic.",
    )  # fmt: skip
    return stack(verdicts, *filter(None, (_proof(model) for model in models)))


def _row(model: Model, kind: str, report: Report, misordered: float | None) -> tuple[Any, ...]:
    alone, together = report.alone, report.together
    return (
        model.name, model.pool.n_features, kind, len(report.wishes), f"{int(alone.sum())} of {len(alone)}",
        _percent(report.conflicts_alone.mean() if len(report.wishes) else 0.0),
        "separable" if together.separable else "not separable",
        _percent(together.conflicts.mean() if len(report.wishes) else 0.0),
        None if misordered is None else _percent(misordered),
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _proof(model: Model) -> Any:
    """Return a contradiction among the model's pairs; None if there is none."""
    contradiction = model.pairs.together.contradiction
    if contradiction is None:
        return None
    wishes = contradiction.as_dict(model.pool)
    return table(
        f"{model.name}: {len(wishes)} pairs that contradict each other",
        ("sentence", "better", "worse", "multiplier"),
        [(w["sentence"], w["better"], w["worse"], f"{w['multiplier']:.4g}") for w in wishes[:MOST_WISHES]],
        caption=f"{len(wishes) - MOST_WISHES} more are in the JSON output" if len(wishes) > MOST_WISHES else "",
    )
