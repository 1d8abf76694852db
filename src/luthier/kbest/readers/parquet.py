"""Parquet or Arrow (Feather) files: one hypothesis per row, features in columns, a struct or a map.

Columns, by name:

``id``          texts or integers; rows of one sentence stand together
``hyp``         texts; ``hypothesis`` and ``text`` mean the same, in this order of preference
``features``    a struct of numbers, or a map from texts to numbers
``source``      texts; also ``src``
``refs``        lists of texts, or texts; also ``ref``
``derivation``  lists of rules: texts, or structs of a text ``rule`` and its own ``features``

Where there is a column ``features``, other columns of numbers become columns of the pool (sentence-level
scores, say). Where there is none, every column of numbers is a feature. Columns of other types are passed
over. A null feature is absent and counts 0; a null id or hypothesis is a fault, and so are NaN and the
infinities. Complaints name rows as they name lines, from 1. Rows are read in batches.
"""

from __future__ import annotations

import collections
import dataclasses
import os
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import InputError
from luthier.core.io import STDIN, open_bytes
from luthier.core.progress import progress
from luthier.corpus.lines import empty_error
from luthier.kbest.building.sentence_data import contradiction, one_per_sentence
from luthier.kbest.reading.arrow_columns import (
    NumberLists,
    RuleLists,
    is_number,
    is_text,
    is_text_list,
    numbers_of,
    present,
    text_lists,
    texts_of,
)
from luthier.kbest.reading.faults import BadLines
from luthier.kbest.reading.reader import Block, Reader, Source

BATCH_ROWS = 1 << 16
PARQUET_MAGIC, ARROW_MAGIC = b"PAR1", b"ARROW1"
HYPOTHESIS, SOURCES, REFERENCES = ("hyp", "hypothesis", "text"), ("source", "src"), ("refs", "ref")


@dataclasses.dataclass(frozen=True)
class Method(Reader):
    """Reads Parquet and Arrow files."""

    @classmethod
    def recognizes(cls, head: bytes) -> int:
        """Return 100 for a Parquet file, 50 for an Arrow file (which may be a pool)."""
        return 100 if head.startswith(PARQUET_MAGIC) else 50 if head.startswith(ARROW_MAGIC) else 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the hypotheses of a source in the order of the file."""
        first = 1
        with progress(f"reading {source.name}") as advance:
            try:
                for layout, batch in _batches(source):
                    batch.validate(full=True)  # offsets and UTF-8 of a file from anybody; nobody else looks
                    yield _block(source, layout, batch, first)
                    first += batch.num_rows
                    advance(batch.nbytes)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise InputError(
                    expected="a whole Parquet or Arrow file", found=f"damage ({str(error).splitlines()[0]})",
                    path=source.name, line=first, kind="truncated", hint="fetch or write the file again",
                ) from None  # fmt: skip
        if first == 1:
            raise empty_error(source.name)


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Which column of a file says what; None where there is no such column."""

    id: str
    hypothesis: str
    features: str | None
    source: str | None
    references: str | None
    derivation: str | None
    numbers: tuple[str, ...]  # features, or columns of the pool where `features` is given


def _batches(source: Source) -> Iterator[tuple[_Layout, pa.RecordBatch]]:
    """Yield the file's rows, at most BATCH_ROWS at a time, with the meaning of its columns."""
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
        layout = _layout(parquet.schema_arrow, source.name)
        wanted = [name for name in dataclasses.astuple(layout)[:-1] if name] + list(layout.numbers)
        for batch in parquet.iter_batches(BATCH_ROWS, columns=wanted):
            yield layout, batch


def _size(source: Source) -> int:
    with open(source.path, "rb") as file:
        return file.seek(0, 2)


def _arrow_batches(source: Source, file: pa.RecordBatchFileReader) -> Iterator[tuple[_Layout, pa.RecordBatch]]:
    if b"luthier.pool" in (file.schema.metadata or {}):
        raise InputError(
            expected="a list in columns", found="a pool", path=source.name, kind="format",
            hint="a pool needs no reading; give it to a command in place of the list",
        )  # fmt: skip
    layout = _layout(file.schema, source.name)
    for i in range(file.num_record_batches):
        batch = file.get_batch(i)
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield layout, batch.slice(start, BATCH_ROWS)


def _layout(schema: pa.Schema, path: str) -> _Layout:
    """Return which column is what, or raise the complaint about a file that cannot be used."""

    def find(names: tuple[str, ...], suits: Callable[[pa.DataType], bool], what: str) -> str | None:
        name = next((name for name in names if name in schema.names), None)
        if name is not None and not suits(schema.field(name).type):
            raise InputError(
                expected=f"{what} in the column {name!r}", found=str(schema.field(name).type),
                path=path, kind="type",
            )  # fmt: skip
        return name

    def required(names: tuple[str, ...], suits: Callable[[pa.DataType], bool], what: str) -> str:
        name = find(names, suits, what)
        if name is None:
            raise InputError(
                expected=f"a column {' or '.join(map(repr, names))}",
                found="only " + ", ".join(map(repr, schema.names[:12])) if schema.names else "no columns",
                path=path, kind="fields", hint="rename the column, for example with pyarrow or pandas",
            )  # fmt: skip
        return name

    repeated = sorted(name for name, count in collections.Counter(schema.names).items() if count > 1)
    if repeated:
        raise InputError(expected="column names that differ", found=f"{repeated[0]!r} twice", path=path, kind="fields")
    id_name = required(("id",), lambda kind: is_text(kind) or bool(pa.types.is_integer(kind)), "texts or integers")
    numbers = [field.name for field in schema if is_number(field.type) and field.name != id_name]
    return _Layout(
        id_name,
        required(HYPOTHESIS, is_text, "texts"),
        find(("features",), _holds_numbers, "a struct or a map of numbers"),
        find(SOURCES, is_text, "texts"),
        find(REFERENCES, lambda kind: is_text(kind) or is_text_list(kind), "texts or lists of texts"),
        find(("derivation",), _holds_rules, "lists of texts, or of structs of 'rule' and 'features',"),
        tuple(numbers),
    )


