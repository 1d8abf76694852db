"""fairseq: logs of fairseq-generate and fairseq-interactive (S-, T-, H-, D- and P- lines).

A hypothesis is ``H-<id> score text``, separated by tabs, at once followed by its ``D-`` line (the text
detokenized) and its ``P-`` line (the scores of its tokens); ``S-`` and ``T-`` are the source and the
reference. All other lines, W-, A-, I-, E-, C-, O- and those of the logger, are skipped. The score is
the length-normalized log probability, to base 2: the program says "hypothesis and token scores are output
in base 2". A P- line gives the features p_sum, the sum of its scores and thus the log2 probability before
normalization, and p_length, their number (the end of sentence counts). Batches are sorted by length, so
ids come in no order.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from luthier.core.arrays import Bool, Bytes, Float64, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.params import param
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.kbest.reading.columns import (
    Spans,
    cut_after,
    full_rows,
    joined,
    log_marks,
    no_lines,
    number_columns,
    same_as_before,
    select,
    spans_of,
    tab_fields,
    words,
)
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Block, Lines, Reader, SentenceData, Source

H, D, P, S, T = b"HDPST"
NONE = -1
HINT = "H- and D- lines are: id, score, text; P- lines: id, scores with spaces between them"
ALL = np.iinfo(np.int64).max


@dataclasses.dataclass(frozen=True)
class _Makeup:
    """Which lines every hypothesis of a log has beside its H- line."""

    d: bool
    p: bool


@dataclasses.dataclass(frozen=True, eq=False)
class _Records:
    """The L marked lines of a stretch and how they hang together.

    `d_of`, `p_of` and `t_of` hold for each line the line that belongs to it (H → D, H → P, S → T) or −1;
    `attached` says which lines belong to one before them.
    """

    lines: Lines
    marks: Bytes
    ids: Spans
    d_of: Int64
    p_of: Int64
    t_of: Int64
    attached: Bool

    @classmethod
    def of(cls, lines: Lines) -> _Records:
        marks, ids = log_marks(spans_of(lines))
        same = same_as_before(ids)
        before = np.concatenate([[0], marks])[:-1]
        d = (marks == D) & (before == H) & same
        after_d = np.concatenate([[False], d])[:-1]
        p = (marks == P) & ((before == H) | after_d) & same
        t = (marks == T) & (before == S) & same
        owners = np.full((3, len(marks)), NONE, dtype=np.int64)
        owners[0, np.flatnonzero(d) - 1] = np.flatnonzero(d)
        owners[1, np.flatnonzero(p) - 1 - after_d[p]] = np.flatnonzero(p)
        owners[2, np.flatnonzero(t) - 1] = np.flatnonzero(t)
        return cls(lines, marks, ids, owners[0], owners[1], owners[2], d | p | t)

    def head(self, lines: Lines) -> _Records:
        """Return the records of the first `lines`; what follows belongs to none of them."""
        part = slice(0, len(lines.numbers))
        return _Records(
            lines,
            self.marks[part],
            self.ids.take(part),
            self.d_of[part],
            self.p_of[part],
            self.t_of[part],
            self.attached[part],
        )


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reader of the logs fairseq prints while it translates."""

    ordered: ClassVar[bool] = False

    text: str = param(
        "auto",
        choices=("auto", "H", "D"),
        help="hypotheses from H- lines (tokens) or D- lines (detokenized); auto: D- if the log has them",
    )

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 95 where a line begins with a mark, an id and a tab."""
        return 95 if re.search(rb"^[HDSTP]-[0-9]+\t", head, re.MULTILINE) else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a log in its order."""
        waiting, makeup = no_lines(), None
        for stretch in source.lines():
            marked = select(stretch, log_marks(spans_of(stretch))[0] > 0)
            records = _Records.of(joined(waiting, marked))
            # What belongs to the last line that represents itself may still come.
            own = records.lines.numbers[~records.attached]
            now, waiting = cut_after(records.lines, int(own[-1]) - 1 if len(own) else ALL)
            records = records.head(now)
            makeup = makeup or self._makeup(records)
            yield self._block(source, records, makeup)
        records = _Records.of(waiting)
        yield self._block(source, records, makeup or self._makeup(records))

    def _makeup(self, records: _Records) -> _Makeup | None:
        """Return what the first hypothesis is made of; the others must be alike."""
        hypotheses = np.flatnonzero(records.marks == H)
        if not len(hypotheses):
            return None
        first = hypotheses[0]
        has_d = bool(records.d_of[first] != NONE)
        return _Makeup({"H": False, "D": True}.get(self.text, has_d), bool(records.p_of[first] != NONE))

    def _block(self, source: Source, records: _Records, makeup: _Makeup | None) -> Block:
        lines = records.lines
        rest, score = _fields(source, records)
        whole = rest.starts >= 0  # (L,)
        _report_loose(source, records)
        rows = np.flatnonzero(records.marks == H)
        makeup = makeup or _Makeup(d=False, p=False)
        rows = self._complete(source, records, rows[whole[rows]], makeup)
        if makeup.d:
            rows = rows[whole[records.d_of[rows]]]
        if makeup.p:
            rows = rows[whole[records.p_of[rows]]]
        d_of, p_of = records.d_of[rows], records.p_of[rows]

        names = ["score"]
        values, fine = number_columns(lines.bad, source.name, lines.numbers[rows], [score.take(rows)], HINT)
        if makeup.p:
            names += ["p_sum", "p_length"]
            more, all_fine = _token_scores(lines.bad, source, lines.numbers[p_of], rest.take(p_of))
            values, fine = np.concatenate([values, more]), fine & all_fine
        row_starts, name_numbers, flat = full_rows(source.names.from_strings(names), values)
        block = Block(
            lines=lines.numbers[rows],
            ids=records.ids.take(rows).texts(),
            texts=rest.take(d_of if makeup.d else rows).texts(),
            row_starts=row_starts,
            names=name_numbers,
            values=flat,
            sentences=_sentences(records, rest),
            bad=lines.bad,
        )
        return block.keep(fine)

    def _complete(self, source: Source, records: _Records, rows: Int64, makeup: _Makeup) -> Int64:
        """Return those of the hypotheses that have the lines they should have, and report the others."""
        has_d, has_p = records.d_of[rows] != NONE, records.p_of[rows] != NONE
        wrong = has_p != makeup.p
        if self.text != "H":
            wrong |= has_d != makeup.d
        at = rows[wrong]
        numbers = records.lines.numbers

        def describe(i: int) -> InputError:
            row = int(at[i])
            mark, owned, wanted = "D", records.d_of[row] != NONE, makeup.d
            if self.text == "H" or owned == wanted:
                mark, owned, wanted = "P", records.p_of[row] != NONE, makeup.p
            name = f"{mark}-{records.ids.raw(row).decode()}"
            like = "" if self.text == mark else ", as the first hypothesis has"
            return InputError(
                expected=f"the line {name} behind the H- line{like}"
                if wanted
                else f"no line {name}, as the first hypothesis has none",
                found="one" if owned else "none",
                path=source.name,
                line=int(numbers[row]),
                kind="incomplete",
                hint="choose the lines with the text as H or D"
                if mark == "D"
                else "was the log cut off there, or put together from two?",
            )

        records.lines.bad.add("incomplete", numbers[at], describe)
        complete: Int64 = rows[~wrong]
        return complete


