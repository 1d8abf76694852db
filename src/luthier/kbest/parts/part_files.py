"""Opening a part of a pool: it is the file that the manifest means, or the job ends with a sentence."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from luthier.core.errors import InputError
from luthier.core.files.io import content_hash, regular
from luthier.kbest.parts.manifest import Manifest
from luthier.kbest.pool import Pool
from luthier.kbest.storage import open_pool

KEPT_OPEN = 256  # mapped parts: their pages are the system's to take back


def check_files(manifest: Manifest) -> None:
    """Raise `InputError` unless every part is there, as long as it should be; parts by URL are not asked for."""
    for number in range(0 if manifest.url else len(manifest.parts)):
        _stamp(manifest, number, manifest.place(number))


def open_part(manifest: Manifest, number: int) -> Pool:
    """Open a part, its arrays views of the mapped file; its bytes are hashed when this process first opens it.

    Raises
    ------
    InputError
        If it is missing, cut off or another; it names the part and both digests.
    """
    path, part = manifest.place(number), manifest.parts[number]
    _stamp(manifest, number, path)
    found = _hashed(str(path), _identity(path))
    if found != part.digest:
        raise _other(manifest, number, f"another file, {found}")
    pool = _opened(str(path), _identity(path))
    n_filled = int((pool.list_lengths > 0).sum())
    if (pool.n_sentences, n_filled, pool.n_hypotheses) != (part.sentences, part.filled, part.hypotheses):
        raise _other(manifest, number, "other counts of sentences or hypotheses than the manifest has")
    same = pool.features.names == manifest.feature_names and pool.features.n_dense == manifest.n_dense
    if not same or any(_kind(pool, signature) != stored.kind for signature, stored in manifest.stats.items()):
        raise _other(manifest, number, "other features or statistics than the manifest has")
    return pool


def _kind(pool: Pool, signature: str) -> str:
    return pool.stats[signature].values.dtype.name if signature in pool.stats else "none"


def _stamp(manifest: Manifest, number: int, path: Path) -> None:
    """Raise unless the file of a part is there, with as many bytes as it should have."""
    part = manifest.parts[number]
    try:
        size = regular(path).stat().st_size
    except InputError as error:
        raise _other(manifest, number, f"none ({error.found})" if not path.exists() else error.found) from None
    if size != part.size:
        what = "a file cut off" if size < part.size else "a longer file"
        raise _other(manifest, number, f"{what}, of {size:,} bytes in place of {part.size:,}")


def _other(manifest: Manifest, number: int, found: str) -> InputError:
    part = manifest.parts[number]
    return InputError(
        expected=f"{manifest.named(number)}, {part.digest}", found=found, path=str(manifest.folder / part.file),
        hint="fetch the part again, or make all parts anew with 'luthier shard'",
    )  # fmt: skip


def _identity(path: os.PathLike[str]) -> tuple[int, ...]:
    """Return what tells a file from another that takes its place later."""
    found = Path(path).stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@functools.lru_cache(maxsize=1 << 16)
def _hashed(path: str, identity: tuple[int, ...]) -> str:  # noqa: ARG001 - another identity is another file
    return content_hash(path)


@functools.lru_cache(maxsize=KEPT_OPEN)
def _opened(path: str, identity: tuple[int, ...]) -> Pool:  # noqa: ARG001
    return open_pool(path)
