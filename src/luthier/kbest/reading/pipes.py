"""The family of lists with fields between ``|||``: what Moses, cdec, Joshua, Travatar, Marian share."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from luthier.core.arrays import Bool, Bytes, Float64, Int32, Int64, flat
from luthier.core.errors import InputError, excerpt
from luthier.core.numbers import NUMBER_OK, parse_numbers, powers
from luthier.core.segments import offsets_from_counts, rows_of_segments, segment_of_rows
from luthier.corpus._field_kernels import split_fields
from luthier.corpus.texts import Texts
from luthier.kbest.reading import _pipe_kernels as kernels
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Block, Lines, Reader, Source, number_fault

# The usual stretch of a list, read in one pass: single spaces, names met before, numbers that are numbers.

MOST_NAMES = 64  # names are looked for one by one
BYTES_PER_VALUE = 2


class PlainLines:
    """Reads stretches of ``id ||| text ||| features ||| score``; keeps what it knows of their names."""

    def __init__(self, names: NameTable) -> None:
        self._names = names
        self._seen = (-1, -1)
        self._known: kernels.Known | None = None
        self._guesses: Int64 = np.zeros((0, 2), dtype=np.int64)

    def block(self, lines: Lines, pattern: set[int]) -> Block | None:
        """Return the block of a stretch, None where a line is not plain.

        `pattern` has the names with positions that stand on every line.
        """
        if self._seen != (len(self._names), len(pattern)):
            self._learn(pattern)
        if self._known is None or not len(lines.starts):
            return None
        n, room = len(lines.starts), int((lines.stops - lines.starts).sum()) // BYTES_PER_VALUE
        found = kernels.Found(
            spans=np.empty((n, 4), np.int64),
            scores=np.empty(n),
            row_starts=np.zeros(n + 1, np.int64),
            names=np.empty(room, np.int32),
            values=np.empty(room),
        )
        spans = flat(lines.data), flat(lines.starts), flat(lines.stops)
        used = kernels.plain_rows(*spans, self._known, powers(), self._guesses, found)
        if used < 0:
            return None
        ids, texts = (Texts.from_spans(lines.data, *_columns(found.spans, which)) for which in (0, 2))
        return Block(
            lines=lines.numbers,
            ids=ids,
            texts=texts,
            row_starts=found.row_starts,
            names=found.names[:used],
            values=found.values[:used],
            columns={"score": found.scores},
            bad=lines.bad,
        )

    def _learn(self, pattern: set[int]) -> None:
        """Note the names met so far, but none with a position that is not on every line."""
        self._seen, self._known = (len(self._names), len(pattern)), None
        labels, positions = self._names.pairs()
        numbers = [k for k in range(len(positions)) if positions[k] < 0 or k in pattern]
        if not 0 < len(numbers) <= MOST_NAMES:
            return
        places = {(labels[k], int(positions[k])): place for place, k in enumerate(numbers)}
        spelled = Texts.from_strings([_spelled(*name) for name in places])
        further = [places.get((label, position + 1), -1) if position >= 0 else -1 for label, position in places]
        self._known = kernels.Known(
            spelled=flat(np.append(spelled.data, np.zeros(8, np.uint8))),
            offsets=spelled.offsets,
            numbers=flat(np.array(numbers, np.int32)),
            further=flat(np.array(further)),
            by_position=flat(np.array([k in pattern for k in numbers], np.int64)),
            complete=len(pattern),
        )
        order = np.arange(len(numbers) + 1)
        self._guesses = np.stack([np.roll(order, -1), np.roll(order, -1)], axis=1) % len(numbers)


def _spelled(label: str, position: int) -> str:
    """Return what stands before the value of a name: nothing where it is not the label's first, or the label empty."""
    return {-1: f"{label}=", 0: f"{label}= "}.get(position, "") if label else ""


def _columns(spans: Int64, first: int) -> tuple[Int64, Int64]:
    return np.ascontiguousarray(spans[:, first]), np.ascontiguousarray(spans[:, first + 1])


MAX_FIELDS = 12


@dataclasses.dataclass(frozen=True, eq=False)
class _Entries:
    """Features of R rows as spans: entry e of row r has `row_starts[r]` ≤ e < `row_starts[r+1]`."""

    row_starts: Int64
    names: Int64  # (E, 2)
    positions: Int32
    values: Int64  # (E, 2)

    def take(self, rows: Int64) -> _Entries:
        entries = rows_of_segments(self.row_starts, rows)
        counts = self.row_starts[rows + 1] - self.row_starts[rows]
        return _Entries(offsets_from_counts(counts), self.names[entries], self.positions[entries], self.values[entries])


