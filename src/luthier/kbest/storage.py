"""The pool on disk: an uncompressed Arrow IPC file whose memory map *is* the pool's arrays.

The file holds one record batch of one row; each array of the pool is one list cell of it, and the
schema's metadata carry names, shapes and provenance as JSON. Nothing is decoded when a pool is
opened: pages are read as they are touched.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from luthier import __version__
from luthier.core.errors import InputError, LuthierError
from luthier.core.io import STDIN, atomic_write
from luthier.corpus.texts import Texts, Tokens
from luthier.kbest.derivations import Derivations
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool, References, Statistics

FORMAT_VERSION = 1
ARROW_MAGIC = b"ARROW1"


def save_pool(pool: Pool, path: str | os.PathLike[str]) -> None:
    """Write a pool; a write that is killed leaves what stood at `path` before."""
    if str(path) == STDIN:
        raise LuthierError("a pool is memory-mapped and cannot go to standard output. hint: name a file")
    arrays = pool.arrays()
    cells = [_one_cell(array) for array in arrays.values()]
    meta = {
        "luthier": __version__,
        "feature_names": list(pool.features.names),
        "costs": sorted(pool.features.costs),
        "local_feature_names": [] if pool.derivations is None else list(pool.derivations.features.names),
        "columns": list(pool.columns),
        "stats": {signature: list(part.names) for signature, part in pool.stats.items()},
        "shapes": {name: list(array.shape) for name, array in arrays.items()},
        "digest": pool.digest(),
        "provenance": dict(pool.provenance),
    }
    schema = pa.schema(
        [pa.field(name, cell.type) for name, cell in zip(arrays, cells, strict=True)],
        metadata={"luthier.pool": str(FORMAT_VERSION), "luthier.meta": json.dumps(meta, ensure_ascii=False)},
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
    if not Path(path).is_file():  # what a pipe has given once it does not give again
        return False
    try:
        with open(path, "rb") as file:
            if file.read(len(ARROW_MAGIC)) != ARROW_MAGIC:
                return False
        with pa.memory_map(os.fsencode(path), "r") as source:
            return b"luthier.pool" in (pa.ipc.open_file(source).schema.metadata or {})
    except (OSError, pa.ArrowInvalid):
        return False


def open_pool(path: str | os.PathLike[str]) -> Pool:
    """Open a pool; its arrays are views of the memory-mapped file.

    Raises
    ------
    InputError
        Not a pool, cut off, or written by a version that this one cannot read; it says which.
    """
    schema, batch = _map(path)
    metadata = {key.decode(): value for key, value in (schema.metadata or {}).items()}
    version = metadata.get("luthier.pool", b"").decode()
    if not version:
        raise InputError(
            expected="a pool", found="an Arrow file of another kind", path=str(path),
            hint="make one with: luthier pool LIST --refs REFS -o pool.arrow",
        )  # fmt: skip
    if version != str(FORMAT_VERSION):
        writer = "a newer" if version.isdigit() and int(version) > FORMAT_VERSION else "another"
        raise InputError(
            expected=f"a pool of format {FORMAT_VERSION}, the only one luthier {__version__} reads",
            found=f"format {version!r}, of {writer} luthier", path=str(path),
            hint="read the lists again with this version, or open the pool with the one that wrote it",
        )  # fmt: skip
    meta = json.loads(metadata["luthier.meta"])
    arrays = {
        name: batch.column(i).values.to_numpy(zero_copy_only=True).reshape(meta["shapes"][name])
        for i, name in enumerate(schema.names)
    }
    return _assemble(arrays, meta)


def _map(path: str | os.PathLike[str]) -> tuple[pa.Schema, pa.RecordBatch]:
    try:
        if Path(path).is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        source = pa.memory_map(os.fsencode(path), "r")
    except OSError as error:
        raise InputError(
            expected="a readable pool", found=os.strerror(error.errno or 5).lower(), path=str(path)
        ) from None
    try:
        reader = pa.ipc.open_file(source)
        return reader.schema, reader.get_batch(0)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            expected="a pool (an Arrow IPC file)",
            found=f"something else, or a file cut off ({str(error).splitlines()[0]})",
            path=str(path),
            hint="a pool is made by: luthier pool LIST --refs REFS -o pool.arrow",
        ) from None


def _assemble(arrays: dict[str, npt.NDArray[Any]], meta: dict[str, Any]) -> Pool:
    def texts(name: str) -> Texts:
        return Texts(arrays[f"{name}.offsets"], arrays[f"{name}.data"])

    def tokens(name: str) -> Tokens:
        return Tokens(arrays[f"{name}.offsets"], arrays[f"{name}.ids"])

    def features(name: str, names: list[str], costs: list[str]) -> Features:
        parts = {part: arrays[f"{name}.{part}"] for part in ("dense", "indptr", "indices", "values")}
        return Features(tuple(names), **parts, costs=frozenset(costs))

    references = sources = derivations = None
    if "references.offsets" in arrays:
        references = References(arrays["references.offsets"], texts("references.texts"), tokens("references.tokens"))
    if "sources.offsets" in arrays:
        sources = texts("sources")
    if "derivations.offsets" in arrays:
        local = features("derivations.features", meta["local_feature_names"], [])
        derivations = Derivations(
            arrays["derivations.offsets"], arrays["derivations.rules"], texts("derivations.texts"), local
        )
    return Pool(
        offsets=arrays["offsets"],
        features=features("features", meta["feature_names"], meta["costs"]),
        sentence_ids=texts("sentence_ids"),
        texts=texts("texts"),
        tokens=tokens("tokens"),
        vocab=texts("vocab"),
        references=references,
        sources=sources,
        derivations=derivations,
        columns={name: arrays[f"columns.{name}"] for name in meta["columns"]},
        stats={
            signature: Statistics(tuple(names), arrays[f"stats.{signature}"])
            for signature, names in meta["stats"].items()
        },
        provenance=meta["provenance"],
    )


@dataclasses.dataclass(frozen=True)
class PoolFile:
    """A pool by path and digest: what travels to other processes instead of the pool."""

    path: str
    digest: str

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
        pool = open_pool(self.path)
        found = pool.digest()
        if found != self.digest:
            raise InputError(expected=f"the pool {self.digest}", found=f"another, {found}", path=self.path)
        return pool


def stored_digest(path: str | os.PathLike[str]) -> str:
    """Return the content hash that was written with a pool, without touching its arrays."""
    schema, _ = _map(path)
    return str(json.loads(schema.metadata[b"luthier.meta"])["digest"])
