"""The lines of a study: one for each unit that was run, in a journal that is checked when it is read again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError
from luthier.core.files.journal import Record, read_journal

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
        """Return what a line is of."""
        return tuple(record[part] for part in self.key)


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
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                expected="a unit of a study", found=f"one without fitting {error}", path=str(path), line=number
            ) from None
        found[kind.key_of(record)] = record
    return found, length


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
