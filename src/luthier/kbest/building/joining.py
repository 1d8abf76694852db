"""Scores from files, joined to hypotheses: in their order, by id and index, or by source and text."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.json as pajson

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import InputError, LuthierError, excerpt
from luthier.core.files.io import STDIN, display_name, open_bytes
from luthier.core.numbers import NUMBER_OK, parse_numbers
from luthier.core.segments import segment_of_rows
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.corpus.vocab import Interner
from luthier.kbest.pool import Pool
from luthier.kbest.reading.arrow_columns import is_number, numbers_of, texts_of
from luthier.kbest.reading.column_roles import NEVER, meaning_of
from luthier.kbest.reading.columns import decimals

if TYPE_CHECKING:
    from collections.abc import Callable

INDICES = ("index", "idx", "rank")
ORDER, INDEX, TEXT = "order", "id and index", "source and text"


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """The hypotheses that scores are joined to: the sentence of each, its id, source and text."""

    ids: Texts
    sentences: Int64
    texts: Texts
    sources: Texts | None
    listed: int = 0  # how many there were before repeats were dropped, if some were

    @classmethod
    def of(cls, pool: Pool) -> Rows:
        """Return the rows of a pool."""
        listed = sum(int(item.get("hypotheses", 0)) for item in pool.provenance.get("lists", []))
        return cls(pool.sentence_ids, segment_of_rows(pool.offsets), pool.texts, pool.sources, listed)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def indices(self) -> Int64:
        """The place of each hypothesis in its list, from 0."""
        order = np.argsort(self.sentences, kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ordered = self.sentences[order]
        ranks[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return ranks

    def called(self, row: int) -> str:
        """Return how complaints call a row."""
        sentence = self.ids[int(self.sentences[row])]
        return f"hypothesis {self.indices[row]} of sentence {sentence!r} ({excerpt(self.texts[row].encode(), 40)})"


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """The numbers of a file by name, (n,) each, and the key of each row; no keys: in the order of the hypotheses."""

    path: str
    columns: Mapping[str, Float64]
    by: str = ORDER
    keys: Texts | None = None

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def match(self, rows: Rows) -> dict[str, Float64]:
        """Return the numbers of each hypothesis by name."""
        if self.keys is None:
            if len(self) != len(rows):
                raise self._other_count(rows)
            return dict(self.columns)
        wanted = _keys_of(rows, self.by, self.path)
        interner = Interner.of(self.keys)
        own = interner.intern_texts(self.keys)
        first = np.full(len(interner), -1, dtype=np.int64)
        first[own[::-1]] = np.arange(len(own))[::-1]
        for name, values in self.columns.items():
            other = np.flatnonzero(values != values[first[own]])
            if len(other):
                key = excerpt(self.keys[int(other[0])].replace("\t", ", ").encode(), 60)
                raise self._error(f"one number as {name!r} for each {self.by}", f"two for {key}")
        found = interner.intern_texts(wanted)
        missing = np.flatnonzero(found >= len(first))
        if len(missing):
            raise self._error(
                f"a row for each hypothesis, by {self.by}",
                f"none for {rows.called(int(missing[0]))}",
                f"{len(missing):,} of {len(rows):,} hypotheses have none",
            )
        return {name: values[first[found]] for name, values in self.columns.items()}

    def _other_count(self, rows: Rows) -> InputError:
        n, m = len(self), len(rows)
        if n == rows.listed:
            hint = "repeated hypotheses were dropped from the pool: join it when the list is read"
        else:
            hint = "a number for each hypothesis, in the order of the list as it is read"
        found = f"{n:,}: none for {rows.called(n)}" if n < m else f"{n:,}: line {m + 1} belongs to none"
        return self._error(f"{m:,} numbers, one for each hypothesis", found, hint)

    def _error(self, expected: str, found: str, hint: str = "") -> InputError:
        return InputError(expected=expected, found=found, path=display_name(self.path), hint=hint, kind="join")


def join_scores(files: Sequence[str], rows: Rows, read_list: Callable[[str], Pool]) -> dict[str, Float64]:
    """Return the numbers of files, ``FILE`` or ``NAME=FILE``, for each hypothesis."""
    found: dict[str, Float64] = {}
    for given in files:
        scores = read_scores(given, read_list).match(rows)
        check_new(scores, found, given)
        found |= scores
    return found


def check_new(names: Iterable[str], known: Collection[str], path: str = "a file that is joined") -> None:
    """Raise `LuthierError` where scores have the name of something else."""
    again = [name for name in names if name in known]
    if again:
        raise LuthierError(f"{path}: there is a number called {again[0]!r} already. hint: NAME=FILE names it otherwise")


def read_scores(given: str, read_list: Callable[[str], Pool]) -> Scores:
    """Read ``FILE`` or ``NAME=FILE``: a number a line, a table with id and index, or a list with sources and scores."""
    name, equals, path = given.partition("=")
    name, path = (name, path) if equals else ("", given)
    if not path or (equals and not name):
        raise LuthierError(f"expected NAME=FILE or FILE to join, found {given!r}")
    return _piped(path, name, read_list) if path == STDIN or Path(path).is_fifo() else _read(path, name, read_list)


def _piped(path: str, name: str, read_list: Callable[[str], Pool]) -> Scores:
    """Read a pipe, which gives its bytes once, by a copy that can be looked at several times."""
    with tempfile.TemporaryDirectory(prefix="luthier-join-") as folder:
        copy = Path(folder, "scores")
        with open_bytes(path) as stream, open(copy, "wb") as file:
            shutil.copyfileobj(stream, file)
        try:
            found = _read(str(copy), name, read_list)
        except InputError as error:
            error.path = display_name(path)
            raise
    if found.by == ORDER and not name:
        raise LuthierError(f"expected NAME=FILE to join, found {display_name(path)}: numbers of a pipe need a name")
    return dataclasses.replace(found, path=path)


def _read(path: str, name: str, read_list: Callable[[str], Pool]) -> Scores:
    with open_bytes(path) as stream:
        head = stream.peek(1 << 16)[: 1 << 16]
    line = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].strip()
    first = np.frombuffer(line, dtype=np.uint8)
    whole = np.zeros(1, dtype=np.int64), np.array([len(line)])
    if line.lower() in (b"nan", b"inf", b"-inf") or parse_numbers(first, *whole)[1][0] == NUMBER_OK:
        return _plain(path, name)
    table = _table(path, line)
    if table is not None:
        try:
            return _keyed(path, name, table)
        except pa.ArrowException as error:
            found, what = str(error).splitlines()[0], "a table of ids, indices and numbers, in UTF-8"
            raise InputError(expected=what, found=found, path=display_name(path), kind="join") from None
    pool = read_list(path)
    columns = {**{n: pool.features.column(n) for n in pool.features.names}, **pool.columns}
    return Scores(path, _renamed(columns, name, path), TEXT, _keys_of(Rows.of(pool), TEXT, path))


def _plain(path: str, name: str) -> Scores:
    """Read a number a line."""
    lines = read_lines(path)
    values, status = parse_numbers(lines.data, lines.offsets[:-1], lines.offsets[1:])
    wrong = np.flatnonzero(status != NUMBER_OK)
    if len(wrong):
        raise InputError(
            expected="a finite number on each line",
            found=excerpt(lines[int(wrong[0])].encode()) if lines[int(wrong[0])] else "an empty line",
            path=display_name(path),
            line=int(wrong[0]) + 1,
            kind="number",
            hint="a scorer failed there",
        )
    return Scores(path, {name or PurePath(path).name.split(".")[0]: values})


def _table(path: str, line: bytes) -> pa.Table | None:
    """Return a table that has ids and indices, and nothing else but numbers; None where it is none."""
    header = line.decode("utf-8", "replace")
    try:
        if header.startswith("{") and f'"{INDICES[0]}"' in header:
            with open_bytes(path) as stream:
                table = pajson.read_json(stream)
        elif not header.startswith(("{", "[")) and any(mark in header for mark in "\t,"):
            mark = "\t" if "\t" in header else ","
            with open_bytes(path) as stream:
                parse = pacsv.ParseOptions(delimiter=mark, quote_char=mark == "," and '"')
                table = pacsv.read_csv(stream, parse_options=parse)
        else:
            return None
        names = table.column_names
    except (pa.ArrowException, UnicodeDecodeError):
        return None  # whoever reads it as a list will say what is wrong
    keyed = meaning_of("id", names) and any(name in names for name in INDICES)
    return table if keyed and len({*names}) == len(names) and not meaning_of("text", names) else None


def _keyed(path: str, name: str, table: pa.Table) -> Scores:
    id_name = meaning_of("id", table.column_names)
    index = next(known for known in INDICES if known in table.column_names)
    ids, places = table.column(id_name).combine_chunks(), table.column(index).combine_chunks()
    columns = {}
    for column in table.column_names:
        if column not in (id_name, *NEVER) and is_number(table.field(column).type):
            columns[column], given = numbers_of(table.column(column).combine_chunks())
            wrong = np.flatnonzero(~given | ~np.isfinite(columns[column]))
            if len(wrong):
                row = int(wrong[0]) + 2
                raise InputError(
                    expected=f"a finite number as {column!r}",
                    found="none",
                    path=display_name(path),
                    line=row,
                    kind="number",
                )
    keys = _joined(texts_of(ids), texts_of(places))
    return Scores(path, _renamed(columns, name, path), INDEX, keys)


def _renamed(columns: dict[str, Float64], name: str, path: str) -> dict[str, Float64]:
    """Return the columns of a file, or the only one under the name given, or the one that has it."""
    if not columns:
        raise InputError(expected="a column of numbers", found="none", path=display_name(path), kind="fields")
    if not name:
        return columns
    if name in columns:
        return {name: columns[name]}
    if len(columns) > 1:
        known = ", ".join(list(columns)[:8])
        raise LuthierError(f"{path}: expected one column of numbers to call {name!r}, found {known}")
    return {name: next(iter(columns.values()))}


def _keys_of(rows: Rows, by: str, path: str) -> Texts:
    if by == INDEX:
        return _joined(rows.ids.take(rows.sentences), decimals(rows.indices))
    if rows.sources is None:
        raise InputError(
            expected="sources, to join scores by source and text",
            found="none",
            path=display_name(path),
            kind="join",
            hint="give the sources with `source`, or the scores with id and index, or a number a line",
        )
    return _joined(rows.sources.take(rows.sentences), rows.texts)


def _joined(first: Texts, second: Texts) -> Texts:
    """Return pairs of texts as one, without white space around either."""
    parts = [pc.utf8_trim_whitespace(_array(texts)) for texts in (first, second)]
    return texts_of(pc.binary_join_element_wise(*parts, pa.scalar("\t", pa.large_string())))


def _array(texts: Texts) -> Any:
    buffers = pa.py_buffer(np.ascontiguousarray(texts.offsets)), pa.py_buffer(np.ascontiguousarray(texts.data))
    return pa.LargeStringArray.from_buffers(len(texts), *buffers)


def with_scores(pool: Pool, found: Mapping[str, Float64], columns: Collection[str]) -> Pool:
    """Return a pool with numbers of each hypothesis: as columns those that are named, the others as features."""
    check_new(found, {*pool.columns, *pool.features.names})
    as_columns = {name: values for name, values in found.items() if name in columns}
    return pool.with_columns(as_columns).with_features({n: v for n, v in found.items() if n not in as_columns})
