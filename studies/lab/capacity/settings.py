"""What the TOML file of a study of capacity says, read and checked before anything runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self

from luthier.core.errors import LuthierError
from luthier.core.settings import Table
from luthier.jobs.loop_config import check_k
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.tuning.base import Tuner

from ..base import Entry, Study, read_tuner, require_known, take_name, take_seed
from ..lists import FILES, SYNTHETIC, ListEntry, read_lists
from ..system import PairData, read_pair

ORACLE, EXTREMES, CONES, ALL = "oracle", "random extremes", "cones", "all"
SELECTIONS = (ORACLE, EXTREMES)  # whether some weights make them is asked, and nothing tuned
SUMS, RANDOM, LEADING = "sums", "random", "leading"
DECODER = "decoder"
MOST_BITS = 12


class CapacityUnit(NamedTuple):
    """One question of a data set.

    Attributes
    ----------
    features : name of a set of features; of cones, how many hypotheses of each sentence
    space : where weights may be: `ALL`, or the name of a projection; of cones, how many axes
    tuner : its name; `ORACLE`: whether weights can select the oracle; `EXTREMES`: whether they can select one of each
        list's extreme hypotheses, drawn at random; `CONES`: how many selections there are
    """

    features: str
    space: str
    sentences: int
    tuner: str
    replica: int


class FeatureSet(NamedTuple):
    """Features beside those of the lists: 2^bits bins of each that is cut, and how often each rule is used."""

    bits: int
    rules: bool


@dataclasses.dataclass(frozen=True)
class Projection:
    """Few directions in place of all features, see `luthier.landscape.subspaces`."""

    kind: str
    axes: int


@dataclasses.dataclass(frozen=True)
class CapacityTuner:
    """A tuner, whether it stops where held-out sentences are best, and the projection whose weights it starts from."""

    tuner: Tuner
    heldout: bool
    begin: str


@dataclasses.dataclass(frozen=True)
class Grid:
    """Units that one table shows: all combinations."""

    title: str
    features: tuple[str, ...]
    spaces: tuple[str, ...]
    sentences: tuple[int, ...]
    tuners: tuple[str, ...]
    replicas: int
    data: tuple[str, ...]

    def units(self) -> Iterator[CapacityUnit]:
        """Yield them, replica after replica."""
        for replica in range(self.replicas):
            for features in self.features:
                for space in self.spaces:
                    for sentences in self.sentences:
                        yield from (CapacityUnit(features, space, sentences, t, replica) for t in self.tuners)


@dataclasses.dataclass(frozen=True)
class CapacityEntry(Entry):
    """A data set.

    Attributes
    ----------
    lists : synthetic ones or files; None where our own decoder makes them
    pair : the system of that decoder
    rules, own : its features of rules, and of its own
    k : hypotheses of each sentence
    heldout : how many of the sentences to tune on, the last ones, are held out
    cut : features that bins are made of; the bins of two together fire too, where `pairs` says so
    """

    lists: ListEntry | None
    pair: PairData | None
    rules: tuple[str, ...]
    own: tuple[str, ...]
    k: int
    heldout: int
    cut: tuple[str, ...]
    pairs: bool


ORACLES = ("corpus", "sentence")


def _oracle(file: Table, path: str) -> str:
    """Return which oracle is to be followed: the corpus's, found greedily, or of each sentence the best extreme row."""
    oracle = file.take("oracle", str, "corpus")
    if oracle not in ORACLES:
        raise LuthierError(f"{path}: expected an oracle ({', '.join(ORACLES)}), found {oracle!r}")
    return oracle


@dataclasses.dataclass(frozen=True)
class CapacityStudy(Study):
    """The settings of a study of capacity: what more features, sentences and directions let weights do."""

    data: tuple[CapacityEntry, ...]
    metric: Metric
    oracle: str
    features: Mapping[str, FeatureSet]
    projections: Mapping[str, Projection]
    tuners: Mapping[str, CapacityTuner]
    grids: tuple[Grid, ...]
    most_cones: int

    @property
    def names(self) -> set[str]:
        """The names of data sets and tuners."""
        return {*super().names, *self.tuners, *SELECTIONS, CONES}

    @classmethod
    def read(cls, file: Table, path: str) -> Self:
        """Return the study that a file describes."""
        study = cls(
            name=file.take("name", str),
            seed=take_seed(file, path),
            metric=load_metric(file.take("metric", str, "bleu")),
            oracle=_oracle(file, path),
            data=tuple(_entry(table, path) for table in file.tables("data")),
            features=dict(_feature_set(table) for table in file.tables("feature_set")),
            projections=dict(_projection(table, path) for table in _some(file, "projection")),
            tuners=dict(_tuner(table, path) for table in file.tables("tuner")),
            grids=tuple(_grid(table) for table in file.tables("grid")),
            most_cones=file.take("most_cones", int, 10_000),
        )
        file.end()
        _check(study, path)
        return study


