"""How well a model expects a text."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.lm.model import SentenceScores


@dataclasses.dataclass(frozen=True)
class Perplexity:
    """10 to the mean of −log10 p over words and ends of sentences; of none, None.

    `with_unknown` counts all words; `without_unknown` leaves those out that the model does not know (they
    still stand in the contexts of others).
    """

    n_sentences: int
    n_words: int
    n_unknown: int
    log10_prob: float
    with_unknown: float | None
    without_unknown: float | None


def perplexity(scores: SentenceScores) -> Perplexity:
    """Return the perplexity of a text from the scores of its words."""
    n_sentences = len(scores.offsets) - 1
    known = scores.probs[~scores.unknown]
    return Perplexity(
        n_sentences,
        len(scores.probs) - n_sentences,
        int(np.count_nonzero(scores.unknown)),
        float(scores.probs.sum()),
        _power(scores.probs),
        _power(known),
    )


def _power(logs: Float64) -> float | None:
    """Return 10^−mean; None where there is no number, or none that a double can hold."""
    mean = -float(logs.mean()) if len(logs) else np.inf
    return 10.0**mean if mean < 308 else None


def sentence_columns(scores: SentenceScores) -> dict[str, Int64 | Float64]:
    """Return what is known of each sentence: its line, words, unknown words, log10 p and perplexity."""
    n = len(scores.offsets) - 1
    lengths = np.diff(scores.offsets)
    unknown = np.diff(np.concatenate(([0], np.cumsum(scores.unknown)))[scores.offsets])
    totals = scores.totals
    with np.errstate(over="ignore"):
        powers = 10.0 ** (-totals / lengths)
    return {
        "line": np.arange(1, n + 1),
        "words": lengths - 1,
        "unknown": unknown,
        "log10_prob": totals,
        "perplexity": powers,
    }
