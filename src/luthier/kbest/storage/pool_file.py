"""The pool on disk: an uncompressed Arrow IPC file whose memory map *is* the pool's arrays.

The file holds one record batch of one row; each array of the pool is one list cell of it, and the
schema's metadata carry names, shapes and provenance as JSON. Nothing is decoded when a pool is
opened, but all of it is checked: kernels index memory by these numbers, and a file may come from anybody.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from luthier import __version__
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.arrow import numbers
from luthier.core.files.io import STDIN, atomic_write, regular
from luthier.core.params import path_of
from luthier.corpus.texts import RepeatedTexts, Texts, Tokens, check_texts
from luthier.kbest.derivations import Derivations, Tree
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool, References, Statistics, pool_of
from luthier.kbest.storage.header import META_KEY, StoredMeta, meta_of_pool, parse_meta, seal_of

FORMAT_VERSION = 1
ARROW_MAGIC = b"ARROW1"
VERSION_KEY = "luthier.pool"
# The type of an array is told by the last part of its name; statistics may be of either kind.
TYPES = {
    "offsets": np.int64,
    "data": np.uint8,
    "ids": np.int32,
    "rules": np.int32,
    "parents": np.int32,
    "spans": np.int32,
    "dense": np.float64,
    "indptr": np.int64,
    "indices": np.int32,
    "values": np.float64,
}


def save_pool(pool: Pool, path: str | os.PathLike[str]) -> None:
    """Write a pool; a write that is killed leaves what stood at `path` before."""
    pool_of(pool)
    if path_of(path, "a pool") == STDIN:
        raise LuthierError("a pool is memory-mapped and cannot go to standard output. hint: name a file")
    arrays = pool.arrays()
    cells = [_one_cell(array) for array in arrays.values()]
    schema = pa.schema(
        [pa.field(name, cell.type) for name, cell in zip(arrays, cells, strict=True)],
        metadata={VERSION_KEY: str(FORMAT_VERSION), META_KEY: meta_of_pool(pool, __version__)},
    )
    with (
        atomic_write(path) as temporary,
        pa.OSFile(os.fsencode(temporary), "wb") as sink,
        pa.ipc.new_file(sink, schema) as writer,
    ):
        writer.write_batch(pa.record_batch(cells, schema=schema))


def _one_cell(array: npt.NDArray[Any]) -> pa.Array:
    flat = pa.array(array.reshape(-1))
    return pa.LargeListArray.from_arrays(pa.array([0, len(flat)], pa.int64()), flat)


def is_pool(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a pool of any version (and no other Arrow file)."""
    try:
        if not Path(path).is_file():  # what a pipe has given once it does not give again
            return False
        with open(path, "rb") as file:
            if file.read(len(ARROW_MAGIC)) != ARROW_MAGIC:
                return False
        with pa.memory_map(os.fsencode(path), "r") as source:
            return VERSION_KEY.encode() in (pa.ipc.open_file(source).schema.metadata or {})
    except (OSError, MemoryError, pa.ArrowException, UnicodeDecodeError):
        return False


def open_pool(path: str | os.PathLike[str]) -> Pool:
    """Open a pool; its arrays are views of the memory-mapped file.

    Every number that memory is indexed by is compared with what it may be, numbers are finite, texts are
    UTF-8. What still looks right although it was changed, only `verify_pool` tells.

    Raises
    ------
    InputError
        Not a pool, cut off, damaged, or written by a version that this one cannot read; it says which.
    """
    pool, _ = _open(path_of(path, "a pool"))
    return pool


def verify_pool(path: str | os.PathLike[str]) -> Pool:
    """Open a pool and compare all of it with the digests that were written with it.

    Raises
    ------
    InputError
        The file is not what its writer wrote, or of a writer that kept no digest.
    """
    pool, meta = _open(path)
    found = pool.digest()
    if found != meta.digest:
        raise _damaged(path, f"content of the digest {found}, which was written as {meta.digest}")
    if seal_of(meta.unsealed, pool) != meta.seal:
        raise _damaged(path, "other statistics, names or provenance than were written")
    return pool


def stored_digest(path: str | os.PathLike[str]) -> str:
    """Return the content hash that was written with a pool, without touching its arrays."""
    return _meta(path, _map(path)[0]).digest


