"""JSON from files that anybody may have written: whatever is wrong with it is one kind of error."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def parse_json(raw: str | bytes, **options: Any) -> Any:
    """Return the value of a text in which no object has a key twice; `options` are those of `json.loads`.

    Raises
    ------
    ValueError
        What is no JSON, no UTF-8, has whole numbers of thousands of digits, is nested deeper than Python can go, or
        has a key twice: readers differ in which of the values they take.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ...
    ValueError: values nested too deep
    """
    try:
        return json.loads(raw, **{"object_pairs_hook": _once, **options})
    except RecursionError:
        raise ValueError("values nested too deep") from None


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
