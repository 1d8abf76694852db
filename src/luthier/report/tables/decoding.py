"""What a decoder did, as tables: a run, and one sentence cell by cell."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.text import Text

from luthier.decoding.summary import DecodingSummary
from luthier.decoding.trace import Trace
from luthier.report.console import table


def decoding_table(result: DecodingSummary) -> Any:
    """Return a table of a run, or of its trace."""
    if result.trace is not None:
        return trace_tables(result.trace)
    rows = [
        ("sentences", f"{result.sentences:,}"),
        ("source words", f"{result.words:,}"),
        ("hypotheses", f"{result.hypotheses:,}"),
        ("pops", f"{result.pops:,}"),
        ("seconds of search", f"{result.seconds:.2f}"),
    ]
    if result.output is not None:
        rows.append(("written to", result.output))
    return table("decoding", ("", ""), rows)


def trace_tables(trace: Trace) -> Any:
    """Return the cells of a chart with their best items, and the winning tree below them."""
    heads = ("cell", "source", "items", "edges", "score", "best item")
    rows = [
        (f"{c.label} {c.first}:{c.last}", c.source, f"{c.items:,}", f"{c.edges:,}", f"{c.score:.3f}", c.best)
        for c in trace.cells
    ]
    tree = "\n".join(f"{'  ' * line.depth}{line.first}:{line.last}  {line.rule}" for line in trace.tree)
    return Group(
        table("cells that a translation of the sentence uses", heads, rows), Text("the winning tree"), Text(tree)
    )
