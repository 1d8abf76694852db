"""Estimate a language model from text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, Int32, Int64
from luthier.core.errors import InputError
from luthier.core.params import ParameterError, param, validate
from luthier.core.progress import notice
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize
from luthier.lm.arpa import BEGIN, HIGHEST_ORDER, MARKS, ZERO_LOG10, Arpa, Float32, Level, without_marks
from luthier.lm.kneser_ney import Discounts, NgramCounts, SmoothedLevel, count_ngrams, smooth


@dataclasses.dataclass(frozen=True)
class EstimateOptions:
    """How a model is estimated; `prune` has a threshold for each order, its last one for all above."""

    order: int = param(5, low=1, high=HIGHEST_ORDER, help="length of the longest n-grams")
    prune: tuple[int, ...] = param(
        (0,), help="n-grams that occur at most so often leave, a threshold for each order from 1 (0 0 1)"
    )
    skip_symbols: bool = param(False, help="take <s>, </s> and <unk> in the text for white space")

    def __post_init__(self) -> None:
        validate(self)
        fine = all(isinstance(t, int) and t >= 0 for t in self.prune) and 1 <= len(self.prune) <= self.order
        if not fine or self.prune[0] != 0 or list(self.prune) != sorted(self.prune):
            raise ParameterError(
                f"expected at most {self.order} thresholds to prune by, whole numbers that begin with 0 (no word "
                f"leaves) and never descend, found {' '.join(map(str, self.prune))}"
            )

    @property
    def thresholds(self) -> tuple[int, ...]:
        """A threshold for every order."""
        return self.prune + (self.prune[-1],) * (self.order - len(self.prune))


@dataclasses.dataclass(frozen=True, eq=False)
class Estimate:
    """A model and what it was made from; `pruned` counts the n-grams of each order that left."""

    model: Arpa
    n_sentences: int
    n_words: int
    discounts: tuple[Discounts, ...]
    pruned: tuple[int, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return what was counted and estimated, but no n-grams, for JSON."""
        orders = [
            {"order": n, "ngrams": count, "pruned": pruned, "discounts": list(own.values), "estimated": own.estimated}
            for n, (count, pruned, own) in enumerate(
                zip(self.model.counts, self.pruned, self.discounts, strict=True), 1
            )
        ]
        return {"sentences": self.n_sentences, "words": self.n_words, "orders": orders}


def estimate_lm(texts: Texts | Sequence[str], options: EstimateOptions | None = None, *, path: str = "") -> Estimate:
    """Estimate an interpolated modified Kneser–Ney model [chen1999] of sentences, one per text.

    Parameters
    ----------
    texts
        Sentences whose words white space separates; an empty one is ``<s> </s>``.
    path
        What complaints call the text.

    Raises
    ------
    InputError
        No words at all; <s>, </s> or <unk> in the text; each with its line.

    >>> made = estimate_lm(["a b", "a"], EstimateOptions(order=2))
    >>> made.model.counts
    (5, 4)
    """
    options = EstimateOptions() if options is None else options
    texts = texts if isinstance(texts, Texts) else Texts.from_strings(texts)
    vocab = Interner.of(Texts.from_strings(MARKS))
    tokens = without_marks(tokenize(texts, vocab), path, skip=options.skip_symbols)
    if not len(tokens.ids):
        raise InputError(expected="at least one word", found=f"{len(texts)} empty lines", path=path)
    return _estimate(tokens, vocab.texts(), options)


def _estimate(tokens: Tokens, words: Texts, options: EstimateOptions) -> Estimate:
    counts = list(count_ngrams(tokens, options.order, len(words)))
    smoothed = list(smooth(counts, options.thresholds))
    order = max(n for n, level in enumerate(smoothed, 1) if level.kept.any())
    if order < options.order:
        notice(f"no n-grams of more than {order} words are left: the model is of order {order}")
        counts, smoothed = counts[:order], smoothed[:order]
    discounts = tuple(level.discounts for level in smoothed)
    odd = [str(n) for n, own in enumerate(discounts, 1) if not own.estimated]
    if odd:
        notice(
            f"too few n-grams to estimate discounts of order {', '.join(odd)}: 0.5, 1 and 1.5 are used there "
            "(a text this small makes a weak model)"
        )
    return Estimate(
        Arpa(words, tuple(_levels(counts, smoothed))),
        len(tokens),
        len(tokens.ids),
        discounts,
        tuple(int(np.count_nonzero(~level.kept)) for level in smoothed),
    )


def _levels(counts: list[NgramCounts], smoothed: list[SmoothedLevel]) -> list[Level]:
    """Return the kept n-grams with their words and log10 numbers."""
    out = []
    ids: Int32 = np.zeros((1, 0), dtype=np.int32)
    place: Int64 = np.zeros(1, dtype=np.int64)  # where each n-gram of the order below went
    for n, (own, level) in enumerate(zip(counts, smoothed, strict=True)):
        rows = np.flatnonzero(level.kept)
        ids = np.hstack((ids[place[own.prefix[rows]]], own.last[rows, None]))
        longer = smoothed[n + 1].interpolation[rows] if n + 1 < len(smoothed) else np.ones(len(rows))
        out.append(Level(ids, _log10(level.probs[rows]), _log10(longer)))
        if n == 0:
            out[0].probs[BEGIN] = ZERO_LOG10
        place = np.cumsum(level.kept) - 1
    return out


def _log10(values: Float64) -> Float32:
    """Return logs; a weight of 0, which a discount of 0 leaves, becomes what ARPA files have for it."""
    with np.errstate(divide="ignore"):
        logs = np.log10(values)
    logs[values == 0.0] = ZERO_LOG10
    return np.minimum(logs, 0.0).astype(np.float32)
