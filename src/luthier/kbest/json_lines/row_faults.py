"""What can be wrong with a line of JSON Lines: a number for each fault, its kind and its words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from luthier.core.arrays import Bytes, Int64
from luthier.core.errors import InputError
from luthier.kbest.building.sentence_data import contradiction
from luthier.kbest.json_lines.faults import described, json_error, not_object_error, parse_json, surrogate_error
from luthier.kbest.reading.faults import BadLines
from luthier.kbest.reading.reader import Lines
from luthier.kbest.reading.roles import MEANINGS

(
    GOOD, NOT_JSON, HALF_PAIR, NOT_OBJECT, KEY_TWICE, NO_ID, NO_HYPOTHESIS, ID_TYPE, HYPOTHESIS_TYPE,
    FEATURES_TYPE, SOURCE_TYPE, REFERENCES_TYPE, DERIVATION_TYPE, RULE_TYPE, NOT_NUMBER, NOT_FINITE,
    OTHER_SOURCE, OTHER_REFERENCES, FEATURES_LATE,
) = range(19)  # fmt: skip

KINDS = {
    NOT_JSON: "json", HALF_PAIR: "utf-8", NOT_OBJECT: "json",
    KEY_TWICE: "fields", NO_ID: "fields", NO_HYPOTHESIS: "fields",
    ID_TYPE: "type", HYPOTHESIS_TYPE: "type", FEATURES_TYPE: "type", SOURCE_TYPE: "type",
    REFERENCES_TYPE: "type", DERIVATION_TYPE: "type", RULE_TYPE: "type",
    NOT_NUMBER: "number", NOT_FINITE: "not-finite",
    OTHER_SOURCE: "sentence-data", OTHER_REFERENCES: "sentence-data", FEATURES_LATE: "fields",
}  # fmt: skip

RULES = 'rules are texts, or objects {"rule": "text", "features": {"name": number}}'

# What is expected, the keys that may be at fault, and a hint.
WORDS: dict[int, tuple[str, tuple[str, ...], str]] = {
    NO_ID: ('the key "id"', MEANINGS["id"], "each line needs the id of its sentence, a string or an integer"),
    NO_HYPOTHESIS: (
        'the key "hyp" (or "hypothesis", or "text")', MEANINGS["text"],
        "Sockeye's output, with the key \"translations\", needs `format` sockeye",
    ),
    ID_TYPE: ('a string or an integer as "id"', MEANINGS["id"], ""),
    HYPOTHESIS_TYPE: ('a string as "hyp"', MEANINGS["text"], "join tokens with spaces"),
    FEATURES_TYPE: ('an object as "features"', ("features",), 'for example "features": {"lm": -2.5}'),
    SOURCE_TYPE: ('a string as "source"', MEANINGS["source"], ""),
    REFERENCES_TYPE: ('a string or an array of strings as "refs"', MEANINGS["references"], ""),
    DERIVATION_TYPE: ('an array of rules as "derivation"', ("derivation",), RULES),
}  # fmt: skip


def add(bad: BadLines, path: str, lines: Lines, verdict: Bytes) -> None:
    """Add the lines that are not GOOD, by kind."""
    if not verdict.any():
        return
    kinds = np.array([KINDS.get(int(fault), "") for fault in verdict.tolist()])
    for kind in dict.fromkeys(KINDS.values()):
        rows = np.flatnonzero(kinds == kind)

        def describe(i: int, rows: Int64 = rows) -> InputError:
            row = int(rows[i])
            return complaint(int(verdict[row]), lines.raw(row), path, int(lines.numbers[row]))

        bad.add(kind, lines.numbers[rows], describe)


def complaint(fault: int, raw: bytes, path: str, line: int) -> InputError:
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
    expected, found, hint = _words(fault, raw, row)
    return InputError(expected=expected, found=found, path=path, line=line, hint=hint, kind=KINDS[fault])


def _words(fault: int, raw: bytes, row: dict[str, Any]) -> tuple[str, str, str]:
    if fault == KEY_TWICE:
        return "each key once", f"{_repeated_key(raw)!r} again", "keep the one that is meant"
    if fault == FEATURES_LATE:
        return (
            "numbers beside the other keys, as on the first lines",
            'the key "features"',
            "write all lines in one form",
        )
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
        hint = "a scorer failed there; mend the list, or leave such lines out with `skip_bad`"
        return "a finite number", f"{value} for {name!r}", hint
    expected, keys, hint = WORDS[fault]
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
