"""TSV: a text file, N hypotheses per sentence, beside a TSV of scores; or one TSV with a text column.

The TSV begins with a header of names; a file of scores without one has numbers on its first line, and is called as
the file. A column ``id`` (or ``sentence_id``, ``segment_id``, ``sentence``) holds the sentence's id; without it,
`per_sentence` lines after each other are a sentence, called 0, 1, 2, …, or rows of one source are one. A column
``ref`` (or ``refs``, ``reference``, ``references``) holds a reference, ``source`` (or ``src``) the source; rows
of one sentence agree in them, or leave them empty. If the TSV is the list itself, ``hyp`` (or ``hypothesis``,
``text``, ``translation``) is the hypothesis. All other columns are numbers and features, unless the options
`columns` or `ignore` name them; an empty field is a missing value. Fields are separated by single tabs; quotes mean
nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import PurePath

import numpy as np

from luthier.core.arrays import Bool, Int32, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.files.io import BOM
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.core.params import param
from luthier.core.segments import offsets_from_counts
from luthier.core.settings import repeated
from luthier.corpus.texts import Texts
from luthier.kbest.reading.column_roles import OTHERS, NamedReader, Names
from luthier.kbest.reading.columns import Feed, Spans, decimals, full_rows, number_columns, spans_of, tab_fields
from luthier.kbest.reading.inline_references import TextLists, contradiction, one_per_sentence
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Block, Lines, SentenceData, Source

MEANING = {"id": "id", "text": "text", "reference": "references", "source": "source"}  # of each role


def roles_in(header: Sequence[str], names: Names) -> dict[str, list[str]]:
    """Return the columns that could play each role; those of other tools only where the usual names are absent."""
    found = {}
    for role, meaning in MEANING.items():
        usual = names.of(meaning, others=False) + (("sentence",) if role == "id" and not names.id else ())
        found[role] = [name for name in usual if name in header]
        if not found[role] and not names.given(meaning):
            found[role] = [name for name in OTHERS.get(meaning, ()) if name in header][:1]
    return found


@dataclasses.dataclass(frozen=True)
class Method(NamedReader):
    """Reader of hypotheses with a table of scores."""

    scores: str = param("", help="the TSV with the scores, a header of names")
    per_sentence: int = param(0, low=0, help="hypotheses per sentence; 0: the TSV has an id column")

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 80 where the first line is a header that names a text column."""
        fields = head.removeprefix(BOM).partition(b"\n")[0].rstrip(b"\r").decode("utf-8", "replace").split("\t")
        return 80 if len(fields) > 1 and roles_in(fields, Names())["text"] else 0

    @classmethod
    def may_be(cls, head: bytes) -> bool:
        """Return whether the first line has tabs."""
        return b"\t" in head.partition(b"\n")[0] and not head.startswith(b"{")

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses in the order of the lines."""
        table_source = source
        if self.scores:
            table_source = Source(self.scores, source.faults, source.names, source.local_names)
        with closing(table_source.lines()) as stretches:  # type: ignore[type-var]
            feed = Feed(stretches)
            feed.fetch()
            if self.per_sentence and not self.scores and not _has_header(feed.peek()):
                yield from self._plain(source, feed)
                return
            headless = bool(self.scores) and _are_numbers(feed.peek())
            if headless:
                header = _Header.of_numbers(feed.peek(), table_source.name)
            else:
                header = _Header.read(feed.take(1), table_source.name, self.called)
            by_source = source.by_source or ("id" not in header.roles and not self.per_sentence)
            by_source = by_source and "source" in header.roles
            with_id = not self.per_sentence and not by_source
            header.check(table_source.name, self.called, with_text=not self.scores, with_id=with_id)
            table = _Table(source, table_source.name, header, self.per_sentence, by_source=by_source)
            if self.scores:
                yield from self._two_files(table, feed)
            else:
                yield from self._one_file(table, feed)

    def _plain(self, source: Source, feed: Feed) -> Iterator[Block]:
        """Yield lines of text alone, so many for a sentence; their scores come from elsewhere."""
        table = _Table(source, source.name, _Header((), {}), self.per_sentence)
        done = 0
        while feed.last > done or feed.fetch():
            done = feed.last
            yield table.plain_block(feed.take(done))
        table.check_multiple(done)

    def _one_file(self, table: _Table, feed: Feed) -> Iterator[Block]:
        done = 1
        while feed.last > done or feed.fetch():
            done = feed.last
            yield table.block(feed.take(done), None)
        if done == 1:
            raise InputError(expected="rows below the header", found="the header alone", path=table.name, kind="empty")
        table.check_multiple(done - 1)

    def _two_files(self, table: _Table, rows: Feed) -> Iterator[Block]:
        """Pair line n of the text with row n of the table, line n + 1 of its file."""
        with closing(table.source.lines()) as stretches:  # type: ignore[type-var]
            texts, done, above = Feed(stretches), 0, table.above
            while (texts.last > done or texts.fetch()) and (rows.last - above > done or rows.fetch()):
                done = min(texts.last, rows.last - above)
                yield table.block(rows.take(done + above), texts.take(done))
            while texts.fetch() or rows.fetch():  # to know how long the longer one is
                pass
        if texts.last != rows.last - above:
            header = "without the header, " if above else ""
            table.source.faults.settle_file(
                InputError(
                    expected="as many lines of text as rows of scores",
                    found=f"{texts.last} lines in {table.source.name} and {rows.last - above} rows, {header}"
                    f"in {table.name}",
                    hint="each line of the text has its row in the TSV, below a header",
                    kind="length",
                )
            )
        table.check_multiple(texts.last)


def _has_header(lines: Lines) -> bool:
    return not len(lines.numbers) or Method.recognizes(lines.raw(0)) > 0


def _are_numbers(lines: Lines) -> bool:
    """Return whether the first line has numbers alone, so that it is no header."""
    fields = tab_fields(spans_of(lines), lines.raw(0).count(b"\t") + 1).columns if len(lines.numbers) else []
    first = [column.take(np.arange(1)) for column in fields]
    return bool(first) and all(parse_numbers(*column.arrays())[1][0] == NUMBER_OK for column in first)


@dataclasses.dataclass(frozen=True)
class _Header:
    """The names of a table's columns, and which column plays which role; how many lines stand above the rows."""

    names: tuple[str, ...]
    roles: dict[str, int]
    above: int = 1

    @classmethod
    def of_numbers(cls, lines: Lines, path: str) -> _Header:
        """Return the names of columns without a header: the file's, with a number where there are several."""
        stem, n = PurePath(path).name.split(".")[0] or "score", lines.raw(0).count(b"\t") + 1
        return cls(tuple([stem] if n == 1 else [f"{stem}_{k}" for k in range(n)]), {}, above=0)

    @classmethod
    def read(cls, lines: Lines, path: str, called: Names) -> _Header:
        """Make a header of a table's first line.

        Raises
        ------
        InputError
            A name that is empty or comes twice, two columns of one role, bytes that are not UTF-8.
        """
        if not len(lines.numbers):
            raise lines.bad.first()
        names = tuple(lines.raw(0).decode("utf-8").split("\t"))

        def error(expected: str, found: str, hint: str = "") -> InputError:
            return InputError(expected=expected, found=found, path=path, line=1, hint=hint, kind="header")

        if "" in names:
            where = names.index("") + 1
            raise error(
                "a name for each column",
                f"none for column {where} of {len(names)}",
                "the first line of the TSV names its columns",
            )
        if len(set(names)) < len(names):
            twice = repeated((name, None) for name in names)
            raise error("column names that differ", f"{twice!r} {names.count(twice)} times")
        roles = {}
        for role, found in roles_in(names, called).items():
            if len(found) > 1:
                raise error(f"one column for the {role}", " and ".join(map(repr, found)), "rename one")
            if found:
                roles[role] = names.index(found[0])
        return cls(names, roles)

    def check(self, path: str, called: Names, *, with_text: bool, with_id: bool) -> None:
        """Raise `InputError` where the columns are not those the form of the list needs."""
        found = "the columns " + excerpt(", ".join(self.names).encode(), 60)
        if with_text and "text" not in self.roles:
            raise InputError(
                expected=f"a column {called.text!r}" if called.text else "a column 'hyp', 'text' or 'hypothesis'",
                found=found,
                path=path,
                line=1,
                hint="a text file without columns needs a TSV of scores beside it, given as 'scores'",
                kind="header",
            )
        if not with_text and "text" in self.roles:
            raise InputError(
                expected="scores alone, as the text has a file of its own",
                found=f"the column {self.names[self.roles['text']]!r}",
                path=path,
                line=1,
                hint="read this TSV as the list, without 'scores'; or rename the column",
                kind="header",
            )
        if with_id and "id" not in self.roles:
            raise InputError(
                expected=f"a column {called.id!r}" if called.id else "a column 'id' or 'sentence'",
                found=found,
                path=path,
                line=1,
                hint="say how many lines each sentence has with 'per_sentence'",
                kind="header",
            )

    def features(self, ignored: frozenset[str]) -> list[int]:
        """Return the columns that play no role, which makes them features."""
        taken = self.roles.values()
        return [c for c, name in enumerate(self.names) if c not in taken and name not in ignored]


