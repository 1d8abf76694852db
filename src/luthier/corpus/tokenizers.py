"""Tokenizers of raw text: sacrebleu's own, so that scores compare with published ones."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from luthier.core.errors import LuthierError

TOKENIZERS = ("none", "13a", "intl", "zh", "char")

_HOMES = {
    "13a": ("tokenizer_13a", "Tokenizer13a"),
    "intl": ("tokenizer_intl", "TokenizerV14International"),
    "zh": ("tokenizer_zh", "TokenizerZh"),
    "char": ("tokenizer_char", "TokenizerChar"),
}


def line_tokenizer(name: str) -> Callable[[str], str]:
    """Return a function that puts spaces between the tokens of a line; ``none`` leaves it as it is.

    >>> line_tokenizer("13a")("Well, yes.")
    'Well , yes .'
    """
    if name == "none":
        return str
    if name not in _HOMES:
        raise LuthierError(f"there is no tokenizer {name!r}. known: {', '.join(TOKENIZERS)}")
    module, attribute = _HOMES[name]
    home = importlib.import_module(f"sacrebleu.tokenizers.{module}")
    split: Callable[[str], str] = getattr(home, attribute)()
    return lambda line: split(line.rstrip())
