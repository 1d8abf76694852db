"""Complaints about sentences of nested JSON: one bad object at a time, as Python sees it."""

from __future__ import annotations

import json
import sys
from typing import Any

from luthier.core.errors import InputError, excerpt
from luthier.kbest.reading.json_errors import described
from luthier.kbest.reading.json_tape import ARRAY, FALSE, INTEGER, NULL, OBJECT, STRING, TRUE, Tape
from luthier.kbest.reading.shapes import json_lists as shape
from luthier.kbest.reading.shapes.profiles import Profile

MOST = sys.float_info.max
MOST_DIGITS = 300  # of an integer; Python refuses to read very long ones
KINDS = {
    shape.NOT_OBJECT: "json", shape.KEY_TWICE: "fields", shape.FAILED: "failed", shape.NO_LIST: "fields",
    shape.NOT_LIST: "type", shape.ITEM_TYPE: "type", shape.NO_TEXT: "fields", shape.ID_TYPE: "type",
    shape.NOT_NUMBER: "number", shape.NOT_FINITE: "not-finite", shape.NULL_LOGPROB: "number",
    shape.LENGTHS: "fields", shape.AGAIN: "id",
}  # fmt: skip


def value_at(tape: Tape, entry: int) -> Any:
    """Return an entry of a tape as Python has it."""
    kind, start, stop, after = tape.entries[entry].tolist()
    if kind == OBJECT:
        found, at = {}, entry + 1
        while at < after:
            found[value_at(tape, at)] = value_at(tape, at + 1)
            at = int(tape.entries[at + 1, 3])
        return found
    if kind == ARRAY:
        items, at = [], entry + 1
        while at < after:
            items.append(value_at(tape, at))
            at = int(tape.entries[at, 3])
        return items
    text = tape.data[start:stop].tobytes().decode("utf-8")
    if kind == STRING:
        return text
    if kind == INTEGER and len(text) < MOST_DIGITS:
        return int(text)
    return {NULL: None, TRUE: True, FALSE: False}[kind] if kind in (NULL, TRUE, FALSE) else float(text)


def complaint(fault: int, value: Any, profile: Profile, identity: str, path: str, line: int) -> InputError:
    """Return the complaint about one sentence."""
    expected, found, hint = _words(fault, value, profile, identity)
    return InputError(expected=expected, found=found, path=path, line=line, hint=hint, kind=KINDS[fault])


def _words(fault: int, value: Any, profile: Profile, identity: str) -> tuple[str, str, str]:
    if fault == shape.NOT_OBJECT:
        return "an object for each sentence", described(value), ""
    if fault == shape.KEY_TWICE:
        return "each key once", "one again", "keep the one that is meant"
    if fault == shape.FAILED:
        return f"a request that was answered ({identity})", _failure(value, profile), "send it again, or `skip_bad`"
    if fault == shape.AGAIN:
        hint = "give each its own id, or put all hypotheses into one list"
        return "one object for each sentence", f"another one of {identity!r}", hint
    if fault == shape.NO_LIST:
        keys = ", ".join(json.dumps(key, ensure_ascii=False) for key in list(value)[:8])
        found = f"only {keys}" if value else "an empty object"
        called = profile.list[0] if len(profile.list) == 1 else ", ".join(profile.list[:3]) + " or the like"
        return f"a list of hypotheses as {called}", found, "name it: `format_option` list=NAME"
    name, items = _list(value, profile)
    if fault == shape.NOT_LIST:
        return f'an array as "{name}"', described(items), ""
    if fault == shape.ITEM_TYPE:
        wrong = next((item for item in items if not isinstance(item, str | dict)), items)
        return f'texts, objects, beams or tokens in "{name}"', described(wrong), ""
    if fault == shape.NO_TEXT:
        hint = "a refusal or a call of a tool has no text; `skip_bad` leaves such sentences out"
        return f"a text in each hypothesis ({', '.join(profile.text[:3])})", "none", hint
    if fault == shape.ID_TYPE:
        given = [item for item in (_at(value, path) for path in profile.id) if item is not None]
        return 'a string or an integer as "id"', described(given[0] if given else None), ""
    if fault == shape.NULL_LOGPROB:
        hint = "prompts that are echoed have one without; ask for the log-probabilities of the answer alone"
        return f"a number as the log-probability of each token ({identity})", "null", hint
    if fault == shape.LENGTHS:
        key, numbers = next(_other_lengths(value, items), ("scores", []))
        return f'as many numbers in "{key}" as hypotheses ({len(items)})', str(len(numbers)), ""
    key, number = _wrong_number(value, finite=fault == shape.NOT_FINITE)
    word = "finite number" if fault == shape.NOT_FINITE else "number"
    return f'a {word} as "{key}"', str(number) if fault == shape.NOT_FINITE else described(number), ""


def _at(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _list(value: Any, profile: Profile) -> tuple[str, Any]:
    if isinstance(value, list):
        return "the list", value
    return next(((path, _at(value, path)) for path in profile.list if _at(value, path) is not None), ("", [value]))


def _failure(value: Any, profile: Profile) -> str:
    error = _at(value, profile.failure[0])
    if error is None:
        return "the status " + described(_at(value, profile.failure[1])).removeprefix("the number ")
    message = error.get("message") or error.get("code") if isinstance(error, dict) else error
    return f"an error ({excerpt(str(message).encode(), 80)})"


def _other_lengths(value: dict[str, Any], items: list[Any]) -> Any:
    for key, other in value.items():
        if isinstance(other, list) and other is not items and not shape.BESIDE.search(key):
            numbers = all(isinstance(x, int | float) for x in other)
            if other and numbers and len(other) != len(items):
                yield key, other


def _wrong_number(value: Any, *, finite: bool) -> tuple[str, Any]:
    """Return the first number under a key that is not finite, or the first value among features that is none."""

    def walk(key: str, item: Any, inside: bool) -> Any:
        if isinstance(item, dict):
            for name, part in item.items():
                yield from walk(name, part, key in shape.INSIDE)
        elif isinstance(item, list):
            for part in item:
                yield from walk(key, part, False)
        elif finite and isinstance(item, int | float):
            if not -MOST <= item <= MOST:
                yield key, item
        elif not finite and inside and item is not None and (isinstance(item, bool | str)):
            yield key, item

    return next(walk("", value, False), ("score", value if not isinstance(value, dict | list) else None))
