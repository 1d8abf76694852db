"""JSON from files that anybody may have written: whatever is wrong with it is one kind of error."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from luthier.core.errors import InputError, LuthierError

HALVES = re.compile(r"\\u[dD][89a-fA-F]")  # what may be half of a character


def parse_json(raw: str | bytes, **options: Any) -> Any:
    """Return the value of a text in which no object has a key twice; `options` are those of `json.loads`.

    Raises
    ------
    ValueError
        What is no JSON, no UTF-8, has whole numbers of thousands of digits, is nested deeper than Python can go, has
        half of a character, which no file can hold, or a key twice: readers differ in which of the values they take.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: values nested too deep
    """
    try:
        found = json.loads(raw, **{"object_pairs_hook": _once, **options})
        if HALVES.search(raw if isinstance(raw, str) else raw.decode("utf-8")):
            json.dumps(found, ensure_ascii=False, default=str).encode("utf-8")
    except RecursionError:
        raise ValueError("values nested too deep") from None
    except UnicodeEncodeError:
        raise ValueError("half of a character (\\ud800 to \\udfff without its other half)") from None
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the key {repeated(pairs)!r} twice")
    return found


def repeated(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return the first name that was there before, in time that grows with the pairs; "" if there is none.

    >>> repeated([("a", 1), ("b", 2), ("a", 3)])
    'a'
    """
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return ""


# Settings from TOML files: every key is taken once, with its kind; what nobody takes is an error.

T = TypeVar("T")
KINDS: dict[type, str] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
REQUIRED: Any = object()


def read_toml(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    """Return the values of a TOML file; `what` says what it should be.

    Raises
    ------
    InputError
        No file, no UTF-8, no TOML, values nested deeper than Python can go, or numbers that no setting can be:
        whole ones beyond 64 bits (which TOML forbids) and nan.
    """
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        _check_numbers(table)
        return table
    except OSError as error:
        raise InputError(expected=what, found=(error.strerror or str(error)).lower(), path=str(path)) from None
    except RecursionError:
        found = "values nested too deep"
    except ValueError as error:
        found = str(error)
    raise InputError(expected=f"{what} in TOML", found=found, path=str(path))


def _check_numbers(value: Any) -> None:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _check_numbers(part)
    elif (type(value) is int and not -(1 << 63) <= value < 1 << 63) or value != value:
        raise ValueError(f"the number {str(value)[:30]}")


class Table:
    """A table of a TOML file, from which keys are taken."""

    def __init__(self, values: Mapping[str, Any], path: str, name: str = "") -> None:
        self._left, self._path, self._name = dict(values), path, name
        self._known: list[str] = []

    @classmethod
    def read(cls, path: str | os.PathLike[str], what: str) -> Table:
        """Return the whole file; `what` says what it should be."""
        return cls(read_toml(path, what), str(path))

    def has(self, key: str) -> bool:
        """Return whether a key is still there to be taken."""
        return key in self._left

    def has_text(self, key: str) -> bool:
        """Return whether a key is still there to be taken, and is a text."""
        return isinstance(self._left.get(key), str)

    def take(self, key: str, kind: type[T], default: T | None = REQUIRED) -> T:
        """Return the value of a key, of that kind; the default where it is not given."""
        self._known.append(key)
        if key not in self._left:
            if default is REQUIRED:
                raise self._fault(key, "nothing", KINDS.get(kind, "a value"))
            return default  # type: ignore[return-value]
        value = self._left.pop(key)
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise self._fault(key, repr(value), KINDS.get(kind, f"a {kind.__name__}"))
        return value

    def texts(self, key: str, default: tuple[str, ...] = REQUIRED) -> tuple[str, ...]:
        """Return a list of texts; a single text is a list of one."""
        self._known.append(key)
        if key not in self._left and default is not REQUIRED:
            return default
        value = self._left.pop(key, None)
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not found or not all(isinstance(text, str) for text in found):
            raise self._fault(key, "nothing" if value is None else repr(value), "a text or a list of texts")
        return tuple(found)

    def numbers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return a list of whole numbers."""
        self._known.append(key)
        value = self._left.pop(key, list(default))
        if not isinstance(value, list) or not all(type(number) is int for number in value):
            raise self._fault(key, repr(value), "a list of whole numbers")
        return tuple(value)

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables, ``[[key]]``, of which there is at least one."""
        self._known.append(key)
        value = self._left.pop(key, None)
        if not isinstance(value, list) or not value or not all(isinstance(part, dict) for part in value):
            raise self._fault(key, "nothing" if value is None else repr(value), "a list of tables")
        return [Table(part, self._path, f"{self._name}.{key}" if self._name else key) for part in value]

    def table(self, key: str) -> Table:
        """Return a table in this one; an empty one if there is none."""
        self._known.append(key)
        value = self._left.pop(key, {})
        if not isinstance(value, dict):
            raise self._fault(key, repr(value), "a table")
        return Table(value, self._path, f"{self._name}.{key}" if self._name else key)

    def rest(self) -> dict[str, Any]:
        """Take all that is left, whatever its keys."""
        left, self._left = self._left, {}
        return left

    def fields(self, record: type[T], **given: Any) -> T:
        """Return a dataclass whose fields are keys of this table; those `given` cannot be keys.

        Its own checks say what is wrong with a value.
        """
        names = [field.name for field in dataclasses.fields(record) if field.name not in given]  # type: ignore[arg-type]
        self._known += names
        found = {name: self._left.pop(name) for name in names if name in self._left}
        try:
            return record(**found, **given)
        except LuthierError as error:
            raise LuthierError(f"{self._path}: {error}") from None

    def end(self) -> None:
        """Raise for the first key that nobody took."""
        if self._left:
            key = next(iter(self._left))
            where = f"[{self._name}]" if self._name else "the file"
            raise LuthierError(
                f"{self._path}: {where} has no setting {key!r}. known: {', '.join(sorted(set(self._known)))}"
            )

    def _fault(self, key: str, found: str, kind: str) -> InputError:
        where = f"{key!r} in [{self._name}]" if self._name else repr(key)
        return InputError(expected=f"{kind} for {where}", found=found, path=self._path)
