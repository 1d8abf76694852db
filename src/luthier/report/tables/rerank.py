"""What re-ranking chose, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.report.console import table


def rerank_table(rows: Sequence[dict[str, Any]]) -> Any:
    """Return a table with one row for each vector of weights."""
    return table(
        "re-ranked",
        ("weights", "written to", "sentences", "not the list's first", "mean score", "mean words"),
        [(r["weights"], r["output"], r["sentences"], r["not_first"], r["mean_score"], r["mean_words"]) for r in rows],
    )
