"""Tables of equally long columns on disk: tab-separated text, JSON or Arrow, told by the file's ending."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from luthier.core.arrays import Int64
from luthier.core.errors import LuthierError
from luthier.core.files.io import STDIN, atomic_write, check_writable, open_output

ENDINGS = (".tsv", ".json", ".arrow")
PACKED = (".gz", ".zst")


@dataclasses.dataclass(frozen=True, eq=False)
class Ragged:
    """A column of lists: row i holds ``values[offsets[i]:offsets[i + 1]]``, numbers or equally long rows of them."""

    offsets: Int64
    values: npt.NDArray[Any]

    def tolist(self) -> list[Any]:
        """Return lists."""
        pairs = zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True)
        return [self.values[low:high].tolist() for low, high in pairs]


def table_ending(path: str | os.PathLike[str]) -> str:
    """Return which of `ENDINGS` a path asks for; standard output gets tab-separated text.

    >>> table_ending("curve.tsv.gz"), table_ending("curve.arrow")
    ('.tsv', '.arrow')
    """
    name = str(path)
    bare = next((name.removesuffix(end) for end in PACKED if name.endswith(end)), name)
    ending = ".tsv" if name == STDIN else next((end for end in ENDINGS if bare.endswith(end)), "")
    if not ending or (ending == ".arrow" and bare != name):
        raise LuthierError(
            f"expected a file that ends in .tsv, .json (perhaps with .gz or .zst) or .arrow, found {name!r}"
        )
    return ending


def check_table_path(path: str | os.PathLike[str]) -> None:
    """Raise `LuthierError` if no table can be written at `path`."""
    table_ending(path)
    check_writable(path)


def write_table(
    path: str | os.PathLike[str], columns: Mapping[str, npt.NDArray[Any] | Ragged], about: Mapping[str, Any]
) -> None:
    """Write columns by name, each (n,) or ragged, and what the table is about (JSON-able).

    In JSON, which has none, infinite numbers are null; in tab-separated text `about` is left out.
    """
    ending = table_ending(path)
    if ending == ".arrow":
        _write_arrow(path, columns, about)
        return
    lists = {name: column.tolist() for name, column in columns.items()}
    with open_output(path) as file:
        if ending == ".json":
            values = {name: [_json_number(value) for value in column] for name, column in lists.items()}
            text = json.dumps({**about, "columns": values}, ensure_ascii=False, allow_nan=False)
            file.write(f"{text}\n".encode())
            return
        file.write(("\t".join(lists) + "\n").encode())
        for row in zip(*lists.values(), strict=True):
            file.write(("\t".join(map(repr, row)) + "\n").encode())


def _json_number(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_number(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_arrow(
    path: str | os.PathLike[str], columns: Mapping[str, npt.NDArray[Any] | Ragged], about: Mapping[str, Any]
) -> None:
    import pyarrow as pa

    table = pa.table({name: _arrow_column(column) for name, column in columns.items()})
    table = table.replace_schema_metadata({"luthier.table": json.dumps(dict(about), ensure_ascii=False)})
    with (
        atomic_write(path) as temporary,
        pa.OSFile(os.fsencode(temporary), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)


def _arrow_column(column: npt.NDArray[Any] | Ragged) -> Any:
    import pyarrow as pa

    if not isinstance(column, Ragged):
        return pa.array(column)
    values = pa.array(column.values.reshape(-1))
    for size in column.values.shape[1:]:
        values = pa.FixedSizeListArray.from_arrays(values, size)
    return pa.LargeListArray.from_arrays(pa.array(column.offsets), values)
