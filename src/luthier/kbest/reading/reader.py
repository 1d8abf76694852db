"""What a reader of lists is: a file in `readers/`, a class `Method`, blocks of columns out.

A reader turns a source into blocks of hypotheses in columns. It knows one format's lines and nothing
else: order of ids, references, merging, duplicates and dense or sparse storage are the builder's
business (`luthier.kbest.building.builder`), the same for all formats.
"""

from __future__ import annotations

import abc
import dataclasses
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np

from luthier.core.arrays import Bool, Bytes, Float64, Int32, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.files.io import BOM, display_name, line_blocks, open_bytes
from luthier.core.files.streams import TruncatedError
from luthier.core.numbers import NOT_FINITE, NUMBER_OK
from luthier.core.params import validate
from luthier.core.progress import progress
from luthier.core.segments import offsets_from_counts, rows_of_segments
from luthier.corpus.lines import (
    CARRIAGE_RETURN,
    FIXABLE,
    bom_error,
    empty_error,
    line_spans,
    utf8_error,
    windows_line_error,
)
from luthier.corpus.texts import RepeatedTexts, Texts
from luthier.kbest.reading.line_errors import BadLines, LineErrors
from luthier.kbest.reading.names import NameTable

PACKAGE = "luthier.kbest.readers"
HEAD_BYTES = 1 << 16
MOST_COLUMNS = 1_000