@dataclasses.dataclass(frozen=True)
class PipeReader(Reader):
    """A reader of ``id ||| text ||| features ||| score``; formats say where the fields stand.

    A negative field number counts from the last field. Fields that are named nowhere (alignments,
    derivations) are skipped.
    """

    text_field: ClassVar[int] = 1
    features_field: ClassVar[int] = 2
    score_field: ClassVar[int] = 3
    min_fields: ClassVar[int] = 3
    layout: ClassVar[str] = "id ||| text ||| features ||| score"

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a source in the order of the file."""
        pattern: set[int] | None = None
        usual = (self.text_field, self.features_field, self.score_field) == (1, 2, 3)
        plain = PlainLines(source.names)
        for lines in source.lines():
            block = plain.block(lines, pattern) if usual and pattern is not None else None
            if block is None:
                block, pattern = self._block(source, lines, pattern)
            yield block

    def _block(self, source: Source, lines: Lines, pattern: set[int] | None) -> tuple[Block, set[int] | None]:
        bad = lines.bad
        fields, counts = _split(lines)
        enough = counts >= self.min_fields
        self._report_fields(bad, source, lines, counts, ~enough)
        rows = np.flatnonzero(enough)
        fields, counts, numbers = fields[rows], counts[rows], lines.numbers[rows]

        entries, status = _lex(lines.data, self._field(fields, counts, self.features_field))
        _report_lexing(bad, source, lines, rows, status)
        values, number_status = parse_numbers(lines.data, _column(entries.values, 0), _column(entries.values, 1))
        entry_lines = np.repeat(numbers, np.diff(entries.row_starts))
        number_fault(
            bad,
            source.name,
            entry_lines,
            number_status,
            (lines.data, entries.values[:, 0], entries.values[:, 1]),
        )
        good = (status == kernels.ROW_OK) & _all_in_row(number_status == NUMBER_OK, entries.row_starts)
        scores, good = self._scores(bad, source, lines, (fields, counts, numbers), good)

        names = source.names.from_spans(
            lines.data, _column(entries.names, 0), _column(entries.names, 1), entries.positions
        )
        good, pattern = _check_positions(
            bad, source, lines, (rows, entries.row_starts, names, entries.positions, good), pattern
        )
        ids, texts = self._field(fields, counts, 0), self._field(fields, counts, self.text_field)
        block = Block(
            lines=numbers,
            ids=Texts.from_spans(lines.data, *ids),
            texts=Texts.from_spans(lines.data, *texts),
            row_starts=entries.row_starts,
            names=names,
            values=values,
            columns={} if scores is None else {"score": scores},
            bad=bad,
        )
        return block.keep(good), pattern

    @staticmethod
    def _field(fields: Int64, counts: Int64, which: int) -> tuple[Int64, Int64]:
        """Return the spans of one field of each row; beyond the last field they are empty."""
        if which >= 0 and counts.min(initial=MAX_FIELDS) > which:
            return _column(fields[:, which], 0), _column(fields[:, which], 1)
        rows = np.arange(len(fields))
        index = np.full(len(fields), which) if which >= 0 else counts + which
        inside = (index >= 0) & (index < np.minimum(counts, MAX_FIELDS))
        index = np.where(inside, index, 0)
        starts = np.where(inside, fields[rows, index, 0], 0)
        return starts, np.where(inside, fields[rows, index, 1], starts)

    def _report_fields(self, bad: BadLines, source: Source, lines: Lines, counts: Int64, few: Bool) -> None:
        at = np.flatnonzero(few)

        def describe(i: int) -> InputError:
            blank = not lines.raw(int(at[i])).strip()
            return InputError(
                expected=f"at least {self.min_fields} fields separated by ' ||| ' ({self.layout})",
                found="an empty line" if blank else f"{counts[at[i]]} in {excerpt(lines.raw(int(at[i])))}",
                path=source.name,
                line=int(lines.numbers[at[i]]),
                kind="fields",
                hint="is it a list of another kind? 'luthier list formats' names those that can be read",
            )

        bad.add("fields", lines.numbers[at], describe)

    def _scores(
        self,
        bad: BadLines,
        source: Source,
        lines: Lines,
        table: tuple[Int64, Int64, Int64],
        good: Bool,
    ) -> tuple[Float64 | None, Bool]:
        """Return the decoder's own totals, NaN where a line has none, and which rows remain good."""
        fields, counts, numbers = table
        starts, stops = self._field(fields, counts, self.score_field)
        given = stops > starts
        if not given.any():
            return None, good
        scores = np.full(len(starts), np.nan)
        scores[given], status = parse_numbers(lines.data, starts[given], stops[given])
        number_fault(
            bad,
            source.name,
            numbers[given],
            status,
            (lines.data, starts[given], stops[given]),
            hint=f"there stands the decoder's total: {self.layout}",
        )
        fine = good.copy()
        fine[given] &= status == NUMBER_OK
        return scores, fine


def _split(lines: Lines) -> tuple[Int64, Int64]:
    spans = np.zeros((2, len(lines.starts), MAX_FIELDS), dtype=np.int64)
    counts = np.zeros(len(lines.starts), dtype=np.int64)
    split_fields(lines.data, lines.starts, lines.stops, True, spans[0], spans[1], counts)  # an id may be glued
    return spans.transpose(1, 2, 0), counts  # (R, F, 2)


