"""Files of ``key rest`` lines, as speech recognizers keep texts and numbers of one list in several files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.corpus.vocab import Interner
from luthier.kbest.reading.columns import Spans, leading_words, spans_of
from luthier.kbest.reading.line_errors import Describe
from luthier.kbest.reading.reader import Lines, Source, number_fault

TENSOR = b"tensor("


def beside(source: Source, path: str) -> Source:
    """Return another file of the same list."""
    return Source(path, source.faults, source.names, source.local_names, ignored=source.ignored)


def keyed_texts(source: Source) -> Iterator[tuple[Lines, Spans, Spans]]:
    """Yield stretches of lines with their keys and what follows these; an empty line is a fault."""
    for lines in source.lines():
        fields, rest = leading_words(spans_of(lines), 1)
        whole = fields.counts == 1
        at = np.flatnonzero(~whole)
        lines.bad.add("fields", lines.numbers[at], _describe(source.name, lines, at, "a key and a text"))
        yield (
            Lines(lines.data, lines.starts[whole], lines.stops[whole], lines.numbers[whole], lines.bad),
            fields.columns[0].take(whole),
            rest.take(whole),
        )


class KeyedNumbers:
    """A file of ``key number`` lines, read whole; PyTorch's ``tensor(-1.5)`` is a number, too."""

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self._interner = Interner()
        parts = []
        for lines in source.lines():
            fields, rest = leading_words(spans_of(lines), 2)
            whole = fields.counts == 2
            bare = _without_tensor(fields.columns[1])
            more = (rest.stops > rest.starts) & (
                bare.starts == fields.columns[1].starts
            )  # tensor(-1.5, device=…) is one
            whole &= ~more
            at = np.flatnonzero(~whole)
            lines.bad.add("fields", lines.numbers[at], _describe(source.name, lines, at, "a key and a number"))
            keys, plain = fields.columns[0].take(whole), bare.take(whole)
            values, status = parse_numbers(*plain.arrays())
            number_fault(lines.bad, source.name, lines.numbers[whole], status, plain.arrays(), hint="")
            fine = status == NUMBER_OK
            fine &= self._new(lines, lines.numbers[whole], keys, source)
            source.faults.settle(lines.bad)
            self._interner.intern_spans(*keys.take(fine).arrays())
            parts.append(values[fine])
        self.values: Float64 = np.concatenate(parts)

    def _new(self, lines: Lines, numbers: Int64, keys: Spans, source: Source) -> Bool:
        """Return which keys stand here for the first time."""
        seen = len(self._interner)
        ids = Interner.of(self._interner.texts()).intern_spans(*keys.arrays())
        first = np.zeros(len(ids), dtype=np.bool_)
        first[np.unique(ids, return_index=True)[1]] = True
        first &= ids >= seen
        at = np.flatnonzero(~first)

        def describe(i: int) -> InputError:
            return InputError(
                expected="each key once",
                found=f"{excerpt(keys.raw(int(at[i])))} again",
                path=source.name,
                line=int(numbers[at[i]]),
                kind="keys",
            )

        lines.bad.add("keys", numbers[at], describe)
        return first

    def lookup(self, keys: Spans) -> tuple[Float64, Bool]:
        """Return the number of each key, 0 where there is none, and where there is one."""
        ids = self._interner.intern_spans(*keys.arrays())
        found = ids < len(self.values)
        values = np.zeros(len(ids))
        values[found] = self.values[ids[found]]
        return values, found

    def report_missing(self, lines: Lines, path: str, keys: Spans, found: Bool) -> None:
        """Add the lines of a file of texts whose keys have no number here."""
        at = np.flatnonzero(~found)

        def describe(i: int) -> InputError:
            return InputError(
                expected=f"a number for {excerpt(keys.raw(int(at[i])))} in {self.name}",
                found="none",
                path=path,
                line=int(lines.numbers[at[i]]),
                kind="keys",
                hint="files of one list have the same keys",
            )

        lines.bad.add("keys", lines.numbers[at], describe)


def _without_tensor(spans: Spans) -> Spans:
    """Return spans without the letters that PyTorch prints around a number: ``tensor(-1.5)``, ``tensor(-1.5,``."""
    is_tensor = spans.stops - spans.starts > len(TENSOR) + 1
    for k, byte in enumerate(TENSOR):
        is_tensor[is_tensor] = spans.data[spans.starts[is_tensor] + k] == byte
    return Spans(spans.data, spans.starts + len(TENSOR) * is_tensor, spans.stops - is_tensor)


def _describe(path: str, lines: Lines, at: Int64, expected: str) -> Describe:
    def describe(i: int) -> InputError:
        raw = lines.raw(int(at[i]))
        return InputError(
            expected=f"{expected}, separated by white space",
            found=excerpt(raw) if raw.strip() else "an empty line",
            path=path,
            line=int(lines.numbers[at[i]]),
            kind="fields",
        )

    return describe
