"""Consensus: plain minimum Bayes risk, its utilities tuned, model features tuned, and both, by every metric.

A unit is a goal (what weights are tuned for) on folds of the tuning lists or on the test lists, or the map of what the
metrics trade. Folds come first: the test lists are looked at once.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

import luthier
from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.files.journal import Record
from luthier.core.jit import Stopwatch
from luthier.core.rng import make_rng
from luthier.core.settings import Table
from luthier.evaluation.comparison import Settings, compare
from luthier.evaluation.randomisation import holm
from luthier.evaluation.systems import System
from luthier.kbest.merge import Transforms
from luthier.kbest.pool import Pool
from luthier.metrics.base import Metric
from luthier.metrics.pools import pool_statistics
from luthier.tuning.base import Tuner

from ..base import Place, Size, Study, Units, markdown, read_metric, read_tuner, take_name, take_seed, write_tables
from ..lines import LineKind, require, require_texts
from ..lists import ListEntry, StudyLists, load_lists, read_lists

FOLDS, TEST, MAP = "folds", "test", "map"
FEATURES, UTILITIES, BOTH = "features, tuned", "utilities, tuned", "features and utilities, tuned"


def _check_line(record: Record) -> None:
    require_texts(record, "study", "data", "where", "goal", "signature")
    require(isinstance(record["found"], dict), "found")


class Unit(NamedTuple):
    """Where weights are tried, and what they are tuned for; '' for the map."""

    where: str
    goal: str


@dataclasses.dataclass(frozen=True)
class Method(Study):
    """A study of consensus; `goals` are what is tuned for, `metrics` what is reported.

    The evidence is the `first` so many hypotheses of each list; None takes all.
    """

    line = LineKind(key=("data", "where", "goal"), identity=("signature", "pools"), check=_check_line)

    data: tuple[ListEntry, ...]
    goals: Mapping[str, Metric]
    metrics: Mapping[str, Metric]
    utilities: tuple[str, ...]
    tuner: Tuner
    restarts: int
    replicas: int
    folds: int
    starts: int
    first: int | None

    @classmethod
    def read(cls, file: Table, path: str) -> Self:
        """Return the study that a file describes."""
        entries = []
        for table in file.tables("data"):
            entries.append(read_lists(table, path, take_name(table, path), table.take("source", str)))
            table.end()
        goals = dict(read_metric(table) for table in file.tables("goal"))
        metrics = dict(read_metric(table) for table in file.tables("metric"))
        name, seed = file.take("name", str), take_seed(file, path)
        _, tuner = read_tuner(file.table("tuner"), path)
        numbers: list[Any] = [file.take(key, int) for key in ("restarts", "replicas", "folds", "starts")]
        numbers.append(file.take("first", int, None))
        study = cls(name, seed, tuple(entries), goals, metrics, file.texts("utilities"), tuner, *numbers)
        file.end()
        few = min(numbers[1:4]) < 1 or (study.first is not None and study.first < 1)
        if numbers[0] < 0 or few or study.folds < 2 or len(metrics) < 2 or not study.utilities:
            raise LuthierError(f"{path}: expected utilities, two metrics, 'folds' of 2 and other numbers of at least 1")
        return study

    @property
    def signature(self) -> str:
        """All that decides what a unit finds, besides its lists and its goal."""
        parts = [self.seed, self.restarts, self.replicas, self.folds, self.starts, self.tuner.spec, *self.utilities]
        parts += [metric.spec for metric in self.metrics.values()]
        return " ".join(map(str, parts if self.first is None else [*parts, f"first {self.first}"]))

    def units(self, entry: ListEntry, place: Place) -> ConsensusUnits | None:
        """Return the units of a data set; None where its files are not here."""
        lists = load_lists(entry, place.data)
        return None if lists is None else ConsensusUnits(self, lists, place)

    def size_of(self, record: Record) -> Size:
        """Return how large the unit of a line is; the map has no replicas."""
        return super().size_of(record)._replace(replicas=range(record.get("replicas", 0)))

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write the tables."""
        parts = [self.size_table(records)]
        for record in records:
            title = f"## {record['data']}, {record['where']}" + (
                f", tuned for {record['goal']}" if record["goal"] else ""
            )
            parts += [f"{title}\n", *(_map_tables if record["where"] == MAP else _score_tables)(record["found"])]
        return [write_tables(place, self.name, parts)]


