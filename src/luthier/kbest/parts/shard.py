"""A pool cut into parts that are worked on one by one, or by many processes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import LuthierError
from luthier.core.files.io import content_hash, make_folder
from luthier.core.progress import progress
from luthier.kbest.derived import derived_of
from luthier.kbest.parts.manifest import MOST_PARTS, NAME, Manifest, Part, StoredStatistics, write_manifest
from luthier.kbest.pool import Pool
from luthier.kbest.spread import spread_in_lists
from luthier.kbest.storage import save_pool


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
            path=str(place / NAME), pool=pool.digest(), lists=filled.digest(), feature_names=features.names,
            n_dense=features.n_dense, costs=features.costs, groups=features.groups,
            spread=tuple(spread_in_lists(filled).tolist()), derived=derived_of(pool),
            stats={
                signature: StoredStatistics(stored.names, stored.values.dtype.name)
                for signature, stored in pool.stats.items()
            },
            parts=tuple(written),
        )
    )  # fmt: skip


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
