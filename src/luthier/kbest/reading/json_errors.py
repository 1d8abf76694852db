"""Complaints about lines of JSON: written with Python's json module, one bad line at a time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from luthier.core.arrays import Bytes, Int64
from luthier.core.errors import InputError, excerpt
from luthier.core.settings import TOO_DEEP, too_deep
from luthier.kbest.reading.column_roles import Names
from luthier.kbest.reading.inline_references import contradiction
from luthier.kbest.reading.line_errors import BadLines
from luthier.kbest.reading.reader import Lines

ONE_PER_LINE = "each line must be a whole JSON object; jq -c . FILE writes one per line"


def parse_json(raw: bytes) -> Any:
    """Return the value of a line of JSON in UTF-8; integers of any length are read."""
    text = str(raw, "utf-8")  # of bytes that begin with a zero, json would guess that they are UTF-16
    found = json.loads(text, parse_int=_integer)
    if too_deep(found):
        raise RecursionError  # as of the depth that Python itself refuses
    return found


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
    return InputError(expected="JSON", found=TOO_DEEP, path=path, line=line, kind="json", hint=ONE_PER_LINE)


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
        expected="escapes that make characters",
        found="half a surrogate pair (\\ud800 to \\udfff alone)",
        path=path,
        line=line,
        kind="utf-8",
        hint="the writer cut a character in two; write the text as UTF-8, with ensure_ascii=False",
    )


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


# What can be wrong with a line of JSON Lines: a number for each fault, its kind and its words.

(
    GOOD,
    NOT_JSON,
    HALF_PAIR,
    NOT_OBJECT,
    KEY_TWICE,
    NO_ID,
    NO_HYPOTHESIS,
    ID_TYPE,
    HYPOTHESIS_TYPE,
    FEATURES_TYPE,
    SOURCE_TYPE,
    REFERENCES_TYPE,
    DERIVATION_TYPE,
    RULE_TYPE,
    NOT_NUMBER,
    NOT_FINITE,
    OTHER_SOURCE,
    OTHER_REFERENCES,
    FEATURES_LATE,
    ID_LATE,
) = range(20)

KINDS = {
    NOT_JSON: "json",
    HALF_PAIR: "utf-8",
    NOT_OBJECT: "json",
    KEY_TWICE: "fields",
    NO_ID: "fields",
    NO_HYPOTHESIS: "fields",
    ID_TYPE: "type",
    HYPOTHESIS_TYPE: "type",
    FEATURES_TYPE: "type",
    SOURCE_TYPE: "type",
    REFERENCES_TYPE: "type",
    DERIVATION_TYPE: "type",
    RULE_TYPE: "type",
    NOT_NUMBER: "number",
    NOT_FINITE: "not-finite",
    OTHER_SOURCE: "sentence-data",
    OTHER_REFERENCES: "sentence-data",
    FEATURES_LATE: "fields",
    ID_LATE: "fields",
}

RULES = 'rules are texts, or objects {"rule": "text", "features": {"name": number}}'

# What is expected, the part that may be at fault, and a hint.
WORDS: dict[int, tuple[str, str, str]] = {
    NO_ID: ('the key "id"', "id", "each line needs the id of its sentence, a string or an integer"),
    NO_HYPOTHESIS: (
        'the key "hyp" (or "hypothesis", or "text")',
        "text",
        'Sockeye\'s output, with the key "translations", needs `format` sockeye',
    ),
    ID_TYPE: ('a string or an integer as "id"', "id", ""),
    HYPOTHESIS_TYPE: ('a string as "hyp"', "text", "join tokens with spaces"),
    FEATURES_TYPE: ('an object as "features"', "features", 'for example "features": {"lm": -2.5}'),
    SOURCE_TYPE: ('a string as "source"', "source", ""),
    REFERENCES_TYPE: ('a string or an array of strings as "refs"', "references", ""),
    DERIVATION_TYPE: ('an array of rules as "derivation"', "derivation", RULES),
}


def add(bad: BadLines, path: str, lines: Lines, verdict: Bytes, names: Names) -> None:
    """Add the lines that are not GOOD, by kind."""
    if not verdict.any():
        return
    kinds = np.array([KINDS.get(int(fault), "") for fault in verdict.tolist()])
    for kind in dict.fromkeys(KINDS.values()):
        rows = np.flatnonzero(kinds == kind)

        def describe(i: int, rows: Int64 = rows) -> InputError:
            row = int(rows[i])
            return complaint(int(verdict[row]), lines.raw(row), names, path, int(lines.numbers[row]))

        bad.add(kind, lines.numbers[rows], describe)


def complaint(fault: int, raw: bytes, names: Names, path: str, line: int) -> InputError:
    """Return the complaint about a line with the given fault."""
    if fault == NOT_JSON:
        return json_error(raw, path, line)
    if fault == HALF_PAIR:
        return surrogate_error(path, line)
    if fault in (OTHER_SOURCE, OTHER_REFERENCES):
        return contradiction("source" if fault == OTHER_SOURCE else "references", path, line)
    row = parse_json(raw)
    if fault == NOT_OBJECT:
        return not_object_error(row, path, line)
    expected, found, hint = _words(fault, raw, row, names)
    return InputError(expected=expected, found=found, path=path, line=line, hint=hint, kind=KINDS[fault])


def _words(fault: int, raw: bytes, row: dict[str, Any], names: Names) -> tuple[str, str, str]:
    if fault == KEY_TWICE:
        return "each key once", f"{_repeated_key(raw)!r} again", "keep the one that is meant"
    if fault == FEATURES_LATE:
        return (
            "numbers beside the other keys, as on the first lines",
            'the key "features"',
            "write all lines in one form",
        )
    if fault == ID_LATE:
        return "no id, as on the first lines: sources tell sentences apart", "one", "give all lines an id, or none"
    if fault == RULE_TYPE:
        return "a text for each rule of a derivation, and an object for its features", "something else", RULES
    if fault == NOT_NUMBER:
        name, value = next(_not_numbers(row))
        return (
            "a number as a feature's value",
            f"{described(value)} for {name!r}",
            "leave absent features out",
        )
    if fault == NOT_FINITE:
        name, value = next(_not_finite(row))
        hint = "a scorer failed there; fix the list, or leave such lines out with `skip_bad`"
        return "a finite number", f"{value} for {name!r}", hint
    expected, part, hint = WORDS[fault]
    keys, given = names.of(part), names.given(part)
    if given:
        expected = re.sub(r'"\w+".*', lambda _: json.dumps(given, ensure_ascii=False), expected)
    present = [key for key in keys if row.get(key) is not None]
    if not present:
        empty = next((key for key in keys if key in row), None)
        if empty is not None:
            return expected, f'null as "{empty}"', hint
        others = ", ".join(json.dumps(key, ensure_ascii=False) for key in list(row)[:8])
        return expected, f"only {others}" if others else "an empty object", hint
    value = row[present[0]]
    wrong = [item for item in value if not isinstance(item, str)] if isinstance(value, list) else []
    return expected, described(value) + (f" with {described(wrong[0])}" if wrong else ""), hint


def _repeated_key(raw: bytes) -> str:
    pairs = json.loads(raw, object_pairs_hook=list, parse_int=float)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return str(key)
        seen.add(key)
    return ""


def _feature_objects(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield row.get("features") or {}
    for rule in row.get("derivation") or []:
        if isinstance(rule, dict):
            yield rule.get("features") or {}


def _not_numbers(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for features in _feature_objects(row):
        for name, value in features.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                yield name, value


def _not_finite(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for numbers in (*_feature_objects(row), row):
        for name, value in numbers.items():
            if isinstance(value, int | float) and not _is_finite(value):
                yield name, value


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the largest double
        return False