def _holds_numbers(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return is_text(kind.key_type) and is_number(kind.item_type)
    return bool(pa.types.is_struct(kind)) and all(is_number(kind.field(i).type) for i in range(kind.num_fields))


def _holds_rules(kind: pa.DataType) -> bool:
    if is_text_list(kind):
        return True
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_struct(kind.value_type):
        return False
    fields = {field.name: field.type for field in kind.value_type}
    return is_text(fields.get("rule", pa.null())) and ("features" not in fields or _holds_numbers(fields["features"]))


def _block(source: Source, layout: _Layout, batch: pa.RecordBatch, first_row: int) -> Block:
    n, column = batch.num_rows, batch.column
    numbers = {name: column(name) for name in layout.numbers}
    if layout.features is None:
        features, extra = NumberLists.from_columns(numbers, n), NumberLists.from_columns({}, n)
    else:
        features, extra = (
            NumberLists.from_array(column(layout.features)),
            NumberLists.from_columns(numbers, n),
        )
    derivations = None if layout.derivation is None else RuleLists.of(column(layout.derivation))
    check = _Check(source.name, np.arange(first_row, first_row + n, dtype=np.int64))
    for name in (layout.id, layout.hypothesis):
        check.present(name, present(column(name)))
    if derivations is not None:
        check.present("derivation", derivations.all_of(derivations.given))
    check.finite(features, extra, derivations)
    ids = texts_of(column(layout.id))
    sources = text_lists(column(layout.source) if layout.source else None, n)
    references = text_lists(column(layout.references) if layout.references else None, n)
    rows = np.flatnonzero(check.good)
    sentences, *others = one_per_sentence(ids.take(rows), sources.take(rows), references.take(rows))
    for what, other in zip(("source", "references"), others, strict=True):
        check.same(what, rows[other])
    rows = np.flatnonzero(check.good)
    features = features.take(rows)
    return Block(
        lines=check.lines[rows],
        ids=ids.take(rows),
        texts=texts_of(column(layout.hypothesis)).take(rows),
        row_starts=features.offsets,
        names=features.numbers(source.names),
        values=features.values,
        columns={} if layout.features is None else _columns(numbers, rows),
        sentences=sentences,
        rule_uses=None if derivations is None else derivations.rule_uses(rows, source.local_names),
        bad=check.bad,
    )


def _columns(numbers: dict[str, pa.Array], rows: Int64) -> dict[str, Float64]:
    columns = {}
    for name, array in numbers.items():
        values, has = numbers_of(array)
        columns[name] = np.where(has, values, np.nan)[rows]
    return columns


class _Check:
    """The rows of a batch that are good so far, and what is wrong with the others."""

    def __init__(self, path: str, lines: Int64) -> None:
        self.path, self.lines = path, lines
        self.good = np.ones(len(lines), dtype=np.bool_)
        self.bad = BadLines()

    def _add(self, kind: str, wrong: Bool, describe: Callable[[int, int], InputError]) -> None:
        """Note the good rows that are wrong; ``describe(row, line)`` returns the complaint."""
        rows = np.flatnonzero(self.good & wrong)
        self.good[rows] = False
        self.bad.add(kind, self.lines[rows], lambda i: describe(int(rows[i]), int(self.lines[rows[i]])))

    def present(self, name: str, has: Bool) -> None:
        """Complain about nulls."""

        def describe(_: int, line: int) -> InputError:
            return InputError(
                expected=f"a value in the column {name!r}", found="null", path=self.path, line=line,
                kind="fields", hint="leave such rows out with --skip-bad",
            )  # fmt: skip

        self._add("fields", ~has, describe)

    def finite(self, features: NumberLists, extra: NumberLists, derivations: RuleLists | None) -> None:
        """Complain about NaN and infinities."""
        finite = features.finite() & extra.finite()
        if derivations is not None:
            finite &= derivations.all_of(derivations.features.finite())

        def describe(row: int, line: int) -> InputError:
            lists = [features.take(np.array([row])), extra.take(np.array([row]))]
            if derivations is not None:
                lists.append(derivations.features.take(derivations.uses.take(np.array([row])).children))
            numbers = [(part.labels[k], v) for part in lists for k, v in zip(part.label_of, part.values, strict=True)]
            name, value = next((name, value) for name, value in numbers if not np.isfinite(value))
            return InputError(
                expected="a finite number", found=f"{value} for {name!r}", path=self.path, line=line,
                kind="not-finite",
                hint="a scorer failed there; mend the list, or leave such lines out with --skip-bad",
            )  # fmt: skip

        self._add("not-finite", ~finite, describe)

    def same(self, what: str, others: Int64) -> None:
        """Complain about rows whose source or references are not those of their sentence."""
        wrong = np.zeros(len(self.good), dtype=np.bool_)
        wrong[others] = True
        self._add("sentence-data", wrong, lambda _, line: contradiction(what, self.path, line))
