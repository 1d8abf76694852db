"""A pool cut into parts that are worked on one by one, or by many processes."""

from __future__ import annotations

import contextlib
import functools
import os
from pathlib import Path

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import content_hash, make_folder, regular
from luthier.core.progress import progress
from luthier.kbest.derived import derived_of
from luthier.kbest.pool import Pool
from luthier.kbest.shards.manifest import MOST_PARTS, NAME, Manifest, Part, StoredStatistics, write_manifest
from luthier.kbest.spread import spread_in_lists
from luthier.kbest.storage.pool_file import open_pool, save_pool

# Opening a part of a pool: it is the file that the manifest means, or the job ends with a sentence.

KEPT_OPEN = 256  # mapped parts: their pages are the system's to take back


def check_files(manifest: Manifest) -> None:
    """Raise `InputError` unless every part is there, as long as it should be; parts by URL are not asked for."""
    for number in range(0 if manifest.url else len(manifest.parts)):
        _stamp(manifest, number, manifest.place(number))


def open_shard(manifest: Manifest, number: int) -> Pool:
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
        expected=f"{manifest.named(number)}, {part.digest}",
        found=found,
        path=str(manifest.folder / part.file),
        hint="fetch the part again, or make all parts anew with 'luthier data shard'",
    )


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


def shard(pool: Pool, parts: int, folder: str | os.PathLike[str]) -> Manifest:
    """Write a pool as parts of about as many hypotheses each, and their manifest, which is written last.

    Sentences keep their order, and the statistics that the pool has go with them. One part at a time is in memory.
    """
    if not 1 <= parts <= min(pool.n_sentences, MOST_PARTS):
        most = min(pool.n_sentences, MOST_PARTS)
        raise LuthierError(f"expected from 1 to {most:,} parts, for each has a sentence at least, found {parts:,}")
    place = empty_folder(folder)
    cuts = part_cuts(pool.offsets, parts)
    digits = len(str(parts))
    written = []
    with progress("parts", parts) as advance, contextlib.ExitStack() as undo:
        for number in range(parts):
            path = place / f"part-{number + 1:0{digits}}.arrow"
            undo.callback(path.unlink, missing_ok=True)  # half of the parts are of no use, and in the way
            written.append(_write(pool.take_sentences(np.arange(cuts[number], cuts[number + 1])), path))
            advance(1)
        manifest = _manifest(pool, place, written)
        undo.pop_all()
    return manifest


def empty_folder(folder: str | os.PathLike[str]) -> Path:
    """Return a folder for parts, made if need be; raise `LuthierError` where there is something in it."""
    place = make_folder(folder)
    if any(place.iterdir()):
        raise LuthierError(f"{place}: expected an empty folder, found files in it. hint: name another")
    return place


def _manifest(pool: Pool, place: Path, written: list[Part]) -> Manifest:
    filled = pool
    if np.any(pool.list_lengths == 0):
        filled = pool.take_sentences(np.flatnonzero(pool.list_lengths > 0))
    features = pool.features
    return write_manifest(
        Manifest(
            path=str(place / NAME),
            pool=pool.digest(),
            lists=filled.digest(),
            feature_names=features.names,
            n_dense=features.n_dense,
            costs=features.costs,
            groups=features.groups,
            spread=tuple(spread_in_lists(filled).tolist()),
            derived=derived_of(pool),
            stats={
                signature: StoredStatistics(stored.names, "int64" if stored.values.dtype.kind == "i" else "float64")
                for signature, stored in pool.stats.items()
            },
            parts=tuple(written),
        )
    )


def _write(pool: Pool, path: Path) -> Part:
    save_pool(pool, path)
    filled = int(np.count_nonzero(pool.list_lengths))
    size, digest = path.stat().st_size, content_hash(path)
    return Part(path.name, size, digest, pool.n_sentences, filled, pool.n_hypotheses)


def part_cuts(offsets: Int64, parts: int) -> Int64:
    """Return where parts begin, and the end, (parts + 1,): about as many rows each, a sentence at least.

    >>> part_cuts(np.array([0, 10, 11, 12, 13]), 3).tolist()
    [0, 1, 2, 4]
    """
    n = len(offsets) - 1
    wanted = np.searchsorted(offsets, offsets[-1] * np.arange(1, parts) / parts)
    cuts = np.zeros(parts + 1, dtype=np.int64)
    cuts[-1] = n
    for p in range(1, parts):
        cuts[p] = max(cuts[p - 1] + 1, min(int(wanted[p - 1]), n - (parts - p)))
    return cuts
