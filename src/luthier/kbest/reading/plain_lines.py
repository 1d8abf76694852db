"""The usual stretch of a list, read in one pass: single spaces, names met before, numbers that are numbers."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Int64, flat
from luthier.core.numbers import powers
from luthier.corpus.texts import Texts
from luthier.kbest.building.names import NameTable
from luthier.kbest.reading import _plain_kernels as kernels
from luthier.kbest.reading.reader import Block, Lines

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
            spans=np.empty((n, 4), np.int64), scores=np.empty(n), row_starts=np.zeros(n + 1, np.int64),
            names=np.empty(room, np.int32), values=np.empty(room),
        )  # fmt: skip
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
