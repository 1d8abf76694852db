"""Tuners from many starts: every tuner on every metric and data set from every start is a unit.

The line of a unit has its seed, start weights, the tuner and the metric with all parameters, and hashes of the lists.
Units run one at a time by default, so that their times mean something.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from luthier import __version__
from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.journal import Record
from luthier.core.rng import make_rng
from luthier.core.settings import Table
from luthier.kbest.spread import spread_in_lists
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.problem import effect_units
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.tuning.base import Tuner
from luthier.tuning.restarts import draw_start
from luthier.tuning.run import RunOptions, run

from ..base import (
    LEAST_SETS,
    UNITS,
    Place,
    Size,
    Starts,
    Study,
    Units,
    read_metric,
    read_starts,
    read_tuner,
    take_name,
    take_seed,
    write_tables,
)
from ..lines import LineKind, is_number, require, require_counts, require_numbers, require_texts
from ..lists import FILES, SYNTHETIC, ListEntry, StudyLists, SyntheticPart, load_lists, read_lists
from ..start_tables import UNTUNED, Reached, draw_starts, table_parts, together_table

NO_TUNING = "no tuning"  # the name of the unit that only scores the weights starts are drawn about


def _check_line(record: Record) -> None:
    require_texts(record, "study", "data", "tuner", "metric", "method", "signature", "ended")
    require_numbers(record, "gain", "start_gain", "cpu_seconds", "seconds")
    require_counts(record, "start", least=UNTUNED)
    require_counts(record, "seed", "steps")
    for name in ("weights", "start_weights"):
        require(isinstance(record[name], list) and all(map(is_number, record[name])), name)
    require(len(record["weights"]) == len(record["start_weights"]), "weights")
    require(isinstance(record["test"], dict) and all(map(is_number, record["test"].values())), "test")
    require(isinstance(record["higher_is_better"], bool), "higher_is_better")


LINES = LineKind(
    ("data", "tuner", "metric", "start"), ("method", "signature", "pools", "start_weights", "seed"), _check_line
)


@dataclasses.dataclass(frozen=True)
class StartEntry(ListEntry):
    """Lists, and what is tuned on them.

    Attributes
    ----------
    metrics : names of those to tune for
    count : of starts, if other than the study's
    test_by : the metric whose best weights are tested
    """

    metrics: tuple[str, ...]
    count: int | None
    test_by: str


@dataclasses.dataclass(frozen=True)
class Method(Study):
    """A study of starts.

    Attributes
    ----------
    tuners, metrics : to tune with and to tune for, by the names the study gives them
    test_metrics : to score the test lists with, by name
    """

    line = LINES
    repeats = "starts"

    data: tuple[StartEntry, ...]
    tuners: Mapping[str, Tuner]
    metrics: Mapping[str, Metric]
    test_metrics: Mapping[str, Metric]
    starts: Starts

    @classmethod
    def read(cls, file: Table, path: str) -> Self:
        """Return the study that a file describes."""
        starts, test = read_starts(file.table("starts"), path), file.table("test")
        metrics = dict(read_metric(table) for table in file.tables("metric"))
        by = test.take("by", str)
        study = cls(
            name=file.take("name", str),
            seed=take_seed(file, path),
            metrics=metrics,
            starts=starts,
            data=tuple(_entry(table, path, tuple(metrics), by) for table in file.tables("data")),
            tuners=dict(read_tuner(table, path) for table in file.tables("tuner")),
            test_metrics={name: load_metric(str(spec)) for name, spec in test.table("metrics").rest().items()},
        )
        for table in (test, file):
            table.end()
        for name in [name for entry in study.data for name in (*entry.metrics, entry.test_by)]:
            if name not in study.metrics:
                raise LuthierError(f"{path}: there is no metric {name!r} in this study")
        return study

    @property
    def names(self) -> set[str]:
        """The names of data sets, tuners and metrics."""
        return {*super().names, *self.tuners, *self.metrics}

    def units(self, entry: StartEntry, place: Place) -> StartUnits | None:
        """Return the units of a data set; None where its files are not here."""
        lists = load_lists(entry, place.data)
        return None if lists is None else StartUnits(self, entry, lists, place)

    def size_of(self, record: Record) -> Size:
        """Return how large the unit of a line is."""
        return super().size_of(record)._replace(replicas=() if record["start"] == UNTUNED else (record["start"],))

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write tables, and a figure for each data set; return their paths."""
        records = self._in_order(records)
        self._check_tests(records, place.folder / UNITS)
        parts, pictures = [self.size_table(records)], []
        together: list[list[Reached]] = []
        for entry in self.data:
            units = [Reached.from_record(record) for record in records if record["data"] == entry.name]
            if units:
                parts += table_parts(entry.name, units, entry.test_by)
                pictures.append(place.folder / f"{entry.name}.png")
                draw_starts(units, f"{self.name}: {entry.name}", pictures[-1])
                together += [units] if isinstance(entry.tune, SyntheticPart) else []
        if len(together) >= LEAST_SETS:
            parts.insert(1, f"## All synthetic data sets\n\n{together_table(together)}")
        return [*map(str, pictures), write_tables(place, self.name, parts)] if pictures else []

    def _check_tests(self, records: Sequence[Record], path: Path) -> None:
        """Refuse lines of units that were tested otherwise: tables have a column for each test."""
        for record in records:
            if record["test"].keys() != self.test_metrics.keys():
                raise LuthierError(
                    f"{path}: expected test scores by {', '.join(self.test_metrics) or 'nothing'}, found a line with "
                    f"{', '.join(map(repr, record['test'])) or 'none'}. hint: were tests changed? name another folder"
                )

    def _in_order(self, records: Sequence[Record]) -> list[Record]:
        """Return the units that the study still names, in its order, whatever the order they were run in."""
        metrics, tuners = list(self.metrics), [NO_TUNING, *self.tuners]
        known = [r for r in records if r["metric"] in metrics and r["tuner"] in tuners]
        return sorted(known, key=lambda r: (metrics.index(r["metric"]), tuners.index(r["tuner"]), r["start"]))