@dataclasses.dataclass(frozen=True, eq=False)
class SentenceData:
    """Sources and references that a list itself carries, for the sentences named in `ids`.

    `references` are ragged: sentence i has ``references[reference_offsets[i]:reference_offsets[i+1]]``.
    """

    ids: Texts
    sources: Texts | None = None
    references: Texts | None = None
    reference_offsets: Int64 | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class RuleUses:
    """Derivations of the R rows of a block.

    ``rule_texts[offsets[r]:offsets[r+1]]`` are the rules of row r; rule use u has the local features
    ``names[feature_offsets[u]:feature_offsets[u+1]]`` (numbers in `Source.local_names`) and `values`.
    """

    offsets: Int64
    rule_texts: Texts
    feature_offsets: Int64
    names: Int32
    values: Float64

    def take(self, rows: Int64) -> RuleUses:
        """Return the derivations of the chosen rows."""
        uses = rows_of_segments(self.offsets, rows)
        entries = rows_of_segments(self.feature_offsets, uses)
        return RuleUses(
            offsets_from_counts(self.offsets[rows + 1] - self.offsets[rows]),
            self.rule_texts.take(uses),
            offsets_from_counts(self.feature_offsets[uses + 1] - self.feature_offsets[uses]),
            self.names[entries],
            self.values[entries],
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """R hypotheses from one stretch of a list, in columns, and the faulty lines among them.

    Attributes
    ----------
    lines : (R,) int64
        Line of each row, from 1.
    ids, texts : R texts
        Sentence id and hypothesis.
    row_starts : (R+1,) int64
    names, values : (E,) int32, (E,) float64
        Row r has the features ``names[row_starts[r]:row_starts[r+1]]``, numbers in `Source.names`.
        What is absent counts 0.
    columns : name → (R,) float64
        Numbers that are not features; NaN where a row has none.
    gaps : bool
        Whether a feature that most rows have is *missing* where it is absent, and does not count 0.
    guessed : bool
        Whether numbers are features only because nothing says that they are something else.
    by_source : bool
        Whether `ids` are the sources of the sentences, for want of ids; rows may then come in any order.
    other_keys : RepeatedTexts of R rows, or None
    integer_ids : (R,) bool or None
        Which ids are numbers in a format where that makes a difference.
    """

    lines: Int64
    ids: Texts
    texts: Texts
    row_starts: Int64
    names: Int32
    values: Float64
    columns: Mapping[str, Float64] = dataclasses.field(default_factory=dict)
    sentences: SentenceData | None = None
    rule_uses: RuleUses | None = None
    bad: BadLines = dataclasses.field(default_factory=BadLines)
    gaps: bool = False
    guessed: bool = False
    by_source: bool = False
    integer_ids: Bool | None = None
    other_keys: RepeatedTexts | None = None

    def __len__(self) -> int:
        return len(self.lines)

    def keep(self, good: Bool) -> Block:
        """Return the block without the rows where `good` is False."""
        if good.all():
            return self
        rows = np.flatnonzero(good)
        entries = rows_of_segments(self.row_starts, rows)
        return dataclasses.replace(
            self,
            lines=self.lines[rows],
            ids=self.ids.take(rows),
            texts=self.texts.take(rows),
            row_starts=offsets_from_counts(self.row_starts[rows + 1] - self.row_starts[rows]),
            names=self.names[entries],
            values=self.values[entries],
            columns={name: column[rows] for name, column in self.columns.items()},
            rule_uses=None if self.rule_uses is None else self.rule_uses.take(rows),
            integer_ids=None if self.integer_ids is None else self.integer_ids[rows],
            other_keys=None if self.other_keys is None else self.other_keys.take(rows),
        )


def check_columns(names: Sequence[str], path: str = "") -> None:
    """Raise `InputError` where lists have so many columns that these would fill the memory, mostly with NaN."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            expected=f"at most {MOST_COLUMNS:,} different keys with a number beside the features",
            found=f"{len(names):,}, {names[0]!r} the first",
            path=path,
            hint="each would be a column as long as the list; write them among the features",
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Lines:
    """Usable lines of one stretch: line i is ``data[starts[i]:stops[i]]`` and has number `numbers[i]`.

    `bad` holds the lines left out already (not UTF-8); a reader passes it on, with its own, in `Block`.
    """

    data: Bytes
    starts: Int64
    stops: Int64
    numbers: Int64
    bad: BadLines

    def raw(self, i: int) -> bytes:
        """Return the bytes of line i."""
        return self.data[self.starts[i] : self.stops[i]].tobytes()


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """One file of a list, and the tables all files of a reading share."""

    path: str
    faults: LineErrors
    names: NameTable
    local_names: NameTable
    stream: io.BufferedReader | None = None  # opened already, as standard input must be
    ignored: frozenset[str] = frozenset()  # columns of tables that are skipped, whatever they hold
    by_source: bool = False  # rows of one source are one sentence, whatever their ids

    @contextmanager
    def open(self) -> Iterator[io.BufferedReader]:
        """Yield the decompressed bytes, from their beginning."""
        if self.stream is not None:
            yield self.stream
        else:
            with open_bytes(self.path) as stream:
                yield stream

    @property
    def name(self) -> str:
        """How complaints call the file."""
        return display_name(self.path)

    def lines(self) -> Iterator[Lines]:
        """Yield the file's lines in stretches: UTF-8, without line ends, BOM and carriage returns."""
        empty = True
        with self.open() as stream, progress(f"reading {self.name}") as advance:
            blocks = line_blocks(stream, self.name)
            while True:
                try:
                    block = next(blocks, None)
                except TruncatedError as error:
                    self.faults.settle_file(error)
                    break
                if block is None:
                    break
                empty = False
                yield self._usable(block.data, block.ends, block.first_line)
                advance(len(block.data))
        if empty:
            raise empty_error(self.name)

    def _usable(self, data: Bytes, ends: Int64, first_line: int) -> Lines:
        bad = BadLines()
        starts, stops = line_spans(ends)
        numbers = np.arange(first_line, first_line + len(starts), dtype=np.int64)
        if first_line == 1 and data[:3].tobytes() == BOM:
            self.faults.fix(bom_error(self.name, FIXABLE))
            starts[0] = 3
        windows = (stops > starts) & (data[np.maximum(stops - 1, 0)] == CARRIAGE_RETURN)
        if windows.any():
            lines = numbers[windows]
            self.faults.fix(windows_line_error(self.name, int(lines[0]), FIXABLE), len(lines))
            stops = stops - windows
        good = self._utf8(data, starts, stops)
        if not good.all():
            lines, firsts = numbers[~good], starts[~good]
            bad.add(
                "utf-8",
                lines,
                lambda i: utf8_error(self.name, int(lines[i]), _undecodable(data[firsts[i] :].tobytes())),
            )
            starts, stops, numbers = starts[good], stops[good], numbers[good]
        return Lines(data, starts, stops, numbers, bad)

    @staticmethod
    def _utf8(data: Bytes, starts: Int64, stops: Int64) -> Bool:
        """Return which lines are UTF-8; one decoding of all of them when nothing is wrong."""
        good = np.ones(len(starts), dtype=np.bool_)
        try:
            str(memoryview(np.ascontiguousarray(data)), "utf-8")  # type: ignore[arg-type]
        except UnicodeDecodeError:
            raw = data.tobytes()
            for i, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
                try:
                    raw[start:stop].decode("utf-8")
                except UnicodeDecodeError:
                    good[i] = False
        return good


def _undecodable(raw: bytes) -> bytes:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return raw[error.start : error.start + 4]
    return b""


@dataclasses.dataclass(frozen=True)
class Reader(abc.ABC):
    """Base of all readers; parameters are dataclass fields made by `param`."""

    # Whether a sentence's hypotheses stand together and integer ids ascend, as decoders print them.
    ordered: ClassVar[bool] = True
    # Whether they stand together, though the ids may come in any order.
    together: ClassVar[bool] = False

    def __post_init__(self) -> None:
        validate(self)

    @classmethod
    @abc.abstractmethod
    def recognizes(cls, head: bytes) -> int:
        """Return how surely a file that begins with `head` is of this format: 0 (no) to 100."""

    @classmethod
    def recognizes_folder(cls, folder: Path) -> int:  # noqa: ARG003
        """Return how surely a folder is a list of this format: 0 (no, as for formats of one file) to 100."""
        return 0

    @abc.abstractmethod
    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a source in the order of the file."""


def number_fault(
    bad: BadLines,
    path: str,
    lines: Int64,
    status: Bytes,
    spans: tuple[Bytes, Int64, Int64],
    *,
    hint: str = "features are written name=value or name= value",
) -> None:
    """Add the lines of numbers that did not parse (`status` as `parse_numbers` returns it).

    `lines` and `status` have one entry per number; `spans` are the data, starts and stops parsed. Each
    line is added once, for its first bad number. `hint` says how numbers are written in the format.
    """
    wrong = np.flatnonzero(status != NUMBER_OK)
    first = wrong[np.unique(lines[wrong], return_index=True)[1]] if len(wrong) else wrong
    data, starts, stops = spans
    for kind, chosen in (
        ("number", first[status[first] != NOT_FINITE]),
        ("not-finite", first[status[first] == NOT_FINITE]),
    ):

        def describe(i: int, chosen: Int64 = chosen, kind: str = kind) -> InputError:
            entry = chosen[i]
            return InputError(
                expected="a finite number" if kind == "not-finite" else "a number",
                found=excerpt(data[starts[entry] : stops[entry]].tobytes()),
                path=path,
                line=int(lines[entry]),
                kind=kind,
                hint="a scorer failed there; fix the list, or leave such lines out with `skip_bad`"
                if kind == "not-finite"
                else hint,
            )

        bad.add(kind, lines[chosen], describe)