class ConsensusUnits(Units):
    """The goals of one data set, on folds and on the test lists, and its map."""

    def __init__(self, study: Method, lists: StudyLists, place: Place) -> None:
        super().__init__(lists.name, place)
        self.study, self.lists = study, lists
        both = (lists.tune, lists.test)
        self.tune, self.test = (_quietly(luthier.mbr, pool, study.utilities, first=study.first).pool for pool in both)

    @property
    def state(self) -> str:
        """The digests of the lists."""
        return " ".join(self.lists.digests)

    def all(self) -> Iterator[Unit]:
        """Yield all units, those on folds first."""
        for where in (FOLDS, TEST):
            yield from (Unit(where, goal) for goal in self.study.goals)
        yield Unit(MAP, "")

    def record(self, unit: Unit) -> Record:
        """Return what identifies a unit, in full."""
        goal = self.study.goals[unit.goal].spec if unit.goal else ""
        return {
            "study": self.study.name, "data": self.label, "where": unit.where, "goal": unit.goal,
            "signature": f"{goal} {self.study.signature}", "pools": list(self.lists.digests),
        }  # fmt: skip

    def run(self, unit: Unit) -> Record:
        """Return a unit with what it found, and how large it is."""
        watch = Stopwatch()
        results = {"found": self._map()} if unit.where == MAP else self._compare(unit)
        spent = round(watch.seconds()[0], 1)
        return {**self.record(unit), **results, "size": self.lists.size, "cpu_seconds": spent}

    def _compare(self, unit: Unit) -> Record:
        """Return what every system reaches, and the weights that were found."""
        goal = self.study.goals[unit.goal]
        pool = self.tune if unit.where == FOLDS else self.test
        systems = {FEATURES: self.model_features, UTILITIES: self.utility_features}
        systems[BOTH] = [*self.model_features, *self.utility_features]
        tuned = {name: self._tuned(unit.where, goal, names) for name, names in systems.items()}
        rows = {FEATURES: tuned[FEATURES][0]}
        rows["decoder"] = luthier.rerank(pool, self._vector(self._start(self.model_features)))[None]
        for name in self.utility_features:
            rows[f"MBR, {name.removeprefix('mbr_')}"] = luthier.rerank(pool, self._vector({name: 1.0}))[None]
        alike = dict.fromkeys(self.utility_features, 1.0)
        rows["MBR, average"] = luthier.rerank(pool, self._vector(alike))[None]
        rows |= {name: tuned[name][0] for name in (UTILITIES, BOTH)}
        weights = {name: found for name, (_, found) in tuned.items() if found}
        return {"found": self._compared(pool, rows), "weights": weights, "replicas": self.study.replicas}

    @property
    def model_features(self) -> list[str]:
        """The features that the lists came with."""
        return list(self.lists.tune.features.names)

    @property
    def utility_features(self) -> list[str]:
        """Those that consensus added."""
        return [name for name in self.tune.features.names if name not in set(self.lists.tune.features.names)]

    def _start(self, names: Sequence[str]) -> dict[str, float]:
        """Return the decoder's weights of model features, and 0 for utilities; 1 for these where they are alone."""
        known = dict(zip(self.lists.tune.features.names, self.lists.start.tolist(), strict=True))
        alone = not set(names) & set(known)
        return {name: known.get(name, 1.0 if alone else 0.0) for name in names}

    def _vector(self, weights: Mapping[str, float]) -> Float64:
        return np.array([weights.get(name, 0.0) for name in self.tune.features.names])

    def _tuned(self, where: str, goal: Metric, names: Sequence[str]) -> tuple[Int64, list[dict[str, float]]]:
        """Return the rows that replicas select, (R, N): of the test lists, or of each fold by the others' weights.

        With the test lists, the weights of each replica come too.
        """
        pool = Transforms(select=names).apply(self.tune)
        if where == TEST:
            found = list(self._replicas(pool, goal, names))
            vectors = np.array([self._vector(weights) for weights in found])
            return np.array([luthier.rerank(self.test, vector) for vector in vectors]), found
        n = self.tune.n_sentences
        fold_of = make_rng(self.study.seed).permutation(n) % self.study.folds
        rows = np.empty((self.study.replicas, n), dtype=np.int64)
        for fold in range(self.study.folds):
            rest, own = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            for r, weights in enumerate(self._replicas(pool.take_sentences(rest), goal, names)):
                rows[r, own] = luthier.rerank(self.tune, self._vector(weights))[own]
        return rows, []

    def _replicas(self, pool: Pool, goal: Metric, names: Sequence[str]) -> Iterator[dict[str, float]]:
        study = self.study
        for r in range(study.replicas):
            found = _quietly(
                luthier.tune, pool, goal, study.tuner, start=self._start(names), restarts=study.restarts,
                seed=study.seed + r, threads=1,
            )  # fmt: skip
            yield dict(found.weights)

    def _compared(self, pool: Pool, rows: Mapping[str, Int64]) -> dict[str, Any]:
        """Return means, spreads and differences to tuned features by every metric; p is corrected for all systems."""
        stats = {label: pool_statistics(pool, metric) for label, metric in self.study.metrics.items()}
        systems = [System(name, {label: own[picked] for label, own in stats.items()}) for name, picked in rows.items()]
        found = compare(systems, self.study.metrics, Settings(seed=self.study.seed))
        out: dict[str, Any] = {}
        for metric in found.metrics:
            differences = [result.against_baseline for result in metric.results]
            corrected = iter(holm([d.randomisation_p for d in differences if d is not None]).tolist())
            for result, against in zip(metric.results, differences, strict=True):
                row = {"mean": result.mean, "s_sel": result.s_sel, "s_opt": result.s_opt}
                if against is not None:
                    row |= {"difference": against.difference, "p": next(corrected)}
                out.setdefault(result.system, {})[metric.metric] = row
        return out

    def _map(self) -> dict[str, Any]:
        """Return what the metrics trade on the tuning lists, with the mix on the test lists."""
        start = self._vector(self._start(self.model_features))
        metrics = [metric for metric in self.study.metrics.values() if metric.higher_is_better is not None]
        found = luthier.tradeoff(
            self.tune, metrics, weights=start, starts=self.study.starts, seed=self.study.seed, heldout=self.test
        )
        about = found.as_dict()
        points = {label: about["front"][i] for label, i in {**about["best"], "the mix": found.mix}.items()}
        shown = {
            label: {"tune": one["scores"], "test": one["heldout"], "weights": one["weights"]}
            for label, one in points.items()
        }
        return {"points": len(found.scores), "best": shown, "conflicts": about["conflicts"]}


