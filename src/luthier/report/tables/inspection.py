"""A pool's summary as tables."""

from __future__ import annotations

from typing import Any

from luthier.kbest.inspection import FeatureSummary, PoolSummary
from luthier.report.console import cell, stack, table


def inspection_tables(summary: PoolSummary, most: int) -> Any:
    """Return a table of the lists and one of (at most `most`) features."""
    shown = summary.features[:most]
    caption = f"{summary.n_features - most:,} more features are not shown" if summary.n_features > most else ""
    features = table(
        f"{summary.n_features:,} features over {summary.n_hypotheses:,} hypotheses",
        ("feature", "stored", "kind", "lowest", "mean", "highest", "zeros", "remark"),
        [(f.name, f.storage, f.kind, f.low, f.mean, f.high, f"{f.zeros:.1%}", _remark(f)) for f in shown],
        caption=caption,
    )
    return stack(_lists(summary), features)


def _lists(summary: PoolSummary) -> Any:
    references = summary.n_references
    rows = [
        ("sentences", cell(summary.n_sentences)),
        ("  without hypotheses", cell(summary.n_empty)),
        ("hypotheses per sentence", _spread(summary.list_lengths)),
        ("words per hypothesis", _spread(summary.words)),
        ("repeated hypotheses", _share(summary.repeated_hypotheses, summary.n_hypotheses)),
        ("repeated texts", _share(summary.repeated_texts, summary.n_hypotheses)),
        ("references per sentence", f"{references['min']} to {references['max']}"),
        ("word types", cell(summary.vocabulary)),
        ("further columns", ", ".join(summary.columns) or "none"),
        ("groups of features", ", ".join(f"{name} ({n:,})" for name, n in summary.groups.items()) or "none"),
        ("statistics", ", ".join(summary.stats) or "none"),
        ("size", f"{summary.megabytes:,.1f} MB"),
    ]
    return table("lists", ("", ""), rows)


def _spread(values: dict[str, float]) -> str:
    return f"{values['min']:,} to {values['max']:,}, median {values['median']:,g}, mean {values['mean']:,.1f}"


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({part / whole:.1%})" if whole else "0"


def _remark(feature: FeatureSummary) -> str:
    if feature.constant:
        return "constant: cannot matter"
    if feature.constant_in_lists:
        return "the same within each list: cannot matter"
    return f"redundant: = {feature.relation} + a constant per sentence" if feature.relation else ""
