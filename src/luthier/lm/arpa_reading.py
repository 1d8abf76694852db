"""Read a back-off model from ARPA text, as KenLM, SRILM and IRSTLM write it."""

from __future__ import annotations

import os
import re

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Bytes, GrowingArray, Int64, flat
from luthier.core.errors import InputError, excerpt
from luthier.core.files.io import BOM, LineBlock, display_name, line_blocks, open_bytes
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.core.progress import notice
from luthier.corpus.lines import check_utf8, line_spans
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.lm import _arpa_kernels as kernels
from luthier.lm.arpa import BEGIN, END, HIGHEST_ORDER, MARKS, UNKNOWN, ZERO_LOG10, Arpa, Level

# The head of an ARPA file: how many n-grams each order has; and files that only look like one.

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
                expected=f"a model of order 1 to {HIGHEST_ORDER}",
                found=f"n-grams of {order} words",
                path=self.name,
                line=line,
            )

    def finish(self, line: int) -> tuple[int, ...]:
        """Return the number of n-grams of each order."""
        if not self._counts:
            raise InputError(
                expected="a line such as 'ngram 1=1000'",
                found="none before the first section",
                path=self.name,
                line=line,
            )
        return tuple(self._counts)


# The sections of an ARPA file: lines of n-grams → words and numbers, every one of them checked.

MISSING_UNKNOWN = -100.0
CAPITAL_UNKNOWN = "<UNK>"  # as some tools spell it
LARGEST_LOG10 = 1e6  # of anything that can be meant


