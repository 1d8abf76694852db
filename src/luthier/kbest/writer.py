"""What a writer of lists is: a file in `writers/`, a class `Method`, one pool in, one file out.

Writers work on blocks of rows in columns, with Arrow's string functions; no hypothesis becomes a
Python object. A sentence without hypotheses has no line in any list, so only the pool's own format
(`luthier.kbest.storage`) keeps it.
"""

from __future__ import annotations

import abc
import dataclasses
import os
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.arrays import Int64
from luthier.core.errors import LuthierError
from luthier.core.params import validate
from luthier.core.plugins import available, load
from luthier.core.segments import segment_of_rows
from luthier.corpus.texts import Texts
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import segment_blocks
from luthier.kbest.storage import save_pool

PACKAGE = "luthier.kbest.writers"
FALLBACK = "moses"
PACKED = (".gz", ".zst")
BLOCK_ROWS = 1 << 16
# A block's text stays far below the 2 GiB that 32-bit offsets can address, whatever the rows hold.
BLOCK_BYTES = 1 << 26
BYTES_OF_NUMBER = 32


@dataclasses.dataclass(frozen=True)
class Writer(abc.ABC):
    """Base of all writers; parameters are dataclass fields made by `param`."""

    # Endings of file names, without .gz and .zst, by which this format is chosen.
    endings: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        validate(self)

    @abc.abstractmethod
    def write(self, pool: Pool, path: str | os.PathLike[str]) -> None:
        """Write a pool's lists to `path`; ``-`` is standard output."""


def write_pool(
    pool: Pool,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word of the option
) -> None:
    """Write a pool in `format`, by default the one its name's ending says, else as a Moses list."""
    chosen = format_of(path, format)
    if chosen == "arrow":
        save_pool(pool, path)
    else:
        load(PACKAGE, chosen)().write(pool, path)


def format_of(path: str | os.PathLike[str], format: str | None = None) -> str:  # noqa: A002 - the word of the option
    """Return the format that a pool is written in; raise `LuthierError` where there is none such."""
    name = str(path)
    packed = name.endswith(PACKED)
    plain = name[: name.rindex(".")] if packed else name
    if format == "arrow" or (format is None and plain.endswith(".arrow")):
        if packed:
            raise LuthierError(f"{name}: a pool is memory-mapped and cannot be compressed. hint: call it {plain}")
        return "arrow"
    chosen = format or _format_of(plain)
    load(PACKAGE, chosen)
    return chosen


def _format_of(name: str) -> str:
    for format_name in available(PACKAGE):
        if name.endswith(load(PACKAGE, format_name).endings or ("\n",)):
            return format_name
    return FALLBACK


def row_blocks(pool: Pool) -> Iterator[tuple[int, int]]:
    """Yield consecutive blocks (first, last + 1) of rows, bounded in rows and in bytes."""
    rows = np.arange(pool.n_hypotheses + 1, dtype=np.int64)
    sizes = pool.texts.offsets - pool.texts.offsets[0]
    sizes = sizes + rows * (BLOCK_BYTES // BLOCK_ROWS + BYTES_OF_NUMBER * pool.features.n_dense)
    sizes += BYTES_OF_NUMBER * pool.features.indptr
    if pool.derivations is not None:
        sizes += 4 * BYTES_OF_NUMBER * pool.derivations.offsets
    shared = np.zeros(pool.n_sentences, dtype=np.int64)
    if pool.sources is not None:
        shared += pool.sources.lengths
    if pool.references is not None:
        references = pool.references
        bounds = references.texts.offsets[references.offsets]
        shared += np.diff(bounds)
    sizes[1:] += np.cumsum(np.repeat(shared, pool.list_lengths))
    yield from segment_blocks(sizes, BLOCK_BYTES)


def sentence_of_rows(pool: Pool) -> Int64:
    """Return the sentence of every row, (M,)."""
    return segment_of_rows(pool.offsets)


def text_array(texts: Texts, first: int = 0, last: int | None = None) -> pa.Array:
    """Return the texts ``first:last`` as an Arrow array over the same bytes."""
    last = len(texts) if last is None else last
    bounds = texts.offsets[first : last + 1]
    return string_array(bounds - bounds[0], texts.data[bounds[0] : bounds[-1]])


def string_array(offsets: Int64, data: Any) -> pa.Array:
    """Return an Arrow array of the strings ``data[offsets[i]:offsets[i+1]]``."""
    narrow = np.ascontiguousarray(offsets, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(narrow) - 1, [None, pa.py_buffer(narrow), pa.py_buffer(data)])


def data_of(strings: pa.Array) -> memoryview:
    """Return the bytes of an array of strings, one behind another."""
    offsets = offsets_of(strings)
    data = strings.buffers()[2]
    return memoryview(b"") if data is None else memoryview(data)[int(offsets[0]) : int(offsets[-1])]


def offsets_of(strings: pa.Array) -> Int64:
    """Return where each string of an array begins in its bytes, and where the last one ends."""
    if not len(strings):
        return np.zeros(1, dtype=np.int64)
    raw = np.frombuffer(strings.buffers()[1], dtype=np.int32)
    return raw[strings.offset : strings.offset + len(strings) + 1].astype(np.int64)


def joined(*parts: pa.Array | str) -> pa.Array:
    """Return the parts put together row by row, nothing between them; a null makes the row null."""
    return pc.binary_join_element_wise(*parts, "")


def joined_lists(items: pa.Array, offsets: Int64, separator: str) -> pa.Array:
    """Return, for each list ``items[offsets[i]:offsets[i+1]]``, its strings with separators between.

    The bytes of the items already stand in the right order; only the offsets of whole lists are cut
    out of them.
    """
    leads = np.ones(len(items) + 1, dtype=np.bool_)
    leads[offsets] = False
    strings = joined(pc.if_else(pa.array(leads[:-1]), separator, ""), items)
    bounds = offsets_of(strings)
    return string_array(bounds[offsets] - bounds[0], data_of(strings))


def numbers_as_text(values: npt.NDArray[np.float64]) -> pa.Array:
    """Return each number as the shortest decimal that reads back to the last bit."""
    return pc.cast(pa.array(np.ascontiguousarray(values)), pa.string())


def check_columns(pool: Pool, taken: tuple[str, ...]) -> None:
    """Raise `LuthierError` for a column whose name the format uses for something else."""
    for name in pool.columns:
        if name in taken:
            raise LuthierError(f"column {name!r} has a name that the format keeps for itself. hint: rename it")
