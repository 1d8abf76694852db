"""Language models and their perplexities as tables."""

from __future__ import annotations

from typing import Any

from luthier.lm.estimate import Estimate
from luthier.lm.perplexity import Perplexity
from luthier.report.console import table


def estimate_table(made: Estimate, path: str) -> Any:
    """Return a table of what an estimated model, written to `path`, has, order by order."""
    rows = [
        (n, count, pruned, *(f"{value:.4f}" for value in own.values), "" if own.estimated else "fallback")
        for n, (count, pruned, own) in enumerate(zip(made.model.counts, made.pruned, made.discounts, strict=True), 1)
    ]
    return table(
        f"language model of {made.n_sentences:,} sentences, {made.n_words:,} words",
        ("order", "n-grams", "pruned", "D1", "D2", "D3+", ""),
        rows,
        caption=f"written to {path}",
    )


def perplexity_table(found: Perplexity) -> Any:
    """Return a table of a text's perplexity."""

    def shown(value: float | None) -> str:
        return "beyond any number" if value is None else f"{value:.4f}"

    rows = [
        ("sentences", f"{found.n_sentences:,}"),
        ("words", f"{found.n_words:,}"),
        ("unknown words", f"{found.n_unknown:,}"),
        ("log10 probability", f"{found.log10_prob:.4f}"),
        ("perplexity", shown(found.with_unknown)),
        ("perplexity without unknown words", shown(found.without_unknown)),
    ]
    return table("perplexity, ends of sentences counted", ("of the text", "value"), rows)
