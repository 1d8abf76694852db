"""Studies of tuners from many starts: every tuner on every metric and data set from every start is a unit.

The line of a unit has its seed, start weights, the tuner and the metric with all parameters, and hashes of the lists.
Units are run one at a time unless somebody asks otherwise, so that their times mean something. Tables and figures are
made from the lines alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from luthier import __version__
from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.io import open_output
from luthier.core.files.journal import Record
from luthier.core.progress import notice
from luthier.core.rng import make_rng
from luthier.core.settings import read_toml
from luthier.core.tasks import Engine, Given
from luthier.kbest.spread import spread_in_lists
from luthier.landscape.bounds import Bounds
from luthier.landscape.list_problem import ListProblem
from luthier.landscape.units import effect_units
from luthier.tuning.restarts import draw_start
from luthier.tuning.run import RunOptions, run

from .data import DataEntry, StudyData, load_data
from .lines import START_LINES, Kept, LineKind
from .reached import Reached
from .start_figure import draw_starts
from .start_settings import StartSettings, read_start_settings
from .start_tables import study_tables
from .units import TABLES, UNITS, Place

NO_TUNING = "no tuning"  # the name of the unit that only scores the weights starts are drawn about


class StartStudy(StartSettings):
    """A study file, read and checked."""

    @property
    def line(self) -> LineKind:
        """What its lines are."""
        return START_LINES

    @property
    def names(self) -> set[str]:
        """The names of data sets, tuners and metrics."""
        return {*(entry.name for entry in self.data), *self.tuners, *self.metrics}

    def unit_sets(self, place: Place, kept: Kept, engine: Engine | None) -> Iterator[StartUnits]:  # noqa: ARG002
        """Yield the units of each data set whose files are here."""
        names = {entry.name for entry in self.data}
        for entry in self.data:
            if place.only in names - {entry.name}:
                continue
            loaded = load_data(entry, place.data)
            if loaded is None:
                notice(f"{entry.name}: left out, for its files are not here. hint: `data` DIR")
                continue
            yield StartUnits(self, entry, loaded, place)

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write tables and figures of the units; return their paths."""
        folder, records = place.folder, _in_order(self, records)
        _check_tests(self, records, folder / UNITS)
        by_data = {entry.name: [r for r in records if r["data"] == entry.name] for entry in self.data}
        chosen = {entry.name: entry.test_by for entry in self.data}
        done = {name: [Reached.from_record(unit) for unit in units] for name, units in by_data.items() if units}
        if not done:
            return []
        with open_output(folder / TABLES) as file:
            file.write(study_tables(self.name, done, chosen).encode("utf-8"))
        pictures = [folder / f"{name}.png" for name in done]
        for (name, units), picture in zip(done.items(), pictures, strict=True):
            draw_starts(units, f"{self.name}: {name}", picture)
        return [*map(str, pictures), str(folder / TABLES)]


def read_start_study(values: Mapping[str, Any], path: str) -> StartStudy:
    """Return the study that the tables of a file describe."""
    return StartStudy(**vars(read_start_settings(values, path)))


class StartUnit(NamedTuple):
    """One unit of a data set, by the names of the study and the number of the start."""

    metric: str
    tuner: str
    start: int


@dataclasses.dataclass(frozen=True)
class StartRecipe:
    """How another process gets the units of a data set: from the study's file, with the digests of its pools."""

    place: Place
    name: str
    digests: tuple[str, str]

    def open(self) -> StartUnits:
        """Return the units; refuse data that are not those of the process that asks."""
        path = Path(self.place.path)
        study = read_start_study(read_toml(path, "a study"), str(path))
        entry = next((entry for entry in study.data if entry.name == self.name), None)
        loaded = None if entry is None else load_data(entry, self.place.data)
        if entry is None or loaded is None or loaded.digests != self.digests:
            raise LuthierError(f"{path}: the data {self.name!r} are not the same here")
        return StartUnits(study, entry, loaded, self.place)