def _open(path: str | os.PathLike[str]) -> tuple[Pool, StoredMeta]:
    schema, batch = _map(path)
    meta = _meta(path, schema)
    with _blaming(path):
        arrays = _arrays(schema, batch, meta)
        return _assemble(arrays, meta), meta


@contextlib.contextmanager
def _blaming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what the checks of shards find into a complaint about the file."""
    try:
        yield
    except InputError:
        raise
    except (LuthierError, pa.ArrowException, MemoryError, UnicodeDecodeError) as error:  # the last: of column names
        raise _damaged(path, (str(error) or "sizes beyond memory").splitlines()[0]) from None


def _damaged(path: str | os.PathLike[str], found: str) -> InputError:
    return InputError(
        expected="a pool as luthier writes it",
        found=f"damage ({found})",
        path=str(path),
        kind="damaged",
        hint="fetch the file again, or make it anew with 'luthier pool'",
    )


def _map(path: str | os.PathLike[str]) -> tuple[pa.Schema, pa.RecordBatch]:
    try:
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        if Path(path).exists():
            regular(path)
        source = pa.memory_map(os.fsencode(path), "r")
    except OSError as error:
        raise InputError(
            expected="a readable pool", found=os.strerror(error.errno or 5).lower(), path=str(path)
        ) from None
    try:
        reader = pa.ipc.open_file(source)
        if reader.num_record_batches != 1 and VERSION_KEY.encode() in (reader.schema.metadata or {}):
            raise _damaged(path, f"{reader.num_record_batches} record batches in place of one")
        return reader.schema, reader.get_batch(0) if reader.num_record_batches else None
    except (pa.ArrowException, OSError, MemoryError, ValueError) as error:
        raise InputError(
            expected="a pool (an Arrow IPC file)",
            found=f"something else, or a file cut off ({(str(error) or 'sizes beyond memory').splitlines()[0]})",
            path=str(path),
            hint="'luthier pool' makes a pool from lists",
        ) from None


def _meta(path: str | os.PathLike[str], schema: pa.Schema) -> StoredMeta:
    """Return what stands beside the arrays, of a file whose version can be read."""
    metadata = schema.metadata or {}
    version = metadata.get(VERSION_KEY.encode(), b"").decode("utf-8", "backslashreplace")
    if not version:
        raise InputError(
            expected="a pool",
            found="an Arrow file of another kind",
            path=str(path),
            hint="make one with 'luthier pool'",
        )
    if version != str(FORMAT_VERSION):
        newer = version.isascii() and version.isdigit() and len(version) < 9 and int(version) > FORMAT_VERSION
        raise InputError(
            expected=f"a pool of format {FORMAT_VERSION}, the only one luthier {__version__} reads",
            found=f"format {version[:40]!r}, of {'a newer' if newer else 'another'} luthier",
            path=str(path),
            hint="read the lists again with this version, or open the pool with the one that wrote it",
        )
    with _blaming(path):
        return parse_meta(metadata.get(META_KEY.encode(), b""))


def _arrays(schema: pa.Schema, batch: pa.RecordBatch, meta: StoredMeta) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays by name, each of the type and shape it must have."""
    batch.validate(full=True)
    if len(set(schema.names)) != len(schema.names) or batch.num_rows != 1:
        raise LuthierError(f"expected one row of arrays whose names differ, found {batch.num_rows}")
    arrays = {}
    for name, cell in zip(schema.names, batch.columns, strict=True):
        kinds = [TYPES[name.rpartition(".")[2]]] if name.rpartition(".")[2] in TYPES else []
        if name.startswith("columns."):
            kinds = [np.float64]
        elif name.startswith("stats."):
            kinds = [np.int64, np.float64]
        if cell.type not in [pa.large_list(pa.from_numpy_dtype(kind)) for kind in kinds]:
            raise LuthierError(f"the array {name!r} is of the type {cell.type}")
        if cell.null_count or cell.values.null_count or cell.offsets.to_pylist() != [0, len(cell.values)]:
            raise LuthierError(f"the array {name!r} is not one whole list")
        shape = meta.shapes.get(name, [])
        if len(cell.values) != _size(shape):
            raise LuthierError(f"the array {name!r} has {len(cell.values)} numbers, its shape is {shape}")
        arrays[name] = numbers(cell.values).reshape(shape)
    return arrays


def _size(shape: list[int]) -> int:
    size = 1 if shape else -1  # no array is a single number
    for length in shape:
        size *= length
    return size


