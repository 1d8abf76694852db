"""What strangers write, as JSON or TOML: read once, checked against the types of a record, refused in one sentence.

`parse_json` and `read_toml` read; `typed` is the one validator of what they read; a `Table` takes settings one by one.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, cast

from luthier.core.errors import InputError, LuthierError

MOST_BYTES = 1 << 28  # of a text that is read as one value
DEEPEST = 100  # values nested deeper are refused: Pythons differ in how deep they go, this does not
TOO_DEEP = f"values nested too deep, beyond {DEEPEST} levels"
HALVES = re.compile(r"\\u[dD][89a-fA-F]")  # what may be half of a character


def parse_json(raw: str | bytes, **options: Any) -> Any:
    """Return the value of a text in which no object has a key twice; `options` are those of `json.loads`.

    Raises
    ------
    ValueError
        What is no JSON, no UTF-8, longer than 256 MB, nested deeper than 100 levels, has whole numbers of thousands
        of digits, half of a character, which no file can hold, or a key twice: readers differ in which value they take.

    >>> parse_json("[" * 101 + "]" * 101)
    Traceback (most recent call last):
    ...
    ValueError: values nested too deep, beyond 100 levels
    """
    if len(raw) > MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES >> 20} MB")
    try:
        found = json.loads(raw, **{"object_pairs_hook": _once, **options})
        if HALVES.search(raw if isinstance(raw, str) else raw.decode("utf-8")):
            json.dumps(found, ensure_ascii=False, default=str).encode("utf-8")
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except UnicodeEncodeError:
        raise ValueError("half of a character (\\ud800 to \\udfff without its other half)") from None
    opened = raw.count("[") + raw.count("{") if isinstance(raw, str) else raw.count(b"[") + raw.count(b"{")
    if opened > DEEPEST and too_deep(found):
        raise ValueError(TOO_DEEP)
    return found


def too_deep(value: Any) -> bool:
    """Return whether a value is nested deeper than 100 levels.

    >>> [too_deep(json.loads(text)) for text in ("[" * 100 + "]" * 100, '{"a":' * 101 + "1" + "}" * 101)]
    [False, True]
    """
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        if depth > DEEPEST:
            return True
        level = [item for items in level for item in (items.values() if isinstance(items, dict) else items)]
    return False


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


T = TypeVar("T")
REQUIRED: Any = object()
WORDS = {
    "str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "a list",
    "object": "a table", "null": "nothing",
}  # fmt: skip
COMPLAINT = re.compile(r"(?:Expected `(?P<expected>[^`]+)`(?P<length> of length \d+)?, got `?(?P<got>[^`]+)`?|"
                       r"Object missing required field `(?P<missing>[^`]+)`|(?P<other>.+?))"
                       r"(?: - at `(?P<key>key` in `)?\$(?P<at>[^`]*)`)?", re.DOTALL)  # fmt: skip


def typed(value: Any, kind: type[T], name: str = "", path: str = "") -> T:
    """Return a value that was read as a `kind`: a dataclass, a number, ``list[str]``, every part of its type.

    Raises
    ------
    InputError
        With the first part that has another type, is missing, or is none of the record's; `name` says what the value
        itself is.

    >>> typed({"k": [5]}, dict[str, tuple[int, ...]])
    {'k': (5,)}
    >>> typed([1, "2"], list[int], "'sizes'")
    Traceback (most recent call last):
    ...
    luthier.core.errors.InputError: expected a whole number for [1] of 'sizes', found '2'.
    """
    import msgspec  # eight milliseconds that commands without such files need not pay

    try:
        found: T = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _sentence(str(error), value, name, path) from None
    unknown, known = _unknown(value, found)
    if unknown:
        raise InputError(expected=f"no keys but {', '.join(known)}", found=repr(unknown), path=path)
    return found


def _unknown(value: Any, found: Any) -> tuple[str, list[str]]:
    """Return the first key that the record it stands in does not have, and those that it has; "" if there is none."""
    pairs: Iterable[tuple[Any, Any]] = ()
    if dataclasses.is_dataclass(found):
        known = [field.name for field in dataclasses.fields(found)]
        unknown = next((key for key in value if key not in known), "")
        if unknown:
            return unknown, known
        pairs = ((part, getattr(found, key)) for key, part in value.items())
    elif isinstance(found, dict):
        pairs = ((value[key], part) for key, part in found.items())
    elif isinstance(found, list | tuple) and found and dataclasses.is_dataclass(found[0]):
        pairs = zip(value, found, strict=True)
    return next((said for said in itertools.starmap(_unknown, pairs) if said[0]), ("", []))


def _sentence(complaint: str, value: Any, name: str, path: str) -> InputError:
    """Return what msgspec says of a value, in our words."""
    said = COMPLAINT.fullmatch(complaint)
    assert said is not None, "anything fits its last branch"
    at = (said["at"] or "") + (f".{said['missing']}" if said["missing"] else "")
    place = at.lstrip(".")
    where = " of ".join(filter(None, (place, name))) if name else repr(place) if place else ""
    if said["missing"]:
        expected, found = "a value", "nothing"
    elif said["expected"]:
        expected = " or ".join(WORDS.get(word, word) for word in said["expected"].split(" | ")) + (said["length"] or "")
        found = WORDS.get(said["got"], said["got"])
        if said["got"] != "null" and not (said["key"] or said["length"] or "..." in at):
            for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", at):
                value = value[key] if key else value[int(index)]
            found = repr(value)
    else:
        expected, found = "a value that can be used", said["other"].lower()
    return InputError(expected=expected + (f" for {where}" if where else ""), found=found, path=path)


# Settings from TOML files: every key is taken once, with its kind; what nobody takes is an error.


def read_toml(path: str | os.PathLike[str], what: str) -> dict[str, Any]:
    """Return the values of a TOML file; `what` says what it should be.

    Raises
    ------
    InputError
        No file, no UTF-8, no TOML, values nested deeper than 100 levels, or numbers that no setting can be:
        whole ones beyond 64 bits (which TOML forbids) and nan.
    """
    import tomllib

    try:
        with open(path, "rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise ValueError(f"more than {MOST_BYTES >> 20} MB")
        table = tomllib.loads(raw.decode("utf-8"))
        if too_deep(table):
            raise ValueError(TOO_DEEP)
        _check_numbers(table)
        return table
    except OSError as error:
        raise InputError(expected=what, found=(error.strerror or str(error)).lower(), path=str(path)) from None
    except RecursionError:
        found = TOO_DEEP
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
        where = f"{key!r} in [{self._name}]" if self._name else repr(key)
        if key not in self._left and default is not REQUIRED:
            return default  # type: ignore[return-value]
        found: T = typed(self._left.pop(key, None), kind, where, self._path)
        if default is REQUIRED and found in ((), []):
            raise InputError(expected=f"something for {where}", found="an empty list", path=self._path)
        return found

    def texts(self, key: str, default: tuple[str, ...] = REQUIRED) -> tuple[str, ...]:
        """Return a list of texts; a single text is a list of one."""
        found: str | tuple[str, ...] = self.take(key, cast(Any, str | tuple[str, ...]), default)
        return (found,) if isinstance(found, str) else found

    def numbers(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return a list of whole numbers."""
        return self.take(key, tuple[int, ...], default)

    def tables(self, key: str) -> list[Table]:
        """Return a list of tables, ``[[key]]``."""
        found: list[dict[str, Any]] = self.take(key, list[dict[str, Any]])
        return [Table(part, self._path, f"{self._name}.{key}" if self._name else key) for part in found]

    def table(self, key: str) -> Table:
        """Return a table in this one; an empty one if there is none."""
        found: dict[str, Any] = self.take(key, dict[str, Any], {})
        return Table(found, self._path, f"{self._name}.{key}" if self._name else key)

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
