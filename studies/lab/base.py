"""What every study is: settings of a TOML file, units that are run once, their lines, and tables made of these.

A kind of study is a file of `kinds/` with a class `Method(Study)`. A unit is one tuner from one start, one tuner with
some features, or a whole tuning loop. The line of a unit in ``units.jsonl`` has all that is needed to make it again and
to check it. Lines are written as units finish; a unit that has its line is not run again. Tables and figures are made
of the lines alone.
"""

from __future__ import annotations

import abc
import dataclasses
import math
import os
import platform
import re
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import make_folder, open_output
from luthier.core.files.journal import JournalWriter, Record
from luthier.core.plugins import available, load
from luthier.core.progress import notice, progress
from luthier.core.settings import Table
from luthier.core.tasks import Engine, Shared, run_units
from luthier.distributed.check import processor
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.tuning.base import Tuner, tuner
from luthier.tuning.options import RESTART_KINDS

from .lines import Kept, LineKind, read_units

if TYPE_CHECKING:
    from luthier.evaluation.comparison import Difference

KINDS = "luthier.jobs.lab.kinds"
UNITS, TABLES = "units.jsonl", "tables.md"
LEAST_P = 0.001
LEAST_SETS = 3  # synthetic data sets that are shown together, too


@dataclasses.dataclass(frozen=True)
class Place:
    """What a study runs on and where it leaves its results.

    Attributes
    ----------
    path : of the study's file
    folder : of the results
    data : folder of the files that some data sets need, or None
    only : name of a data set, a tuner, a metric or a condition, '' for all
    """

    path: str
    folder: Path
    data: str | None = None
    only: str = ""

    def absolute(self) -> Place:
        """Return it so that a process in any other folder finds the same files."""
        data = None if self.data is None else str(Path(self.data).absolute())
        return dataclasses.replace(self, folder=self.folder.absolute(), data=data)


class Size(NamedTuple):
    """How large a unit is: hypotheses of a list, sentences to tune and to test on, which replicas, and what it took.

    What a line does not say is None.
    """

    k: int | None
    tune: int | None
    test: int | None
    replicas: Collection[int]
    cpu_seconds: float | None


@dataclasses.dataclass(frozen=True)
class Entry:
    """A data set, as a study names it."""

    name: str


