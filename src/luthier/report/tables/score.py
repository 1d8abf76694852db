"""Scores and oracles as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from luthier.metrics.oracle import Oracle
from luthier.report.console import decimals_for, stack, table


def score_table(rows: Sequence[tuple[str, Mapping[str, float]]], signatures: Mapping[str, str]) -> Any:
    """Return a table of files × metrics; `signatures` maps each metric's label to what it is quoted with."""
    return table(
        "scores, 0 to 100",
        ("translations", *signatures),
        [(path, *(f"{scores[key]:.2f}" for key in signatures)) for path, scores in rows],
        caption="\n".join(f"{label}: {signature}" for label, signature in signatures.items()),
    )


def oracle_table(results: Mapping[str, Sequence[Oracle]]) -> Any:
    """Return a table for each metric (by signature): selections, scores, passes of the greedy ones."""
    return stack(
        *(
            table(
                "what the lists hold",
                ("selection", "score", "after each pass"),
                [_oracle_row(row, decimals_for([oracle.score for oracle in rows])) for row in rows],
                caption=signature,
            )
            for signature, rows in results.items()
        )
    )


def _oracle_row(row: Oracle, digits: int) -> tuple[str, str, str]:
    passes = " → ".join(f"{score:.{digits}f}" for score in row.passes) if len(row.passes) > 1 else ""
    return row.selection, f"{row.score:.{digits}f}", passes
