"""CSV: one hypothesis per row below a header, as spreadsheets and data frames write it, with quotes where needed.

Columns have the names that Parquet files have: ``id``, ``hyp``, ``source``, ``refs`` and their like. Every other column
is a number in each row and a feature, unless the options `columns` or `ignore` name it. An empty field is a missing
value.
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
from luthier.kbest.reading.column_roles import MEANINGS, meaning_of
from luthier.kbest.reading.reader import HEAD_BYTES, Block, Reader, Source


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reads CSV."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 70 where the first line is a header, with commas, that names a text column."""
        names = _header(head)
        return 70 if len(names) > 1 and any(name in names for name in MEANINGS["text"]) else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a source in the order of the file."""
        first = 2
        with source.open() as stream, progress(f"reading {source.name}") as advance:
            names = _header(stream.peek(HEAD_BYTES))
            kinds = {name: pa.string() if meaning_of(name, names) else pa.float64() for name in names}
            convert = pacsv.ConvertOptions(
                column_types=kinds,
                strings_can_be_null=False,
                null_values=[""],
                include_columns=[name for name in names if name not in source.ignored],
            )
            try:
                parse = pacsv.ParseOptions(newlines_in_values=True)
                reader = pacsv.open_csv(stream, convert_options=convert, parse_options=parse)
                layout = layout_of(reader.schema, source.name, source.ignored)
                for batch in reader:
                    yield block_of(source, layout, batch, first)
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


def _header(head: bytes) -> list[str]:
    line = head.removeprefix(BOM).partition(b"\n")[0].rstrip(b"\r")
    try:
        return next(csv.reader(io.StringIO(line.decode("utf-8"))), [])
    except (UnicodeDecodeError, csv.Error):
        return []
