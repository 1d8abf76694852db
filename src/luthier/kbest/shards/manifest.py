"""What the manifest of a sharded pool says: the parts with their digests, and what holds for all of them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import atomic_write, regular
from luthier.core.settings import MOST_BYTES, parse_json, typed
from luthier.kbest.groups import Groups, check_groups

FORMAT = "luthier.parts"
FORMAT_VERSION = 1
NAME = "manifest.json"
MOST_PARTS = 1 << 16
DIGEST = re.compile("[0-9a-f]{32}")


@dataclasses.dataclass(frozen=True)
class Part:
    """A part: its file, bytes and digest of that, and how much is in it; `filled` lists are not empty."""

    file: str
    size: int
    digest: str
    sentences: int
    filled: int
    hypotheses: int


@dataclasses.dataclass(frozen=True)
class StoredStatistics:
    """Statistics that every part has: names of the S numbers, and their type."""

    names: tuple[str, ...]
    kind: Literal["int64", "float64"]

    @property
    def whole_numbers(self) -> bool:
        """Whether sums of them are exact, in any order."""
        return self.kind == "int64"


@dataclasses.dataclass(frozen=True)
class Manifest:
    """A sharded pool.

    Attributes
    ----------
    path : of the manifest's file; parts stand beside it
    url : where it was fetched from, and parts are; '' if they are files
    pool : the digest of the whole pool
    lists : the digest of the pool without its empty lists, by which checkpoints know it
    spread : D numbers
        How much each feature differs within lists, of the whole pool.
    seal : a hash of all that the file says
    """

    path: str
    pool: str
    lists: str
    feature_names: tuple[str, ...]
    n_dense: int
    costs: frozenset[str]
    groups: Groups
    spread: tuple[float, ...]
    derived: Mapping[str, str]
    stats: Mapping[str, StoredStatistics]
    parts: tuple[Part, ...]
    seal: str = ""
    url: str = ""

    def __repr__(self) -> str:
        """Return a short sentence."""
        return f"<Manifest: {self.n_sentences:,} sentences in {len(self.parts)} parts>"

    @property
    def n_sentences(self) -> int:
        """How many sentences there are, N, counting those without hypotheses."""
        return sum(part.sentences for part in self.parts)

    @property
    def signs(self) -> Float64:
        """+1 for a score, −1 for a cost, (D,)."""
        return np.array([-1.0 if name in self.costs else 1.0 for name in self.feature_names])

    @property
    def folder(self) -> Path:
        """Where the parts are."""
        return Path(self.path).absolute().parent

    def place(self, number: int) -> Path:
        """Return where a part is on this host; one by URL is fetched if need be."""
        part = self.parts[number]
        if not self.url:
            return self.folder / part.file
        from luthier.core.files.remote import fetch  # only where something is elsewhere

        return fetch(f"{self.url.rpartition('/')[0]}/{part.file}", part.digest)

    def named(self, number: int) -> str:
        """Return what a part is called in messages: `number` counts from 0."""
        return f"part {number + 1} of {len(self.parts)}"

    def statistics(self, signature: str) -> StoredStatistics:
        """Return the kind of statistics that the parts hold of a metric.

        Raises
        ------
        InputError
            If they have none: whoever comes back to a part again and again cannot compute them each time.
        """
        if signature not in self.stats:
            raise InputError(
                expected=f"parts with the statistics of {signature}",
                found=f"those of {', '.join(self.stats)}" if self.stats else "parts without statistics",
                path=self.path,
                hint="make the parts anew, 'luthier data shard' with `metric`",
            )
        return self.stats[signature]


def is_manifest(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is the manifest of a sharded pool."""
    try:
        if not Path(path).is_file():  # what a pipe has given once it does not give again
            return False
        with open(path, "rb") as file:
            return re.match(rb'\s*\{\s*"luthier\.parts"', file.read(64)) is not None
    except OSError:
        return False


