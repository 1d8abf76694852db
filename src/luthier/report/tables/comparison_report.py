"""A whole comparison for the terminal: the table in the form asked for, then the sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from luthier.evaluation.comparison import Comparison
from luthier.evaluation.ranking import DifferentSentences
from luthier.report.console import as_text, stack
from luthier.report.tables.comparison import (
    comparison_latex,
    comparison_markdown,
    comparison_text,
    sentences_text,
)


def comparison_report(
    comparison: Comparison, different: Sequence[DifferentSentences], form: str, decimals: int | None = None
) -> Any:
    """Return the table as text, markdown or latex, and the most different sentences below it.

    Without `decimals`, each metric has one digit behind the point, or three if its scores are between 0 and 1.
    """
    if form == "text":
        table = comparison_text(comparison, decimals=decimals)
    else:
        write = comparison_markdown if form == "markdown" else comparison_latex
        table = as_text(write(comparison, decimals=decimals))
    blocks = [
        as_text("\n" + sentences_text(item.metric, (item.baseline, item.system), item.sentences, decimals=decimals))
        for item in different
    ]
    return stack(table, *blocks)
