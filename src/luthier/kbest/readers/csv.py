"""CSV: one hypothesis per row below a header, as spreadsheets and data frames write it, with quotes where needed.

Columns have the names that Parquet files have: ``id``, ``hyp``, ``source``, ``refs`` and their like. Every other column
is a number in each row and a feature, unless the options `columns` or `ignore` name it. An empty field is a missing
value. A table with a column of texts for each system, and columns such as ``kiwi_SYSTEM`` with their scores, has a row
for each sentence; it may have tabs between its columns.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv as pacsv

from luthier.core.errors import InputError
from luthier.core.files.io import BOM
from luthier.core.progress import progress
from luthier.kbest.reading.arrow_rows import block_of, layout_of
from luthier.kbest.reading.column_roles import NamedReader, Names, meaning_of
from luthier.kbest.reading.reader import HEAD_BYTES, Block, Source
from luthier.kbest.reading.shapes.tables import rows_of, systems_in


@dataclasses.dataclass(frozen=True)
class Method(NamedReader):
    """Reads CSV."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 70 where the first line is a header, with commas, that names a text column; 65 for systems."""
        names = _header(head)
        if len(names) > 1 and meaning_of("text", names):
            return 70
        return 65 if systems_in(names, Names()) or systems_in(_header(head, "\t"), Names()) else 0

    @classmethod
    def may_be(cls, head: bytes) -> bool:
        """Return whether the first line has several columns."""
        return not head.lstrip().startswith((b"{", b"[")) and len(_header(head)) > 1

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a source in the order of the file."""
        first = 2
        with source.open() as stream, progress(f"reading {source.name}") as advance:
            head = stream.peek(HEAD_BYTES)
            mark = "\t" if systems_in(_header(head, "\t"), self.called) else ","
            names = _header(head, mark)
            parse = pacsv.ParseOptions(newlines_in_values=mark == ",", delimiter=mark, quote_char=mark == "," and '"')
            try:
                reader = pacsv.open_csv(stream, convert_options=self._types(names, source), parse_options=parse)
                for batch in reader:
                    table, rows = rows_of(pa.Table.from_batches([batch]), self.called, source.name, first - 1)
                    layout = layout_of(table.schema, source, self.called)
                    for part in table.combine_chunks().to_batches():
                        yield block_of(source, layout, part, first + rows)
                    first += batch.num_rows
                    advance(batch.nbytes)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise InputError(
                    expected="CSV with a number in every column that is no text",
                    found=str(error).splitlines()[0],
                    path=source.name,
                    line=first,
                    kind="csv",
                    hint="`ignore` NAME passes over a column; rows are counted from the header, as lines",
                ) from None
        if first == 2:
            raise InputError(expected="rows below the header", found="the header alone", path=source.name, kind="empty")

    def _types(self, names: list[str], source: Source) -> pacsv.ConvertOptions:
        """Return which columns are texts: those with a meaning, and those of systems; the others are numbers."""
        called, meanings = self.called, ("id", "text", "source", "references", "features", "derivation")
        for given in filter(None, ",".join((called.id, called.text, called.source, called.refs)).split(",")):
            if given not in names:
                found = f"only {', '.join(map(repr, names[:12]))}"
                raise InputError(expected=f"a column {given!r}", found=found, path=source.name, line=1, kind="header")
        texts = {meaning_of(meaning, names, self.called) for meaning in meanings} | {*systems_in(names, self.called)}
        return pacsv.ConvertOptions(
            column_types={name: pa.string() if name in texts else pa.float64() for name in names},
            strings_can_be_null=False,
            null_values=[""],
            include_columns=[name for name in names if name not in source.ignored],
        )


def _header(head: bytes, mark: str = ",") -> list[str]:
    line = head.removeprefix(BOM).partition(b"\n")[0].rstrip(b"\r")
    if line.lstrip().startswith((b"{", b"[")):
        return []  # JSON, perhaps a long line of it
    try:
        return next(csv.reader(io.StringIO(line.decode("utf-8")), delimiter=mark), [])
    except (UnicodeDecodeError, csv.Error):
        return []
