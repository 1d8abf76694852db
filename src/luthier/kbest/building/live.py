"""A stream of lists as pools of whole sentences, each as soon as its list is complete: a re-ranker in a pipe.

Whatever has arrived is worked on; nothing waits for a block to fill. A sentence's list is complete when a line has
another id, at a blank line, or at the end; an object that holds a whole list is complete at once. Only the ids of
sentences and the names of features are kept beyond it.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

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
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import HEAD_BYTES, Block, Lines, Source

MOMENT = 1.0  # milliseconds, in which a program that writes fast writes more
BLANK_LINE = re.compile(rb"^[ \t\r]*\n", re.MULTILINE)
Needed = Mapping[str, float | None]


def live_pools(stream: io.BufferedReader[Any], options: ReadOptions, needed: Needed) -> Iterator[Pool]:
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
    roles = options.roles
    again: io.BufferedReader[Any] = io.BufferedReader(_Pushed(head, stream), BLOCK_BYTES)
    faults, names, local = LineErrors(skip=options.skip_bad), NameTable(), NameTable()
    source = LiveSource(STDIN, faults, names, local, again, roles.ignored, ready=_ready(stream))
    chunks = LiveChunks(reader, source, roles, options)
    yield from chunks.as_they_come({name: fill for name, fill in needed.items() if name not in roles.columns})
    if not chunks.n_rows:
        raise InputError(expected="at least one usable hypothesis", found="none", path=source.name)


def _first_line(stream: io.BufferedReader[Any]) -> bytes:
    """Return what comes up to the end of the first line that is not blank, or to the end of all."""
    parts: list[bytes] = []
    while line := stream.readline(LONGEST_LINE):
        parts.append(line)
        if line.strip():
            break
    return b"".join(parts) if parts and parts[-1].strip() else b""


def _ready(stream: io.BufferedReader[Any]) -> Callable[[], bool] | None:
    """Return the function that says whether more comes within a moment; None where the system cannot tell."""
    try:
        import select

        poll = select.poll()
        poll.register(stream.fileno(), select.POLLIN)
    except (ImportError, AttributeError, OSError, ValueError):
        return None
    return lambda: bool(poll.poll(MOMENT))


class _Pushed(io.RawIOBase):
    """Bytes that were read already, and then what arrives."""

    def __init__(self, head: bytes, stream: io.BufferedReader[Any]) -> None:
        self._head, self._stream = memoryview(head), stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._head:
            n = min(len(buffer), len(self._head))
            buffer[:n], self._head = self._head[:n], self._head[n:]
            return n
        data = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@dataclasses.dataclass(eq=False)
class _Arrival:
    """The blank lines among those that were read last, by number, and whether one is the last of them."""

    blanks: Int64 = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    ends: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class LiveSource(Source):
    """Standard input whose lines are yielded as they arrive."""

    arrival: _Arrival = dataclasses.field(default_factory=_Arrival)
    ready: Callable[[], bool] | None = None

    def lines(self) -> Iterator[Lines]:
        """Yield the lines that have arrived, without blank ones; none where a blank line alone has come."""
        number, begun = 1, False
        for data in self._whole_lines():
            array = np.frombuffer(data, dtype=np.uint8).copy()
            ends = np.flatnonzero(array == ord("\n"))
            blanks = np.searchsorted(ends, [blank.start() for blank in BLANK_LINE.finditer(data)]) + number
            lines = self._usable(array, ends, number)
            number += len(ends)
            self.arrival.blanks, self.arrival.ends = blanks, bool(len(blanks)) and blanks[-1] == number - 1
            if len(blanks) < len(ends) or begun:
                kept = ~np.isin(lines.numbers, blanks)
                places = lines.starts[kept], lines.stops[kept], lines.numbers[kept]
                begun = not self.arrival.ends
                yield Lines(lines.data, *places, lines.bad)

    def _whole_lines(self) -> Iterator[bytes]:
        """Yield what arrives, cut behind its last line end."""
        assert self.stream is not None
        parts: list[bytes] = []
        held = 0
        while data := self.stream.read1(BLOCK_BYTES):
            data += self._more(len(data))
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

    def _more(self, n: int) -> bytes:
        """Return what comes hard on the heels of `n` bytes: a program that writes fast is read in large blocks."""
        if self.ready is None or self.stream is None:
            return b""
        parts: list[bytes] = []
        while n < BLOCK_BYTES and self.ready():
            parts.append(self.stream.read1(BLOCK_BYTES - n))
            n += len(parts[-1])
            if not parts[-1]:
                break
        return b"".join(parts)


class LiveChunks(Chunks):
    """Cuts the blocks of a reader behind the last list that is complete."""

    def as_they_come(self, needed: Needed) -> Iterator[Pool]:
        """Yield, after each block, the sentences whose lists are complete."""
        assert isinstance(self._source, LiveSource)
        if self._together:
            self._order = OrderCheck(ascending=False)
        whole = self._reader.together and not self._reader.ordered  # an object has all of its sentence
        arrival, builder, held, arrived = self._source.arrival, self._builder(), 0, dict[str, None]()
        for raw in self._reader.blocks(self._source):
            block, starts = self._checked(self._complete(self._apart(raw), needed))
            ends = arrival.ends or whole
            self.n_rows += len(block)
            if not self._together or block.by_source or not (ends or len(starts)):
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

    def _apart(self, raw: Block) -> Block:
        """Return a block without rows that go on with a sentence behind a blank line, which ended it."""
        assert isinstance(self._source, LiveSource)
        blanks = self._source.arrival.blanks
        if not len(blanks) or not len(raw):
            return raw
        if self._order is not None and blanks[0] < raw.lines[0]:
            self._order.close()
        good = np.ones(len(raw), dtype=np.bool_)
        for row in np.unique(np.searchsorted(raw.lines, blanks)).tolist():
            again = raw.ids[row - 1] if 0 < row < len(raw) else None
            while again is not None and row < len(raw) and raw.ids[row] == again:
                good[row] = False
                row += 1
        at = np.flatnonzero(~good)

        def describe(i: int) -> InputError:
            return InputError(
                expected="the hypotheses of a sentence together",
                found=f"{raw.ids[int(at[i])]!r} again, after a blank line",
                path=self._source.name,
                line=int(raw.lines[at[i]]),
                kind="order",
            )

        raw.bad.add("order", raw.lines[at], describe)
        return raw.keep(good)

    @staticmethod
    def _in_order(pool: Pool, arrived: list[str]) -> Pool:
        """Return a pool whose sentences stand as they came: whole numbers are sorted while it is built."""
        ids = list(pool.sentence_ids)
        if ids == arrived or not {*arrived} <= {*ids}:  # those of sources are numbered as they come
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
