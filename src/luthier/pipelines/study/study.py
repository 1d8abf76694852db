"""Studies: a file names data, tuners, metrics and starts; every unit of them is run once and kept as a line.

A unit is one tuner on one metric and one data set from one start. Its line in ``units.jsonl`` has all that
is needed to make it again and to check it: seed, start weights, the tuner and the metric with all
parameters, hashes of the lists. Units are run one at a time, so that their times mean something, and
written as they finish; those whose line is there already are not run again. Tables and figures are made
from the lines alone.
"""

from __future__ import annotations

import dataclasses
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from luthier import __version__
from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.io import open_output
from luthier.core.progress import notice, progress
from luthier.core.rng import make_rng
from luthier.core.sealed_lines import Record, SealedWriter
from luthier.core.tasks import Engine, Given, run_units
from luthier.kbest.spread import spread_in_lists
from luthier.landscape.bounds import Bounds
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.pipelines.study.data import FILES, GENERATED, StudyData, load_data
from luthier.pipelines.study.lines import UNITS, Kept, key_of, read_units
from luthier.report.figures.study import draw_starts
from luthier.report.tables.study import study_tables
from luthier.tuning.base import Tuner, tuner
from luthier.tuning.reached import Reached
from luthier.tuning.restarts import draw_start
from luthier.tuning.run import RunOptions, run

TABLES = "tables.md"
NO_TUNING = "no tuning"  # the name of the unit that only scores the weights starts are drawn about
# What must agree for a line to be of the unit that would be run.
IDENTITY = ("method", "signature", "pools", "start_weights", "seed")


@dataclasses.dataclass(frozen=True)
class Study:
    """A study file, read and checked.

    Attributes
    ----------
    data : entries of the file, see `luthier.pipelines.study.data.load_data`
    tuners : by the names the study gives them
    metrics : to tune for, by name
    test_metrics : to score the test lists with, by name
    starts : how many
    kind, size : of starts, see `luthier.tuning.restarts.draw_start`
    test_by : the metric for which the test table shows the best weights
    """

    name: str
    seed: int
    data: tuple[Mapping[str, Any], ...]
    tuners: Mapping[str, Tuner]
    metrics: Mapping[str, Metric]
    test_metrics: Mapping[str, Metric]
    starts: int
    kind: str
    size: float
    test_by: str


def read_study(path: str | os.PathLike[str]) -> Study:
    """Return the study that a TOML file describes."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        study = Study(
            name=table["name"],
            seed=table["seed"],
            data=tuple(table["data"]),
            tuners={each["name"]: tuner(each["method"], **each.get("parameters", {})) for each in table["tuner"]},
            metrics={each["name"]: load_metric(each["spec"]) for each in table["metric"]},
            test_metrics={name: load_metric(spec) for name, spec in table["test"]["metrics"].items()},
            starts=table["starts"]["count"],
            kind=table["starts"]["kind"],
            size=table["starts"]["size"],
            test_by=table["test"]["by"],
        )
        for entry in study.data:
            if not is_plain_name(entry["name"]):
                raise LuthierError(f"{path}: expected data named so that a file can be, found {entry['name']!r}")
            if entry["source"] not in (GENERATED, FILES):
                raise LuthierError(f"{path}: expected the source {GENERATED!r} or {FILES!r}, found {entry['source']!r}")
            for name in [*entry.get("metrics", []), entry.get("test_by", study.test_by)]:
                if name not in study.metrics:
                    raise LuthierError(f"{path}: there is no metric {name!r} in this study")
    except OSError as error:
        found = (error.strerror or str(error)).lower()
        raise InputError(expected="a study file", found=found, path=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(expected="a study in TOML", found=str(error), path=str(path)) from None
    except KeyError as error:
        raise InputError(expected=f"the key {error}", found="none", path=str(path)) from None
    except TypeError as error:
        raise LuthierError(f"{path}: a parameter is not one that its owner has: {error}") from None
    return study


def is_plain_name(name: Any) -> bool:
    """Return whether a name can be that of a file in a folder, and of nothing outside of it."""
    return isinstance(name, str) and name.isprintable() and not re.fullmatch(r"|\.\.?|.*[/\\:].*", name)


def run_study(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    data: str | None = None,
    only: str = "",
    engine: Engine | None = None,
) -> list[str]:
    """Run what is left of a study; write its tables and figures; return the paths of all results.

    Parameters
    ----------
    folder
        Where the results are, and go.
    data
        Folder of the files that some data sets need; without it these are left out.
    only
        Name of a data set, a tuner or a metric: units of others are left out.
    engine
        Who runs the units; by default this process, one at a time, so that their times mean something.
    """
    study = read_study(path)
    names = {*(entry["name"] for entry in study.data), *study.tuners, *study.metrics}
    if only and only not in names:
        raise LuthierError(f"there is no {only!r} in this study. known: {', '.join(sorted(names))}")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    kept, length = read_units(target / UNITS)
    with SealedWriter(target / UNITS, length) as writer:
        for entry in study.data:
            if only and only in {other["name"] for other in study.data} - {entry["name"]}:
                continue
            loaded = load_data(entry, data)
            if loaded is None:
                notice(f"{entry['name']}: left out, for its files are not here. hint: `data` DIR")
                continue
            units = _Units(study, entry, loaded, only)
            recipe = StudyRecipe(str(Path(path).absolute()), entry["name"], data, only, loaded.digests)
            _run_units(units, Given(units, recipe), _Store(target / UNITS, kept, writer), engine)
    return write_results(study, list(kept.values()), target)


def _run_units(units: _Units, given: Given, store: _Store, engine: Engine | None) -> None:
    identities = {unit: units.record(unit) for unit in units.all()}
    waiting = [unit for unit, record in identities.items() if not _same(store.kept.get(key_of(record)), record)]
    with progress(f"{units.data.name}: units", len(waiting)) as advance:

        def keep(number: int, record: Record) -> None:  # noqa: ARG001
            store.writer.append(record)
            store.kept[key_of(record)] = record
            advance(1)

        try:
            run_units(run_unit, given, dict(enumerate(waiting)), engine=engine, keep=keep)
        except KeyboardInterrupt:
            notice(f"{len(store.kept)} units are kept in {store.path}; the same command goes on from there")
            raise


@dataclasses.dataclass
class _Store:
    """The lines there are, and who adds to them."""

    path: Path
    kept: Kept
    writer: SealedWriter


def _same(record: Record | None, unit: Record) -> bool:
    return record is not None and all(record.get(part) == unit[part] for part in IDENTITY)


class StudyUnit(NamedTuple):
    """One unit of a data set, by the names of the study and the number of the start."""

    metric: str
    tuner: str
    start: int


@dataclasses.dataclass(frozen=True)
class StudyRecipe:
    """How another process gets the units of a data set: from the study's file, with the digests of its pools."""

    path: str
    name: str
    folder: str | None
    only: str
    digests: tuple[str, str]

    def open(self) -> _Units:
        """Return the units; refuse data that are not those of the process that asks."""
        study = read_study(self.path)
        entry = next((entry for entry in study.data if entry["name"] == self.name), None)
        loaded = None if entry is None else load_data(entry, self.folder)
        if entry is None or loaded is None or loaded.digests != self.digests:
            raise LuthierError(f"{self.path}: the data {self.name!r} are not the same here")
        return _Units(study, entry, loaded, self.only)