class StartUnits:
    """The units of one data set."""

    def __init__(self, study: StartStudy, entry: DataEntry, data: StudyData, place: Place) -> None:
        self.study, self.data, self.place, only = study, data, place, place.only
        self.tuners = {n: t for n, t in study.tuners.items() if only not in study.tuners or n == only}
        self.metrics = {n: study.metrics[n] for n in entry.metrics if only not in study.metrics or n == only}
        self.starts = self._draw(min(study.starts, entry.starts or study.starts))
        self.problems = {name: ListProblem.of(data.tune, metric) for name, metric in self.metrics.items()}
        self.tests = {name: ListProblem.of(data.test, metric) for name, metric in study.test_metrics.items()}

    def _draw(self, count: int) -> list[Float64]:
        """Return the starts, the same for all tuners and metrics; the first n of more are those of n."""
        study, start = self.study, self.data.start
        scale = study.size * effect_units(spread_in_lists(self.data.tune), start)
        free = Bounds.none(len(start))
        return [draw_start(study.kind, start, scale, free, rng) for rng in make_rng(study.seed).spawn(count)]

    def all(self) -> Iterator[StartUnit]:
        """Yield every unit, in the order of the study."""
        for metric in self.metrics:
            yield StartUnit(metric, NO_TUNING, -1)
            yield from (StartUnit(metric, name, number) for name in self.tuners for number in range(len(self.starts)))

    @property
    def label(self) -> str:
        """What they are, for people."""
        return self.data.name

    def given(self) -> Given:
        """Return these units, and how another process gets them."""
        return Given(self, StartRecipe(self.place.absolute(), self.data.name, self.data.digests))

    def after(self, record: Record) -> None:
        """Do nothing: a line is all there is."""

    def start(self, unit: StartUnit) -> Float64:
        """Return the weights a unit starts from, (D,)."""
        return self.data.start if unit.start < 0 else self.starts[unit.start]

    def record(self, unit: StartUnit) -> Record:
        """Return what identifies a unit, in full."""
        return {
            "study": self.study.name, "data": self.data.name, "tuner": unit.tuner, "metric": unit.metric,
            "start": unit.start, "seed": max(0, unit.start),
            "method": "" if unit.tuner == NO_TUNING else self.tuners[unit.tuner].spec,
            "signature": self.metrics[unit.metric].signature, "pools": list(self.data.digests),
            "start_weights": self.start(unit).tolist(),
        }  # fmt: skip

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
                "start_gain": found.start_gain, "steps": len(states) - 1, "ended": states[-1].did,
                "cpu_seconds": cpu, "seconds": wall,
            }  # fmt: skip
        # the gain of a gain is the score again
        tests = {n: float(p.metric.gain(p.gains(weights[None]))[0]) for n, p in self.tests.items()}
        return {
            **self.record(unit), "gain": gain, "higher_is_better": bool(problem.metric.higher_is_better), **results,
            "test": tests, "weights": weights.tolist(), "luthier": __version__,
        }  # fmt: skip


def _check_tests(study: StartStudy, records: Sequence[Record], path: Path) -> None:
    """Refuse lines of units that were tested otherwise: tables have a column for each test."""
    for record in records:
        if record["test"].keys() != study.test_metrics.keys():
            raise LuthierError(
                f"{path}: expected test scores by {', '.join(study.test_metrics) or 'nothing'}, found a line with "
                f"{', '.join(map(repr, record['test'])) or 'none'}. hint: were tests changed? name another folder"
            )


def _in_order(study: StartStudy, records: Sequence[Record]) -> list[Record]:
    """Return the units that the study still names, in its order, whatever the order they were run in."""
    metrics, tuners = list(study.metrics), [NO_TUNING, *study.tuners]
    known = [r for r in records if r["metric"] in metrics and r["tuner"] in tuners]
    return sorted(known, key=lambda r: (metrics.index(r["metric"]), tuners.index(r["tuner"]), r["start"]))