class _Table:
    """Makes blocks of stretches of rows."""

    def __init__(
        self, source: Source, name: str, header: _Header, per_sentence: int, *, by_source: bool = False
    ) -> None:
        self.source, self.name, self._header = source, name, header
        self._per_sentence = 0 if "id" in header.roles else per_sentence
        self._by_source, self.above = by_source, header.above
        self._columns = header.features(source.ignored)
        self._features: Int32 = source.names.from_strings([header.names[c] for c in self._columns])

    def block(self, table: Lines, texts: Lines | None) -> Block:
        """Return the hypotheses of some rows of the table and, if it has none, the lines of text."""
        bad = BadLines()
        bad.extend(table.bad)
        fields = tab_fields(spans_of(table), len(self._header.names))
        whole = fields.counts == len(self._header.names)
        self._report_counts(bad, table, fields.counts)
        rows = np.flatnonzero(whole)
        if texts is None:
            numbers, text = table.numbers[rows], fields.columns[self._header.roles["text"]].take(rows)
        else:
            bad.extend(texts.bad)
            numbers, in_text, in_rows = np.intersect1d(
                texts.numbers, table.numbers[rows] - self.above, assume_unique=True, return_indices=True
            )
            rows, text = rows[in_rows], spans_of(texts).take(in_text)

        columns = [column.take(rows) for column in fields.columns]
        values, fine = number_columns(
            bad,
            self.name,
            table.numbers[rows],
            [columns[c] for c in self._columns],
            "columns other than id, hyp, ref and source hold numbers; `ignore` NAME passes over one that does not",
            may_lack=True,
        )
        ids = self._ids(table.numbers[rows] - self.above - 1, columns)
        sentences, agreeing = self._sentences(bad, table.numbers[rows], ids, columns)
        row_starts, names, flat = full_rows(self._features, values)
        given = ~np.isnan(flat)  # an empty field
        if not given.all():
            row_starts = offsets_from_counts(given)[row_starts]
            names, flat = names[given], flat[given]
        block = Block(
            lines=numbers,
            ids=ids,
            texts=text.texts(),
            row_starts=row_starts,
            names=names,
            values=flat,
            sentences=sentences,
            bad=bad,
            gaps=True,
            guessed=True,
            by_source=self._by_source,
        )
        return block.keep(fine & agreeing)

    def plain_block(self, lines: Lines) -> Block:
        """Return lines of text without any number."""
        n = len(lines.numbers)
        return Block(
            lines=lines.numbers,
            ids=self._ids(lines.numbers - 1, []),
            texts=spans_of(lines).texts(),
            row_starts=np.zeros(n + 1, dtype=np.int64),
            names=np.zeros(0, dtype=np.int32),
            values=np.zeros(0),
            bad=lines.bad,
        )

    def check_multiple(self, rows: int) -> None:
        """Complain if the last sentence has not all its hypotheses."""
        if self._per_sentence and rows % self._per_sentence:
            self.source.faults.settle_file(
                InputError(
                    expected=f"a multiple of {self._per_sentence} hypotheses (per_sentence)",
                    found=f"{rows}, which leaves {rows % self._per_sentence} for the last sentence",
                    path=self.source.name,
                    kind="length",
                    hint="if sentences differ in their number of hypotheses, give the TSV an id column",
                )
            )

    def _report_counts(self, bad: BadLines, table: Lines, counts: Int64) -> None:
        at = np.flatnonzero(counts != len(self._header.names))

        def describe(i: int) -> InputError:
            raw = table.raw(int(at[i]))
            return InputError(
                expected=f"{len(self._header.names)} fields separated by tabs, as in the header",
                found=f"{counts[at[i]]} in {excerpt(raw)}" if raw else "an empty line",
                path=self.name,
                line=int(table.numbers[at[i]]),
                kind="fields",
            )

        bad.add("fields", table.numbers[at], describe)

    def _ids(self, indices: Int64, columns: list[Spans]) -> Texts:
        if not self._per_sentence:
            return columns[self._header.roles["source" if self._by_source else "id"]].texts()
        sentences = indices // self._per_sentence
        different, which = np.unique(sentences, return_inverse=True)
        return decimals(different).take(which)

    def _sentences(
        self, bad: BadLines, lines: Int64, ids: Texts, columns: list[Spans]
    ) -> tuple[SentenceData | None, Bool]:
        """Return sources and references, and which rows do not contradict those above them."""
        sources, references = (self._texts_of(role, columns) for role in ("source", "reference"))
        data, *others = one_per_sentence(ids, sources, references)
        fine = np.ones(len(lines), dtype=np.bool_)
        for what, other in zip(("source", "references"), others, strict=True):
            at = lines[other & fine]
            bad.add("sentence-data", at, self._contradictions(what, at))
            fine &= ~other
        return data, fine

    def _texts_of(self, role: str, columns: list[Spans]) -> TextLists:
        """Return the texts of a column; an empty field, or the lack of the column, says nothing."""
        n_rows = len(columns[0])
        if role not in self._header.roles:
            nothing = np.zeros(0, dtype=np.int64)
            return TextLists(np.zeros(n_rows + 1, dtype=np.int64), columns[0].data, nothing, nothing)
        column = columns[self._header.roles[role]]
        given = column.stops > column.starts
        return TextLists(offsets_from_counts(given), *column.take(given).arrays())

    def _contradictions(self, what: str, lines: Int64) -> Callable[[int], InputError]:
        return lambda i: contradiction(what, self.name, int(lines[i]))