def run_unit(units: _Units, unit: StudyUnit) -> Record:
    """Return the line of a unit."""
    return units.run(unit)


class _Units:
    """The units of one data set."""

    def __init__(self, study: Study, entry: Mapping[str, Any], data: StudyData, only: str) -> None:
        self.study, self.data = study, data
        self.tuners = {n: t for n, t in study.tuners.items() if only not in study.tuners or n == only}
        wanted = entry.get("metrics", list(study.metrics))
        self.metrics = {n: study.metrics[n] for n in wanted if only not in study.metrics or n == only}
        self.starts = self._draw(min(study.starts, entry.get("starts", study.starts)))
        self.problems = {name: Problem.make(data.tune, metric) for name, metric in self.metrics.items()}
        self.tests = {name: Problem.make(data.test, metric) for name, metric in study.test_metrics.items()}

    def _draw(self, count: int) -> list[Float64]:
        """Return the starts, the same for all tuners and metrics; the first n of more are those of n."""
        study, start = self.study, self.data.start
        scale = study.size * effect_units(spread_in_lists(self.data.tune), start)
        free = Bounds.none(len(start))
        return [draw_start(study.kind, start, scale, free, rng) for rng in make_rng(study.seed).spawn(count)]

    def all(self) -> Iterator[StudyUnit]:
        """Yield every unit, in the order of the study."""
        for metric in self.metrics:
            yield StudyUnit(metric, NO_TUNING, -1)
            yield from (StudyUnit(metric, name, number) for name in self.tuners for number in range(len(self.starts)))

    def start(self, unit: StudyUnit) -> Float64:
        """Return the weights a unit starts from, (D,)."""
        return self.data.start if unit.start < 0 else self.starts[unit.start]

    def record(self, unit: StudyUnit) -> Record:
        """Return what identifies a unit, in full."""
        return {
            "study": self.study.name, "data": self.data.name, "tuner": unit.tuner, "metric": unit.metric,
            "start": unit.start, "seed": max(0, unit.start),
            "method": "" if unit.tuner == NO_TUNING else self.tuners[unit.tuner].spec,
            "signature": self.metrics[unit.metric].signature, "pools": list(self.data.digests),
            "start_weights": self.start(unit).tolist(),
        }  # fmt: skip

    def run(self, unit: StudyUnit) -> Record:
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


def write_results(study: Study, records: Sequence[Record], folder: Path) -> list[str]:
    """Write tables and figures of the units; return the paths of all results."""
    paths = [str(folder / UNITS)]
    records = _in_order(study, records)
    by_data = {entry["name"]: [r for r in records if r["data"] == entry["name"]] for entry in study.data}
    chosen = {entry["name"]: entry.get("test_by", study.test_by) for entry in study.data}
    done = {name: [Reached.from_record(unit) for unit in units] for name, units in by_data.items() if units}
    if not done:
        return paths
    text = study_tables(study.name, done, chosen)
    with open_output(folder / TABLES) as file:
        file.write(text.encode("utf-8"))
    for name, units in done.items():
        picture = folder / f"{name}.png"
        draw_starts(units, f"{study.name}: {name}", picture)
        paths.append(str(picture))
    return [*paths, str(folder / TABLES)]


def _in_order(study: Study, records: Sequence[Record]) -> list[Record]:
    """Return the units that the study still names, in its order, whatever the order they were run in."""
    metrics, tuners = list(study.metrics), [NO_TUNING, *study.tuners]
    known = [r for r in records if r["metric"] in metrics and r["tuner"] in tuners]
    return sorted(known, key=lambda r: (metrics.index(r["metric"]), tuners.index(r["tuner"]), r["start"]))
