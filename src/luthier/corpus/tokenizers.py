"""Tokenizers of raw text: sacrebleu's own, so that scores compare with published ones."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Sequence

from luthier.core.errors import LuthierError
from luthier.corpus.texts import Texts

# Tokenization as tercom does it before it counts edits: sacrebleu's own, so that scores compare.


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


# Whether text looks tokenised: punctuation glued to the last word, or standing alone.

SIGNS = frozenset(".,!?;:。！？")
LOOKED_AT, LEAST, SHARE = 1000, 10, 0.5


def glued_share(texts: Sequence[str] | Texts) -> float | None:
    """Return the share of texts, of those that end in punctuation, whose last sign is glued to a word.

    None where too few of the first texts end so to tell.

    >>> glued_share(["It rains.", "It rains ."] * 20), glued_share(["rain"] * 50)
    (0.5, None)
    """
    glued = ended = 0
    for text in map(str.rstrip, itertools.islice(texts, LOOKED_AT)):
        if len(text) > 1 and text[-1] in SIGNS:
            ended += 1
            glued += not text[-2].isspace() and text[-2] not in SIGNS
    return glued / ended if ended >= LEAST else None


def tokenization_warning(hypotheses: Sequence[str] | Texts, references: Sequence[str] | Texts) -> str:
    """Return what is odd about texts that are compared word by word without a tokenizer; '' if nothing is."""
    ours, theirs = glued_share(hypotheses), glued_share(references)
    if ours is not None and theirs is not None and (ours > SHARE) != (theirs > SHARE):
        which = "hypotheses have" if ours > SHARE else "references have"
        return (
            f"the {which} punctuation glued to words and the other side has not: they are not tokenised alike, and "
            "words will not match. hint: tokenise both in one way, or take both raw with `tokenize` 13a"
        )
    if max(ours or 0.0, theirs or 0.0) > SHARE:  # of both, or of the one that has punctuation at all
        return (
            "the texts look untokenised (punctuation is glued to words), and no tokenizer is set: 'dog.' and 'dog' "
            "count as different words. hint: `tokenize` 13a, as sacrebleu does by default"
        )
    return ""


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