def _lex(data: Bytes, spans: tuple[Int64, Int64]) -> tuple[_Entries, Bytes]:
    starts, stops = spans
    # two bytes at least for a word and the blank behind it; pages that are not written cost nothing
    room = int((stops - starts + 1).sum()) // 2 + len(starts)
    row_starts = np.zeros(len(starts) + 1, dtype=np.int64)
    names, values = np.empty((room, 2), np.int64), np.empty((room, 2), np.int64)
    positions, status = np.empty(room, np.int32), np.empty(len(starts), np.uint8)
    used = kernels.lex_features(data, starts, stops, row_starts, names, positions, values, status)
    return _Entries(row_starts, names[:used], positions[:used], values[:used]), status


def _column(spans: Int64, which: int) -> Int64:
    return np.ascontiguousarray(spans[:, which])


def _all_in_row(fine: Bool, row_starts: Int64) -> Bool:
    wrong_before = np.concatenate([[0], np.cumsum(~fine)])
    fine_rows: Bool = wrong_before[row_starts[1:]] == wrong_before[row_starts[:-1]]
    return fine_rows


def _report_lexing(bad: BadLines, source: Source, lines: Lines, rows: Int64, status: Bytes) -> None:
    at = rows[status != kernels.ROW_OK]

    def describe(i: int) -> InputError:
        raw = lines.raw(int(at[i]))
        words = raw.split()
        stray = next((word for word in words if word.startswith(b"=") and len(word) > 1), b"")
        return InputError(
            expected="features as name=value, or as name= value value",
            found=f"{excerpt(stray)}, a value without a name" if stray else _stray_value(raw),
            path=source.name,
            line=int(lines.numbers[at[i]]),
            kind="feature",
        )

    bad.add("feature", lines.numbers[at], describe)


def _stray_value(raw: bytes) -> str:
    for before, word in itertools.pairwise(raw.split()):
        if b"=" in before[1:-1] and b"=" not in word and b"|" not in word:
            return f"the loose value {excerpt(word)}"
    return "a loose value"


def _check_positions(
    bad: BadLines,
    source: Source,
    lines: Lines,
    table: tuple[Int64, Int64, Int32, Int32, Bool],
    pattern: set[int] | None,
) -> tuple[Bool, set[int] | None]:
    """Mark rows whose ``name= v v`` features are not those of the file's first good line."""
    rows, row_starts, names, positions, good = table
    positional = positions >= 0
    if pattern is None:
        if not good.any():
            return good, None
        first = int(np.argmax(good))
        here = slice(row_starts[first], row_starts[first + 1])
        pattern = set(names[here][positional[here]].tolist())
    if not pattern and not positional.any():
        return good, pattern
    known = np.zeros(len(source.names) + 1, dtype=np.bool_)
    known[list(pattern)] = True
    per_row = np.bincount(segment_of_rows(row_starts)[positional], minlength=len(rows))
    differs = (per_row != len(pattern)) | ~_all_in_row(~positional | known[names], row_starts)
    at = np.flatnonzero(differs & good)
    complete = sorted(pattern)

    def describe(i: int) -> InputError:
        row = int(at[i])
        expected = _counts_by_label(source, complete)
        here = slice(row_starts[row], row_starts[row + 1])
        found = _counts_by_label(source, names[here][positional[here]].tolist())
        label = next(name for name in [*expected, *found] if expected.get(name, 0) != found.get(name, 0))
        return InputError(
            expected=f"{expected.get(label, 0)} values of {label + '='!r}, as on the first line",
            found=str(found.get(label, 0)),
            path=source.name,
            line=int(lines.numbers[rows[row]]),
            kind="value-count",
            hint="values without a name of their own must be complete on every line",
        )

    bad.add("value-count", lines.numbers[rows[at]], describe)
    return good & ~differs, pattern


def _counts_by_label(source: Source, numbers: list[int]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for number in numbers:
        label, _ = source.names.label_of(number)
        counts[label] = counts.get(label, 0) + 1
    return counts


def most(rows: Sequence[Sequence[str]], fits: Callable[[Sequence[str]], object]) -> bool:
    """Return whether more than half of the rows fit: one bad line must not hide a list's format."""
    return 2 * sum(bool(fits(row)) for row in rows) > len(rows)


def first_fields(head: bytes, limit: int = 20) -> list[list[str]]:
    """Return the ``|||`` fields of the first whole lines of a file's head, for recognising formats."""
    text = head.decode("utf-8", "replace").lstrip("\ufeff")
    whole = text.split("\n")[:-1] if "\n" in text else [text]
    # blanks before a separator are taken off afterwards: a pattern that begins with blanks is quadratic in them
    split = (re.split(r"\|\|\|(?:\s+|$)", line.strip()) for line in whole[:limit] if line.strip())
    return [[field.rstrip() for field in fields] for fields in split]
