"""The state of a reverse search on disk: arrays, what they belong to, and a hash of both."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import atomic_write, regular
from luthier.core.settings import parse_json, typed
from luthier.geometry.minkowski.frontier import Arrays

# What a reverse search has found so far, in numbers that are kept with its state.


@dataclasses.dataclass
class Tally:
    """What was found so far."""

    found: int = 0
    usable: int = 0
    uncertain: int = 0
    deepest: int = 0
    best: int = -1
    best_gain: float = -np.inf
    best_margin: float = 0.0
    best_position: tuple[float, ...] = ()
    length: int = 0  # bytes of the rows that belong to this state


def checked_tally(tally: dict[str, Any], n_found: int, n_axes: int) -> Tally:
    """Return counts from a file, or complain: they are reported, and say how much of the rows to keep."""
    found: Tally = typed(tally, Tally)
    if min(found.found, found.usable, found.uncertain, found.deepest, found.length) < 0:
        raise ValueError("counts below 0")
    within = max(found.usable, found.uncertain) <= found.found == n_found and -1 <= found.best < n_found
    if not within or len(found.best_position) not in (0, n_axes):
        raise ValueError("counts that contradict each other")
    if np.isnan([found.best_gain, found.best_margin]).any() or not np.isfinite(found.best_position).all():
        raise ValueError("numbers that are not finite")
    return found


# what reading something else, or half a state, may raise
NO_STATE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    EOFError,
    OverflowError,
    AttributeError,
    MemoryError,
    NotImplementedError,
    zipfile.BadZipFile,
    LuthierError,
)


def write_state(path: str, identity: dict[str, Any], tally: dict[str, Any], state: Arrays) -> None:
    """Write a state in one piece."""
    meta = json.dumps({"identity": identity, "tally": tally})
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        arrays: dict[str, Any] = {**state, "meta": np.array(meta), "hash": np.array(_hash(meta, state))}
        np.savez(file, **arrays)


def read_state(path: str) -> tuple[dict[str, Any], dict[str, Any], Arrays]:
    """Return identity, tally and arrays of a state, whole as they were written; what they say is not looked at.

    Raises
    ------
    InputError
        If there is none, or one that is torn.
    """
    if Path(path).exists():
        regular(path)
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        raise LuthierError(f"{path}: there is no search to resume. hint: leave out `resume`") from None
    except OSError as error:
        raise LuthierError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    with file, refusing_states(path):
        with np.load(file, allow_pickle=False) as kept:
            state: Arrays = {name: kept[name] for name in kept.files if name not in ("meta", "hash")}
            meta, digest = str(kept["meta"]), str(kept["hash"])
        if digest != _hash(meta, state):
            raise ValueError("its hash is another")
        told = parse_json(meta)
        return dict(told["identity"]), dict(told["tally"]), state


@contextlib.contextmanager
def refusing_states(path: str) -> Iterator[None]:
    """Say that a file is no state, whatever is wrong with it."""
    try:
        yield
    except NO_STATE as error:
        raise InputError(
            expected="the state of a search",
            found=f"something else, or a file cut off ({error})",
            path=path,
            hint="remove it to start anew, without `resume`",
        ) from None


def _hash(meta: str, state: Arrays) -> str:
    digest = hashlib.blake2b(meta.encode(), digest_size=16)
    for name in sorted(state):
        array = np.ascontiguousarray(state[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def is_unfinished(path: str) -> bool:
    """Return whether there is the state of a search that has not found everything."""
    if not Path(path).exists():
        return False
    try:
        return len(read_state(path)[2]["number"]) > 0
    except (InputError, KeyError):
        return False
