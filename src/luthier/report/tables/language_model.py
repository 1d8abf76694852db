"""Language models and their perplexities as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from luthier.report.console import table


def estimate_table(result: Mapping[str, Any]) -> Any:
    """Return a table of what an estimated model has, order by order."""
    rows = [
        (
            row["order"], row["ngrams"], row["pruned"], *(f"{value:.4f}" for value in row["discounts"]),
            "" if row["estimated"] else "fallback",
        )
        for row in result["orders"]
    ]  # fmt: skip
    return table(
        f"language model of {result['sentences']:,} sentences, {result['words']:,} words",
        ("order", "n-grams", "pruned", "D1", "D2", "D3+", ""),
        rows,
        caption=f"written to {result['path']}",
    )


def perplexity_table(result: Mapping[str, Any]) -> Any:
    """Return a table of a text's perplexity."""

    def shown(value: float | None) -> str:
        return "beyond any number" if value is None else f"{value:.4f}"

    rows = [
        ("sentences", f"{result['n_sentences']:,}"),
        ("words", f"{result['n_words']:,}"),
        ("unknown words", f"{result['n_unknown']:,}"),
        ("log10 probability", f"{result['log10_prob']:.4f}"),
        ("perplexity", shown(result["with_unknown"])),
        ("perplexity without unknown words", shown(result["without_unknown"])),
    ]
    return table("perplexity, ends of sentences counted", ("of the text", "value"), rows)
