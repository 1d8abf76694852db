"""Complaints about lines of JSON: written with Python's json module, one bad line at a time."""

from __future__ import annotations

import json
from typing import Any

from luthier.core.errors import InputError, excerpt

ONE_PER_LINE = "each line must be a whole JSON object; jq -c . FILE writes one per line"


def parse_json(raw: bytes) -> Any:
    """Return the value of a line of JSON in UTF-8; integers of any length are read."""
    text = str(raw, "utf-8")  # of bytes that begin with a zero, json would guess that they are UTF-16
    return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 300 else float(digits)  # Python refuses to read very long ones


def json_error(raw: bytes, path: str, line: int) -> InputError:
    """Return the complaint about a line that is not JSON."""
    try:
        parse_json(raw)
    except json.JSONDecodeError as error:
        rest = error.doc[error.pos :].encode("utf-8")
        found = excerpt(rest) if rest.strip() else "the end of the line"
        where = f" at column {error.colno} ({error.msg[0].lower() + error.msg[1:]})"
        if not raw.strip():
            found, where = "an empty line", ""
        return InputError(
            expected="JSON", found=found + where, path=path, line=line, kind="json", hint=_hint(raw, rest)
        )
    except RecursionError:
        pass
    return InputError(
        expected="JSON", found="values nested too deep", path=path, line=line, kind="json", hint=ONE_PER_LINE
    )


def _hint(raw: bytes, rest: bytes) -> str:
    if not raw.strip():
        return "leave the line out, or let `skip_bad` do so"
    if raw.lstrip().startswith(b"{'") or rest.startswith((b"'", b"None", b"True", b"False")):
        return "this is how Python prints a dictionary; write lines with json.dumps"
    if not rest.strip():
        return "the line is cut off; " + ONE_PER_LINE
    return ONE_PER_LINE


def surrogate_error(path: str, line: int) -> InputError:
    """Return the complaint about half a surrogate pair."""
    return InputError(
        expected="escapes that make characters", found="half a surrogate pair (\\ud800 to \\udfff alone)",
        path=path, line=line, kind="utf-8",
        hint="the writer cut a character in two; write the text as UTF-8, with ensure_ascii=False",
    )  # fmt: skip


def not_object_error(value: Any, path: str, line: int) -> InputError:
    """Return the complaint about a line that is JSON, but not an object."""
    hint = "jq -c '.[]' FILE writes the items of an array as lines" if isinstance(value, list) else ONE_PER_LINE
    return InputError(expected="a JSON object", found=described(value), path=path, line=line, kind="json", hint=hint)


def described(value: Any) -> str:
    """Return a JSON value as words.

    >>> described("a"), described(None), described([1]), described(1.5)
    ("the string 'a'", 'null', 'an array', 'the number 1.5')
    """
    if isinstance(value, str):
        return "the string " + excerpt(value.encode("utf-8", "backslashreplace"))
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"the number {value}"
    return "an array" if isinstance(value, list) else "an object"
