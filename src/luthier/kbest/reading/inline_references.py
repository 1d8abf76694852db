"""Sources and references that stand on every row of a list, made one per sentence."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Bool, Bytes, Int64
from luthier.core.errors import InputError
from luthier.core.segments import offsets_from_counts, rows_of_segments, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.reading.reader import SentenceData


@dataclasses.dataclass(frozen=True, eq=False)
class TextLists:
    """Some texts for each of R rows: row r has the spans ``offsets[r]:offsets[r+1]`` of `data`."""

    offsets: Int64
    data: Bytes
    starts: Int64
    stops: Int64

    @property
    def given(self) -> Bool:
        """Which rows have any text."""
        return np.asarray(np.diff(self.offsets) > 0)

    def take(self, rows: Int64) -> TextLists:
        """Return the lists of the chosen rows."""
        spans = rows_of_segments(self.offsets, rows)
        counts = self.offsets[rows + 1] - self.offsets[rows]
        return TextLists(offsets_from_counts(counts), self.data, self.starts[spans], self.stops[spans])

    def differ(self, rows: Int64, others: Int64) -> Bool:
        """Return for each pair of rows whether they have different texts."""
        counts = np.diff(self.offsets)
        different: Bool = counts[rows] != counts[others]
        numbers = Interner().intern_spans(self.data, self.starts, self.stops)
        alike = np.flatnonzero(~different)
        pairs = segment_of_rows(offsets_from_counts(counts[rows[alike]]))
        unequal = (
            numbers[rows_of_segments(self.offsets, rows[alike])]
            != numbers[rows_of_segments(self.offsets, others[alike])]
        )
        different[alike[pairs[unequal]]] = True
        return different


def one_per_sentence(ids: Texts, sources: TextLists, references: TextLists) -> tuple[SentenceData | None, Bool, Bool]:
    """Return the source (none or one per row) and references of every run of rows with one id.

    The first row of a run that has a source, or references, speaks for the run.

    Returns
    -------
    data : SentenceData or None
        The runs that have any; an empty source where a run has references only.
    other_source, other_references : (R,)
        Rows that contradict the row that speaks for their run.
    """
    nobody = np.zeros(len(ids), dtype=np.bool_)
    if not (sources.given.any() or references.given.any()):
        return None, nobody, nobody
    numbers = Interner().intern_texts(ids)
    run_of_row = np.cumsum(np.diff(numbers, prepend=numbers[:1]) != 0)
    source_rows, other_source = _speakers(run_of_row, sources)
    reference_rows, other_references = _speakers(run_of_row, references)
    runs = np.flatnonzero((source_rows >= 0) | (reference_rows >= 0))
    first_row = np.searchsorted(run_of_row, runs)
    said = _lists_or_nothing(references, reference_rows[runs])
    found = _lists_or_nothing(sources, source_rows[runs])
    data = SentenceData(
        ids.take(first_row),
        _joined(found) if sources.given.any() else None,
        Texts.from_spans(said.data, said.starts, said.stops) if references.given.any() else None,
        said.offsets if references.given.any() else None,
    )
    return data, other_source, other_references


def _speakers(run_of_row: Int64, lists: TextLists) -> tuple[Int64, Bool]:
    """Return the first row of each run that has texts (−1: none), and the rows that contradict it."""
    speaker = np.full(int(run_of_row[-1]) + 1, -1, dtype=np.int64)
    rows = np.flatnonzero(lists.given)
    speaker[run_of_row[rows][::-1]] = rows[::-1]
    contradicts = np.zeros(len(run_of_row), dtype=np.bool_)
    contradicts[rows] = lists.differ(rows, speaker[run_of_row[rows]])
    return speaker, contradicts


def _lists_or_nothing(lists: TextLists, rows: Int64) -> TextLists:
    """Return the lists of rows, with an empty list for row −1."""
    has = rows >= 0
    taken = lists.take(rows[has])
    counts = np.zeros(len(rows), dtype=np.int64)
    counts[has] = np.diff(taken.offsets)
    return TextLists(offsets_from_counts(counts), taken.data, taken.starts, taken.stops)


def _joined(lists: TextLists) -> Texts:
    """Return one text per row: its only one, or an empty one."""
    starts = np.zeros(len(lists.offsets) - 1, dtype=np.int64)
    stops = starts.copy()
    starts[lists.given], stops[lists.given] = lists.starts, lists.stops
    return Texts.from_spans(lists.data, starts, stops)


def contradiction(what: str, path: str, line: int) -> InputError:
    """Return the complaint about a row whose source or references are not those of its sentence."""
    return InputError(
        expected=f"the {what} that the sentence has above",
        found="another",
        path=path,
        line=line,
        hint="rows with one id belong to one sentence; give different sentences different ids",
        kind="sentence-data",
    )