@dataclasses.dataclass(frozen=True)
class Study(abc.ABC):
    """A study's file, read and checked.

    Attributes
    ----------
    line : what its lines are
    repeats : what a unit is run again for, with other seeds
    """

    name: str
    seed: int
    data: tuple[Entry, ...]

    line: ClassVar[LineKind]
    repeats: ClassVar[str] = "replicas"

    @classmethod
    @abc.abstractmethod
    def read(cls, file: Table, path: str) -> Self:
        """Return the study that a file describes, `kind` being taken; raise for what it cannot be."""

    @property
    def names(self) -> set[str]:
        """What `only` may be."""
        return {entry.name for entry in self.data}

    @abc.abstractmethod
    def units(self, entry: Any, place: Place) -> Units | None:
        """Return the units of a data set; None where its files are not here."""

    def unit_sets(self, place: Place, kept: Kept, engine: Engine | None) -> Iterator[Units]:
        """Yield units, set after set; the next is taken when all of the last have their lines in `kept`."""
        others = {entry.name for entry in self.data}
        for entry in self.data:
            if place.only in others - {entry.name}:
                continue
            units = self.units(entry, place)
            if units is None:
                notice(f"{entry.name}: left out, for its files are not here. hint: `data` DIR")
                continue
            units.prepare()
            yield from self.rounds(units, kept, engine)

    def rounds(self, units: Any, kept: Kept, engine: Engine | None) -> Iterator[Units]:  # noqa: ARG002
        """Yield the units of a data set; in several sets where some wait for the lines of others."""
        yield units

    def size_of(self, record: Record) -> Size:
        """Return how large the unit of a line is."""
        k, tune, test = record.get("size", [None] * 3)
        return Size(k, tune, test, (record.get("replica", 0),), record.get("cpu_seconds"))

    def size_table(self, records: Sequence[Record], choices: Mapping[str, float] | None = None) -> str:
        """Return how large the study is, a row for each data set; `choices` has CPU seconds that no unit has."""
        rows = []
        for data in dict.fromkeys(record["data"] for record in records):
            sizes = [self.size_of(record) for record in records if record["data"] == data]
            cells = [between([size[part] for size in sizes]) for part in (1, 2, 0)]
            replicas = {number for size in sizes for number in size.replicas}
            spent = [size.cpu_seconds for size in sizes if size.cpu_seconds is not None]
            hours = math.fsum([*spent, (choices or {}).get(data, 0.0)]) / 3600
            took = f"{hours:.1f}" if hours >= 1 else f"{hours:.2f}"
            rows.append([data, *cells, str(len(replicas) or "–"), f"{len(sizes):,}", took if spent else "–"])
        head = ["data", "sentences to tune on", "to test on", "K", self.repeats, "units", "CPU hours"]
        return markdown(head, rows, (0,))

    @abc.abstractmethod
    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write tables and figures of the lines; return their paths."""


class Units(abc.ABC):
    """Units of one data set that do not wait for each other."""

    writes: ClassVar[bool] = False  # whether a unit writes files of its own

    def __init__(self, label: str, place: Place) -> None:
        self.label, self.place = label, place

    @property
    @abc.abstractmethod
    def state(self) -> str:
        """A digest of the data that all units work on."""

    @abc.abstractmethod
    def all(self) -> Iterator[Any]:
        """Yield every unit, in the order of the study."""

    @abc.abstractmethod
    def record(self, unit: Any) -> Record:
        """Return what identifies a unit, in full."""

    @abc.abstractmethod
    def run(self, unit: Any) -> Record:
        """Return a unit with its results."""

    def prepare(self) -> None:  # noqa: B027
        """Make what the units of all processes need, before any is run."""

    def after(self, record: Record) -> None:  # noqa: B027
        """Do what is left to do once the line of a unit is kept."""

    def given(self) -> Shared:
        """Return these units, and how another process gets them."""
        return Shared(self, UnitsRecipe(self.place.absolute(), self.label, self.state), twice=not self.writes)


@dataclasses.dataclass(frozen=True)
class UnitsRecipe:
    """How another process gets the units of a data set: from the study's file, with the digest of the data."""

    place: Place
    name: str
    state: str

    def open(self) -> Units:
        """Return the units; refuse data that are not those of the process that sent this."""
        study = read_study(self.place.path)
        entry = next((entry for entry in study.data if entry.name == self.name), None)
        units = None if entry is None else study.units(entry, self.place)
        if units is None or units.state != self.state:
            raise LuthierError(f"{self.place.path}: the data {self.name!r} are not the same here")
        return units


def read_study(path: str | os.PathLike[str]) -> Study:
    """Return the study that a TOML file describes; its `kind` names a file of `kinds/`."""
    file = Table.read(path, "a study")
    kind, known = file.take("kind", str, ""), available(KINDS)
    if kind not in known:
        kinds = ", ".join(known)
        raise InputError(
            expected=f'a kind of study, kind = "…", one of {kinds}',
            found=repr(kind) if kind else "none",
            path=str(path),
        )
    study: Study = load(KINDS, kind).read(file, str(path))
    return study


def run_study(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    data: str | None = None,
    only: str = "",
    engine: Engine | None = None,
    run: bool = True,
) -> list[str]:
    """Run what is left of a study; write its tables and figures; return the paths of all results.

    Parameters
    ----------
    folder
        Where the results are, and go.
    data
        Folder of the files that some data sets need; without it these are left out.
    only
        Name of a data set, a tuner, a metric or a condition: units of others are left out.
    engine
        Who runs the units; by default this process, one at a time, so that their times mean something.
    run
        Whether units are run at all, or tables and figures made of the lines there are.
    """
    study = read_study(path)
    if only and only not in study.names:
        raise LuthierError(f"there is no {only!r} in this study. known: {', '.join(sorted(study.names))}")
    place = Place(str(Path(path).absolute()), Path(folder), data, only)
    make_folder(place.folder)
    lines = place.folder / UNITS
    kept, length = read_units(lines, study.line)
    if run:
        with JournalWriter(lines, length) as writer:
            for units in study.unit_sets(place, kept, engine):
                _run(units, study.line, kept, writer, engine)
    return [str(lines), *study.write_results(list(kept.values()), place)]


