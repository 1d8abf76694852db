"""A stream of lists as pools of whole sentences, each as soon as its list is complete: a re-ranker in a pipe.

Whatever has arrived is worked on; nothing waits for a block to fill. A sentence's list is complete when a line has
another id, at a blank line, or at the end. Only the ids of sentences and the names of features are kept beyond it.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import numpy as np

from luthier.core.arrays import Bool, Int64
from luthier.core.errors import InputError
from luthier.core.files.io import BLOCK_BYTES, LONGEST_LINE, STDIN, display_name
from luthier.core.files.streams import GZIP_MAGIC, ZSTD_MAGIC
from luthier.core.segments import offsets_from_counts
from luthier.corpus.lines import empty_error
from luthier.kbest.building.lists import ReadOptions, choose_reader
from luthier.kbest.building.sentences import OrderCheck
from luthier.kbest.building.streaming import Chunks, stream_pools
from luthier.kbest.pool import Pool
from luthier.kbest.reading.column_roles import Roles
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import HEAD_BYTES, Block, Lines, Source

BLANK_LINE = re.compile(rb"^[ \t\r]*\n", re.MULTILINE)
Needed = Mapping[str, float | None]


def live_pools(stream: io.BufferedReader, options: ReadOptions, needed: Needed) -> Iterator[Pool]:
    """Yield the lists of standard input, opened as `stream`, sentence by sentence.

    `needed` are the features that every hypothesis of a table must have, and what one counts where it is missing; None
    is an error. Compressed input, lines of plain text (which may be blank), and formats whose sentences come in any
    order are answered in larger pieces.

    Raises
    ------
    InputError
        At the first fault, such as an id that comes back. What was yielded before it is gone out already.
    """
    if "per_sentence" in options.format_options or stream.peek(4)[:4].startswith((GZIP_MAGIC, ZSTD_MAGIC)):
        yield from stream_pools(STDIN, options)
        return
    head = _first_line(stream)
    if not head:
        raise empty_error(display_name(STDIN))
    _, reader = choose_reader(head[:HEAD_BYTES], STDIN, options)
    roles = Roles(frozenset(options.columns), frozenset(options.ignore))
    again = io.BufferedReader(_Pushed(head, stream), BLOCK_BYTES)
    source = LiveSource(STDIN, LineErrors(skip=options.skip_bad), NameTable(), NameTable(), again, roles.ignored)
    chunks = LiveChunks(reader, source, roles, options)
    yield from chunks.as_they_come({name: fill for name, fill in needed.items() if name not in roles.columns})
    if not chunks.n_rows:
        raise InputError(expected="at least one usable hypothesis", found="none", path=source.name)


def _first_line(stream: io.BufferedReader) -> bytes:
    """Return what comes up to the end of the first line that is not blank, or to the end of all."""
    parts: list[bytes] = []
    while line := stream.readline(LONGEST_LINE):
        parts.append(line)
        if line.strip():
            break
    return b"".join(parts) if parts and parts[-1].strip() else b""


class _Pushed(io.RawIOBase):
    """Bytes that were read already, and then what arrives."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head, self._stream = memoryview(head), stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._head:
            n = min(len(buffer), len(self._head))
            buffer[:n], self._head = self._head[:n], self._head[n:]
            return n
        data = self._stream.read1(len(buffer))  # type: ignore[attr-defined]
        buffer[: len(data)] = data
        return len(data)


@dataclasses.dataclass(eq=False)
class _Arrival:
    """Whether the lines that were read last end a sentence's list."""

    ends: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class LiveSource(Source):
    """Standard input whose lines are handed out as they arrive."""

    arrival: _Arrival = dataclasses.field(default_factory=_Arrival)

    def lines(self) -> Iterator[Lines]:
        """Yield the lines that have arrived, in pieces that end at blank lines; those are left out."""
        number, begun = 1, False
        for data in self._whole_lines():
            start = 0
            for blank in (*BLANK_LINE.finditer(data), None):
                stop = len(data) if blank is None else blank.start()
                begun, self.arrival.ends = begun or stop > start, blank is not None
                if stop > start or (begun and blank is not None):  # a blank line that comes later ends the list too
                    begun = blank is None
                    yield self._usable(*_with_ends(data[start:stop]), number + data.count(b"\n", 0, start))
                start = stop if blank is None else blank.end()
            number += data.count(b"\n")

    def _whole_lines(self) -> Iterator[bytes]:
        """Yield what arrives, cut behind its last line end."""
        assert self.stream is not None
        parts: list[bytes] = []
        held = 0
        while data := self.stream.read1(BLOCK_BYTES):
            whole, end, rest = data.rpartition(b"\n")
            if end:
                yield b"".join([*parts, whole, end])
                parts, held = [], 0
            parts.append(rest)
            held += len(rest)
            if held > LONGEST_LINE:
                raise InputError(
                    expected=f"lines of at most {LONGEST_LINE >> 20} MB", found="a longer one", path=self.name
                )
        if held:
            yield b"".join([*parts, b"\n"])


