"""What a part sends back: numbers of the sentences it has, packed, and how those of all parts become one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64, Int64, frozen
from luthier.core.segments import segment_of_rows
from luthier.geometry.lines.envelope import Envelope

NARROW = (np.int8, np.int16, np.int32)


def packed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return whole numbers in the fewest bytes that hold all of them; other numbers as they are.

    >>> packed(np.array([-3, 200])).dtype.name, packed(np.array([0.5])).dtype.name
    ('int16', 'float64')
    """
    if not np.issubdtype(values.dtype, np.integer):
        return values
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    fitting = [kind for kind in NARROW if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max]
    return values.astype(fitting[0] if fitting else np.int64)


def joined(parts: Sequence[npt.NDArray[Any]], axis: int = 0) -> npt.NDArray[Any]:
    """Return what parts sent, one after another, as wide as it was before it was packed."""
    whole = np.concatenate(list(parts), axis=axis)
    return whole.astype(np.int64) if np.issubdtype(whole.dtype, np.integer) else whole


@dataclasses.dataclass(frozen=True, eq=False)
class PartLine:
    """Which selections a part makes along a line, and what they count.

    Attributes
    ----------
    counts : (n,)
        How many breakpoints each of its lists has.
    breakpoints, bends : (P,) float64
        As in `Envelope`, lists one after another.
    values : (n + P, S)
        Statistics: of each list those of its first row, then those of the row after each breakpoint.
    """

    counts: npt.NDArray[Any]
    breakpoints: Float64
    bends: Float64
    values: npt.NDArray[Any]

    @property
    def nbytes(self) -> int:
        """How much travels."""
        return sum(array.nbytes for array in (self.counts, self.breakpoints, self.bends, self.values))

    @classmethod
    def of(cls, envelope: Envelope, offsets: Int64, stats: npt.NDArray[Any]) -> PartLine:
        """Return what is sent of an envelope over lists with these offsets, (n+1,), and statistics, (M, S)."""
        lists = np.searchsorted(offsets, envelope.after, side="right") - 1
        rows = np.empty(len(envelope.first) + len(envelope.after), dtype=np.int64)
        after = np.arange(len(lists)) + lists + 1
        rows[after] = envelope.after
        counts = np.bincount(lists, minlength=len(envelope.first))
        rows[_firsts(counts)] = envelope.first
        return cls(packed(counts), envelope.breakpoints, envelope.bends, packed(stats[rows]))


def whole_envelope(parts: Sequence[PartLine]) -> tuple[Envelope, npt.NDArray[Any]]:
    """Return the envelope of all lists, in the order of the parts, and the statistics that its rows are numbers of."""
    counts = joined([part.counts for part in parts])
    lists = segment_of_rows(np.concatenate([[0], np.cumsum(counts)]))
    after = np.arange(len(lists)) + lists + 1
    envelope = Envelope(  # read-only, as kernels are compiled for it
        first=frozen(_firsts(counts)),
        breakpoints=frozen(np.concatenate([part.breakpoints for part in parts])),
        before=frozen(after - 1),
        after=frozen(after),
        bends=frozen(np.concatenate([part.bends for part in parts])),
    )
    return envelope, joined([part.values for part in parts])


def _firsts(counts: Int64) -> Int64:
    """Return where the first row of each list stands, when each is followed by a row for each breakpoint."""
    return np.arange(len(counts)) + np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
