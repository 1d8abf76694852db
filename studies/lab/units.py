"""What the runner asks of a study, whatever its units are: which there are, what each is, and what is kept of it."""

from __future__ import annotations

import dataclasses
import platform
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from luthier.core.files.journal import Record
from luthier.core.tasks import Engine, Given
from luthier.distributed.checked import processor

from .lines import Kept, LineKind

UNITS, TABLES = "units.jsonl", "tables.md"


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


class Units(Protocol):
    """Units that do not wait for each other."""

    @property
    def label(self) -> str:
        """What they are, for people."""

    def all(self) -> Iterator[Any]:
        """Yield every unit, in the order of the study."""

    def record(self, unit: Any) -> Record:
        """Return what identifies a unit, in full."""

    def run(self, unit: Any) -> Record:
        """Return a unit with its results."""

    def given(self) -> Given:
        """Return these units, and how another process gets them."""

    def after(self, record: Record) -> None:
        """Do what is left to do once the line of a unit is kept."""


class AnyStudy(Protocol):
    """A study file, read and checked."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def line(self) -> LineKind:
        """What its lines are."""

    @property
    def names(self) -> Collection[str]:
        """What `only` may be."""

    def unit_sets(self, place: Place, kept: Kept, engine: Engine | None) -> Iterator[Units]:
        """Yield units, set after set; the next is asked for when all of the last have their lines in `kept`."""

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write tables and figures of the lines; return their paths."""


def run_unit(units: Units, unit: Any) -> Record:
    """Return the line of a unit, with the host and the processor that ran it: the work of a task."""
    return {**units.run(unit), "host": platform.node(), "processor": processor()}


def is_plain_name(name: Any) -> bool:
    """Return whether a name can be that of a file in a folder, and of nothing outside of it."""
    return isinstance(name, str) and name.isprintable() and not re.fullmatch(r"|\.\.?|.*[/\\:].*", name)
