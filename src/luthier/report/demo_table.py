"""The demonstration's results as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from luthier.kbest.inspection import PoolSummary
from luthier.report.console import stack, table
from luthier.report.inspection_table import inspection_tables


class DemoLike(Protocol):
    """What the tables need of a demonstration."""

    summary_of_pool: PoolSummary
    metric: str
    rows: list[dict[str, Any]]
    files: Sequence[str]


def demo_tables(result: DemoLike) -> Any:
    """Return the pool's tables, the scores by weights, and the files."""
    ordered = sorted(result.rows, key=lambda row: -row["score"])
    scores = table(
        "which weights select which translations",
        ("weights", "BLEU", "sentences where not the list's first is selected"),
        [(row["weights"], f"{row['score']:.2f}", row["not_first"]) for row in ordered],
        caption=f"metric: {result.metric}",
    )
    files = table("written", ("file",), [(name,) for name in result.files])
    return stack(inspection_tables(result.summary_of_pool, 40), scores, files)
