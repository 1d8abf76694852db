"""Pools from tables in memory, and back: pandas, polars, Arrow, or columns in a dictionary.

Nothing here depends on pandas or polars: whatever speaks Arrow's C interface (``__arrow_c_stream__``), or the older
protocol for exchanging data frames (``__dataframe__``), is taken as it is.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from luthier.core.errors import InputError, LuthierError, LuthierWarning
from luthier.core.params import names_of
from luthier.kbest.building.builder import PoolBuilder
from luthier.kbest.building.feature_rows import ERROR, POLICIES, Filling
from luthier.kbest.pool import Pool
from luthier.kbest.reading.arrow_columns import is_number, is_text
from luthier.kbest.reading.arrow_rows import block_of, layout_of
from luthier.kbest.reading.column_roles import MEANINGS, Names, Roles, meaning_of
from luthier.kbest.reading.line_errors import LineErrors
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import Block, Reader, Source
from luthier.kbest.reading.shapes.tables import rows_of
from luthier.kbest.storage.writer import id_array, sentence_of_rows, text_array

FRAME = "the table"
INDEX = "__index_level_"  # what pandas calls the columns of an index
MOST_COLUMNS = 2000
LOOKED_AT = 100  # rows of a column of texts, to see whether they are numbers


def frame_table(frame: Any) -> pa.Table:
    """Return what a frame holds as an Arrow table; no copy where none is needed."""
    try:
        if isinstance(frame, pa.Table):
            table = frame
        elif isinstance(frame, pa.RecordBatch):
            table = pa.Table.from_batches([frame])
        elif isinstance(frame, Mapping):
            table = pa.table({str(name): _column(column) for name, column in frame.items()})
        elif hasattr(frame, "__arrow_c_stream__"):
            table = pa.table(frame)
        elif hasattr(frame, "__dataframe__"):
            from pyarrow.interchange import from_dataframe

            table = from_dataframe(frame)
        else:
            raise LuthierError(
                "expected a data frame of pandas or polars, an Arrow table, or a dictionary of columns, found "
                f"{type(frame).__name__}"
            )
    except (pa.ArrowException, TypeError, ValueError, RuntimeError) as error:
        found = ". ".join(str(part) for part in error.args) or type(error).__name__
        raise LuthierError(f"expected columns of texts and numbers of one length, found: {found}") from None
    return table.select([name for name in table.column_names if not name.startswith(INDEX)])


def _column(column: Any) -> Any:
    return pa.array(column) if isinstance(column, np.ndarray | list | tuple) else pa.array(list(column))


@dataclasses.dataclass(frozen=True)
class FrameRoles:
    """Which column is what; None: by its name, as in files. `features` None: every other number is one."""

    id: str | None = None
    text: str | None = None
    references: str | Sequence[str] | None = None
    source: str | None = None
    features: Sequence[str] | None = None
    columns: Sequence[str] = ()

    def arrange(self, table: pa.Table) -> pa.Table:
        """Return the table with the columns that are used, those with a role under the names that files give them."""
        named = {"id": self.id, "text": self.text, "source": self.source}
        references = names_of(() if self.references is None else self.references, "columns of references")
        features = None if self.features is None else names_of(self.features, "features")
        columns = names_of(self.columns, "columns")
        both = sorted({*(features or ())} & {*columns})
        if both:
            raise LuthierError(f"{both[0]!r} cannot be a feature and a column of scores: name it once")
        taken: dict[str, Any] = {}
        for role, name in named.items():
            usual = [
                known for known in table.column_names if known in MEANINGS[role] or is_text(table.field(known).type)
            ]
            found = name or meaning_of(role, usual)
            if found is not None:
                taken[MEANINGS[role][0]] = _get(table, found)
                named[role] = found
        references = references or [name for name in MEANINGS["references"] if name in table.column_names][:1]
        if references:
            taken["refs"] = _lists([_get(table, name) for name in references], references)
        used = {*references, *(n for n in named.values() if n), *(n for names in MEANINGS.values() for n in names)}
        if features is None and "features" in table.column_names:
            taken["features"] = table.column("features")  # an object of them, as in files
        wanted = [*features, *columns] if features is not None else table.column_names
        for name in dict.fromkeys([*wanted, *columns]):
            if name in used and (features is None and name not in columns):
                continue
            if name in taken:
                raise LuthierError(f"the column {name!r} is named as a feature, and has another role by its name")
            taken[name] = _get(table, name)
            _check_numbers(taken[name], name, asked=name in columns or features is not None)
        return pa.table(taken)


def _get(table: pa.Table, name: str) -> Any:
    if not isinstance(name, str) or name not in table.column_names:
        shown = ", ".join(map(repr, table.column_names[:12])) or "no columns"
        raise LuthierError(f"no column is called {name!r}. hint: the table has {shown}")
    return table.column(name)


def _check_numbers(column: pa.ChunkedArray, name: str, *, asked: bool) -> None:
    """Raise where a feature or a score that was asked for holds no numbers; warn of numbers written as texts."""
    hint = f"hint: make numbers of them, such as frame[{name!r}].astype(float)"
    if asked and not is_number(column.type):
        raise LuthierError(f"expected numbers in the column {name!r}, found {column.type}. {hint}")
    if is_text(column.type) and all(_reads_as_number(text) for text in column.slice(0, LOOKED_AT).to_pylist()):
        told = f"the column {name!r} holds texts such as {column[0].as_py()!r} and is no feature. {hint}"
        warnings.warn(told, LuthierWarning, stacklevel=4)


def _reads_as_number(text: str | None) -> bool:
    try:
        return text is None or float(text) == float(text)
    except ValueError:
        return False


def _lists(columns: Sequence[Any], names: Sequence[str]) -> Any:
    """Return one column of references as it is, several as lists."""
    if len(columns) == 1:
        return columns[0]
    for column, name in zip(columns, names, strict=True):
        if not is_text(column.type):
            raise LuthierError(f"expected texts as references in the column {name!r}, found {column.type}")
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return pa.array([[text for text in row if text is not None] for row in rows], pa.list_(pa.string()))


class _Rows(Reader):
    """The rows of a table."""

    table: pa.Table

    @classmethod
    def recognizes(cls, head: bytes) -> int:  # noqa: ARG003
        """Return 0: it is no file."""
        return 0

    def blocks(self, source: Source) -> Iterator[Block]:
        """Yield the rows in batches."""
        layout, first = layout_of(self.table.schema, source), 1
        for batch in self.table.combine_chunks().to_batches(1 << 16):
            yield block_of(source, layout, batch, np.arange(first, first + batch.num_rows))
            first += batch.num_rows


def pool_from_frame(
    frame: Any,
    *,
    id: str | None = None,  # noqa: A002 - the word that tables use
    text: str | None = None,
    features: Sequence[str] | None = None,
    columns: Sequence[str] = (),
    references: str | Sequence[str] | None = None,
    source: str | None = None,
    list: str | None = None,  # noqa: A002 - the word of the other readers
    missing: str = ERROR,
    costs: Sequence[str] = (),
    counts: str = "",
) -> Pool:
    """Return the pool of a table with a row for each hypothesis, or for each sentence with lists.

    Parameters
    ----------
    frame
        A data frame of pandas or polars, an Arrow table, or a mapping from names to columns.
    id, text, source
        The columns with the sentence's id, the hypothesis and the source; default: by their usual names
        (``id``, ``hyp`` or ``text``, ``source``). Without an id, rows of one source are one sentence.
    list
        The column with lists of texts, or of structs with a text; lists of as many numbers beside it are features. By
        default one of the usual names (``completions``, ``outputs``, ``sequences``, …), if there is no column of texts.
    references
        The column with the reference (texts, or lists of texts), or the columns of several.
    features
        The columns of features; default: all other columns of numbers.
    columns
        Columns of scores that are no features, such as COMET; tuned for as ``column:NAME``.
    missing
        What a missing feature counts, as for files: ``error``, ``zero``, ``worst`` or ``mean``.
    costs
        Features of which less is better.
    counts
        The column with how often a hypothesis was drawn, 1 where the table has none; repeats are added up.

    Examples
    --------
    >>> pool_from_frame({"id": [1, 1], "hyp": ["a b", "a"], "lm": [-2.0, -1.5]})
    <Pool: 1 sentence, 2 hypotheses, 1 feature (lm), no references>
    """
    if missing not in POLICIES:
        raise LuthierError(f"expected missing values as {', '.join(POLICIES)}, found {missing!r}")
    table, _ = rows_of(frame_table(frame), Names(id or "", text or "", list or "", source=source or ""), FRAME, 1)
    own = [counts] if counts in table.column_names else []
    roles = FrameRoles(id, text, references, source, features, [*names_of(columns, "columns"), *own])
    table = roles.arrange(table)
    if not table.num_rows:
        raise InputError(expected="at least one row", found="an empty table", path=FRAME, kind="empty")
    columns, costs = names_of(columns, "columns"), names_of(costs, "costs")
    reader, names = _Rows(), NameTable()
    object.__setattr__(reader, "table", table)
    builder = PoolBuilder(
        None,
        names,
        any_order=True,
        roles=Roles(frozenset({*columns, counts} - {""}), counts=counts),
        filling=Filling(missing, frozenset(costs)),
    )
    rows = Source(FRAME, LineErrors(), names, NameTable())
    try:
        builder.add(reader, rows)
    except InputError as error:
        hint = error.hint.replace("leave such lines out with `skip_bad`", "leave such rows out of the table")
        error.hint = hint.replace("with `skip_bad`", "of the table")
        raise
    pool = builder.build(rows, keep_duplicates=False)
    unknown = [name for name in columns if name not in pool.columns]
    if unknown:
        raise LuthierError(f"the column {unknown[0]!r} holds no number for every row")
    return pool.with_features(pool.features.call_costs([*costs])) if costs else pool


def pool_to_frame(pool: Pool) -> pa.Table:
    """Return an Arrow table with a row for each hypothesis: id, hyp, source, refs, every feature, every column.

    ``.to_pandas()`` makes a pandas frame of it, ``polars.from_arrow`` one of polars.
    """
    names = pool.features.names
    if len(names) > MOST_COLUMNS:
        raise LuthierError(
            f"expected at most {MOST_COLUMNS:,} features for a table with a column each, found {len(names):,}. "
            "hint: pool.features.select(names) chooses some, and 'luthier data convert' writes all of them to Parquet"
        )
    sentences = pa.array(sentence_of_rows(pool))
    taken: dict[str, Any] = {"id": id_array(pool).take(sentences), "hyp": text_array(pool.texts)}
    if pool.sources is not None:
        taken["source"] = text_array(pool.sources).take(sentences)
    if pool.references is not None:
        offsets = pa.array(pool.references.offsets.astype(np.int32))
        taken["refs"] = pa.ListArray.from_arrays(offsets, text_array(pool.references.texts)).take(sentences)
    for name in names:
        if name in taken:
            raise LuthierError(f"the feature {name!r} has the name of another column. hint: rename it")
        taken[name] = pa.array(pool.features.column(name))
    for name, column in pool.columns.items():
        if name in taken:
            raise LuthierError(f"the column {name!r} has the name of another column. hint: rename it")
        taken[name] = pa.array(column, from_pandas=True)  # NaN becomes null
    return pa.table(taken)
