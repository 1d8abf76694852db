"""A verdict on a selection: the weights that make it, or the wishes that contradict each other."""

from __future__ import annotations

import itertools
import math
from typing import Any

from luthier.geometry.lp.certificates import Feasible
from luthier.landscape.selections.feasibility import Verdict
from luthier.report.console import stack, table

WIDTH = 48
EXACT = "The proof was checked in exact arithmetic."
BEFORE = 2  # words shown before the first difference


def feasible_table(verdict: Verdict) -> Any:
    """Return the weights and what they reach."""
    proof, weights = verdict.proof, verdict.weights
    assert isinstance(proof, Feasible)  # the caller has looked
    assert weights is not None
    free = not math.isfinite(proof.margin)
    margin = "any" if free else f"{proof.margin:.6g}"
    told = "The weights that select it lie closer together than floats do: a re-rank with these does not select it all."
    if free:
        told = "Nothing has to be kept apart: any weights make this selection."
    elif verdict.selects:
        told = "Of all weights with |w| ≤ 1 these have the largest margin; a re-rank with them selects it."
    return stack(
        table(
            "feasible",
            ("selection", "sentences", "score", "margin"),
            [(verdict.choice.name, verdict.n_sentences, _score(verdict), margin)],
            caption="\n".join(["Some weights make this selection.", EXACT, *_metric(verdict)]),
        ),
        table("weights", ("feature", "weight"), list(weights.items()), caption=told),
    )


def infeasible_table(verdict: Verdict) -> Any:
    """Return the few wishes that no weights fulfil together."""
    wishes = []
    for wish in verdict.contradiction():
        texts = differing(wish.wanted_text, wish.other_text)
        wishes.append((wish.sentence, wish.wanted, texts[0], wish.other, texts[1], f"{wish.multiplier:.4g}"))
    return stack(
        table(
            "infeasible",
            ("selection", "sentences", "score"),
            [(verdict.choice.name, verdict.n_sentences, _score(verdict))],
            caption="\n".join(["No weights make this selection.", EXACT, *_metric(verdict)]),
        ),
        table(
            f"{len(wishes)} wishes that contradict each other",
            ("sentence", "wanted", "its text", "above", "its text", "multiplier"),
            wishes,
            caption="The differences of their features, times the multipliers, sum to zero, exactly: whatever the\n"
            "weights, so do the differences of their scores, and they cannot all be positive.",
        ),
    )


def differing(text: str, other: str) -> tuple[str, str]:
    """Return two texts shortened to a column, from shortly before the first word in which they differ.

    >>> differing("a b c d x e", "a b c d y")
    ('… c d x e', '… c d y')
    """
    words, others = text.split(), other.split()
    pairs = enumerate(itertools.zip_longest(words, others))
    first = max(next((i for i, (a, b) in pairs if a != b), 0) - BEFORE, 0)
    return _shorten(words, first), _shorten(others, first)


def _shorten(words: list[str], first: int) -> str:
    text = ("… " if first else "") + " ".join(words[first:])
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _score(verdict: Verdict) -> str | None:
    return None if verdict.choice.score is None else f"{verdict.choice.score:.2f}"


def _metric(verdict: Verdict) -> list[str]:
    return [] if verdict.choice.metric is None else [verdict.choice.metric]
