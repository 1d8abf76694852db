"""What an extraction gave, in a few numbers."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Extracted:
    """Sizes of a model and of the grammar made from it.

    Attributes
    ----------
    model
        The folder of the model, None if it was not kept.
    pairs, left_out
        Sentence pairs, and how many of them are empty or too long; None where the model was kept from earlier.
    output
        Where the rules went, None if only the model was made.
    sentences, without_rules
        Sentences, and how many of them have no rule at all.
    in_corpus
        How many were left out of the corpus; None if that was not asked for.
    source_sides, rules
        Sizes of the grammar.
    """

    model: str | None
    pairs: int
    left_out: int | None
    output: str | None
    sentences: int
    without_rules: int
    in_corpus: int | None
    source_sides: int
    rules: int