def _run(units: Units, line: LineKind, kept: Kept, writer: JournalWriter, engine: Engine | None) -> None:
    """Run the units that have no line yet."""

    def has(record: Record) -> bool:
        found = kept.get(line.key_of(record))
        return found is not None and all(found.get(part) == record[part] for part in line.identity)

    waiting = [unit for unit in units.all() if not has(units.record(unit))]
    together = min(len(waiting), getattr(engine, "count", 1))  # what ran beside others took longer
    with progress(f"{units.label}: units", len(waiting)) as advance:

        def keep(number: int, record: Record) -> None:  # noqa: ARG001
            record = {**record, "together": together}
            writer.append(record)
            kept[line.key_of(record)] = record
            units.after(record)
            advance(1)

        try:
            run_units(run_unit, units.given(), dict(enumerate(waiting)), engine=engine, keep=keep)
        except KeyboardInterrupt:
            notice(f"{len(kept)} units are kept in {units.place.folder / UNITS}; the same command resumes from there")
            raise


def run_unit(units: Units, unit: Any) -> Record:
    """Return the line of a unit, with the host and the processor that ran it: the work of a task."""
    return {**units.run(unit), "host": platform.node(), "processor": processor()}


def is_plain_name(name: Any) -> bool:
    """Return whether a name can be that of a file in a folder, and of nothing outside of it."""
    return isinstance(name, str) and name.isprintable() and not re.fullmatch(r"|\.\.?|.*[/\\:].*", name)


@dataclasses.dataclass(frozen=True)
class Starts:
    """How many starts are drawn, and how; see `luthier.tuning.restarts.draw_start`."""

    count: int
    kind: str
    size: float


def read_starts(table: Table, path: str) -> Starts:
    """Return what a table says of starts; raise for those that cannot be drawn."""
    starts = Starts(table.take("count", int), table.take("kind", str), table.take("size", float))
    table.end()
    if starts.count < 1 or not 0 <= starts.size < math.inf:
        raise LuthierError(f"{path}: expected at least one start and a finite size of starts")
    if starts.kind not in RESTART_KINDS:
        raise LuthierError(f"{path}: expected a kind of starts ({', '.join(RESTART_KINDS)}), found {starts.kind!r}")
    return starts


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


def take_seed(file: Table, path: str, default: int | None = None) -> int:
    """Return the seed of a study."""
    seed = file.take("seed", int) if default is None else file.take("seed", int, default)
    if seed < 0:
        raise LuthierError(f"{path}: expected a seed from 0 on, found {seed}")
    return seed


def take_name(table: Table, path: str) -> str:
    """Return the name of a data set, which a file can have."""
    name = table.take("name", str)
    if not is_plain_name(name):
        raise LuthierError(f"{path}: expected data named so that a file can be, found {name!r}")
    return name


def require_known(kind: str, names: Collection[str], known: Collection[str], path: str) -> None:
    """Raise for the first name that a study does not have."""
    for name in names:
        if name not in known:
            raise LuthierError(f"{path}: there is no {kind} {name!r} in this study. known: {', '.join(known)}")


def between(numbers: Sequence[Any]) -> str:
    """Return the least and the largest of some numbers, None aside, as a cell of a table."""
    known = sorted({number for number in numbers if number is not None})
    if not known:
        return "–"
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"


def mean_and_error(numbers: Sequence[float]) -> str:
    """Return the mean of at least two numbers and its standard error, as a cell of a table."""
    return f"{statistics.fmean(numbers):+.2f} ± {statistics.stdev(numbers) / math.sqrt(len(numbers)):.2f}"


def write_tables(place: Place, name: str, parts: Sequence[str], *, made_from: str = f"`{UNITS}`") -> str:
    """Write the page of a study's tables; return its path."""
    head = f"# {name}: tables\n\nMade from {made_from} alone; scores are on 0–100.\n"
    with open_output(place.folder / TABLES) as file:
        file.write("\n".join([head, *parts]).encode("utf-8"))
    return str(place.folder / TABLES)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], texts: Collection[int]) -> str:
    """Return a table; columns of texts are set to the left, those of numbers to the right."""
    marks = ["---" if column in texts else "--:" for column in range(len(head))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, marks, *rows])


def difference_cells(found: Difference | None) -> list[str]:
    """Return a difference, its interval and its p, as cells of a table."""
    if found is None:
        return ["–"] * 3
    p = f"< {LEAST_P}" if found.randomisation_p < LEAST_P else f"{found.randomisation_p:.3f}"
    return [f"{found.difference:+.2f}", f"{found.interval.low:+.2f} … {found.interval.high:+.2f}", p]
