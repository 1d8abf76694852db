"""What an extraction gave, as a table."""

from __future__ import annotations

from typing import Any

from luthier.grammar.summary import Extracted
from luthier.report.console import table


def extraction_table(result: Extracted) -> Any:
    """Return a table of the sizes of a model and its grammar."""
    rows = [("sentence pairs", f"{result.pairs:,}")]
    if result.left_out is not None:
        rows.append(("left out, empty or too long", f"{result.left_out:,}"))
    if result.model is not None:
        rows.append(("model", result.model))
    if result.output is not None:
        rows += [
            ("sentences", f"{result.sentences:,}"),
            ("without a rule", f"{result.without_rules:,}"),
            ("source sides", f"{result.source_sides:,}"),
            ("rules", f"{result.rules:,}"),
            ("written to", result.output),
        ]
    if result.in_corpus is not None:
        rows.insert(-1, ("left out of the corpus", f"{result.in_corpus:,}"))
    return table("rules", ("", ""), rows)