def write_manifest(manifest: Manifest) -> Manifest:
    """Write a manifest where it says that it is; return it with its seal."""
    said = _unsealed(manifest)
    seal = _seal(said)
    with atomic_write(manifest.path) as temporary:
        temporary.write_text(json.dumps({**said, "seal": seal}, indent=1) + "\n", encoding="utf-8")
    return dataclasses.replace(manifest, seal=seal)


def _unsealed(manifest: Manifest) -> dict[str, Any]:
    return {
        FORMAT: FORMAT_VERSION,
        "pool": manifest.pool,
        "lists": manifest.lists,
        "feature_names": list(manifest.feature_names),
        "n_dense": manifest.n_dense,
        "costs": sorted(manifest.costs),
        "groups": [{"name": group.name, "columns": list(group.columns)} for group in manifest.groups],
        "spread": list(manifest.spread),
        "derived": dict(manifest.derived),
        "stats": {
            signature: {"names": list(stored.names), "kind": stored.kind}
            for signature, stored in manifest.stats.items()
        },
        "parts": [dataclasses.asdict(part) for part in manifest.parts],
    }


def _seal(said: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()


def read_manifest(path: str | os.PathLike[str], url: str = "") -> Manifest:
    """Read a manifest, perhaps fetched from a URL; everything that it says is checked, and compared with its seal.

    Raises
    ------
    InputError
        No manifest, one of another version, or one that was changed.
    """
    try:
        with open(regular(path), "rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        raise InputError(expected="the manifest of a sharded pool", found=found, path=str(path)) from None
    try:
        return _parsed(parse_json(raw), str(path), url)
    except (LuthierError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            expected="the manifest of a sharded pool, as luthier writes it",
            found=f"something else, or damage ({(str(error) or type(error).__name__).splitlines()[0]})",
            path=str(path),
            hint="'luthier data shard' makes one",
        ) from None


def _parsed(said: Any, path: str, url: str) -> Manifest:
    if not isinstance(said, dict) or said.get(FORMAT) != FORMAT_VERSION:
        raise LuthierError(f"no object of the format {FORMAT} {FORMAT_VERSION}")
    seal = said.pop("seal", "")
    if _seal(said) != seal:
        raise LuthierError(f"content of the seal {_seal(said)}, which was written as {seal!r}")
    del said[FORMAT]
    found: Manifest = typed({**said, "path": path, "url": url, "seal": seal}, Manifest)
    _check(found)
    return found


def _check(found: Manifest) -> None:
    """Raise for what no writer has said, although each part of it has its type."""
    names, files = set(found.feature_names), {part.file for part in found.parts}
    check_groups(found.groups, names)
    whole = [found.n_dense, *(n for p in found.parts for n in (p.size, p.sentences, p.filled, p.hypotheses))]
    files_beside = all(re.fullmatch(r"[\w-][\w.-]*\.arrow", file) for file in files)
    digests = (found.pool, found.lists, *(part.digest for part in found.parts))
    complaints = (
        (not all(0 <= number < 1 << 62 for number in whole), "a count that is out of range"),
        (not all(0 <= value < math.inf for value in found.spread), "a spread that is no number from 0"),
        (len(names) != len(found.feature_names) or len(names) != len(found.spread), "a feature twice, or no spread"),
        (not found.costs <= names or found.n_dense > len(names), "features that do not fit one another"),
        (not 1 <= len(files) == len(found.parts) <= MOST_PARTS, "no parts, or one of them twice"),
        (not files_beside, "a part that is no file beside the manifest"),
        (not all(map(DIGEST.fullmatch, digests)), "what is no digest"),
        (
            any(p.sentences < 1 or p.filled > min(p.sentences, p.hypotheses) for p in found.parts),
            "counts of a part that contradict each other",
        ),
    )
    for wrong, words in complaints:
        if wrong:
            raise LuthierError(words)
