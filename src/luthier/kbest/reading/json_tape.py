"""JSON, one value per line, as a flat tape: what stands where, for a whole stretch of lines at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cache

import numpy as np

from luthier.core.arrays import Bool, Bytes, Int64, frozen
from luthier.core.segments import offsets_from_counts, rows_of_segments
from luthier.core.settings import DEEPEST
from luthier.corpus.texts import Texts
from luthier.kbest.reading import _json_kernels as kernels
from luthier.kbest.reading._json_kernels import (
    ARRAY,
    CONSTANT,
    DECIMAL,
    FALSE,
    FINE,
    INTEGER,
    LONE_SURROGATE,
    NO_ENTRY,
    NULL,
    OBJECT,
    STRING,
    SYNTAX,
    TOO_DEEP,
    TRUE,
    TWICE,
)

__all__ = [
    "ABSENT",
    "ARRAY",
    "CONSTANT",
    "DECIMAL",
    "FALSE",
    "FINE",
    "INTEGER",
    "LONE_SURROGATE",
    "NO_ENTRY",
    "NULL",
    "OBJECT",
    "STRING",
    "SYNTAX",
    "TOO_DEEP",
    "TRUE",
    "TWICE",
    "Members",
    "Tape",
    "read_tape",
]

ABSENT = 0  # the kind of no entry
BYTES_PER_ENTRY = 10  # a first guess; the tape doubles when it is full
WORDS = frozen(np.frombuffer(b"nulltruefalseNaN-Infinity", dtype=np.uint8))


@dataclasses.dataclass(frozen=True, eq=False)
class Members:
    """The values inside some objects or arrays: container c has ``entries[offsets[c]:offsets[c+1]]``."""

    offsets: Int64
    entries: Int64

    def take(self, containers: Int64) -> Members:
        """Return the members of the chosen containers."""
        counts = self.offsets[containers + 1] - self.offsets[containers]
        return Members(offsets_from_counts(counts), self.entries[rows_of_segments(self.offsets, containers)])

    def any(self, wrong: Bool) -> Bool:
        """Return for each container whether `wrong`, one per member, is set for any of its members."""
        before = offsets_from_counts(wrong)
        return before[self.offsets[1:]] > before[self.offsets[:-1]]


@dataclasses.dataclass(frozen=True, eq=False)
class Tape:
    """The values of n lines, and all that they contain, by number of entry.

    Attributes
    ----------
    data : (B,) uint8
        The lines' bytes, with the escapes of strings undone in place.
    entries : (T, 4) int64
        Kind, start, stop and the entry behind, as the kernels describe them.
    roots : (n,) int64
        Entry of each line's value; NO_ENTRY where the line is not JSON.
    status : (n,) uint8
        FINE, SYNTAX, TOO_DEEP or LONE_SURROGATE.
    """

    data: Bytes
    entries: Int64
    roots: Int64
    status: Bytes

    def kinds(self, entries: Int64) -> Int64:
        """Return what the entries are; ABSENT for NO_ENTRY and TWICE."""
        if not len(self.entries):
            return np.full(len(entries), ABSENT, dtype=np.int64)
        kinds: Int64 = self.entries[entries, kernels.KIND]
        kinds[entries < 0] = ABSENT
        return kinds

    def spans(self, entries: Int64) -> tuple[Bytes, Int64, Int64]:
        """Return the data, and the starts and stops of entries; empty spans for NO_ENTRY."""
        if not len(self.entries):
            return self.data, np.zeros(len(entries), np.int64), np.zeros(len(entries), np.int64)
        starts = self.entries[entries, kernels.START]
        stops = self.entries[entries, kernels.STOP]
        nothing = entries < 0
        starts[nothing] = stops[nothing] = 0
        return self.data, starts, stops

    def texts(self, entries: Int64) -> Texts:
        """Return strings (or other scalars as they are written) as a column."""
        return Texts.from_spans(*self.spans(entries))

    def find(self, objects: Int64, keys: Sequence[str]) -> tuple[Int64, Int64]:
        """Look keys up in objects.

        Returns
        -------
        found : (len(objects), len(keys)) int64
            Entry of the key's value, NO_ENTRY, or TWICE where the object has the key more than once.
        others : int64
            Entries of the numbers under other keys.
        """
        table = _key_table(tuple(keys))
        found = np.empty((len(objects), len(keys)), dtype=np.int64)
        others = np.empty(len(self.entries) // 2 + 1, dtype=np.int64)
        n = kernels.find_keys(self.data, self.entries, objects, table.data, table.offsets, found, others)
        return found, others[:n].copy()

    def members(self, containers: Int64) -> Members:
        """Return the values in objects or arrays; a value in an object has its key just before it."""
        counts = np.empty(len(containers), dtype=np.int64)
        kernels.count_members(self.entries, containers, counts)
        offsets = offsets_from_counts(counts)
        members = np.empty(int(offsets[-1]), dtype=np.int64)
        kernels.list_members(self.entries, containers, members)
        return Members(offsets, members)


@cache
def _key_table(keys: tuple[str, ...]) -> Texts:
    return Texts.from_strings(keys)


def read_tape(data: Bytes, starts: Int64, stops: Int64) -> Tape:
    """Read lines ``data[starts[i]:stops[i]]``, each one JSON value; the data stay as they are.

    Accepted is what Python's json module accepts, NaN and the infinities among it, but not half
    surrogate pairs (they are no text) and no more than DEEPEST levels.
    """
    data = frozen(np.ascontiguousarray(data))
    starts, stops = frozen(np.ascontiguousarray(starts)), frozen(np.ascontiguousarray(stops))
    tape = np.empty((len(data) // BYTES_PER_ENTRY + 16, 4), dtype=np.int64)
    roots = np.zeros(len(starts) + 1, dtype=np.int64)
    status = np.zeros(len(starts), dtype=np.uint8)
    stack = np.empty(DEEPEST, dtype=np.int64)
    done = 0
    while True:
        done = kernels.scan_lines(data, starts, stops, WORDS, done, tape, roots, status, stack)
        if done == len(starts):
            break
        larger = np.empty((2 * len(tape), 4), dtype=np.int64)
        larger[: roots[done]] = tape[: roots[done]]
        tape = larger
    used = int(roots[-1])
    if np.any(tape[:used, kernels.KIND] == kernels.ESCAPED):
        data = data.copy()
        kernels.unescape_tape(data, tape, used)
    return Tape(frozen(data), frozen(tape[:used]), np.where(status == FINE, roots[:-1], NO_ENTRY), status)