def _entry(table: Table, path: str, metrics: tuple[str, ...], by: str) -> StartEntry:
    name, source = take_name(table, path), table.take("source", str)
    if source not in (SYNTHETIC, FILES):
        raise LuthierError(f"{path}: expected the source {SYNTHETIC!r} or {FILES!r}, found {source!r}")
    lists, count = read_lists(table, path, name, source), table.take("starts", int, None)
    entry = StartEntry(
        **vars(lists), metrics=table.texts("metrics", metrics), count=count, test_by=table.take("test_by", str, by)
    )
    table.end()
    if count is not None and count < 1:
        raise LuthierError(f"{path}: expected at least one start of {name!r}, found {count}")
    return entry


class StartUnit(NamedTuple):
    """One unit of a data set, by the names of the study and the number of the start."""

    metric: str
    tuner: str
    start: int


class StartUnits(Units):
    """The units of one data set."""

    def __init__(self, study: Method, entry: StartEntry, lists: StudyLists, place: Place) -> None:
        super().__init__(entry.name, place)
        self.study, self.lists, only = study, lists, place.only
        self.tuners = {n: t for n, t in study.tuners.items() if only not in study.tuners or n == only}
        self.metrics = {n: study.metrics[n] for n in entry.metrics if only not in study.metrics or n == only}
        self.starts = self._draw(min(study.starts.count, entry.count or study.starts.count))
        self.problems = {name: ListProblem.of(lists.tune, metric) for name, metric in self.metrics.items()}
        self.tests = {name: ListProblem.of(lists.test, metric) for name, metric in study.test_metrics.items()}

    @property
    def state(self) -> str:
        """The digests of both pools."""
        return " ".join(self.lists.digests)

    def _draw(self, count: int) -> list[Float64]:
        """Return the starts, the same for all tuners and metrics; the first n of more are those of n."""
        starts, start = self.study.starts, self.lists.start
        scale = starts.size * effect_units(spread_in_lists(self.lists.tune), start)
        free = Bounds.none(len(start))
        return [draw_start(starts.kind, start, scale, free, rng) for rng in make_rng(self.study.seed).spawn(count)]

    def all(self) -> Iterator[StartUnit]:
        """Yield every unit, in the order of the study."""
        for metric in self.metrics:
            yield StartUnit(metric, NO_TUNING, UNTUNED)
            yield from (StartUnit(metric, name, number) for name in self.tuners for number in range(len(self.starts)))

    def start(self, unit: StartUnit) -> Float64:
        """Return the weights a unit starts from, (D,)."""
        return self.lists.start if unit.start < 0 else self.starts[unit.start]

    def record(self, unit: StartUnit) -> Record:
        """Return what identifies a unit, in full."""
        return {
            "study": self.study.name,
            "data": self.label,
            "tuner": unit.tuner,
            "metric": unit.metric,
            "start": unit.start,
            "seed": max(0, unit.start),
            "method": "" if unit.tuner == NO_TUNING else self.tuners[unit.tuner].spec,
            "signature": self.metrics[unit.metric].signature,
            "pools": list(self.lists.digests),
            "start_weights": self.start(unit).tolist(),
        }

    def run(self, unit: StartUnit) -> Record:
        """Return a unit with its results."""
        problem, start = self.problems[unit.metric], self.start(unit)
        results: Record
        if unit.tuner == NO_TUNING:
            weights, gain = start, problem.gain(start)
            results = {"start_gain": gain, "steps": 0, "ended": "", "cpu_seconds": 0.0, "seconds": 0.0}
        else:
            found = run(self.tuners[unit.tuner], problem, start, RunOptions(seed=max(0, unit.start)))
            if found.interrupted:
                raise KeyboardInterrupt
            states, weights, gain = found.traces[0].states, found.weights, found.gain
            cpu, wall = (round(value, 4) for value in found.seconds)
            results = {
                "start_gain": found.start_gain,
                "steps": len(states) - 1,
                "ended": states[-1].did,
                "cpu_seconds": cpu,
                "seconds": wall,
            }
        # the gain of a gain is the score again
        tests = {n: float(p.metric.gain(p.gains(weights[None]))[0]) for n, p in self.tests.items()}
        return {
            **self.record(unit),
            "gain": gain,
            "higher_is_better": bool(problem.metric.higher_is_better),
            **results,
            "test": tests,
            "weights": weights.tolist(),
            "size": self.lists.size,
            "luthier": __version__,
        }
