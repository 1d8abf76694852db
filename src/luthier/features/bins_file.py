"""Bins on disk: JSON that is read by eye, a line for each bin, all of it checked when it comes back."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import numpy as np

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import display_name, open_bytes, open_output
from luthier.core.plugins import available
from luthier.core.settings import MOST_BYTES, parse_json, typed
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
        raw = stream.read(MOST_BYTES + 1)
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
        return _bins(typed(content, _File))
    except LuthierError as error:
        found = f"damage ({str(error).rstrip('.')})"
        raise InputError(expected="a whole file of bins", found=found, path=name, hint=HINT) from None


def _fault(name: str, found: str) -> InputError:
    return InputError(expected=f"a file of bins ({KIND!r})", found=found, path=name, hint=HINT)


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is no number of JSON")


@dataclasses.dataclass(frozen=True)
class _Bin:
    """A line of the file; the numbers are those of `FeatureBins`."""

    name: str
    low: float
    high: float
    mean: float
    population: int
    capped: float


@dataclasses.dataclass(frozen=True)
class _Feature:
    """A feature of the file."""

    feature: str
    keep: bool
    wanted: int
    values: int
    error: float
    bins: tuple[_Bin, ...]


@dataclasses.dataclass(frozen=True)
class _File:
    """The whole file."""

    kind: str
    scope: str
    induction: str
    exact: bool
    origin: dict[str, Any]
    features: tuple[_Feature, ...]
    conjunctions: tuple[tuple[str, str], ...] = ()


def _bins(file: _File) -> Bins:
    if file.induction not in available(PACKAGE):
        raise LuthierError(f"there is no induction {file.induction!r}. known: {', '.join(available(PACKAGE))}")
    features = tuple(map(_feature, file.features))
    return Bins(features, file.scope, file.induction, file.exact, file.origin, file.conjunctions)  # type: ignore[arg-type]


def _feature(file: _Feature) -> FeatureBins:
    if not all(abs(one.population) < 2**62 for one in file.bins):
        raise LuthierError(f"a bin of {file.feature!r} has a population that is out of range")
    columns = {name: np.array([getattr(one, name) for one in file.bins]) for name in COLUMNS[1:]}
    return FeatureBins(
        feature=file.feature,
        names=tuple(one.name for one in file.bins),
        lows=columns["low"],
        highs=columns["high"],
        means=columns["mean"],
        populations=columns["population"],
        capped=columns["capped"],
        n_values=file.values,
        wanted=file.wanted,
        error=file.error,
        keep=file.keep,
    )
