"""The lines of a study: one for each unit that was run, checked when they are read again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError
from luthier.core.files.journal import Record, read_sealed

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
    records, length = read_sealed(path, "a unit of a study as it was written")
    found: Kept = {}
    for number, record in enumerate(records, start=1):
        try:
            kind.check(record)
            _require_texts(record, tuple({"host", "processor"} & set(record)))  # lines of before lack them
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                expected="a unit of a study", found=f"one without fitting {error}", path=str(path), line=number
            ) from None
        found[kind.key_of(record)] = record
    return found, length


def _check_start(record: Record) -> None:
    """Raise where a member is missing, of another kind, or no number that a unit can have."""
    _require_texts(record, ("study", "data", "tuner", "metric", "method", "signature", "ended"))
    _require_numbers(record, ("gain", "start_gain", "cpu_seconds", "seconds"))
    for name in ("start", "seed", "steps"):
        _require(type(record[name]) is int and record[name] >= (-1 if name == "start" else 0), name)
    for name in ("weights", "start_weights"):
        _require(isinstance(record[name], list) and all(map(_is_number, record[name])), name)
    _require(len(record["weights"]) == len(record["start_weights"]), "weights")
    _require(isinstance(record["test"], dict) and all(map(_is_number, record["test"].values())), "test")
    _require(isinstance(record["higher_is_better"], bool), "higher_is_better")


def _check_loop(record: Record) -> None:
    texts = ("study", "data", "condition", "values", "tuner", "metric", "inputs", "made_of", "folder", "ended")
    _require_texts(record, (*texts, "weights", "translations", "statistics"))
    _require_numbers(record, ("test", "decode_seconds", "tune_seconds"))
    for name in ("bits", "replica", "replicas", "seed", "features"):
        _require(type(record[name]) is int and record[name] >= 0, name)
    _require(isinstance(record["decoded"], list) and bool(record["decoded"]), "decoded")
    _require(all(map(_is_number, record["decoded"])), "decoded")


def _check_tuner_loop(record: Record) -> None:
    texts = ("study", "data", "tuner", "metric", "method", "signature", "inputs", "folder", "ended", "answer")
    _require_texts(record, texts)
    _require_numbers(record, ("decode_seconds", "tune_seconds", "tune_cpu"))
    for name in ("sentences", "k", "hypotheses", "features"):
        _require(type(record[name]) is int and record[name] > 0, name)
    for name in ("decoded", "tuned"):
        _require(isinstance(record[name], list) and bool(record[name]) and all(map(_is_number, record[name])), name)
    _require(len(record["decoded"]) == len(record["tuned"]), "tuned")
    _require(type(record["higher_is_better"]) is bool, "higher_is_better")
    for name in ("test", "test_before", "tests"):
        _require(isinstance(record[name], dict) and all(isinstance(v, str) for v in record[name].values()), name)
    starts = record["loop"]["restarts"]
    _require(type(starts) is int and starts >= 0, "loop")


def _check_capacity(record: Record) -> None:
    _require_texts(record, ("study", "data", "features", "space", "tuner", "method", "metric", "made_of"))
    _require_numbers(record, ("cpu_seconds",))
    for name in ("sentences", "replica", "seed", "columns"):
        _require(type(record[name]) is int and record[name] >= 0, name)
    if record["tuner"] == "cones":
        _require(type(record["cones"]) is int and record["cones"] > 0, "cones")
        _require(type(record["complete"]) is bool, "complete")
        return
    _require_numbers(record, ("tuned",))
    rows = record["selected"]
    _require(isinstance(rows, list) and bool(rows) and all(type(row) is int and row >= 0 for row in rows), "selected")
    if record["tuner"] == "oracle":
        _require(type(record["feasible"]) is bool, "feasible")
        _require(type(record["followed"]) is int and 0 <= record["followed"] <= len(rows), "followed")
    else:
        _require_numbers(record, ("before", "test_before", "test"))


def _require_texts(record: Record, names: tuple[str, ...]) -> None:
    for name in names:
        _require(isinstance(record[name], str), name)


def _require_numbers(record: Record, names: tuple[str, ...]) -> None:
    for name in names:
        _require(_is_number(record[name]), name)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _require(fits: bool, name: str) -> None:
    if not fits:
        raise ValueError(repr(name))


START_LINES = LineKind(
    ("data", "tuner", "metric", "start"), ("method", "signature", "pools", "start_weights", "seed"), _check_start
)
TUNER_LOOP_LINES = LineKind(
    ("data", "tuner", "metric"), ("method", "signature", "inputs", "start", "loop", "tests"), _check_tuner_loop
)
LOOP_LINES = LineKind(
    ("data", "condition", "bits", "values", "replica"),
    ("tuner", "metric", "inputs", "made_of", "start", "loop", "seed"), _check_loop,
)  # fmt: skip
CAPACITY_LINES = LineKind(
    ("data", "features", "space", "sentences", "tuner", "replica"),
    ("method", "watched", "metric", "pools", "made_of", "seed"), _check_capacity,
)  # fmt: skip
