"""A whole comparison for the terminal: the table in the form asked for, then the sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from rich.text import Text

from luthier.evaluation.comparison import Comparison
from luthier.evaluation.ranking import SentenceDifference
from luthier.report.console import stack
from luthier.report.tables.comparison import (
    comparison_latex,
    comparison_markdown,
    comparison_text,
    sentences_text,
)


class Different(Protocol):
    """Sentences on which two systems differ most."""

    @property
    def metric(self) -> str: ...  # noqa: D102
    @property
    def baseline(self) -> str: ...  # noqa: D102
    @property
    def system(self) -> str: ...  # noqa: D102
    @property
    def sentences(self) -> Sequence[SentenceDifference]: ...  # noqa: D102


def comparison_report(comparison: Comparison, different: Sequence[Different], form: str, decimals: int) -> Any:
    """Return the table as text, markdown or latex, and the most different sentences below it."""
    if form == "text":
        table = comparison_text(comparison, decimals=decimals)
    else:
        write = comparison_markdown if form == "markdown" else comparison_latex
        table = Text(write(comparison, decimals=decimals))
    blocks = [
        Text("\n" + sentences_text(item.metric, (item.baseline, item.system), item.sentences, decimals=decimals))
        for item in different
    ]
    return stack(table, *blocks)
