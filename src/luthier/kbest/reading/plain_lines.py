"""The usual stretch of a list, read in one pass: single spaces, names met before, numbers that are numbers."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.numbers import NUMBER_OK, parse_numbers
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
        self._numbers: Int64 = np.zeros(0, dtype=np.int64)
        self._known: kernels.Known | None = None

    def block(self, lines: Lines, pattern: set[int]) -> Block | None:
        """Return the block of a stretch, None where a line is not plain.

        `pattern` has the names with positions that stand on every line.
        """
        self._learn(pattern)
        if not len(self._numbers) or not len(lines.starts):
            return None
        n, room = len(lines.starts), int((lines.stops - lines.starts).sum()) // BYTES_PER_VALUE
        spans, row_starts = np.empty((n, 6), np.int64), np.zeros(n + 1, np.int64)
        found, values = np.empty(room, np.int64), np.empty((room, 2), np.int64)
        used = kernels.plain_rows(lines.data, lines.starts, lines.stops, self._known, spans, row_starts, found, values)
        if used < 0:
            return None
        parsed, status = parse_numbers(lines.data, _column(values, 0, used), _column(values, 1, used))
        scores, score_status = parse_numbers(lines.data, _column(spans, 4), _column(spans, 5))
        if np.any(status != NUMBER_OK) or np.any(score_status != NUMBER_OK):
            return None
        return Block(
            lines=lines.numbers,
            ids=Texts.from_spans(lines.data, _column(spans, 0), _column(spans, 1)),
            texts=Texts.from_spans(lines.data, _column(spans, 2), _column(spans, 3)),
            row_starts=row_starts,
            names=self._numbers[found[:used]].astype(np.int32),
            values=parsed,
            columns={"score": scores},
            bad=lines.bad,
        )

    def _learn(self, pattern: set[int]) -> None:
        """Note the names met so far, but none with a position that is not on every line."""
        if self._seen == (len(self._names), len(pattern)):
            return
        self._seen = len(self._names), len(pattern)
        labels, positions = self._names.pairs()
        numbers = [k for k in range(len(positions)) if positions[k] < 0 or k in pattern]
        self._numbers = np.array(numbers if len(numbers) <= MOST_NAMES else [], dtype=np.int64)
        labels = labels.take(self._numbers)
        spellings = list(labels)
        heads = np.array([spellings.index(label) for label in spellings], dtype=np.int64)
        self._known = kernels.Known(labels.data, labels.offsets, positions[self._numbers], heads, len(pattern))


def _column(spans: Int64, which: int, rows: int | None = None) -> Int64:
    return np.ascontiguousarray(spans[:rows, which])
