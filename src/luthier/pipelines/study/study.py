"""Studies: a file names what is to be run; every unit of it is run once and kept as a line.

A unit is one tuner from one start on lists (`starts`), one tuner with some features and sentences (`capacity`), or a
whole tuning loop: of one tuner for one metric (`tuner_loops`), or of one condition (`loops`). Its line in
``units.jsonl`` has all that is needed to make it again and to check it. Lines are written as units finish; those whose
line is there already are not run again. Tables and figures are made from the lines.
"""

from __future__ import annotations

import os
from pathlib import Path

from luthier.core.errors import LuthierError
from luthier.core.files.io import make_folder
from luthier.core.files.sealed_lines import Record, SealedWriter
from luthier.core.files.toml_tables import read_toml
from luthier.core.progress import notice, progress
from luthier.core.tasks import Engine, run_units
from luthier.pipelines.study.capacity_settings import read_capacity_study
from luthier.pipelines.study.conditions import read_loop_study
from luthier.pipelines.study.lines import Kept, LineKind, read_units
from luthier.pipelines.study.starts import read_start_study
from luthier.pipelines.study.tuner_loop_settings import read_tuner_loop_study
from luthier.pipelines.study.units import UNITS, AnyStudy, Place, Units, run_unit


def read_study(path: str | os.PathLike[str]) -> AnyStudy:
    """Return the study that a TOML file describes: of conditions, of capacity, of tuners in loops or on given lists."""
    table = read_toml(path, "a study")
    if "condition" in table:
        return read_loop_study(table, str(path))
    if "feature_set" in table:
        return read_capacity_study(table, str(path))
    data = table.get("data")
    trains = isinstance(data, list) and any(isinstance(entry, dict) and "training" in entry for entry in data)
    return read_tuner_loop_study(table, str(path)) if trains else read_start_study(table, str(path))


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
        with SealedWriter(lines, length) as writer:
            for units in study.unit_sets(place, kept, engine):
                _run(units, _Store(lines, study.line, kept, writer), engine)
    return [str(lines), *study.write_results(list(kept.values()), place)]


class _Store:
    """The lines there are, and who adds to them."""

    def __init__(self, path: Path, line: LineKind, kept: Kept, writer: SealedWriter) -> None:
        self.path, self.line, self.kept, self.writer = path, line, kept, writer

    def has(self, record: Record) -> bool:
        """Return whether there is a line of this very unit."""
        found = self.kept.get(self.line.key_of(record))
        return found is not None and all(found.get(part) == record[part] for part in self.line.identity)

    def add(self, record: Record) -> None:
        """Write a line."""
        self.writer.append(record)
        self.kept[self.line.key_of(record)] = record


def _run(units: Units, store: _Store, engine: Engine | None) -> None:
    waiting = [unit for unit in units.all() if not store.has(units.record(unit))]
    together = min(len(waiting), getattr(engine, "count", 1))  # what ran beside others took longer
    with progress(f"{units.label}: units", len(waiting)) as advance:

        def keep(number: int, record: Record) -> None:  # noqa: ARG001
            store.add({**record, "together": together})
            units.after(record)
            advance(1)

        try:
            run_units(run_unit, units.given(), dict(enumerate(waiting)), engine=engine, keep=keep)
        except KeyboardInterrupt:
            notice(f"{len(store.kept)} units are kept in {store.path}; the same command goes on from there")
            raise
