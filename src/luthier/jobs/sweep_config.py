"""The file of a choice: pools, bins, a tuner, and which of their numbers are axes."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import content_hash, regular
from luthier.core.settings import Table, read_toml
from luthier.features.bins import SCOPES, Scope
from luthier.features.fit_bins import BinOptions
from luthier.jobs.loop_config import Sentences, check_k, take_sentences
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.tuning.base import Tuner, tuner
from luthier.tuning.options import LoopOptions

BITS = "bits"
ORDERS = ("grid", "axes")
KEYS = {
    "": {"tune", "heldout", "metric", "seed", "order", "passes", "start", "bins", "tuner", "decode"},
    "bins": {"features", BITS, "keep", "induction", "exact", "scope", "by_use", "grammar"},
    "tuner": {"method", "parameters"},
}
DECODING = ("model", "k", "features", "loop")  # further keys where points are decoded
MOST_BITS = 20

Point = tuple[tuple[str, Any], ...]  # axis and value, in the order of the axes


@dataclasses.dataclass(frozen=True)
class Decoding:
    """How points are tuned by a loop: with which system, on which sentences.

    Attributes
    ----------
    model : folder of a trained system
    tune, heldout : sentences with references
    k : hypotheses of each sentence
    features : of rules, those to use; None for all that the system has
    options : of the loops
    """

    model: Path
    tune: Sentences
    heldout: Sentences
    k: int
    features: tuple[str, ...] | None
    options: LoopOptions


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A file of a choice, read and checked.

    Attributes
    ----------
    tune, heldout : files of pools that carry derivations (or have the features themselves, for global bins)
        With `decoding` none is read.
    start : a file of weights, or None
    order : "grid" (all combinations) or "axes" (one axis after another, the others at the best so far)
    passes : over the axes
    fixed : values of bits and tuner parameters that are no axes
    axes : name → values; `BITS` is the first where it is one
    decoding : how points are decoded; None if lists are re-ranked
    """

    path: str
    tune: Path
    heldout: Path
    start: Path | None
    metric: Metric
    seed: int
    order: str
    passes: int
    bins: Mapping[str, Any]
    method: str
    fixed: Mapping[str, Any]
    axes: Mapping[str, tuple[Any, ...]]
    decoding: Decoding | None = None

    def first(self) -> Point:
        """Return the point of each axis' first value."""
        return tuple((name, values[0]) for name, values in self.axes.items())

    def grid(self) -> Iterator[Point]:
        """Yield all combinations, those of the first axis together."""
        for values in itertools.product(*self.axes.values()):
            yield tuple(zip(self.axes, values, strict=True))

    def along(self, axis: str, here: Point) -> list[Point]:
        """Return the points of one axis, all else as it is."""
        return [tuple((n, value if n == axis else v) for n, v in here) for value in self.axes[axis]]

    def bin_options(self, point: Point) -> BinOptions:
        """Return how features are cut at a point."""
        chosen = {name: self.bins[name] for name in ("keep", "induction", "exact") if name in self.bins}
        return BinOptions(bins=1 << int({**self.fixed, **dict(point)}[BITS]), **chosen)

    @property
    def scope(self) -> Scope:
        """What bins look at."""
        scope: Scope = self.bins.get("scope", "local")
        return scope

    @property
    def grammar(self) -> Path | None:
        """The rules that bins are cut by; None where the derivations of the tuning pool are."""
        return Path(self.path).parent / self.bins["grammar"] if "grammar" in self.bins else None

    def tuner(self, point: Point) -> Tuner:
        """Return the tuner at a point."""
        values = {**self.fixed, **dict(point)}
        return tuner(self.method, **{name: value for name, value in values.items() if name != BITS})

    def identity(self, point: Point, start: str, pools: Sequence[str]) -> dict[str, Any]:
        """Return what a point is, in full, with words for its start and what its lists are of."""
        bins = {**self.bins, **({} if self.grammar is None else {"grammar": content_hash(self.grammar)})}
        return {
            "values": texts_of(point),
            "tuner": self.tuner(point).spec,
            "bins": repr((sorted(bins.items(), key=str), self.bin_options(point).bins)),
            "metric": self.metric.signature,
            "seed": self.seed,
            "start": start,
            "pools": list(pools),
        }


