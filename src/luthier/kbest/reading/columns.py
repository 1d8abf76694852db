"""Lines cut into columns of spans: at tabs, or into leading words and the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from luthier.core.arrays import Array, Bool, Bytes, Float64, Int32, Int64, frozen
from luthier.core.errors import InputError
from luthier.core.files.io import LINE_FEED
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Texts
from luthier.kbest.reading import _column_kernels as kernels
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Lines, number_fault

# Stretches of lines cut and joined, for formats whose records do not end where a stretch does.


def no_lines() -> Lines:
    """Return a stretch without a line."""
    none = np.zeros(0, dtype=np.int64)
    return Lines(frozen(np.zeros(0, dtype=np.uint8)), none, none, none, BadLines())


def select(lines: Lines, rows: Bool | slice) -> Lines:
    """Return the chosen lines, and all that are bad."""
    return Lines(lines.data, lines.starts[rows], lines.stops[rows], lines.numbers[rows], lines.bad)


def cut_after(lines: Lines, last: int) -> tuple[Lines, Lines]:
    """Cut a stretch, good lines and bad, behind line number `last`."""
    cut = int(np.searchsorted(lines.numbers, last, side="right"))
    halves = []
    for rows, wanted in ((slice(0, cut), True), (slice(cut, None), False)):
        bad = BadLines()
        for kind, numbers, describe in lines.bad:
            at = np.flatnonzero((numbers <= last) == wanted)
            bad.add(kind, numbers[at], _renumbered(describe, at))
        part = select(lines, rows)
        halves.append(Lines(part.data, part.starts, part.stops, part.numbers, bad))
    return halves[0], halves[1]


def _renumbered(describe: Callable[[int], InputError], at: Int64) -> Callable[[int], InputError]:
    return lambda i: describe(int(at[i]))


def joined(first: Lines, second: Lines) -> Lines:
    """Return two stretches as one; of the first, only the bytes of its lines are kept."""
    if not len(first.numbers) and not first.bad:
        return second
    kept = Texts.from_spans(first.data, first.starts, first.stops)
    shift = len(kept.data)
    bad = BadLines()
    bad.extend(first.bad)
    bad.extend(second.bad)
    return Lines(
        frozen(np.concatenate([kept.data, second.data])),
        np.concatenate([kept.offsets[:-1], second.starts + shift]),
        np.concatenate([kept.offsets[1:], second.stops + shift]),
        np.concatenate([first.numbers, second.numbers]),
        bad,
    )


class Feed:
    """Lines of a file that are fetched by the stretch and taken up to any line.

    Attributes
    ----------
    last : int
        Number of the last line fetched.
    """

    def __init__(self, stretches: Iterator[Lines]) -> None:
        self._stretches = stretches
        self._waiting = no_lines()
        self.last = 0

    def fetch(self) -> bool:
        """Fetch the next stretch, if there is one; what was fetched before must have been taken."""
        stretch = next(self._stretches, None)
        if stretch is None:
            return False
        # Bad lines are not among the good ones, so the bytes are asked how many there are.
        self.last += int(np.count_nonzero(stretch.data == LINE_FEED))
        self._waiting = stretch
        return True

    def peek(self) -> Lines:
        """Return the lines that were fetched and not taken."""
        return self._waiting

    def take(self, last: int) -> Lines:
        """Return the lines up to number `last`."""
        taken, self._waiting = cut_after(self._waiting, last)
        return taken


@dataclasses.dataclass(frozen=True, eq=False)
class Spans:
    """R spans in one array of bytes: span i is ``data[starts[i]:stops[i]]``."""

    data: Bytes
    starts: Int64
    stops: Int64

    def __len__(self) -> int:
        return len(self.starts)

    def arrays(self) -> tuple[Bytes, Int64, Int64]:
        """Return the three arrays, read-only and contiguous, so that one compiled kernel serves all."""
        return _packed(self.data), _packed(self.starts), _packed(self.stops)

    def take(self, rows: Int64 | Bool | slice) -> Spans:
        """Return the chosen spans."""
        return Spans(self.data, self.starts[rows], self.stops[rows])

    def texts(self) -> Texts:
        """Return the spans as a column of texts."""
        return Texts.from_spans(*self.arrays())

    def raw(self, i: int) -> bytes:
        """Return the bytes of span i."""
        return self.data[self.starts[i] : self.stops[i]].tobytes()


@dataclasses.dataclass(frozen=True, eq=False)
class Fields:
    """The first C fields of R lines, ``columns[c]``, and how many fields each line has, (R,)."""

    columns: tuple[Spans, ...]
    counts: Int64


def spans_of(lines: Lines) -> Spans:
    """Return whole lines as spans."""
    return Spans(lines.data, lines.starts, lines.stops)


def tab_fields(spans: Spans, n: int) -> Fields:
    """Cut lines at tabs; a field that a line does not have is an empty span."""
    starts, stops = np.zeros((2, n, len(spans)), dtype=np.int64)
    counts = np.empty(len(spans), dtype=np.int64)
    kernels.split_at_tabs(*spans.arrays(), starts, stops, counts)
    return Fields(_columns(spans.data, starts, stops), counts)


def leading_words(spans: Spans, n: int) -> tuple[Fields, Spans]:
    """Cut the first n words off each line; return them and what follows, without outer white space.

    `Fields.counts` counts these words only: a line with fewer than n has fewer.
    """
    starts, stops = np.zeros((2, n, len(spans)), dtype=np.int64)
    counts, rest_starts, rest_stops = np.empty((3, len(spans)), dtype=np.int64)
    kernels.leading_words(*spans.arrays(), starts, stops, counts, rest_starts, rest_stops)
    return Fields(_columns(spans.data, starts, stops), counts), Spans(spans.data, rest_starts, rest_stops)


def words(spans: Spans) -> tuple[Int64, Spans]:
    """Return all words of all spans; row r has the words ``offsets[r]:offsets[r+1]``."""
    arrays = spans.arrays()
    starts, stops = np.empty((2, kernels.word_room(*arrays)), dtype=np.int64)
    offsets = np.empty(len(spans) + 1, dtype=np.int64)
    used = kernels.word_spans(*arrays, offsets, starts, stops)
    return offsets, Spans(spans.data, starts[:used], stops[:used])


def log_marks(spans: Spans) -> tuple[Bytes, Spans]:
    """Return the mark of each line that begins as ``H-12`` does, 0 for others, and the span of its id."""
    marks = np.empty(len(spans), dtype=np.uint8)
    stops = np.empty(len(spans), dtype=np.int64)
    kernels.find_marks(*spans.arrays(), marks, stops)
    return marks, Spans(spans.data, np.minimum(spans.starts + 2, stops), stops)


def same_as_before(spans: Spans) -> Bool:
    """Return whether each span holds the same bytes as the one before it."""
    same = np.empty(len(spans), dtype=np.bool_)
    kernels.same_as_before(*spans.arrays(), same)
    return same


def numbered_suffixes(spans: Spans) -> tuple[Spans, Int64]:
    """Return the spans without a final ``-<number>``, and that number; −1 where there is none."""
    stops, numbers = np.empty((2, len(spans)), dtype=np.int64)
    kernels.numbered_suffixes(*spans.arrays(), stops, numbers)
    return Spans(spans.data, spans.starts, stops), numbers


def decimals(numbers: Int64) -> Texts:
    """Return whole numbers as texts.

    >>> list(decimals(np.array([0, 12])))
    ['0', '12']
    """
    written = np.asarray(numbers, dtype=np.int64).astype("S20")  # padded with zero bytes
    starts = np.arange(len(written), dtype=np.int64) * written.itemsize
    return Spans(written.view(np.uint8), starts, starts + np.char.str_len(written)).texts()


def full_rows(names: Int32, values: Float64) -> tuple[Int64, Int32, Float64]:
    """Return `row_starts`, `names` and `values` of a `Block` whose rows all have the same F features.

    Parameters
    ----------
    names : (F,)
    values : (F, R)
    """
    n_features, n_rows = values.shape
    row_starts = offsets_from_counts(np.full(n_rows, n_features))
    return row_starts, np.tile(names, n_rows), np.ascontiguousarray(values.T).ravel()


def number_columns(
    bad: BadLines, path: str, lines: Int64, columns: Sequence[Spans], hint: str, *, may_lack: bool = False
) -> tuple[Float64, Bool]:
    """Read F columns of numbers, and report those that are none; with `may_lack` an empty field is NaN.

    Returns
    -------
    values : (F, R)
    fine : (R,)
        Which rows have all their numbers.
    """
    shape = len(columns), len(lines)
    if not columns:
        return np.zeros(shape), np.ones(len(lines), dtype=np.bool_)
    spans = Spans(
        columns[0].data,
        np.concatenate([column.starts for column in columns]),
        np.concatenate([column.stops for column in columns]),
    )
    values, status = parse_numbers(*spans.arrays())
    if may_lack:
        empty = spans.starts == spans.stops
        values[empty], status[empty] = np.nan, NUMBER_OK
    number_fault(bad, path, np.tile(lines, len(columns)), status, spans.arrays(), hint=hint)
    fine: Bool = (status.reshape(shape) == NUMBER_OK).all(axis=0)
    return values.reshape(shape), fine


def _packed(array: Array) -> Array:
    return frozen(array if array.flags.c_contiguous else array.copy())


def _columns(data: Bytes, starts: Int64, stops: Int64) -> tuple[Spans, ...]:
    return tuple(Spans(data, starts[c], stops[c]) for c in range(len(starts)))
