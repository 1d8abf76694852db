"""Tokenization as tercom does it before it counts edits: sacrebleu's own, so that scores compare."""

from __future__ import annotations

from collections.abc import Callable


def tercom_tokenizer(
    *, normalized: bool, no_punct: bool, asian_support: bool, case_sensitive: bool
) -> Callable[[str], str]:
    """Return a function that puts spaces between the tokens of a line.

    >>> split = tercom_tokenizer(normalized=True, no_punct=False, asian_support=False, case_sensitive=False)
    >>> split("Well, &quot;yes&quot;.")
    'well , " yes " .'
    """
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    split: Callable[[str], str] = TercomTokenizer(
        normalized=normalized, no_punct=no_punct, asian_support=asian_support, case_sensitive=case_sensitive
    )
    return lambda line: split(line.rstrip())
