"""A back-off model on paper: n-grams with their numbers, and the ARPA text that the field exchanges."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Int32, Int64, flat
from luthier.core.errors import InputError
from luthier.core.files.io import open_output
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts, Tokens
from luthier.lm import _arpa_kernels as kernels

Float32 = npt.NDArray[np.float32]

UNKNOWN, BEGIN, END = 0, 1, 2
MARKS = ("<unk>", "<s>", "</s>")  # the words with these numbers, in every model
HIGHEST_ORDER = 10
ZERO_LOG10 = -99.0  # what ARPA files have for log10 0; also for <s>, which is never predicted
ROWS_AT_ONCE = 1 << 15
NUMBER_ROOM = 24  # bytes that a number and its tab may take


@dataclasses.dataclass(frozen=True, eq=False)
class Level:
    """The n-grams of one order.

    Attributes
    ----------
    ids : (n, order) int32
        Their words.
    probs, backoffs : (n,) float32
        log10 of p(last word | the others) and of the back-off weight; back-offs of the highest order are 0.
    lines : (n,) int64 or empty
        Where each stood in the file it was read from.
    """

    ids: Int32
    probs: Float32
    backoffs: Float32
    lines: Int64 = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))

    def line_of(self, row: int) -> int | None:
        """Return the line of a row in its file, where it came from one."""
        return int(self.lines[row]) if len(self.lines) else None


@dataclasses.dataclass(frozen=True, eq=False)
class Arpa:
    """A model as n-grams by order; words 0, 1 and 2 are <unk>, <s> and </s>."""

    words: Texts
    levels: tuple[Level, ...]
    path: str = ""

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.levels)

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of n-grams of each order."""
        return tuple(len(level.probs) for level in self.levels)

    def text_of(self, level: Level, row: int) -> str:
        """Return an n-gram's words as text."""
        return " ".join(self.words[word] for word in level.ids[row].tolist())


def write_arpa(arpa: Arpa, path: str | os.PathLike[str]) -> None:
    """Write a model as ARPA text, compressed if the name ends in .gz or .zst; nothing is left half written.

    Numbers have seven digits behind the point: single precision, in which models are read, has no more.
    """
    with open_output(path) as file:
        header = "".join(f"ngram {n}={count}\n" for n, count in enumerate(arpa.counts, 1))
        file.write(f"\\data\\\n{header}".encode())
        for n, level in enumerate(arpa.levels, 1):
            file.write(f"\n\\{n}-grams:\n".encode())
            for first in range(0, len(level.probs), ROWS_AT_ONCE):
                file.write(_rows(arpa.words, level, slice(first, first + ROWS_AT_ONCE), n < arpa.order))
        file.write(b"\n\\end\\\n")


def _rows(words: Texts, level: Level, rows: slice, with_backoffs: bool) -> memoryview:
    """Return n-grams as lines of text."""
    ids = flat(level.ids[rows])
    room = int((words.lengths[ids] + 1).sum()) + (2 * NUMBER_ROOM + 2) * len(ids)
    out = np.empty(room, dtype=np.uint8)
    used = kernels.format_rows(
        words.data, words.offsets, ids, flat(level.probs[rows]), flat(level.backoffs[rows]), with_backoffs, out
    )
    return memoryview(out[:used])  # type: ignore[arg-type]


# The marks of a model, <unk>, <s> and </s>, are no words of a text.


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
            expected="words only",
            found=f"{MARKS[tokens.ids[first]]!r}, which a model keeps for itself",
            path=path,
            line=int(np.searchsorted(tokens.offsets, first, side="right")),
            hint="take it out of the text, or let `skip_symbols` do so",
        )
    before = np.concatenate(([0], np.cumsum(~marks)))
    kept = np.diff(before[tokens.offsets])
    return Tokens(offsets_from_counts(kept), tokens.ids[~marks])