class Sections:
    """Reads the n-grams of one order after another.

    Attributes
    ----------
    expected : tuple of int
        Number of n-grams of each order, by the file's head.
    order : int
        Of the section that is being read, or was last; 0 before the first.
    notices : list of str
        What was put right.
    """

    def __init__(self, name: str, expected: tuple[int, ...]) -> None:
        self.name, self.expected = name, expected
        self.order = 0
        self.notices: list[str] = []
        self._levels: list[Level] = []
        self._vocab = Interner.of(Texts.from_strings(MARKS))
        self._n_words = len(MARKS)
        self._capital: int | None = None  # the number of <UNK>, where it represents <unk>
        self._open = False

    def open(self) -> None:
        """Begin the next section."""
        self.order += 1
        self._open = True
        self._ids, self._probs = GrowingArray(np.int32), GrowingArray(np.float32)
        self._backoffs, self._lines = GrowingArray(np.float32), GrowingArray(np.int64)

    def add(self, data: Bytes, starts: Int64, stops: Int64, lines: Int64) -> None:
        """Read lines of the section; empty ones say nothing."""
        fields = np.empty((len(starts), self.order + 2), dtype=np.int64)
        ends = np.empty_like(fields)
        counts = np.empty(len(starts), dtype=np.int64)
        kernels.split_rows(data, flat(starts), flat(stops), fields, ends, counts)
        rows = np.flatnonzero(counts > 0)
        counts, fields, ends, lines = counts[rows], fields[rows], ends[rows], lines[rows]

        def complain(faulty: Bool, expected: str, column: int | None, hint: str = "") -> None:
            if faulty.any():
                r = int(np.argmax(faulty))
                low, high = (
                    (starts[rows[r]], stops[rows[r]]) if column is None else (fields[r, column], ends[r, column])
                )
                raise InputError(
                    expected=expected,
                    found=excerpt(data[low:high].tobytes()),
                    path=self.name,
                    line=int(lines[r]),
                    hint=hint,
                )

        words = "a word" if self.order == 1 else f"{self.order} words"
        complain(
            (counts < self.order + 1) | (counts > self.order + 2),
            f"log10 probability, {words} and, if it has one, a back-off",
            None,
        )
        probs, fine = _numbers(data, fields[:, 0], ends[:, 0])
        complain(~fine, "a log10 probability", 0)
        complain(probs > 0.0, "a log10 probability, at most 0", 0, "a probability above 1 is none")
        given = counts == self.order + 2
        backoffs = np.zeros(len(rows))
        backoffs[given], fine = _numbers(data, fields[given, -1], ends[given, -1])
        faulty = np.zeros(len(rows), dtype=bool)
        faulty[given] = ~fine
        complain(faulty, "a log10 back-off weight", self.order + 1)
        ids = self._vocab.intern_spans(data, fields[:, 1:-1].reshape(-1), ends[:, 1:-1].reshape(-1))
        ids = ids.reshape(len(rows), self.order)
        if self._capital is not None:
            ids[ids == self._capital] = UNKNOWN
        if self.order > 1:
            for k in range(self.order):
                complain(ids[:, k] >= self._n_words, "a word that stands among the 1-grams", k + 1)
            if self.order == len(self.expected):
                backoffs[:] = 0.0  # a context is never so long
        self._ids.append(ids.reshape(-1))
        self._probs.append(probs)
        self._backoffs.append(backoffs)
        self._lines.append(lines)

    def close(self, line: int) -> None:
        """End the section, if one is open: it must have as many n-grams as the head says."""
        if not self._open:
            return
        self._open = False
        found, expected = len(self._probs), self.expected[self.order - 1]
        if found != expected:
            raise InputError(
                expected=f"{expected} {self.order}-grams, as the head of the file says",
                found=str(found),
                path=self.name,
                line=line,
                hint="the file is cut off or was edited: write it again",
            )
        ids = self._ids.finish().reshape(-1, self.order)
        level = Level(ids, self._probs.finish(), self._backoffs.finish(), self._lines.finish())
        self._levels.append(self._with_marks(level) if self.order == 1 else level)

    def _with_marks(self, level: Level) -> Level:
        """Return the unigrams, each once, with what every model must have."""
        self._n_words = len(self._vocab)
        ids = level.ids[:, 0].copy()
        known = self._vocab.texts()
        capital = int(self._vocab.intern_texts(Texts.from_strings([CAPITAL_UNKNOWN]))[0])
        if capital < self._n_words and UNKNOWN not in ids:
            ids[ids == capital] = UNKNOWN
            self._capital = capital
        order = np.argsort(ids, kind="stable")
        twice = np.flatnonzero(np.diff(ids[order]) == 0)
        if len(twice):
            row = int(order[twice + 1].min())
            raise InputError(
                expected="every n-gram once",
                found=f"{known[int(ids[row])]!r} a second time",
                path=self.name,
                line=level.line_of(row),
            )
        probs = np.full(self._n_words, MISSING_UNKNOWN, dtype=np.float32)
        backoffs = np.zeros(self._n_words, dtype=np.float32)
        if UNKNOWN not in ids:
            self.notices.append(f"no <unk>: unknown words get log10 p = {MISSING_UNKNOWN:.0f}")
        probs[ids], backoffs[ids] = level.probs, level.backoffs
        if self._capital is not None:
            probs[self._capital] = probs[UNKNOWN]
        if END not in ids:
            raise InputError(
                expected=f"{MARKS[END]} among the 1-grams",
                found="none: no sentence would have an end",
                path=self.name,
                hint=f"estimate the model of sentences with their ends, or add {MARKS[END]} with its log10 p",
            )
        if BEGIN not in ids:
            probs[BEGIN] = ZERO_LOG10
            self.notices.append(f"no {MARKS[BEGIN]}: it gets log10 p = {ZERO_LOG10:g}")
        return Level(np.arange(self._n_words, dtype=np.int32)[:, None], probs, backoffs)

    def arpa(self) -> Arpa:
        """Return the model."""
        return Arpa(self._vocab.texts().take(np.arange(self._n_words)), tuple(self._levels), self.name)


def _numbers(data: Bytes, starts: Int64, stops: Int64) -> tuple[npt.NDArray[np.float64], Bool]:
    values, status = parse_numbers(data, starts, stops)
    fine = (status == NUMBER_OK) & (np.abs(values) <= LARGEST_LOG10)
    return values, fine