def _some(file: Table, key: str) -> list[Table]:
    return file.tables(key) if file.has(key) else []


def _feature_set(table: Table) -> tuple[str, FeatureSet]:
    name, found = table.take("name", str), FeatureSet(table.take("bits", int, 0), table.take("rules", bool, False))
    table.end()
    return name, found


def _projection(table: Table, path: str) -> tuple[str, Projection]:
    name, kind, axes = table.take("name", str), table.take("kind", str), table.take("axes", int, 0)
    table.end()
    if kind not in (SUMS, RANDOM, LEADING) or (kind == SUMS) != (axes == 0) or axes < 0:
        raise LuthierError(f"{path}: expected the projection {name!r} to be sums, or random or leading with axes")
    return name, Projection(kind, axes)


def _tuner(table: Table, path: str) -> tuple[str, CapacityTuner]:
    heldout, begin = table.take("heldout", bool, False), table.take("begin", str, "")
    name, method = read_tuner(table, path)
    return name, CapacityTuner(method, heldout, begin)


def _grid(table: Table) -> Grid:
    grid = Grid(
        table.take("title", str),
        table.texts("features"),
        table.texts("spaces", (ALL,)),
        table.numbers("sentences", ()),
        table.texts("tuners"),
        table.take("replicas", int, 1),
        table.texts("data"),
    )
    table.end()
    return grid


def _entry(table: Table, path: str) -> CapacityEntry:
    source, name = table.take("source", str), take_name(table, path)
    k, heldout = check_k(table.take("k", int), path), table.take("heldout", int, 0)
    cut, pairs = table.texts("cut", ()), table.take("pairs", bool, False)
    rules, own = table.texts("rules", ()), table.texts("own", ())
    lists = pair = None
    if source == DECODER:
        pair = read_pair(Table({"name": name, **table.rest()}, path, "data"), path)
    elif source in (SYNTHETIC, FILES):
        lists = read_lists(table, path, name, source)
        table.end()
    else:
        raise LuthierError(f"{path}: expected the source {SYNTHETIC!r}, {FILES!r} or {DECODER!r}, found {source!r}")
    if k < 1 or heldout < 0:
        raise LuthierError(f"{path}: expected a list of at least one hypothesis and 0 or more sentences to hold out")
    return CapacityEntry(name, lists, pair, rules, own, k, heldout, cut, pairs)


def _check(study: CapacityStudy, path: str) -> None:
    """Raise for names that nothing has, and for units that cannot be."""
    faults = [
        (study.most_cones < 1, "at least one cone"),
        (any(not 0 <= bits <= MOST_BITS for bits, _ in study.features.values()), f"bits from 0 to {MOST_BITS}"),
        (
            bool({*SELECTIONS, CONES} & set(study.tuners)),
            f"tuners with other names than {', '.join(SELECTIONS)}, {CONES}",
        ),
        (ALL in study.projections, f"projections with other names than {ALL}"),
    ]
    for grid in study.grids:
        own = f"in the grid {grid.title!r}"
        counting = CONES in grid.tuners
        faults += [
            (grid.replicas < 1 or not grid.sentences or min(grid.sentences) < 1, f"replicas and sentences {own}"),
            (
                counting and not all(map(_is_count, grid.features + grid.spaces)),
                f"numbers of hypotheses and axes {own}",
            ),
            (counting and grid.tuners != (CONES,), f"cones alone {own}"),
            (bool({*SELECTIONS} & {*grid.tuners}) and grid.spaces != (ALL,), f"the oracle with all features {own}"),
        ]
        require_known("data set", grid.data, [entry.name for entry in study.data], path)
        if not counting:
            require_known("set of features", grid.features, study.features, path)
            require_known("projection", grid.spaces, [ALL, *study.projections], path)
            require_known("tuner", grid.tuners, [*SELECTIONS, *study.tuners], path)
    for tuner in study.tuners.values():
        require_known("projection", [tuner.begin] if tuner.begin else [], study.projections, path)
    for wrong, expected in faults:
        if wrong:
            raise LuthierError(f"{path}: expected {expected}")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and int(text) > 0
