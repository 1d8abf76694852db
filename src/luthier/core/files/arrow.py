"""Numbers of an Arrow array as a NumPy array that shares their memory.

pyarrow's own way imports pandas wherever that is installed, which takes longer than most commands.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import STDIN, atomic_write, check_writable

if TYPE_CHECKING:
    import pyarrow as pa


def numbers(array: pa.Array) -> npt.NDArray[Any]:
    """Return an Arrow array of integers, floats or truth values, none of them null.

    >>> import pyarrow
    >>> numbers(pyarrow.array([3, 4, 5]).slice(1))
    array([4, 5])
    >>> numbers(pyarrow.array([True, False, True]).slice(1))
    array([False,  True])
    """
    if array.null_count:
        raise ValueError(f"expected numbers, found {array.null_count} nulls among them")
    first, last = array.offset, array.offset + len(array)
    data = array.buffers()[1]
    if str(array.type) == "bool":
        packed = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
        return np.unpackbits(packed, bitorder="little", count=last)[first:].astype(np.bool_)
    kind = np.dtype(_NAMES.get(str(array.type), str(array.type)))
    if data is None:
        return np.zeros(0, dtype=kind)
    return np.frombuffer(data, dtype=kind, count=last)[first:]


# Arrow's names of types that NumPy names otherwise; the others are the same
_NAMES = {"double": "float64", "float": "float32", "halffloat": "float16"}


# Rows that come a block at a time, on disk at once: an Arrow stream that can be cut short and resumed.
#
# A stream is a schema and then record batches, each complete in itself. Whatever ends the writing, all batches
# before that can be read; a reader finds the end of the file instead of the end mark. What is to be kept is made an
# Arrow *file* of the same rows (`write_as_file`), which other programs read like any other.

ABOUT = b"luthier.table"
END_MARK = b"\xff\xff\xff\xff\x00\x00\x00\x00"

# (n,) numbers; (n, k) numbers, k in each cell; or offsets (n+1,) and the values of cells of any length
Column = npt.NDArray[Any] | tuple[npt.NDArray[Any], npt.NDArray[Any]]


class RecordWriter:
    """A stream being written; a context manager. The first block settles names and types of the columns.

    Parameters
    ----------
    path
        Where; what stands there is replaced, unless `length` says how much of it to keep.
    about
        JSON-able; what the rows are about.
    length
        Go on after so many bytes, which an earlier writer's `length` said were whole.
    """

    def __init__(self, path: str | os.PathLike[str], about: Mapping[str, Any], length: int = 0) -> None:
        if str(path) == STDIN:
            raise LuthierError("rows that may be resumed cannot go to standard output. hint: name a file")
        check_writable(path)
        self._about = {ABOUT: json.dumps(dict(about), ensure_ascii=False).encode()}
        if length and (not Path(path).is_file() or Path(path).stat().st_size < length):
            raise InputError(
                expected=f"the {length:,} bytes written before",
                found="fewer, or no file",
                path=str(path),
                hint="start anew, without `resume`",
            )
        try:
            self._file: BinaryIO = open(path, "r+b" if length else "wb")  # noqa: SIM115 - closed in __exit__
        except OSError as error:
            raise LuthierError(f"{path}: cannot write here: {(error.strerror or str(error)).lower()}") from None
        self._path = path
        try:
            with self._naming():
                self._file.truncate(length)
                self._file.seek(length)
        except LuthierError:
            self._file.close()
            raise

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._naming() if kind is None else contextlib.suppress(OSError):
            self._file.close()

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the file where the system does not."""
        try:
            yield
        except OSError as error:
            raise LuthierError(f"{self._path}: cannot write here: {(error.strerror or str(error)).lower()}") from None

    @property
    def length(self) -> int:
        """How many bytes are whole; flushes them to the disk."""
        with self._naming():
            self._file.flush()
            os.fsync(self._file.fileno())
            return self._file.tell()

    def append(self, columns: Mapping[str, Column]) -> None:
        """Write one more block of rows."""
        import pyarrow as pa

        cells = {name: _cells(column) for name, column in columns.items()}
        batch = pa.record_batch(list(cells.values()), names=list(cells))
        with self._naming():
            if not self._file.tell():
                self._file.write(batch.schema.with_metadata(self._about).serialize())
            self._file.write(batch.serialize())

    def finish(self) -> None:
        """Write the end mark: no more blocks will come."""
        with self._naming():
            self._file.write(END_MARK)


