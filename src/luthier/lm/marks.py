"""The marks of a model, <unk>, <s> and </s>, are no words of a text."""

from __future__ import annotations

import numpy as np

from luthier.core.errors import InputError
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Tokens
from luthier.lm.arpa import MARKS


def without_marks(tokens: Tokens, path: str = "", *, skip: bool) -> Tokens:
    """Return tokens (numbered so that `MARKS` are 0, 1, 2) without marks: they are dropped, or an error.

    Raises
    ------
    InputError
        A mark in the text, unless `skip`; with its line.
    """
    marks = tokens.ids < len(MARKS)
    if not marks.any():
        return tokens
    first = int(np.argmax(marks))
    if not skip:
        raise InputError(
            expected="words only", found=f"{MARKS[tokens.ids[first]]!r}, which a model keeps for itself", path=path,
            line=int(np.searchsorted(tokens.offsets, first, side="right")),
            hint="take it out of the text, or let `skip_symbols` do so",
        )  # fmt: skip
    before = np.concatenate(([0], np.cumsum(~marks)))
    kept = np.diff(before[tokens.offsets])
    return Tokens(offsets_from_counts(kept), tokens.ids[~marks])
