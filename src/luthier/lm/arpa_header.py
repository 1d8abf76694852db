"""The head of an ARPA file: how many n-grams each order has; and files that only look like one."""

from __future__ import annotations

import re

from luthier.core.errors import InputError, excerpt
from luthier.lm.arpa import HIGHEST_ORDER

# first bytes → (what it is, what to do)
FOREIGN = {
    b"mmap lm http://kheafield.com/code": ("a binary file of KenLM", "give the ARPA file it was built from"),
    b"iARPA": ("IRSTLM's intermediate format (iARPA)", "convert it with: compile-lm FILE --text=yes lm.arpa"),
    b"qARPA": ("a quantised model of IRSTLM (qARPA)", "write it as plain ARPA: compile-lm FILE --text=yes lm.arpa"),
    b"blmt": ("a binary file of IRSTLM", "convert it with: compile-lm FILE --text=yes lm.arpa"),
    b"Qblmt": ("a binary file of IRSTLM", "convert it with: compile-lm FILE --text=yes lm.arpa"),
    b"SRILM_BINARY_NGRAM": ("a binary file of SRILM", "convert it with: ngram -lm FILE -write-lm lm.arpa"),
}
COUNT_LINE = re.compile(rb"\s*ngram\s+(\d{1,3})\s*=\s*(\d{1,15})\s*")


def foreign_kind(head: bytes) -> tuple[str, str] | None:
    """Return what another kind of model file is, and what to do about it; None for what may be ARPA text."""
    return next((kind for magic, kind in FOREIGN.items() if head.startswith(magic)), None)


class HeaderLines:
    """The lines ``ngram 1=10213`` between ``\\data\\`` and the first section."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.begun = False
        self._counts: list[int] = []

    def add(self, text: bytes, line: int) -> None:
        """Read one line; empty ones say nothing."""
        if not text.strip():
            return
        match = COUNT_LINE.fullmatch(text)
        order = len(self._counts) + 1
        if match is None or int(match[1]) != order:
            raise InputError(
                expected=f"a line such as 'ngram {order}=1000'", found=excerpt(text), path=self.name, line=line
            )
        self._counts.append(int(match[2]))
        if order > HIGHEST_ORDER:
            raise InputError(
                expected=f"a model of order 1 to {HIGHEST_ORDER}", found=f"n-grams of {order} words", path=self.name,
                line=line,
            )  # fmt: skip

    def finish(self, line: int) -> tuple[int, ...]:
        """Return the number of n-grams of each order."""
        if not self._counts:
            raise InputError(
                expected="a line such as 'ngram 1=1000'", found="none before the first section", path=self.name,
                line=line,
            )  # fmt: skip
        return tuple(self._counts)
