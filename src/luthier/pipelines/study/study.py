"""Studies: a file names data, tuners, metrics and starts; every unit of them is run once and kept as a line.

A unit is one tuner on one metric and one data set from one start. Its line in ``units.jsonl`` has all that
is needed to make it again and to check it: seed, start weights, the tuner and the metric with all
parameters, hashes of the lists. Units are run one at a time, so that their times mean something, and
written as they finish; those whose line is there already are not run again. Tables and figures are made
from the lines alone.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from luthier import __version__
from luthier.core.arrays import Float64
from luthier.core.errors import InputError, LuthierError
from luthier.core.io import open_output
from luthier.core.progress import notice, progress
from luthier.core.rng import make_rng
from luthier.landscape.bounds import Bounds
from luthier.landscape.problem import Problem
from luthier.landscape.units import effect_units
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.pipelines.study.data import FILES, GENERATED, StudyData, load_data
from luthier.report.figures.study import draw_starts
from luthier.report.tables.study import study_tables
from luthier.tuning.base import Tuner, tuner
from luthier.tuning.restarts import draw_start
from luthier.tuning.run import RunOptions, run

UNITS, TABLES = "units.jsonl", "tables.md"
NO_TUNING = "no tuning"  # the name of the unit that only scores the weights starts are drawn about
KEY = ("data", "tuner", "metric", "start")
# What must agree for a line to be of the unit that would be run.
IDENTITY = ("method", "signature", "pools", "start_weights", "seed")

Record = dict[str, Any]


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


def run_study(
    path: str | os.PathLike[str], folder: str | os.PathLike[str], *, data: str | None = None, only: str = ""
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
    """
    study = read_study(path)
    names = {*(entry["name"] for entry in study.data), *study.tuners, *study.metrics}
    if only and only not in names:
        raise LuthierError(f"there is no {only!r} in this study. known: {', '.join(sorted(names))}")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    kept = read_units(target / UNITS)
    for entry in study.data:
        if only and only in {other["name"] for other in study.data} - {entry["name"]}:
            continue
        loaded = load_data(entry, data)
        if loaded is None:
            notice(f"{entry['name']}: left out, for its files are not here. hint: --data DIR")
            continue
        _run_units(_Units(study, entry, loaded, only), kept, target / UNITS)
    return write_results(study, list(kept.values()), target)


def read_units(path: Path) -> dict[tuple[Any, ...], Record]:
    """Return the lines of a file of units by what they are of, the last of each; half a line is dropped."""
    if not path.exists():
        return {}
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if len(whole) < len(raw):  # a unit was being written when the process ended
        with open_output(path) as file:
            file.write(whole)
    found: dict[tuple[Any, ...], Record] = {}
    for number, line in enumerate(whole.decode("utf-8").splitlines(), start=1):
        try:
            record = json.loads(line)
            found[tuple(record[part] for part in KEY)] = record
        except (ValueError, KeyError, TypeError):
            raise InputError(expected="a unit as JSON", found="something else", path=str(path), line=number) from None
    return found


def _run_units(units: _Units, kept: dict[tuple[Any, ...], Record], path: Path) -> None:
    waiting = [unit for unit in units.all() if not _same(kept.get(tuple(unit[part] for part in KEY)), unit)]
    with progress(f"{units.data.name}: units", len(waiting)) as advance, open(path, "ab") as file:
        for unit in waiting:
            try:
                record = units.run(unit)
            except KeyboardInterrupt:
                notice(f"{len(kept)} units are kept in {path}; the same command goes on from there")
                raise
            file.write(json.dumps(record, ensure_ascii=False).encode("utf-8") + b"\n")
            file.flush()
            kept[tuple(unit[part] for part in KEY)] = record
            advance(1)


def _same(record: Record | None, unit: Record) -> bool:
    return record is not None and all(record.get(part) == unit[part] for part in IDENTITY)


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
        scale = study.size * effect_units(self.data.tune, start)
        free = Bounds.none(len(start))
        return [draw_start(study.kind, start, scale, free, rng) for rng in make_rng(study.seed).spawn(count)]

    def all(self) -> Iterator[Record]:
        """Yield what identifies each unit."""
        for metric, measure in self.metrics.items():
            common = {"metric": metric, "signature": measure.signature, "pools": list(self.data.digests)}
            yield self._unit(common, NO_TUNING, "", -1, self.data.start)
            for name, method in self.tuners.items():
                for number, start in enumerate(self.starts):
                    yield self._unit(common, name, method.spec, number, start)

    def _unit(self, common: Record, name: str, method: str, number: int, start: Float64) -> Record:
        return {
            "study": self.study.name, "data": self.data.name, "tuner": name, "metric": common["metric"],
            "start": number, "seed": max(0, number), "method": method, "signature": common["signature"],
            "pools": common["pools"], "start_weights": start.tolist(),
        }  # fmt: skip

    def run(self, unit: Record) -> Record:
        """Return a unit with its results."""
        problem = self.problems[unit["metric"]]
        start = self.data.start if unit["start"] < 0 else self.starts[unit["start"]]
        results: Record
        if unit["tuner"] == NO_TUNING:
            weights, gain = start, problem.gain(start)
            results = {"start_gain": gain, "steps": 0, "ended": "", "cpu_seconds": 0.0, "seconds": 0.0}
        else:
            found = run(self.tuners[unit["tuner"]], problem, start, RunOptions(seed=unit["seed"]))
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
            **unit, "gain": gain, "higher_is_better": bool(problem.metric.higher_is_better), **results, "test": tests,
            "weights": weights.tolist(), "luthier": __version__,
        }  # fmt: skip


def write_results(study: Study, records: Sequence[Record], folder: Path) -> list[str]:
    """Write tables and figures of the units; return the paths of all results."""
    paths = [str(folder / UNITS)]
    records = _in_order(study, records)
    by_data = {entry["name"]: [r for r in records if r["data"] == entry["name"]] for entry in study.data}
    chosen = {entry["name"]: entry.get("test_by", study.test_by) for entry in study.data}
    done = {name: units for name, units in by_data.items() if units}
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
