"""Tables in other shapes than a row per hypothesis: lists in a row, or a column per system; made rows of hypotheses."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.arrays import Int64
from luthier.core.errors import InputError
from luthier.core.files.arrow import numbers
from luthier.kbest.reading.arrow_columns import is_number, is_text, present
from luthier.kbest.reading.arrow_rows import check_names
from luthier.kbest.reading.column_roles import MEANINGS, Names
from luthier.kbest.reading.shapes.profiles import LISTS, TEXTS

LONGEST = 200  # letters of a column's name that may have a system in it
SINGULAR = {"scores": "score", "rewards": "reward"}


def systems_in(header: Sequence[str], names: Names) -> dict[str, dict[str, str]]:
    """Return the systems of a table that has a column for each, with the columns of their scores by name.

    >>> systems_in(["src", "A", "B", "kiwi_A", "kiwi_B", "words"], Names())
    {'A': {'kiwi': 'kiwi_A'}, 'B': {'kiwi': 'kiwi_B'}}
    """
    given = names.text.split(",") if "," in names.text else []
    usual = {name for meaning in ("id", "source", "references") for name in names.of(meaning)}
    if not {*given} <= {*header}:
        return {}
    if not given and (any(name in header for name in names.of("text")) or names.text or names.list):
        return {}
    could_be = {*given} or {*header} - usual
    scores: dict[str, dict[str, str]] = {system: {} for system in given}
    for name in header:
        for mark in (
            re.finditer("[_.:-]", name) if name not in given and len(name) < LONGEST else ()
        ):  # between a score and its system
            left, right = name[: mark.start()], name[mark.end() :]
            for system, score in ((left, right), (right, left)):
                if system in could_be and score:
                    scores.setdefault(system, {})[score] = name
    taken = {name for of_system in scores.values() for name in of_system.values()}
    found = {system: scores[system] for system in (given or header) if system in scores and system not in taken}
    alike = len({tuple(sorted(scores)) for scores in found.values()}) == 1
    return found if len(found) > 1 and (given or alike) else {}


def rows_of(table: pa.Table, names: Names, path: str, first_row: int) -> tuple[pa.Table, Int64]:
    """Return a table with a row per hypothesis, and the row of each in the table given."""
    check_names(table.schema, path)
    systems = systems_in(table.column_names, names)
    if systems:
        return _of_systems(table, systems, names, first_row)
    column = _list_column(table.schema, names)
    if column:
        return _of_lists(table, column, names, path, first_row)
    return table, np.arange(table.num_rows, dtype=np.int64)


def is_in_rows(schema: pa.Schema, names: Names) -> bool:
    """Return whether a table has a row for each hypothesis already."""
    return not systems_in(schema.names, names) and not _list_column(schema, names)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _list_column(schema: pa.Schema, names: Names) -> str:
    """Return the column with the list of hypotheses: texts, or structs with a text."""
    if names.list:
        return names.list if names.list in schema.names else ""
    if any(name in schema.names and is_text(schema.field(name).type) for name in names.of("text")):
        return ""
    for name in LISTS:
        if name in schema.names and _is_list(schema.field(name).type):
            kind = schema.field(name).type.value_type
            if is_text(kind) or (pa.types.is_struct(kind) and _text_field(kind)):
                return name
    return ""


def _text_field(kind: pa.DataType) -> str:
    fields = {field.name: field.type for field in kind}
    return next((name for name in TEXTS if name in fields and is_text(fields[name])), "")


def _numbered(table: pa.Table, names: Names, first_row: int) -> pa.Table:
    """Return the table with the number of each row, from 0, as its id where it has none."""
    if any(name in table.column_names for name in names.of("id")):
        return table
    return table.append_column("id", pa.array(np.arange(table.num_rows) + first_row - 1))


def _of_lists(table: pa.Table, name: str, names: Names, path: str, first_row: int) -> tuple[pa.Table, Int64]:
    table = _numbered(table, names, first_row).combine_chunks()
    column = table.column(name).combine_chunks()
    if not _is_list(column.type):
        raise InputError(expected=f"lists in the column {name!r}", found=str(column.type), path=path, kind="type")
    counts = np.asarray(numbers(pc.fill_null(pc.list_value_length(column), 0)), dtype=np.int64)
    lacking = ~present(column)
    rows = np.repeat(np.arange(len(counts)), counts + lacking)  # a row without a list has a hypothesis without a text
    place = pa.array(np.cumsum(~lacking[rows]) - 1, mask=lacking[rows])
    items, made = pc.list_flatten(column).take(place), {}
    kind, called = items.type, names.text or MEANINGS["text"][0]
    if pa.types.is_struct(kind):
        text = names.text or _text_field(kind)
        made = {(called if field.name == text else field.name): pc.struct_field(items, [field.name]) for field in kind}
    else:
        made[called] = items
    for other in table.column_names:
        values = table.column(other).combine_chunks()
        if other == name or other in made:
            continue
        if _is_list(values.type) and is_number(values.type.value_type):
            if not other.endswith("token_ids"):
                flat = _flat_numbers(values, counts, other, path, first_row)
                made[SINGULAR.get(other, other)] = flat.take(place)
        elif not is_number(values.type) or other in names.of("id"):
            made[other] = values.take(pa.array(rows))
    return pa.table(made), rows


def _flat_numbers(values: pa.Array, counts: Int64, name: str, path: str, first_row: int) -> pa.Array:
    lengths = np.asarray(numbers(pc.fill_null(pc.list_value_length(values), 0)), dtype=np.int64)
    wrong = np.flatnonzero(lengths != counts)
    if len(wrong):
        raise InputError(
            expected=f"as many numbers in {name!r} as hypotheses ({counts[wrong[0]]})",
            found=str(lengths[wrong[0]]),
            path=path,
            line=first_row + int(wrong[0]),
            kind="fields",
        )
    return pc.list_flatten(values)


def _of_systems(
    table: pa.Table, systems: dict[str, dict[str, str]], names: Names, first_row: int
) -> tuple[pa.Table, Int64]:
    table = _numbered(table, names, first_row)
    n, k = table.num_rows, len(systems)
    order = pa.array(np.arange(n * k).reshape(k, n).T.reshape(-1))  # all systems of a row side by side
    rows = np.repeat(np.arange(n), k)
    kept = [name for meaning in ("id", "source", "references") for name in names.of(meaning)]
    made = {name: table.column(name).take(pa.array(rows)) for name in kept if name in table.column_names}

    def together(columns: list[str | None], kind: pa.DataType) -> pa.Array:
        parts = [pa.nulls(n, kind) if c is None else table.column(c).cast(kind).combine_chunks() for c in columns]
        return pa.concat_arrays(parts).take(order)

    made[names.text or MEANINGS["text"][0]] = together(list(systems), pa.large_string())
    for score in dict.fromkeys(name for scores in systems.values() for name in scores):
        made[score] = together([scores.get(score) for scores in systems.values()], pa.float64())
    return pa.table(made), rows
