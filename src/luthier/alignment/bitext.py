"""A parallel text as numbers: two columns of words, and which of its pairs can be aligned."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable

import numpy as np

from luthier.core.arrays import Int64, frozen
from luthier.core.errors import InputError
from luthier.core.files.io import display_name
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts, Tokens
from luthier.corpus.vocab import Interner, tokenize

MAX_WORDS = 100

# One side of a parallel text: a file, a column of texts, or sentences.
Side = str | os.PathLike[str] | Texts | Iterable[str]


@dataclasses.dataclass(frozen=True, eq=False)
class Bitext:
    """N pairs of sentences, word by word.

    Attributes
    ----------
    source, target : Tokens
        The words of all N pairs.
    source_words, target_words : Texts
        The vocabularies; word k has number k.
    kept : (P,) int64
        The pairs that are aligned; the others have an empty side or are too long, and no links.
    empty, long : int
        How many are left out for each reason; an empty side comes first.
    """

    source: Tokens
    target: Tokens
    source_words: Texts
    target_words: Texts
    kept: Int64
    empty: int
    long: int

    def __len__(self) -> int:
        return len(self.source)


def read_bitext(
    source: Side, target: Side, *, max_words: int = MAX_WORDS, known: tuple[Texts, Texts] | None = None
) -> Bitext:
    """Read a parallel text, one sentence per line, words separated by white space.

    Parameters
    ----------
    source, target
        Files (plain, gz or zst), or sentences.
    max_words : int
        A pair with more words on a side is left out.
    known : (source words, target words)
        Vocabularies whose words keep their numbers; new words get the numbers behind them.

    Raises
    ------
    InputError
        Bad UTF-8; line counts that differ; no pair that can be aligned.
    """
    texts = _texts(source), _texts(target)
    names = _name(source, "the source"), _name(target, "the target")
    if len(texts[0]) != len(texts[1]):
        raise _count_error(names, (len(texts[0]), len(texts[1])))
    words = (Interner(), Interner()) if known is None else (Interner.of(known[0]), Interner.of(known[1]))
    sides = tokenize(texts[0], words[0]), tokenize(texts[1], words[1])
    shortest = np.minimum(sides[0].lengths, sides[1].lengths)
    longest = np.maximum(sides[0].lengths, sides[1].lengths)
    kept = np.flatnonzero((shortest > 0) & (longest <= max_words))
    if not len(kept):
        raise InputError(
            expected=f"at least one pair with 1 to {max_words} words on each side",
            found=f"none in {len(shortest)}",
            path=names[0],
            hint="`max_words` is the limit",
        )
    return Bitext(
        sides[0],
        sides[1],
        words[0].texts(),
        words[1].texts(),
        frozen(kept),
        empty=int(np.count_nonzero(shortest == 0)),
        long=int(np.count_nonzero((shortest > 0) & (longest > max_words))),
    )


def _texts(side: Side) -> Texts:
    if isinstance(side, Texts):
        return side
    return read_lines(side) if isinstance(side, str | os.PathLike) else Texts.from_strings(side)


def _name(side: Side, otherwise: str) -> str:
    return display_name(side) if isinstance(side, str | os.PathLike) else otherwise


def _count_error(names: tuple[str, str], counts: tuple[int, int]) -> InputError:
    """Return the complaint about the side that is longer, at its first line too many."""
    longer = int(counts[1] > counts[0])
    return InputError(
        expected=f"as many lines as {names[1 - longer]} has, {counts[1 - longer]}",
        found=f"{counts[longer]}",
        path=names[longer],
        line=counts[1 - longer] + 1,
        hint="line k of one file is translated by line k of the other",
        kind="lines",
    )
