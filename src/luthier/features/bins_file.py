"""Bins on disk: JSON that is read by eye, a line for each bin, all of it checked when it comes back."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import display_name, open_bytes, open_output
from luthier.core.plugins import available
from luthier.core.settings import parse_json
from luthier.features.bins import Bins, FeatureBins
from luthier.features.induction import PACKAGE

KIND = "luthier bins 1"
HINT = "make it again: luthier engine bins"
COLUMNS = ("name", "low", "high", "mean", "population", "capped")


def write_bins(bins: Bins, path: str | os.PathLike[str]) -> None:
    """Write bins to a file; ``-`` is standard output."""
    with open_output(path) as file:
        file.write(bins_text(bins).encode("utf-8"))


def bins_text(bins: Bins) -> str:
    """Return bins as a file has them."""
    head = {
        "kind": KIND,
        "scope": bins.scope,
        "induction": bins.induction,
        "exact": bins.exact,
        "origin": dict(bins.origin),
        "conjunctions": [list(pair) for pair in bins.conjunctions],
    }
    lines = [f' "{key}": {_json(value)},' for key, value in head.items()]
    features = ",\n".join(_feature_text(feature) for feature in bins.features)
    return "\n".join(["{", *lines, ' "features": [', features, " ]", "}", ""])


def _feature_text(feature: FeatureBins) -> str:
    head = {
        "feature": feature.feature,
        "keep": feature.keep,
        "wanted": feature.wanted,
        "values": feature.n_values,
        "error": feature.error,
    }
    columns = (
        feature.names,
        feature.lows.tolist(),
        feature.highs.tolist(),
        feature.means.tolist(),
        feature.populations.tolist(),
        feature.capped.tolist(),
    )
    rows = ["   " + _json(dict(zip(COLUMNS, values, strict=True))) for values in zip(*columns, strict=True)]
    return f"  {_json(head)[:-1]}, " + '"bins": [\n' + ",\n".join(rows) + "\n  ]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_bins(path: str | os.PathLike[str]) -> Bins:
    """Read bins.

    Raises
    ------
    InputError
        What is no file of bins, misses something, or has bins that overlap; with the file and the feature.
    """
    with open_bytes(path) as stream:
        raw = stream.read()
    name = display_name(path)
    try:
        return parse_bins(raw.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        raise _fault(name, str(error)) from None


def parse_bins(text: str, name: str) -> Bins:
    """Return bins from the text of a file; `name` is that of the file, for what is wrong in it."""
    try:
        content = parse_json(text, parse_constant=_refuse)
    except ValueError as error:
        raise _fault(name, f"{str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise _fault(name, "something else")
    try:
        return _bins(content)
    except InputError:
        raise
    except LuthierError as error:
        raise InputError(expected="a whole file of bins", found=f"damage ({error})", path=name, hint=HINT) from None


def _fault(name: str, found: str) -> InputError:
    return InputError(expected=f"a file of bins ({KIND!r})", found=found, path=name, hint=HINT)


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


def _bins(content: Mapping[str, Any]) -> Bins:
    induction = _typed(content, "induction", str)
    if induction not in available(PACKAGE):
        raise LuthierError(f"there is no induction {induction!r}. known: {', '.join(available(PACKAGE))}")
    features = _typed(content, "features", list)
    return Bins(
        tuple(_feature(feature) for feature in features),
        _typed(content, "scope", str),
        induction,
        _typed(content, "exact", bool),
        _typed(content, "origin", dict),
        _pairs(content),
    )


def _pairs(content: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    pairs = _typed(content, "conjunctions", list) if "conjunctions" in content else []
    if not all(isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, str) for n in pair) for pair in pairs):
        raise LuthierError("'conjunctions' are no pairs of names")
    return tuple((first, second) for first, second in pairs)


def _feature(content: Any) -> FeatureBins:
    if not isinstance(content, dict):
        raise LuthierError("a feature is no object")
    name = _typed(content, "feature", str)
    rows = _typed(content, "bins", list)
    if not all(isinstance(row, dict) for row in rows):
        raise LuthierError(f"a bin of {name!r} is no object")
    numbers = {column: _numbers(rows, column, name) for column in COLUMNS[1:]}
    return FeatureBins(
        name,
        tuple(_typed(row, "name", str) for row in rows),
        numbers["low"],
        numbers["high"],
        numbers["mean"],
        numbers["population"],
        numbers["capped"],
        _typed(content, "values", int),
        _typed(content, "wanted", int),
        float(_typed(content, "error", (int, float))),
        _typed(content, "keep", bool),
    )


def _numbers(rows: Sequence[Mapping[str, Any]], column: str, feature: str) -> Any:
    import numpy as np

    whole = column == "population"
    values = [_typed(row, column, int if whole else (int, float)) for row in rows]
    if not all(math.isfinite(value) and abs(value) < 2**62 if whole else _is_finite(value) for value in values):
        raise LuthierError(f"a bin of {feature!r} has a {column} that is out of range")
    return np.array(values, dtype=np.int64 if whole else np.float64)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _typed(content: Mapping[str, Any], key: str, kind: Any) -> Any:
    value = content.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise LuthierError(f"{key!r} is missing or of a wrong kind")
    return value
