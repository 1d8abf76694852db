"""What re-ranking chose, as a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from luthier.kbest.reranking import Reranked
from luthier.report.console import table


def rerank_table(rows: Sequence[Reranked]) -> Any:
    """Return a table with one row for each vector of weights."""
    return table(
        "re-ranked",
        ("weights", "written to", "sentences", "not the list's first", "mean score", "mean words"),
        [dataclasses.astuple(row) for row in rows],
    )
