"""What the TOML file of a study of starts says, read and checked before anything runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.settings import Table
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.synthetic.lists.noisy_channel import SyntheticLists
from luthier.tuning.base import Tuner, tuner
from luthier.tuning.options import RESTART_KINDS

from .data import DataEntry, FilePart, GeneratedPart
from .units import is_plain_name

GENERATED, FILES = "generated", "files"


@dataclasses.dataclass(frozen=True)
class StartSettings:
    """A study file, read and checked.

    Attributes
    ----------
    data : sets of lists, see `luthier.jobs.lab.data.load_data`
    tuners : by the names the study gives them
    metrics : to tune for, by name
    test_metrics : to score the test lists with, by name
    starts : how many
    kind, size : of starts, see `luthier.tuning.restarts.draw_start`
    test_by : the metric for which the test table shows the best weights
    """

    name: str
    seed: int
    data: tuple[DataEntry, ...]
    tuners: Mapping[str, Tuner]
    metrics: Mapping[str, Metric]
    test_metrics: Mapping[str, Metric]
    starts: int
    kind: str
    size: float
    test_by: str


def read_start_settings(values: Mapping[str, Any], path: str) -> StartSettings:
    """Return what the tables of a file say."""
    file = Table(values, path)
    starts, test = file.table("starts"), file.table("test")
    metrics = dict(read_metric(table) for table in file.tables("metric"))
    by = test.take("by", str)
    study = StartSettings(
        name=file.take("name", str), seed=file.take("seed", int), metrics=metrics,
        data=tuple(_entry(table, path, list(metrics), by) for table in file.tables("data")),
        tuners=dict(read_tuner(table, path) for table in file.tables("tuner")),
        test_metrics={name: load_metric(str(spec)) for name, spec in test.table("metrics").rest().items()},
        starts=starts.take("count", int), kind=starts.take("kind", str), size=starts.take("size", float), test_by=by,
    )  # fmt: skip
    for table in (starts, test, file):
        table.end()
    check_starts(study.starts, study.seed, study.kind, study.size, path=path)
    for name in [name for entry in study.data for name in (*entry.metrics, entry.test_by)]:
        if name not in study.metrics:
            raise LuthierError(f"{path}: there is no metric {name!r} in this study")
    return study


def check_starts(count: int, seed: int, kind: str, size: float, *, path: str) -> None:
    """Raise for starts that cannot be drawn."""
    if count < 1 or seed < 0 or not 0 <= size < math.inf:
        raise LuthierError(f"{path}: expected at least one start, a seed from 0 on and a finite size of starts")
    if kind not in RESTART_KINDS:
        raise LuthierError(f"{path}: expected a kind of starts ({', '.join(RESTART_KINDS)}), found {kind!r}")


def read_metric(table: Table) -> tuple[str, Metric]:
    """Return a metric and the name that a study gives it."""
    found = table.take("name", str), load_metric(table.take("spec", str))
    table.end()
    return found


def read_tuner(table: Table, path: str) -> tuple[str, Tuner]:
    """Return a tuner and the name that a study gives it."""
    name, method = table.take("name", str), table.take("method", str)
    parameters: dict[str, Any] = table.table("parameters").rest()
    parameters |= {name: tuple(value) for name, value in parameters.items() if isinstance(value, list)}
    table.end()
    try:
        return name, tuner(method, **parameters)
    except TypeError as error:
        raise LuthierError(f"{path}: a parameter is not one that its owner has: {error}") from None


def _entry(table: Table, path: str, metrics: list[str], by: str) -> DataEntry:
    name, source = table.take("name", str), table.take("source", str)
    if not is_plain_name(name):
        raise LuthierError(f"{path}: expected data named so that a file can be, found {name!r}")
    if source not in (GENERATED, FILES):
        raise LuthierError(f"{path}: expected the source {GENERATED!r} or {FILES!r}, found {source!r}")
    part: Any = read_generated if source == GENERATED else read_files
    entry = DataEntry(
        name, part(table.table("tune"), path), part(table.table("test"), path),
        start=table.take("start", str) if source == FILES else "", metrics=table.texts("metrics", tuple(metrics)),
        starts=table.take("starts", int, None), test_by=table.take("test_by", str, by),
    )  # fmt: skip
    table.end()
    if entry.starts is not None and entry.starts < 1:
        raise LuthierError(f"{path}: expected at least one start of {name!r}, found {entry.starts}")
    return entry


def read_generated(table: Table, path: str) -> GeneratedPart:
    """Return what a table says of lists to generate."""
    seed, share = table.take("seed", int), table.take("shorten", float, 0.0)
    lists = table.fields(SyntheticLists)
    table.end()
    if seed < 0 or not 0 <= share < 1:
        raise LuthierError(f"{path}: expected a seed from 0 on and a share to shorten below 1, found {seed}, {share}")
    return GeneratedPart(lists, seed, share)


def read_files(table: Table, path: str) -> FilePart:
    """Return what a table says of lists in files."""
    part = FilePart(
        table.texts("lists"), table.texts("refs"), table.take("cap", int, None), table.take("sentences", int, None)
    )
    table.end()
    if any(limit is not None and limit < 1 for limit in (part.cap, part.sentences)):
        raise LuthierError(f"{path}: expected 'cap' and 'sentences' of at least 1")
    return part