def _fields(source: Source, records: _Records) -> tuple[Spans, Spans]:
    """Return the last field (the text, the token scores) and the score of each line.

    A line without its fields is reported; its last field begins at −1.
    """
    lines, marks = records.lines, records.marks
    fields = tab_fields(spans_of(lines), 3)
    scored = (marks == H) | (marks == D)
    needed = np.where(scored, 3, 2)
    _, score, third = fields.columns
    few = fields.counts < needed
    starts = np.where(few, -1, np.where(scored, third.starts, score.starts))
    at = np.flatnonzero(few)

    def describe(i: int) -> InputError:
        row = int(at[i])
        mark, ident = chr(marks[row]), records.ids.raw(row).decode()
        layout = {H: "score, text", D: "score, text", P: "token scores"}.get(int(marks[row]), "text")
        return InputError(
            expected=f"{needed[row]} fields separated by tabs ({mark}-{ident}, {layout})",
            found=f"{fields.counts[row]} in {excerpt(lines.raw(row))}",
            path=source.name,
            line=int(lines.numbers[row]),
            kind="fields",
            hint="did a program turn the tabs into spaces, or take them from the end of the line?",
        )

    lines.bad.add("fields", lines.numbers[at], describe)
    return Spans(lines.data, starts, lines.stops), score


def _report_loose(source: Source, records: _Records) -> None:
    """Report D- and P- lines that follow no hypothesis of their sentence."""
    numbers = records.lines.numbers
    at = np.flatnonzero(~records.attached & ((records.marks == D) | (records.marks == P)))

    def describe(i: int) -> InputError:
        name = f"{chr(records.marks[at[i]])}-{records.ids.raw(int(at[i])).decode()}"
        return InputError(
            expected=f"the line H-{name[2:]} of the same hypothesis before {name}",
            found="another line or none",
            path=source.name,
            line=int(numbers[at[i]]),
            kind="loose",
            hint="give the log as fairseq wrote it: H, D and P of a hypothesis follow each other",
        )

    records.lines.bad.add("loose", numbers[at], describe)


def _token_scores(bad: BadLines, source: Source, lines: Int64, spans: Spans) -> tuple[Float64, Bool]:
    """Return the sum and the number of the scores in each span, (2, R), and whether all are numbers."""
    offsets, tokens = words(spans)
    rows = segment_of_rows(offsets)
    values, fine = number_columns(bad, source.name, lines[rows], [tokens], HINT)
    sums = np.bincount(rows, weights=values[0], minlength=len(spans))
    all_fine: Bool = np.bincount(rows[~fine], minlength=len(spans)) == 0
    at = np.flatnonzero(all_fine & ~np.isfinite(sums))

    def describe(i: int) -> InputError:
        return InputError(
            expected="token scores with a finite sum",
            found=f"a sum of {sums[at[i]]}",
            path=source.name,
            line=int(lines[at[i]]),
            kind="not-finite",
            hint="a scorer failed there; fix the log, or leave such lines out with `skip_bad`",
        )

    bad.add("not-finite", lines[at], describe)
    return np.stack([sums, np.diff(offsets)]), all_fine & np.isfinite(sums)


def _sentences(records: _Records, rest: Spans) -> SentenceData | None:
    """Return sources and references; a line without its fields gives none."""
    is_source = records.marks == S
    rows = np.flatnonzero(is_source | ((records.marks == T) & ~records.attached))
    if not len(rows):
        return None
    t_of = np.where(is_source[rows], records.t_of[rows], rows)
    has_reference = (t_of != NONE) & (rest.starts[t_of] >= 0)
    has_source = is_source[rows] & (rest.starts[rows] >= 0)
    starts = np.where(has_source, rest.starts[rows], 0)
    stops = np.where(has_source, rest.stops[rows], 0)
    return SentenceData(
        ids=records.ids.take(rows).texts(),
        sources=Spans(rest.data, starts, stops).texts() if has_source.any() else None,
        references=rest.take(t_of[has_reference]).texts() if has_reference.any() else None,
        reference_offsets=offsets_from_counts(has_reference) if has_reference.any() else None,
    )
