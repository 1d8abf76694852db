"""The sections of an ARPA file: lines of n-grams → words and numbers, every one of them checked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Bytes, GrowingArray, Int64, flat
from luthier.core.errors import InputError, excerpt
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.lm import _arpa_kernels as kernels
from luthier.lm.arpa import BEGIN, END, MARKS, UNKNOWN, ZERO_LOG10, Arpa, Level

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
        self._capital: int | None = None  # the number of <UNK>, where it stands for <unk>
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
                    expected=expected, found=excerpt(data[low:high].tobytes()), path=self.name, line=int(lines[r]),
                    hint=hint,
                )  # fmt: skip

        words = "a word" if self.order == 1 else f"{self.order} words"
        complain(
            (counts < self.order + 1) | (counts > self.order + 2),
            f"log10 probability, {words} and, if it has one, a back-off", None,
        )  # fmt: skip
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
                expected=f"{expected} {self.order}-grams, as the head of the file says", found=str(found),
                path=self.name, line=line, hint="the file is cut off or was edited: write it again",
            )  # fmt: skip
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
                expected="every n-gram once", found=f"{known[int(ids[row])]!r} a second time", path=self.name,
                line=level.line_of(row),
            )  # fmt: skip
        probs = np.full(self._n_words, MISSING_UNKNOWN, dtype=np.float32)
        backoffs = np.zeros(self._n_words, dtype=np.float32)
        if UNKNOWN not in ids:
            self.notices.append(f"no <unk>: unknown words get log10 p = {MISSING_UNKNOWN:.0f}")
        probs[ids], backoffs[ids] = level.probs, level.backoffs
        if self._capital is not None:
            probs[self._capital] = probs[UNKNOWN]
        if END not in ids:
            raise InputError(
                expected=f"{MARKS[END]} among the 1-grams", found="none: no sentence would have an end", path=self.name,
                hint=f"estimate the model of sentences with their ends, or add {MARKS[END]} with its log10 p",
            )  # fmt: skip
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
