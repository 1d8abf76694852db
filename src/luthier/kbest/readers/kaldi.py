"""Kaldi: ``utt-id score … text`` with white space between, as speech recognizers print n-best lists.

Kaldi's lattice-to-nbest calls the hypotheses of ``utt`` ``utt-1``, ``utt-2``, …: such numbers are taken off
the ids (`suffix`). A hypothesis without a word (silence) is a line that ends with its scores. Where a
hypothesis may begin with a number, name the scores (`columns`), which says how many there are. Kaldi's own
numbers are costs, smaller for better; they are kept as they stand, and a tuner finds their sign.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

import numpy as np

from luthier.core.arrays import Bool, Int32, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.numbers import NOT_A_NUMBER, parse_numbers
from luthier.core.params import ParameterError, param
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.reading.columns import (
    Spans,
    full_rows,
    leading_words,
    number_columns,
    numbered_suffixes,
    spans_of,
    words,
)
from luthier.kbest.reading.reader import Block, Lines, Reader, Source

NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
HEAD_LINES = 20


@dataclasses.dataclass(frozen=True)
class _Layout:
    """What the first stretch of a list decides: the scores, (K,), and whether ids lose their numbers."""

    names: Int32
    strip: bool


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of n-best lists of speech recognizers."""

    columns: str = param(
        "",
        help="names of the scores, comma separated, e.g. am,lm; empty: as many leading numbers as "
        "every line of the first block has, called score_0, … (a single one: score)",
    )
    suffix: str = param(
        "auto",
        choices=("auto", "keep", "strip"),
        help="take a final -<number> off the ids; auto: if all ids have one, beginning at 1",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        names = self._names()
        if self.columns and ("" in names or len(set(names)) < len(names)):
            raise ParameterError(
                f"the 'columns' parameter of kaldi must be different names between commas, got {self.columns!r}"
            )

    def _names(self) -> list[str]:
        return [name.strip() for name in self.columns.split(",")] if self.columns else []

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 40 where the second word of each line is a number and the first is not always one."""
        whole = head.split(b"\n")[:-1] if b"\n" in head else [head]
        lines = [line for line in whole[:HEAD_LINES] if line.strip()]
        rows = [line.split(None, 2) for line in lines]
        if not rows or any(b"\t" in line or b" ||| " in line for line in lines):
            return 0
        if 2 * sum(len(row) > 1 and NUMBER.fullmatch(row[1]) is not None for row in rows) <= len(rows):
            return 0  # one bad line must not hide what the others are
        return 0 if all(NUMBER.fullmatch(row[0]) for row in rows) else 40

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a list in its order."""
        layout: _Layout | None = None
        for lines in source.lines():
            if layout is None and len(lines.numbers):
                layout = self._layout(source, lines)
            yield self._block(source, lines, layout or _Layout(np.zeros(0, dtype=np.int32), strip=False))

    def _layout(self, source: Source, lines: Lines) -> _Layout:
        if self.columns:
            names = source.names.from_strings(self._names())
        else:
            n = _leading_numbers(source, lines)
            label = Texts.from_strings(["score"] * n)
            names = source.names.from_spans(
                label.data, label.offsets[:-1], label.offsets[1:], np.arange(n, dtype=np.int32)
            )
        strip = self.suffix == "strip"
        if self.suffix == "auto":
            first, _ = leading_words(spans_of(lines), 1)
            strip = _are_numbered(first.columns[0].take(first.counts == 1))
        return _Layout(names, strip)

    def _block(self, source: Source, lines: Lines, layout: _Layout) -> Block:
        n = len(layout.names)
        fields, rest = leading_words(spans_of(lines), 1 + n)
        whole = fields.counts == 1 + n
        self._report_few(source, lines, fields.counts, ~whole)
        ids, *scores = (column.take(whole) for column in fields.columns)
        numbers = lines.numbers[whole]

        values, fine = number_columns(
            lines.bad,
            source.name,
            numbers,
            scores,
            f"the {n} words behind the id are scores; name them with 'columns' if there are fewer",
        )
        if layout.strip:
            ids, _ = numbered_suffixes(ids)
        row_starts, names, flat = full_rows(layout.names, values)
        block = Block(
            lines=numbers,
            ids=ids.texts(),
            texts=rest.take(whole).texts(),
            row_starts=row_starts,
            names=names,
            values=flat,
            bad=lines.bad,
        )
        return block.keep(fine)

    def _report_few(self, source: Source, lines: Lines, counts: Int64, few: Bool) -> None:
        at = np.flatnonzero(few)
        names = ", ".join(self._names()) or "scores"

        def describe(i: int) -> InputError:
            raw = lines.raw(int(at[i]))
            return InputError(
                expected=f"an id and {names} separated by white space",
                found=f"{counts[at[i]]} words in {excerpt(raw)}" if counts[at[i]] else "an empty line",
                path=source.name,
                line=int(lines.numbers[at[i]]),
                kind="fields",
            )

        lines.bad.add("fields", lines.numbers[at], describe)


def _leading_numbers(source: Source, lines: Lines) -> int:
    """Return how many numbers follow the id on every line.

    Raises
    ------
    InputError
        When a line has none, or when it is left open where the scores end: more than half of the lines
        have more numbers than the one with the fewest, whose number may be misspelt.
    """
    offsets, spans = words(spans_of(lines))
    filled = np.flatnonzero(np.diff(offsets))
    if not len(filled):
        return 0
    _, status = parse_numbers(*spans.arrays())
    # A word such as nan counts as a number here, to be complained about where it stands.
    others = np.append(np.flatnonzero(status == NOT_A_NUMBER), len(status))
    ids, ends = offsets[filled], offsets[filled + 1]
    counts = np.minimum(others[np.searchsorted(others, ids + 1)], ends) - ids - 1
    fewest = int(counts.min())
    row = int(np.argmin(counts))
    if fewest == 0 or 2 * np.count_nonzero(counts > fewest) > len(counts):
        word = ids[row] + 1 + fewest
        here = excerpt(spans.raw(int(word))) if word < ends[row] else "the end of the line"
        raise InputError(
            expected="a number behind the id"
            if fewest == 0
            else f"{int(np.median(counts))} numbers behind the id, as on most lines",
            found=here if fewest == 0 else f"{fewest} and then {here}",
            path=source.name,
            line=int(lines.numbers[filled[row]]),
            kind="number",
            hint="name the scores with 'columns', for example am,lm, to say how many there are",
        )
    return fewest


def _are_numbered(ids: Spans) -> bool:
    """Return whether ids are those of lattice-to-nbest: all different, each ``utt`` beginning ``utt-1``."""
    stems, numbers = numbered_suffixes(ids)
    if not len(ids) or (numbers < 0).any() or len(Interner.of(ids.texts())) < len(ids):
        return False
    _, first = np.unique(Interner().intern_spans(*stems.arrays()), return_index=True)
    return bool((numbers[first] == 1).all())
