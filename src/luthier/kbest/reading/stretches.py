"""Stretches of lines cut and joined, for formats whose records do not end where a stretch does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from luthier.core.arrays import Bool, Int64, frozen
from luthier.core.errors import InputError
from luthier.core.files.io import LINE_FEED
from luthier.corpus.texts import Texts
from luthier.kbest.reading.faults import BadLines
from luthier.kbest.reading.reader import Lines


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

    def take(self, last: int) -> Lines:
        """Return the lines up to number `last`."""
        taken, self._waiting = cut_after(self._waiting, last)
        return taken
