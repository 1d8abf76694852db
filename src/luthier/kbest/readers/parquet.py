"""Parquet or Arrow (Feather) files: one hypothesis per row, features in columns, a struct or a map.

A row may instead be a sentence with lists: of texts or of structs with a text (``completions``, ``outputs``, …), and
beside them lists of as many numbers. Or it has a column for each system, and columns such as ``kiwi_SYSTEM`` with their
scores.

Columns, by name:

``id``          texts or integers; also ``sentence_id``, ``segment_id``; rows of one sentence stand together
``hyp``         texts; also ``hypothesis``, ``text``, ``translation``, in this order of preference
``features``    a struct of numbers, or a map from texts to numbers
``source``      texts; also ``src``
``refs``        lists of texts, or texts; also ``ref``, ``references``, ``reference``
``derivation``  lists of rules: texts, or structs of a text ``rule`` and its own ``features``

Where there is a column ``features``, other columns of numbers become columns of the pool (sentence-level
scores, say). Where there is none, every column of numbers is a feature. Columns of other types are passed
over. A null feature that most rows have is missing (see the option `missing`); in a map, what is absent counts 0. A
null id or hypothesis is a fault, and so are NaN and the infinities. Complaints name rows as they name lines, from 1.
Rows are read in batches.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from luthier.core.errors import InputError
from luthier.core.files.io import STDIN, open_bytes
from luthier.core.progress import progress
from luthier.corpus.lines import empty_error
from luthier.kbest.reading.arrow_rows import block_of, check_names, layout_of
from luthier.kbest.reading.column_roles import NamedReader, Names
from luthier.kbest.reading.reader import Block, Source
from luthier.kbest.reading.shapes.tables import is_in_rows, rows_of

BATCH_ROWS = 1 << 16
PARQUET_MAGIC, ARROW_MAGIC = b"PAR1", b"ARROW1"


@dataclasses.dataclass(frozen=True)
class Method(NamedReader):
    """Reads Parquet and Arrow files."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 100 for a Parquet file, 50 for an Arrow file (which may be a pool)."""
        return 100 if head.startswith(PARQUET_MAGIC) else 50 if head.startswith(ARROW_MAGIC) else 0

    @classmethod
    def may_be(cls, head: bytes) -> bool:
        """Return whether a file is Parquet or Arrow."""
        return cls.recognizes(head) > 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a source in the order of the file."""
        first = 1
        with progress(f"reading {source.name}") as advance:
            try:
                for batch in _batches(source, self.called):
                    batch.validate(full=True)  # offsets and UTF-8 of a file from anybody; nobody else looks
                    table, rows = rows_of(pa.Table.from_batches([batch]), self.called, source.name, first)
                    layout = layout_of(table.schema, source, self.called)
                    for part in table.combine_chunks().to_batches():
                        yield block_of(source, layout, part, first + rows)
                    first += batch.num_rows
                    advance(batch.nbytes)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise InputError(
                    expected="a whole Parquet or Arrow file",
                    found=f"damage ({str(error).splitlines()[0]})",
                    path=source.name,
                    line=first,
                    kind="truncated",
                    hint="fetch or write the file again",
                ) from None
        if first == 1:
            raise empty_error(source.name)


def _batches(source: Source, names: Names) -> Iterator[pa.RecordBatch]:
    """Yield the file's rows, at most BATCH_ROWS at a time, and of a table in rows only the columns that are used."""
    if source.path == STDIN:
        with source.open() as stream:
            file = pa.BufferReader(stream.read())
    else:
        with open_bytes(source.path):  # complains if there is no such file
            file = pa.memory_map(os.fsencode(source.path)) if _size(source) else pa.BufferReader(b"")
    with file:
        magic = file.read(len(ARROW_MAGIC))
        file.seek(0)
        if not magic:
            raise empty_error(source.name)
        if magic == ARROW_MAGIC:
            yield from _arrow_batches(source, pa.ipc.open_file(file))
            return
        parquet = pq.ParquetFile(file)
        check_names(parquet.schema_arrow, source.name)
        wanted = [name for name in parquet.schema_arrow.names if name not in source.ignored]
        if is_in_rows(parquet.schema_arrow, names):
            layout = layout_of(parquet.schema_arrow, source, names)
            used = {*dataclasses.astuple(layout)[:-1], *layout.numbers}
            wanted = [name for name in wanted if name in used]
        yield from parquet.iter_batches(BATCH_ROWS, columns=wanted)


def _size(source: Source) -> int:
    with open(source.path, "rb") as file:
        return file.seek(0, 2)


def _arrow_batches(source: Source, file: pa.RecordBatchFileReader) -> Iterator[pa.RecordBatch]:
    if b"luthier.pool" in (file.schema.metadata or {}):
        raise InputError(
            expected="a list in columns",
            found="a pool",
            path=source.name,
            kind="format",
            hint="a pool needs no reading; give it to a command in place of the list",
        )
    for i in range(file.num_record_batches):
        batch = file.get_batch(i)
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS)
