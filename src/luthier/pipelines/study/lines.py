"""The lines of a study: one for each unit that was run, checked when they are read again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError
from luthier.core.sealed_lines import Record, read_sealed

UNITS = "units.jsonl"
KEY = ("data", "tuner", "metric", "start")
TEXTS = ("study", "data", "tuner", "metric", "method", "signature", "ended")
NUMBERS = ("gain", "start_gain", "cpu_seconds", "seconds")

Kept = dict[tuple[Any, ...], Record]


def key_of(record: Record) -> tuple[Any, ...]:
    """Return what a line is of."""
    return tuple(record[part] for part in KEY)


def read_units(path: Path) -> tuple[Kept, int]:
    """Return the lines of a file by what they are of, the last of each, and how many bytes are whole lines.

    Raises
    ------
    InputError
        If a line was changed, or has numbers that no unit can have.
    """
    if not path.exists():
        return {}, 0
    records, length = read_sealed(path, "a unit of a study as it was written")
    found: Kept = {}
    for number, record in enumerate(records, start=1):
        try:
            _check(record)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                expected="a unit of a study", found=f"one without fitting {error}", path=str(path), line=number
            ) from None
        found[key_of(record)] = record
    return found, length


def _check(record: Record) -> None:
    """Raise where a member is missing, of another kind, or no number that a unit can have."""
    for name in TEXTS:
        _require(isinstance(record[name], str), name)
    for name in NUMBERS:
        _require(_is_number(record[name]), name)
    for name in ("start", "seed", "steps"):
        _require(type(record[name]) is int and record[name] >= (-1 if name == "start" else 0), name)
    for name in ("weights", "start_weights"):
        _require(isinstance(record[name], list) and all(map(_is_number, record[name])), name)
    _require(len(record["weights"]) == len(record["start_weights"]), "weights")
    _require(isinstance(record["test"], dict) and all(map(_is_number, record["test"].values())), "test")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _require(fits: bool, name: str) -> None:
    if not fits:
        raise ValueError(repr(name))
