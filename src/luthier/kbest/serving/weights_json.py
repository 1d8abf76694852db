"""Weights as JSON: an object of names and numbers, or that object with what else a service must know.

    {"weights": {"lm": 0.4, "lp": 1.2}, "add": {"lp": "logprob/words"}, "missing": {"lm": -35.0}}

``add``      formulas of derived features, by name, each of which may use those before it
``missing``  what a feature counts in a candidate that lacks it; every other feature must be there
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from luthier.core.errors import InputError
from luthier.core.settings import parse_json, repeated


class WeightsFile(NamedTuple):
    """What a JSON file of weights holds."""

    weights: dict[str, float]
    derived: dict[str, str]
    missing: dict[str, float]


def parse_weights(text: str, path: str) -> WeightsFile:
    """Return the content of a file, whose name in errors is `path`."""
    try:
        found = parse_json(text, parse_int=float, object_pairs_hook=lambda pairs: _once(pairs, path))
    except ValueError as error:
        msg, line = getattr(error, "msg", str(error)), getattr(error, "lineno", None)
        raise InputError(expected="a JSON object of names and numbers", found=msg, path=path, line=line) from None
    if not isinstance(found, dict):
        raise InputError(expected="a JSON object of names and numbers", found=type(found).__name__, path=path)
    if not isinstance(found.get("weights"), dict):
        return WeightsFile(_numbers(found, path), {}, {})
    formulas, missing = (part if isinstance(part := found.get(name), dict) else {} for name in ("add", "missing"))
    for name, formula in formulas.items():
        if not isinstance(formula, str):
            raise InputError(expected=f"a formula for {name!r}", found=repr(formula), path=path)
    return WeightsFile(_numbers(found["weights"], path), formulas, _numbers(missing, path))


def _numbers(found: Mapping[str, Any], path: str) -> dict[str, float]:
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(expected=f"a finite number for {name!r}", found=repr(value), path=path)
    return {name: float(value) for name, value in found.items()}


def _once(pairs: list[tuple[str, object]], path: str) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise InputError(expected="each name once", found=f"{repeated(pairs)!r} twice", path=path)
    return table
