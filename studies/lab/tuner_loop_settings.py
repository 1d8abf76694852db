"""What the TOML file of a study of tuners in loops says, read and checked before anything runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.files.journal import Record
from luthier.core.settings import Table
from luthier.core.tasks import Engine
from luthier.metrics.base import Metric
from luthier.metrics.loading import load_metric
from luthier.tuning.base import Tuner

from .conditions import PairData, read_pair
from .lines import TUNER_LOOP_LINES, Kept, LineKind
from .start_settings import check_starts, read_metric, read_tuner
from .units import Place, Units


@dataclasses.dataclass(frozen=True)
class TunerLoopEntry:
    """A data set: a system to train, and what is tuned on it.

    Attributes
    ----------
    metrics : names of those to tune for
    """

    pair: PairData
    metrics: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.pair.name


@dataclasses.dataclass(frozen=True)
class TunerLoopStudy:
    """A study file, read and checked: every tuner for every metric in a loop of its own.

    Attributes
    ----------
    features : of rules
    own : features of the decoder; its others are left out
    tuners : by the names the study gives them
    counts : of starts in every turn, by tuner
    kind, size : of starts, see `luthier.tuning.restarts.draw_start`
    metrics, test_metrics : to tune for, and to score test translations with, by name
    baseline : the tuner that others are compared with
    """

    name: str
    seed: int
    features: tuple[str, ...]
    own: tuple[str, ...]
    data: tuple[TunerLoopEntry, ...]
    tuners: Mapping[str, Tuner]
    counts: Mapping[str, int]
    kind: str
    size: float
    metrics: Mapping[str, Metric]
    test_metrics: Mapping[str, Metric]
    baseline: str

    @property
    def line(self) -> LineKind:
        """What its lines are."""
        return TUNER_LOOP_LINES

    @property
    def names(self) -> set[str]:
        """The names of data sets, tuners and metrics."""
        return {*(entry.name for entry in self.data), *self.tuners, *self.metrics}

    def unit_sets(self, place: Place, kept: Kept, engine: Engine | None) -> Iterator[Units]:  # noqa: ARG002
        """Yield the loops of each data set whose files are here."""
        from .tuner_loops import unit_sets  # a study that is only read decodes nothing

        return unit_sets(self, place)

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write the tables of the loops; return their paths."""
        from .tuner_loop_results import write_results

        return write_results(self, records, place)


def read_tuner_loop_study(values: Mapping[str, Any], path: str) -> TunerLoopStudy:
    """Return the study that the tables of a file describe."""
    file = Table(values, path)
    starts, test = file.table("starts"), file.table("test")
    metrics = dict(read_metric(table) for table in file.tables("metric"))
    count = starts.take("count", int)
    counts: dict[str, int] = {}
    tuners: dict[str, Tuner] = {}
    for table in file.tables("tuner"):
        own = table.take("starts", int, count)
        name, method = read_tuner(table, path)
        tuners[name], counts[name] = method, own
    study = TunerLoopStudy(
        name=file.take("name", str), seed=file.take("seed", int), features=file.texts("features"),
        own=file.texts("own"), data=tuple(_entry(table, path, tuple(metrics)) for table in file.tables("data")),
        tuners=tuners, counts=counts, kind=starts.take("kind", str), size=starts.take("size", float), metrics=metrics,
        test_metrics={name: load_metric(str(spec)) for name, spec in test.table("metrics").rest().items()},
        baseline=test.take("baseline", str),
    )  # fmt: skip
    for table in (starts, test, file):
        table.end()
    check_starts(min(counts.values()), study.seed, study.kind, study.size, path=path)
    for kind, name, known in (
        *(("metric", name, study.metrics) for entry in study.data for name in entry.metrics),
        ("tuner", study.baseline, study.tuners),
    ):
        if name not in known:
            raise LuthierError(f"{path}: there is no {kind} {name!r} in this study. known: {', '.join(known)}")
    if not study.test_metrics:
        raise LuthierError(f"{path}: expected metrics to test with in [test.metrics], found none")
    return study


def _entry(table: Table, path: str, metrics: tuple[str, ...]) -> TunerLoopEntry:
    own = table.texts("metrics", metrics)
    return TunerLoopEntry(read_pair(table, path), own)
