"""Rows of Arrow tables as blocks: which column is what, what is wrong with a row, what is left of the others."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from luthier.core.arrays import Bool, Float64, Int64
from luthier.core.errors import InputError
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
from luthier.kbest.reading.column_roles import OTHERS, Names
from luthier.kbest.reading.inline_references import contradiction, one_per_sentence
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Block, Source


@dataclasses.dataclass(frozen=True)
class Layout:
    """Which column of a file says what; None where there is no such column."""

    id: str  # the source, where sentences have no id
    hypothesis: str
    features: str | None
    source: str | None
    references: str | None
    derivation: str | None
    numbers: tuple[str, ...]  # features, or columns of the pool where `features` is given

    @property
    def by_source(self) -> bool:
        """Whether sources tell sentences apart."""
        return self.id == self.source


def check_names(schema: pa.Schema, path: str) -> None:
    """Raise `InputError` where two columns have one name."""
    repeated = sorted(name for name, count in collections.Counter(schema.names).items() if count > 1)
    if repeated:
        raise InputError(expected="column names that differ", found=f"{repeated[0]!r} twice", path=path, kind="fields")


def layout_of(schema: pa.Schema, source: Source, names: Names | None = None) -> Layout:
    """Return which column is what, or raise the complaint about a file that cannot be used."""
    called, path = names or Names(), source.name

    def find(names: tuple[str, ...], suits: Callable[[pa.DataType], bool], what: str) -> str | None:
        name = next((name for name in names if name in schema.names and _is_usual(schema, name)), None)
        if name is not None and not suits(schema.field(name).type):
            raise InputError(
                expected=f"{what} in the column {name!r}",
                found=str(schema.field(name).type),
                path=path,
                kind="type",
            )
        return name

    def required(names: tuple[str, ...], suits: Callable[[pa.DataType], bool], what: str) -> str:
        name = find(names, suits, what)
        if name is None:
            known = [name for name in names if name not in _OTHER_NAMES]
            raise InputError(
                expected=f"a column {' or '.join(map(repr, known))}",
                found="only " + ", ".join(map(repr, schema.names[:12])) if schema.names else "no columns",
                path=path,
                kind="fields",
                hint="rename the column, for example with pyarrow or pandas",
            )
        return name

    check_names(schema, path)
    is_id = (called.of("id"), lambda kind: is_text(kind) or bool(pa.types.is_integer(kind)), "texts or integers")
    source_name, id_name = find(called.of("source"), is_text, "texts"), find(*is_id)
    taken = {id_name, *source.ignored}
    if source_name is not None and (source.by_source or id_name is None):
        id_name = source_name
    numbers = [field.name for field in schema if is_number(field.type) and field.name not in taken]
    return Layout(
        id_name or required(*is_id),
        required(called.of("text"), is_text, "texts"),
        find(("features",), _holds_numbers, "a struct or a map of numbers"),
        source_name,
        find(called.of("references"), lambda kind: is_text(kind) or is_text_list(kind), "texts or lists of texts"),
        find(("derivation",), _holds_rules, "lists of texts, or of structs of 'rule' and 'features',"),
        tuple(numbers),
    )


_OTHER_NAMES = frozenset(name for names in OTHERS.values() for name in names)


def _is_usual(schema: pa.Schema, name: str) -> bool:
    """Return whether a column may be what its name says: the names of other tools mean something of texts alone."""
    return name not in _OTHER_NAMES or is_text(schema.field(name).type)


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


def block_of(source: Source, layout: Layout, batch: pa.RecordBatch, lines: Int64) -> Block:
    """Return the hypotheses of a batch; `lines` are the numbers of its rows."""
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
    check = _Check(source.name, lines)
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
        # a map names what there is; a struct, or columns, have a place for everything
        gaps=layout.features is None or not pa.types.is_map(column(layout.features).type),
        guessed=layout.features is None,
        by_source=layout.by_source,
        integer_ids=np.full(len(rows), bool(pa.types.is_integer(column(layout.id).type))),
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
                expected=f"a value in the column {name!r}",
                found="null",
                path=self.path,
                line=line,
                kind="fields",
                hint="leave such rows out with `skip_bad`",
            )

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
                expected="a finite number",
                found=f"{value} for {name!r}",
                path=self.path,
                line=line,
                kind="not-finite",
                hint="a scorer failed there; fix the list, or leave such lines out with `skip_bad`",
            )

        self._add("not-finite", ~finite, describe)

    def same(self, what: str, others: Int64) -> None:
        """Complain about rows whose source or references are not those of their sentence."""
        wrong = np.zeros(len(self.good), dtype=np.bool_)
        wrong[others] = True
        self._add("sentence-data", wrong, lambda _, line: contradiction(what, self.path, line))