class _Parts:
    """The parts of a pool from its arrays; what is missing or wrong is said with the part's name."""

    def __init__(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        self.arrays = arrays

    def has(self, name: str) -> bool:
        """Return whether an optional part is there."""
        return name in self.arrays

    def array(self, name: str, ndim: int = 1) -> npt.NDArray[Any]:
        """Return an array that must be there."""
        if name not in self.arrays:
            raise LuthierError(f"the array {name!r} is missing")
        if self.arrays[name].ndim != ndim:
            raise LuthierError(f"the array {name!r} has {self.arrays[name].ndim} dimensions")
        return self.arrays[name]

    def texts(self, name: str) -> Texts:
        """Return a column of texts that is the whole of its data, and UTF-8."""
        with _naming(name):
            texts = Texts(self.array(f"{name}.offsets"), self.array(f"{name}.data"))
            check_texts(texts)
            return texts

    def tokens(self, name: str) -> Tokens:
        """Return a column of tokens that is the whole of its data."""
        with _naming(name):
            tokens = Tokens(self.array(f"{name}.offsets"), self.array(f"{name}.ids"))
            if tokens.offsets[0] != 0 or tokens.offsets[-1] != len(tokens.ids):
                raise LuthierError("offsets do not span the tokens")
            return tokens

    def features(self, name: str, names: tuple[str, ...], **more: Any) -> Features:
        """Return a table of features."""
        with _naming(name):
            parts: dict[str, Any] = {part: self.array(f"{name}.{part}") for part in ("indptr", "indices", "values")}
            return Features(names, self.array(f"{name}.dense", 2), **parts, **more)


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except LuthierError as error:
        raise LuthierError(f"{name}: {error}") from None


def _assemble(arrays: dict[str, npt.NDArray[Any]], meta: StoredMeta) -> Pool:
    parts = _Parts(arrays)
    references = sources = derivations = other_keys = None
    if parts.has("references.offsets"):
        references = References(
            parts.array("references.offsets"), parts.texts("references.texts"), parts.tokens("references.tokens")
        )
    if parts.has("sources.offsets"):
        sources = parts.texts("sources")
    if parts.has("derivations.offsets"):
        tree = None
        if parts.has("derivations.parents"):
            tree = Tree(parts.array("derivations.parents"), parts.array("derivations.spans", 2))
        derivations = Derivations(
            parts.array("derivations.offsets"),
            parts.array("derivations.rules"),
            parts.texts("derivations.texts"),
            parts.features("derivations.features", meta.local_feature_names),
            tree,
        )
    if parts.has("other_keys.ids"):
        with _naming("other_keys"):
            other_keys = RepeatedTexts(parts.texts("other_keys.texts"), parts.array("other_keys.ids"))
    return Pool(
        offsets=parts.array("offsets"),
        features=parts.features("features", meta.feature_names, costs=meta.costs, groups=meta.groups),
        sentence_ids=parts.texts("sentence_ids"),
        texts=parts.texts("texts"),
        tokens=parts.tokens("tokens"),
        vocab=parts.texts("vocab"),
        references=references,
        sources=sources,
        derivations=derivations,
        other_keys=other_keys,
        columns={name: parts.array(f"columns.{name}") for name in meta.columns},
        stats={
            signature: Statistics(names, parts.array(f"stats.{signature}", 2))
            for signature, names in meta.stats.items()
        },
        provenance=meta.provenance,
    )


@dataclasses.dataclass(frozen=True)
class PoolFile:
    """A pool by path and digest: what travels to other processes instead of the pool.

    With a URL, whoever opens it fetches the file, whose bytes have the digest `file`, to its own host.
    """

    path: str
    digest: str
    url: str = ""
    file: str = ""

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> PoolFile:
        """Return the pool file at `path` with the digest that was written with it."""
        return cls(str(Path(path).absolute()), stored_digest(path))

    def open(self) -> Pool:
        """Open the pool.

        Raises
        ------
        InputError
            If there is no pool, or not the one that was meant: its content is hashed, once.
        """
        path = self.path
        if self.url:
            from luthier.core.files.remote import fetch  # only where it is elsewhere

            path = str(fetch(self.url, self.file))
        pool = open_pool(path)
        found = pool.digest()
        if found != self.digest:
            place = self.url or self.path
            raise InputError(expected=f"the pool {self.digest}", found=f"another, {found}", path=place)
        return pool