BACKSLASH = ord("\\")


def read_arpa(path: str | os.PathLike[str]) -> Arpa:
    """Read an ARPA file, plain or compressed, or standard input (``-``).

    Fields are separated by tabs or spaces; a missing back-off is 0; what stands before ``\\data\\`` is passed
    over. A model without <unk> gives unknown words log10 p = −100, with a notice.

    Raises
    ------
    InputError
        A broken line, no </s>, counts that disagree, a probability above 1, a word that is no unigram, an n-gram
        twice, bad UTF-8, a file cut off, or a file of another kind; with its line.
    """
    reader = _Reader(display_name(path))
    with open_bytes(path) as stream:
        kind = foreign_kind(stream.peek(64)[:64])
        if kind:
            raise InputError(expected="an ARPA file", found=kind[0], path=reader.name, line=1, hint=kind[1])
        for block in line_blocks(stream, reader.name):
            check_utf8(block.data, reader.name, block.first_line)
            reader.take(block)
            if reader.ended:
                break
    return reader.finish()


class _Reader:
    """Goes through the parts of a file: what stands before, the counts, a section for each order, the end."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self.header = HeaderLines(name)
        self.sections: Sections | None = None
        self.last_line = 0

    def take(self, block: LineBlock) -> None:
        """Read the lines of a block: those with a backslash, and the n-grams between them."""
        data = block.data
        starts, stops = line_spans(block.ends)
        if block.first_line == 1 and data[:3].tobytes() == BOM:
            starts[0] = len(BOM)
        special = np.flatnonzero(data[starts] == BACKSLASH)  # an empty line starts at its line feed
        row = 0
        for at in [*special.tolist(), len(starts)]:
            if at > row:
                self._plain(block, slice(row, at), (starts, stops))
            if at < len(starts) and not self.ended:
                self._marked(data[starts[at] : stops[at]].tobytes().strip(), block.first_line + at)
            row = at + 1
            if self.ended:
                return
        self.last_line = block.first_line + len(starts) - 1

    def _plain(self, block: LineBlock, rows: slice, spans: tuple[np.ndarray, np.ndarray]) -> None:
        starts, stops = spans[0][rows], spans[1][rows]
        first = block.first_line + rows.start
        if self.sections is not None:
            self.sections.add(block.data, starts, stops, np.arange(first, first + len(starts)))
        elif self.header.begun:
            for i, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
                self.header.add(block.data[start:stop].tobytes(), first + i)

    def _marked(self, text: bytes, line: int) -> None:
        """Read a line that begins with a backslash."""
        if not self.header.begun:
            self.header.begun = text == b"\\data\\"
            return
        if self.sections is None:
            self.sections = Sections(self.name, self.header.finish(line))
        if text == b"\\end\\":
            self.sections.close(line)
            if self.sections.order < len(self.sections.expected):
                raise self._wrong(f"\\{self.sections.order + 1}-grams:", text, line)
            self.ended = True
            return
        wanted = f"\\{self.sections.order + 1}-grams:"
        self.sections.close(line)
        if self.sections.order == len(self.sections.expected):
            wanted = "\\end\\"
        if text != wanted.encode():
            raise self._wrong(wanted, text, line)
        self.sections.open()

    def _wrong(self, wanted: str, text: bytes, line: int) -> InputError:
        return InputError(expected=f"the line {wanted!r}", found=excerpt(text), path=self.name, line=line)

    def finish(self) -> Arpa:
        """Return the model."""
        if not self.ended or self.sections is None:
            wanted = "\\end\\" if self.header.begun else "\\data\\"
            raise InputError(
                expected=f"the line {wanted!r}",
                found="the end of the file",
                path=self.name,
                line=self.last_line,
                hint="the file is cut off: write or fetch it again"
                if self.header.begun
                else "an ARPA file is made by: luthier engine lm TEXT -o lm.arpa.gz",
            )
        arpa = self.sections.arpa()
        for message in self.sections.notices:
            notice(f"{self.name}: {message}")
        return arpa