def _quietly(function: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LuthierWarning)
        return function(*arguments, **options)


def _score_tables(found: Mapping[str, Any]) -> list[str]:
    labels = list(next(iter(found.values())))
    rows = []
    for system, scores in found.items():
        cells = [system]
        for label in labels:
            one = scores[label]
            spread = "" if one["s_opt"] is None else f" ± {one['s_opt']:.2f}"
            p = f" (p {one['p']:.3f})" if "p" in one else ""
            cells.append(f"{one['mean']:.2f}{spread}{p}")
        rows.append(cells)
    return [markdown(["system", *labels], rows, {0})]


def _map_tables(found: Mapping[str, Any]) -> list[str]:
    labels = list(next(iter(found["best"].values()))["tune"])
    head = ["best of", *(f"tune: {label}" for label in labels), *(f"test: {label}" for label in labels)]
    rows = [
        [name, *(f"{one[side][label]:.2f}" for side in ("tune", "test") for label in labels)]
        for name, one in found["best"].items()
    ]
    conflicts = [
        [f"{c['first']}, {c['second']}", str(c["points"]), f"{c['first_price']:.2f}", f"{c['second_price']:.2f}"]
        for c in found["conflicts"]
    ]
    return [
        f"An inner front of {found['points']} points.\n",
        markdown(head, rows, {0}),
        markdown(["pair", "points", "price of the first", "price of the second"], conflicts, {0}),
    ]