def texts_of(point: Point) -> dict[str, str]:
    """Return a point as texts, by axis."""
    return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in point}


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """Return the choice that a TOML file describes; every point's constants are checked."""
    try:
        choosing = _choosing(str(path), read_toml(path, "a choice"))
        for point in choosing.grid():
            choosing.bin_options(point)
            choosing.tuner(point)
    except KeyError as error:
        raise InputError(expected=f"the key {error}", found="none", path=str(path)) from None
    except (TypeError, AttributeError) as error:
        raise LuthierError(f"{path}: a value is not of the kind that its owner has: {error}") from None
    return choosing


def _choosing(path: str, table: Mapping[str, Any]) -> Sweep:
    bins, method, home = table["bins"], table["tuner"], Path(path).parent
    decoding = _decoding(path, table) if table.get("decode", False) is True else None
    top = {key: value for key, value in table.items() if decoding is None or key not in DECODING}
    for name, part in (("", top), ("bins", bins), ("tuner", method)):
        unknown = sorted(set(part) - KEYS[name])
        if unknown:
            raise LuthierError(f"{path}: there is no {unknown[0]!r} here. known: {', '.join(sorted(KEYS[name]))}")
    values = {BITS: bins[BITS], **method.get("parameters", {})}
    axes = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    choosing = Sweep(
        path=path,
        tune=home if decoding else regular(home / table["tune"]),
        heldout=home if decoding else regular(home / table["heldout"]),
        start=regular(home / table["start"]) if "start" in table else None,
        metric=load_metric(table["metric"]),
        seed=table.get("seed", 0),
        order=table.get("order", "grid"),
        passes=table.get("passes", 1),
        bins=bins,
        method=method["method"],
        fixed={name: value for name, value in values.items() if name not in axes},
        axes=axes,
        decoding=decoding,
    )
    _check(choosing)
    return choosing


def _decoding(path: str, table: Mapping[str, Any]) -> Decoding:
    """Take what loops need: a system, and sentences in place of pools."""
    home, given = Path(path).parent, {key: table[key] for key in (*DECODING, "tune", "heldout") if key in table}
    file = Table(given, path)
    tune, heldout = (take_sentences(file.table(part), home) for part in ("tune", "heldout"))
    loop = file.table("loop")
    options = loop.fields(LoopOptions, seed=table.get("seed", 0), threads=1)
    loop.end()
    model, k, features = file.take("model", str), file.take("k", int, 100), file.texts("features", ())
    found = Decoding(home / model, tune, heldout, k, features or None, options)
    file.end()
    check_k(found.k, path)
    if options.choose == "heldout":
        raise LuthierError(f"{path}: expected loops whose answer is their last")
    return found


def _check(choosing: Sweep) -> None:
    bits = choosing.axes.get(BITS, (choosing.fixed.get(BITS),))
    complaints = (
        (
            choosing.decoding is not None and choosing.scope != "local",
            'a decoder has bins of rules only: scope = "local"',
        ),
        (
            choosing.grammar is not None
            and (choosing.decoding is not None or choosing.scope != "local" or "by_use" in choosing.bins),
            "bins are cut by a grammar, by use or globally: one of them, and a decoder has its own grammar",
        ),
        (choosing.order not in ORDERS, f"order must be one of {', '.join(ORDERS)}, found {choosing.order!r}"),
        (choosing.scope not in SCOPES, f"scope must be one of {', '.join(SCOPES)}, found {choosing.scope!r}"),
        (type(choosing.seed) is not int or choosing.seed < 0, f"seed must be a number from 0, found {choosing.seed!r}"),
        (type(choosing.passes) is not int or choosing.passes < 1, f"passes must be at least 1: {choosing.passes!r}"),
        (not choosing.axes, "nothing is to be chosen: give bits or a parameter of the tuner as a list"),
        (any(not values for values in choosing.axes.values()), "an axis has no values"),
        (any(len(set(map(repr, v))) != len(v) for v in choosing.axes.values()), "an axis has a value twice"),
        (
            any(type(b) is not int or not 0 <= b <= MOST_BITS for b in bits),
            f"bits must be from 0 to {MOST_BITS}: {bits}",
        ),
        (not isinstance(choosing.bins["features"], list) or not choosing.bins["features"], "no features are to be cut"),
    )
    for wrong, words in complaints:
        if wrong:
            raise LuthierError(f"{choosing.path}: {words}")
