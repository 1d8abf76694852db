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
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import atomic_write, regular
from luthier.core.files.remote import fetch
from luthier.core.settings import parse_json
from luthier.kbest.groups import FeatureGroup, Groups, check_groups

FORMAT = "luthier.parts"
FORMAT_VERSION = 1
NAME = "manifest.json"
MOST_BYTES = 1 << 28
MOST_PARTS = 1 << 16
DIGEST = re.compile("[0-9a-f]{32}")
KINDS = ("int64", "float64")


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
    kind: str

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
        return fetch(f"{self.url.rpartition('/')[0]}/{part.file}", part.digest) if self.url else self.folder / part.file

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
        if len(raw) > MOST_BYTES:
            raise LuthierError(f"more than {MOST_BYTES >> 20} MB")
        said = parse_json(raw)
        return dataclasses.replace(_parsed(said, str(path)), url=url)
    except (LuthierError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            expected="the manifest of a sharded pool, as luthier writes it",
            found=f"something else, or damage ({(str(error) or type(error).__name__).splitlines()[0]})",
            path=str(path),
            hint="'luthier data shard' makes one",
        ) from None


def _parsed(said: Any, path: str) -> Manifest:
    if not isinstance(said, dict) or said.get(FORMAT) != FORMAT_VERSION:
        raise LuthierError(f"no object of the format {FORMAT} {FORMAT_VERSION}")
    seal = said.pop("seal", "")
    if _seal(said) != seal:
        raise LuthierError(f"content of the seal {_seal(said)}, which was written as {seal!r}")
    names = _texts(said["feature_names"])
    spread = tuple(float(_number(value)) for value in _list(said["spread"]))
    groups = tuple(FeatureGroup(_text(group["name"]), _texts(group["columns"])) for group in _list(said["groups"]))
    check_groups(groups, set(names))
    costs = frozenset(_texts(said["costs"]))
    n_dense = _count(said["n_dense"])
    if len(set(names)) != len(names) or len(spread) != len(names) or not costs <= set(names) or n_dense > len(names):
        raise LuthierError("features that do not fit one another")
    parts = tuple(_part(part) for part in _list(said["parts"]))
    if not 1 <= len(parts) <= MOST_PARTS or len({part.file for part in parts}) != len(parts):
        raise LuthierError("no parts, or one of them twice")
    return Manifest(
        path=path,
        pool=_digest(said["pool"]),
        lists=_digest(said["lists"]),
        feature_names=names,
        n_dense=n_dense,
        costs=costs,
        groups=groups,
        spread=spread,
        derived={_text(name): _text(formula) for name, formula in dict(said["derived"]).items()},
        stats={_text(name): _statistics(stored) for name, stored in dict(said["stats"]).items()},
        parts=parts,
        seal=seal,
    )


def _part(said: Any) -> Part:
    file = _text(said["file"])
    if not re.fullmatch(r"[\w.-]+\.arrow", file) or file.startswith("."):
        raise LuthierError(f"{file[:80]!r} is no file beside the manifest")
    counts = {name: _count(said[name]) for name in ("size", "sentences", "filled", "hypotheses")}
    if not counts["sentences"] >= 1 or not counts["filled"] <= min(counts["sentences"], counts["hypotheses"]):
        raise LuthierError(f"counts of {file} that contradict each other")
    return Part(file=file, digest=_digest(said["digest"]), **counts)


def _statistics(said: Any) -> StoredStatistics:
    if said["kind"] not in KINDS:
        raise LuthierError(f"statistics of the type {str(said['kind'])[:40]!r}")
    return StoredStatistics(_texts(said["names"]), said["kind"])


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise LuthierError(f"{str(value)[:40]!r} is no list")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise LuthierError(f"{str(value)[:40]!r} is no text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(_text(item) for item in _list(value))


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise LuthierError(f"{str(value)[:40]!r} is no count")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise LuthierError(f"{str(value)[:40]!r} is no spread")
    return float(value)


def _digest(value: Any) -> str:
    if not DIGEST.fullmatch(_text(value)):
        raise LuthierError(f"{value[:40]!r} is no digest")
    return str(value)
