"""Sentence ids while lists are read: which sentence a line belongs to, and whether it may come there."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Bool, Int32, Int64
from luthier.core.errors import InputError
from luthier.corpus.vocab import Interner
from luthier.kbest.building.references import SentenceTable
from luthier.kbest.reading.faults import BadLines
from luthier.kbest.reading.reader import Block

# A longer run of digits is a name, not a number.
MOST_DIGITS = 18


def is_number(name: str) -> bool:
    """Return whether a sentence id is a whole number."""
    return name.isascii() and name.isdigit() and len(name) <= MOST_DIGITS


class SentenceNumbers:
    """Numbers sentences: as the references do, or else in the order of first appearance."""

    def __init__(self, known: SentenceTable | None) -> None:
        self.interner = Interner() if known is None else Interner.of(known.ids)
        self.n_known = None if known is None else len(known.ids)

    def of_block(self, bad: BadLines, block: Block, path: str) -> tuple[Int32, Bool]:
        """Return the sentence of each row, and which rows have one."""
        sentences = self.interner.intern_texts(block.ids)
        if self.n_known is None:
            return sentences, np.ones(len(sentences), dtype=np.bool_)
        good = sentences < self.n_known
        at, n = np.flatnonzero(~good), self.n_known

        def describe(i: int) -> InputError:
            row = int(at[i])
            return InputError(
                expected=f"the id of one of the {n} sentences that have a reference",
                found=repr(block.ids[row]), path=path, line=int(block.lines[row]), kind="unknown-id",
                hint="ids count from 0 unless `first_id` says otherwise; string ids need `keyed` references",
            )  # fmt: skip

        bad.add("unknown-id", block.lines[at], describe)
        return sentences, good


class OrderCheck:
    """Watches one file: a sentence's hypotheses stand together, and integer ids ascend."""

    def __init__(self) -> None:
        self._closed: set[int] = set()
        self._current = -1
        self._highest: int | None = None

    def of_block(self, bad: BadLines, block: Block, sentences: Int32, good: Bool, path: str) -> Bool:
        """Return which of the `good` rows stand where they may."""
        rows = np.flatnonzero(good)
        if not len(rows):
            return good
        changes = np.flatnonzero(np.diff(sentences[rows], prepend=-1))
        fine = good.copy()
        for change, following in zip(changes, [*changes[1:], len(rows)], strict=True):
            row = int(rows[change])
            complaint = self._enter(int(sentences[row]), block.ids[row])
            if complaint:
                chosen = rows[change:following]
                fine[chosen] = False
                _report(bad, block, chosen, complaint, path)
        return fine

    def _enter(self, sentence: int, name: str) -> str:
        """Note that a list of `sentence` begins; return what is wrong with that, if anything."""
        if sentence == self._current:
            return ""
        number = int(name) if is_number(name) else None
        if sentence in self._closed:
            return f"{name!r} again, after other sentences"
        if number is not None and self._highest is not None and number < self._highest:
            return f"{name!r} after {str(self._highest)!r}"
        if self._current >= 0:
            self._closed.add(self._current)
        self._current = sentence
        if number is not None:
            self._highest = number
        return ""


def _report(bad: BadLines, block: Block, rows: Int64, found: str, path: str) -> None:
    def describe(i: int) -> InputError:
        return InputError(
            expected="sentence ids in ascending order, the hypotheses of a sentence together",
            found=found, path=path, line=int(block.lines[rows[i]]), kind="order",
            hint="`any_order` sorts the list by sentence",
        )  # fmt: skip

    bad.add("order", block.lines[rows], describe)
