"""The demonstration's results as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from luthier.kbest.inspection import PoolSummary
from luthier.report.console import stack, table
from luthier.report.inspection_table import inspection_tables


def demo_tables(summary: PoolSummary, metric: str, rows: Sequence[Mapping[str, Any]], files: Sequence[str]) -> Any:
    """Return the pool's tables, the scores by weights, and the files written."""
    ordered = sorted(rows, key=lambda row: -row["score"])
    scores = table(
        "which weights select which translations",
        ("weights", "BLEU", "sentences where not the list's first is selected"),
        [(row["weights"], f"{row['score']:.2f}", row["not_first"]) for row in ordered],
        caption=f"metric: {metric}",
    )
    written = table("written", ("file",), [(name,) for name in files])
    return stack(inspection_tables(summary, 40), scores, written)
