"""Scores of translation systems with their intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from luthier.evaluation.comparison import Comparison
from luthier.report.console import stack, table
from luthier.report.tables.comparison import comparison_text


def evaluation_tables(comparison: Comparison, intervals: Mapping[str, Mapping[str, tuple[float, float]]]) -> Any:
    """Return a row for each system and metric, and, where there are two systems, their difference."""
    rows = []
    for metric in comparison.metrics:
        for result in metric.results:
            low, high = intervals[result.system][metric.metric]
            rows.append((metric.metric, result.system, f"{result.mean:.2f}", f"{low:.2f}", f"{high:.2f}"))
    share = f"{100 * comparison.settings.confidence:g} % interval"
    signatures = "\n".join(metric.signature for metric in comparison.metrics)
    scores = table(
        f"{comparison.sentences:,} sentences", ("metric", "system", "score", share, ""), rows, caption=signatures
    )
    if len(comparison.systems) == 1:
        return scores
    return stack(scores, comparison_text(comparison, decimals=2))