def _with_ends(data: bytes) -> tuple[np.ndarray, Int64]:
    array = np.frombuffer(data, dtype=np.uint8).copy()
    return array, np.flatnonzero(array == ord("\n"))


class LiveChunks(Chunks):
    """Cuts the blocks of a reader behind the last list that is complete."""

    def as_they_come(self, needed: Needed) -> Iterator[Pool]:
        """Yield, after each block, the sentences whose lists are complete."""
        assert isinstance(self._source, LiveSource)
        if self._order is not None:
            self._order = OrderCheck(ascending=False)
        arrival, builder, held, arrived = self._source.arrival, self._builder(), 0, dict[str, None]()
        for raw in self._reader.blocks(self._source):
            block, starts = self._checked(self._complete(raw, needed))
            ends = arrival.ends
            self.n_rows += len(block)
            if not self._reader.ordered or not (ends or len(starts)):
                held += builder.add_block(block, self._source)
                arrived |= dict.fromkeys(block.ids)
                continue
            place, cut = np.arange(len(block)), len(block) if ends else int(starts[-1])
            held += builder.add_block(block.keep(place < cut), self._source)
            arrived |= dict.fromkeys(block.ids.take(place[:cut]))
            if held:
                yield self._in_order(self._build(builder), list(arrived))
                builder, held, arrived = self._builder(), 0, {}
            if cut < len(block):
                held = builder.add_block(block.keep(place >= cut), self._source)
                arrived |= dict.fromkeys(block.ids.take(place[cut:]))
            if ends and self._order is not None:
                self._order.close()
                self._last = -1
        if held:
            yield self._in_order(self._build(builder), list(arrived))

    @staticmethod
    def _in_order(pool: Pool, arrived: list[str]) -> Pool:
        """Return a pool whose sentences stand as they came: whole numbers are sorted while it is built."""
        ids = list(pool.sentence_ids)
        if ids == arrived:
            return pool
        place = {name: number for number, name in enumerate(ids)}
        return pool.take_sentences([place[name] for name in arrived])

    def _complete(self, raw: Block, needed: Needed) -> Block:
        """Return a block of a table in which every row has all features that are needed."""
        if not raw.gaps or not needed:
            return raw
        needed = {name: fill for name, fill in needed.items() if name not in raw.columns}
        names = list(needed)
        numbers = self._source.names.from_strings(names)
        rows = np.repeat(np.arange(len(raw)), np.diff(raw.row_starts))
        has = np.zeros((len(raw), len(names)), dtype=np.bool_)
        for k, number in enumerate(numbers.tolist()):
            has[rows[raw.names == number], k] = True
        fill = np.array([np.nan if value is None else value for value in needed.values()])
        at, lacking = np.nonzero(~has)
        wrong = np.isnan(fill[lacking])
        good = self._refused(raw, at[wrong], [names[k] for k in lacking[wrong]])
        at, lacking = at[~wrong], lacking[~wrong]
        order = np.argsort(np.concatenate([rows, at]), kind="stable")
        counts = np.diff(raw.row_starts) + np.bincount(at, minlength=len(raw))
        block = dataclasses.replace(
            raw,
            row_starts=offsets_from_counts(counts),
            names=np.concatenate([raw.names, numbers[lacking]])[order],
            values=np.concatenate([raw.values, fill[lacking]])[order],
            gaps=False,
        )
        return block.keep(good)

    def _refused(self, raw: Block, at: Int64, names: list[str]) -> Bool:
        """Add the rows that lack a feature to the faulty ones; return which rows are good."""
        good = np.ones(len(raw), dtype=np.bool_)
        good[at] = False

        def describe(i: int) -> InputError:
            return InputError(
                expected=f"the feature {names[i]!r} on every line, as it has a weight",
                found="none",
                path=self._source.name,
                line=int(raw.lines[at[i]]),
                kind="missing",
                hint='a value under "missing" in a JSON file of weights fills it in',
            )

        raw.bad.add("missing", raw.lines[at], describe)
        return good