def _cells(column: Column) -> Any:
    import pyarrow as pa

    if isinstance(column, tuple):
        offsets, values = column
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(values))
    if column.ndim == 2:
        return pa.FixedSizeListArray.from_arrays(pa.array(column.reshape(-1)), column.shape[1])
    return pa.array(column)


def write_as_file(stream: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Write the whole rows of a stream as an Arrow file, in one piece; a block at a time is in memory."""
    import pyarrow as pa

    with pa.OSFile(os.fsencode(stream), "rb") as source, atomic_write(target) as temporary:
        reader = pa.ipc.open_stream(source)
        with pa.OSFile(os.fsencode(temporary), "wb") as sink, pa.ipc.new_file(sink, reader.schema) as writer:
            for batch in _batches(reader):
                try:
                    _check(batch)
                except pa.ArrowInvalid as error:
                    raise _damaged(stream, str(error)) from None
                writer.write_batch(batch)


def _batches(reader: Any) -> Iterator[Any]:
    """Yield the batches of a stream as far as they are whole."""
    import pyarrow as pa

    while True:
        try:
            yield reader.read_next_batch()
        except (StopIteration, pa.ArrowInvalid, OSError):
            return


def _check(batch: Any) -> int:
    """Return how many rows a batch has, or raise `ArrowInvalid`: pyarrow ends the process over offsets that lie."""
    import pyarrow as pa

    batch.validate(full=True)
    if any(column.null_count for column in batch.columns):
        raise pa.ArrowInvalid("a value is missing")
    return int(batch.num_rows)


def _damaged(path: str | os.PathLike[str], found: str) -> InputError:
    return InputError(expected="rows as they were written", found=found.partition("\n")[0].rstrip("."), path=str(path))


def file_rows(path: str | os.PathLike[str]) -> int:
    """Return how many rows an Arrow file has; 0 if it is none."""
    import pyarrow as pa

    try:
        with pa.OSFile(os.fsencode(path), "rb") as source:
            reader = pa.ipc.open_file(source)
            return sum(_check(reader.get_batch(i)) for i in range(reader.num_record_batches))
    except (OSError, pa.ArrowException, UnicodeDecodeError):
        return 0


def read_column(path: str | os.PathLike[str], name: str, kind: str = "") -> Iterator[npt.NDArray[Any]]:
    """Yield a column of numbers of an Arrow file, of a kind by Arrow's name, block by block: (n,), or (n, k).

    Raises
    ------
    InputError
        No such column, or one of another kind.
    """
    import pyarrow as pa

    with pa.OSFile(os.fsencode(path), "rb") as source:
        reader = pa.ipc.open_file(source)
        found = [str(field.type) for field in reader.schema if field.name == name]
        if len(found) != 1 or (kind and found[0] != kind):
            raise _damaged(path, f"{' and '.join(found) or 'nothing'} for {name!r}")
        for i in range(reader.num_record_batches):
            cells = reader.get_batch(i).column(name)
            if isinstance(cells, pa.FixedSizeListArray):
                yield numbers(cells.values).reshape(len(cells), -1)
            else:
                yield numbers(cells)


def whole_rows(path: str | os.PathLike[str], length: int) -> int:
    """Return how many rows the first `length` bytes of a stream hold; 0 if they do not end with a block's end."""
    import pyarrow as pa

    if not Path(path).is_file() or Path(path).stat().st_size < length:
        return 0
    with pa.memory_map(os.fsdecode(path), "r") as source:
        try:
            return sum(map(_check, pa.ipc.open_stream(source.read_buffer(length))))
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return 0
