"""What a pool's file says beside its arrays: names, shapes, provenance, digests, as one JSON object."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from luthier.core.errors import LuthierError
from luthier.core.settings import too_deep
from luthier.kbest.groups import FeatureGroup, Groups
from luthier.kbest.pool import Pool

META_KEY = "luthier.meta"


@dataclasses.dataclass(frozen=True)
class StoredMeta:
    """The object, every part of the type it must have.

    `digest` is of the content by which results name a pool; `seal` is of all the rest (statistics, names,
    provenance), and empty where the writer kept none. `unsealed` is the object without it.
    """

    feature_names: tuple[str, ...]
    costs: frozenset[str]
    groups: Groups
    local_feature_names: tuple[str, ...]
    columns: tuple[str, ...]
    stats: Mapping[str, tuple[str, ...]]
    shapes: Mapping[str, list[int]]
    digest: str
    seal: str
    provenance: Mapping[str, Any]
    unsealed: Mapping[str, Any]


def meta_of_pool(pool: Pool, version: str) -> str:
    """Return the object of a pool as it goes into the file."""
    derivations = pool.derivations
    meta = {
        "luthier": version,
        "feature_names": list(pool.features.names),
        "costs": sorted(pool.features.costs),
        "groups": [{"name": group.name, "columns": list(group.columns)} for group in pool.features.groups],
        "local_feature_names": [] if derivations is None else list(derivations.features.names),
        "columns": list(pool.columns),
        "stats": {signature: list(part.names) for signature, part in pool.stats.items()},
        "shapes": {name: list(array.shape) for name, array in pool.arrays().items()},
        "digest": pool.digest(),
        "provenance": dict(pool.provenance),
    }
    return json.dumps({**meta, "seal": seal_of(meta, pool)}, ensure_ascii=False)


def seal_of(unsealed: Mapping[str, Any], pool: Pool) -> str:
    """Return a hash of an object, in which the digest of the content stands, and of the statistics."""
    state = hashlib.blake2b(json.dumps(unsealed, sort_keys=True).encode(), digest_size=16)
    for name, array in pool.arrays().items():
        if name.startswith("stats."):
            state.update(f"{name}:{array.dtype.str}:{array.shape};".encode())
            state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()


def parse_meta(raw: bytes) -> StoredMeta:
    """Return the object, or raise `LuthierError` about what is wrong with it."""
    try:
        meta = json.loads(raw)
        if too_deep(meta):
            raise ValueError
        json.dumps(meta, ensure_ascii=False).encode("utf-8")  # half a surrogate is in JSON and nowhere else
    except (ValueError, RecursionError):
        raise LuthierError("names and shapes are not readable JSON") from None
    if not isinstance(meta, dict):
        raise LuthierError("names and shapes are no JSON object")
    stats = _table(meta, "stats")
    shapes = _table(meta, "shapes")
    for name, shape in shapes.items():
        if not isinstance(shape, list) or not all(type(n) is int and 0 <= n < 1 << 62 for n in shape):
            raise LuthierError(f"{str(shape)[:80]!r} is no shape of {name[:80]!r}")
    return StoredMeta(
        feature_names=_names(meta, "feature_names"),
        costs=frozenset(_names(meta, "costs")),
        groups=_groups(meta),
        local_feature_names=_names(meta, "local_feature_names"),
        columns=_names(meta, "columns"),
        stats={signature: _names(stats, signature) for signature in stats},
        shapes=shapes,
        digest=_text(meta, "digest"),
        seal=_text(meta, "seal", ""),
        provenance=_provenance(meta),
        unsealed={key: value for key, value in meta.items() if key != "seal"},
    )


def _names(meta: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of texts that differ."""
    names = meta.get(key)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise LuthierError(f"{key[:80]!r} is no list of names")
    if len(set(names)) != len(names):
        raise LuthierError(f"a name stands twice in {key[:80]!r}")
    return tuple(names)


def _groups(meta: Mapping[str, Any]) -> Groups:
    """Return the groups of features; a file of before there were any has none."""
    groups = meta.get("groups", [])
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise LuthierError("'groups' is no list of objects")
    return tuple(FeatureGroup(_text(group, "name"), _names(group, "columns")) for group in groups)


def _table(meta: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = meta.get(key)
    if not isinstance(table, dict):
        raise LuthierError(f"{key!r} is no JSON object")
    return table


def _text(meta: Mapping[str, Any], key: str, default: str | None = None) -> str:
    text = meta.get(key, default)
    if not isinstance(text, str):
        raise LuthierError(f"{key!r} is no text")
    return text


def _provenance(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return where the rows came from: what others add to must be lists of objects."""
    provenance = _table(meta, "provenance")
    for key in ("lists", "operations"):
        items = provenance.get(key, [])
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise LuthierError(f"{key!r} in the provenance is no list of objects")
    return provenance
