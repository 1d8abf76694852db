"""The lines of a study: one for each unit that was run, in a journal that is checked when it is read again."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.errors import InputError
from luthier.core.files.journal import Record, read_journal

MOST_BYTES = 1 << 28  # of what a line packs into a text

Kept = dict[tuple[Any, ...], Record]


@dataclasses.dataclass(frozen=True)
class LineKind:
    """What a line of one kind of study is.

    Attributes
    ----------
    key : members that say which unit it is
    identity : members that must agree for a line to be of the unit that would be run
    check : raises `ValueError`, `KeyError` or `TypeError` for what no unit can have
    """

    key: tuple[str, ...]
    identity: tuple[str, ...]
    check: Callable[[Record], None]

    def key_of(self, record: Record) -> tuple[Any, ...]:
        """Return what a line is of; one that does not say its replica is of the first."""
        return tuple(record.get(part, 0) if part == "replica" else record[part] for part in self.key)


def read_units(path: Path, kind: LineKind) -> tuple[Kept, int]:
    """Return the lines of a file by what they are of, the last of each, and how many bytes are whole lines.

    Raises
    ------
    InputError
        If a line was changed, or has numbers that no unit can have.
    """
    if not path.exists():
        return {}, 0
    records, length = read_journal(path, "a unit of a study as it was written")
    found: Kept = {}
    for number, record in enumerate(records, start=1):
        try:
            kind.check(record)
            require_texts(record, *({"host", "processor"} & set(record)))  # the oldest lines lack them
            _require_size(record.get("size", [None] * 3))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                expected="a unit of a study", found=f"one without fitting {error}", path=str(path), line=number
            ) from None
        found[kind.key_of(record)] = record
    return found, length


def _require_size(size: Any) -> None:
    fits = isinstance(size, list) and len(size) == 3
    require(fits and all(part is None or (type(part) is int and part > 0) for part in size), "size")


def require(fits: bool, name: str) -> None:
    """Raise `ValueError` for a member of a line that does not fit."""
    if not fits:
        raise ValueError(repr(name))


def require_texts(record: Record, *names: str) -> None:
    """Raise unless members are texts."""
    for name in names:
        require(isinstance(record[name], str), name)


def require_numbers(record: Record, *names: str) -> None:
    """Raise unless members are finite numbers."""
    for name in names:
        require(is_number(record[name]), name)


def require_counts(record: Record, *names: str, least: int = 0) -> None:
    """Raise unless members are whole numbers of at least `least`."""
    for name in names:
        require(type(record[name]) is int and record[name] >= least, name)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def pack_statistics(stats: npt.NDArray[Any]) -> str:
    """Return the statistics of N sentences, (N, S), as a text.

    >>> unpack_statistics(pack_statistics(np.array([[3, 4], [5, 6]])), 2).tolist()
    [[3.0, 4.0], [5.0, 6.0]]
    """
    return _pack(np.ascontiguousarray(stats.T, dtype="<f8").tobytes())  # a column's numbers are alike: it packs well


def pack_weights(weights: Mapping[str, float]) -> str:
    """Return weights as a text.

    >>> unpack_weights(pack_weights({"a": 0.1, "b": -2.0}))
    {'a': 0.1, 'b': -2.0}
    """
    return pack_text(json.dumps(dict(weights)))


def unpack_weights(text: str) -> dict[str, float]:
    """Return weights again; raise `ValueError` for a text that has none."""
    found = json.loads(unpack_text(text, "weights"))
    if not isinstance(found, dict) or not all(is_number(value) for value in found.values()):
        raise ValueError("no weights")
    return found


def pack_text(text: str) -> str:
    """Return a long text as a shorter one."""
    return _pack(text.encode("utf-8"))


def unpack_text(text: str, what: str) -> str:
    """Return the long text again; raise `ValueError` where there is none."""
    return _unpack(text, what).decode("utf-8")


def _pack(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def _unpack(text: str, what: str) -> bytes:
    try:
        machine = zlib.decompressobj()
        data = machine.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"no {what} ({error})") from None
    if not machine.eof:
        raise ValueError(f"no {what}, or too much")
    return data


def unpack_statistics(text: str, n_stats: int) -> Float64:
    """Return statistics again, (N, S).

    Raises
    ------
    ValueError
        If the text is none of so many columns, or has a number that is not finite.
    """
    data = _unpack(text, "statistics")
    numbers = np.frombuffer(data[: len(data) // 8 * 8], dtype="<f8").astype(np.float64)
    if len(data) % (8 * n_stats) or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(f"no statistics of {n_stats} columns")
    return np.ascontiguousarray(numbers.reshape(n_stats, -1).T)
