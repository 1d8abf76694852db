"""Tuners in loops: decode, merge, tune from many starts, decode again; every tuner for every metric is a loop."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from luthier import __version__
from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.io import content_hash, write_lines
from luthier.core.files.journal import Record
from luthier.core.settings import Table
from luthier.corpus.texts import Texts
from luthier.evaluation.comparison import Difference, Settings, compare
from luthier.evaluation.systems import System as Compared
from luthier.metrics.base import Metric
from luthier.metrics.batch import Batch
from luthier.metrics.loading import load_metric
from luthier.tuning.loops.folder import ANSWER
from luthier.tuning.options import LoopOptions

from ..base import (
    LEAST_SETS,
    Place,
    Size,
    Starts,
    Study,
    read_metric,
    read_starts,
    require_known,
    take_seed,
    write_tables,
)
from ..lines import (
    LineKind,
    is_number,
    pack_statistics,
    require,
    require_counts,
    require_numbers,
    require_texts,
    unpack_statistics,
)
from ..looped import Looped, read_looped
from ..system import (
    LOOPS,
    TEST,
    TRANSLATIONS,
    TUNE,
    LoopTask,
    LoopUnits,
    PairData,
    System,
    digest_of,
    read_pair,
)
from ..tuner_loop_tables import LoopRun, TunerLoops, TunerLoopTables, table_parts, together_table


def _check_line(record: Record) -> None:
    require_texts(
        record, "study", "data", "tuner", "metric", "method", "signature", "inputs", "folder", "ended", "answer"
    )
    require_numbers(record, "decode_seconds", "tune_seconds", "tune_cpu")
    require_counts(record, "sentences", "k", "hypotheses", "features", least=1)
    for name in ("decoded", "tuned"):
        require(isinstance(record[name], list) and bool(record[name]) and all(map(is_number, record[name])), name)
    require(len(record["decoded"]) == len(record["tuned"]), "tuned")
    require(type(record["higher_is_better"]) is bool, "higher_is_better")
    for name in ("test", "test_before", "tests"):
        require(isinstance(record[name], dict) and all(isinstance(v, str) for v in record[name].values()), name)
    starts = record["loop"]["restarts"]
    require(type(starts) is int and starts >= 0, "loop")


REPLICA_SEEDS = 1000  # between the seeds of replicas: every turn of a loop has one

LINES = LineKind(
    ("data", "tuner", "metric", "replica"), ("method", "signature", "inputs", "start", "loop", "tests"), _check_line
)


@dataclasses.dataclass(frozen=True)
class TunerLoopEntry(PairData):
    """A system to train, and the names of the metrics that are tuned for on it."""

    metrics: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Method(Study):
    """A study of tuners in loops.

    Attributes
    ----------
    features : of rules
    own : features of the decoder; its others are left out
    tuners : by the names the study gives them
    starts : how those of a turn are drawn
    metrics, test_metrics : to tune for, and to score test translations with, by name
    replicas : loops of each tuner for each metric, with seeds of their own
    """

    line = LINES

    data: tuple[TunerLoopEntry, ...]
    features: tuple[str, ...]
    own: tuple[str, ...]
    tuners: Mapping[str, Looped]
    starts: Starts
    metrics: Mapping[str, Metric]
    test_metrics: Mapping[str, Metric]
    replicas: int = 1

    @classmethod
    def read(cls, file: Table, path: str) -> Self:
        """Return the study that a file describes."""
        starts, test = read_starts(file.table("starts"), path), file.table("test")
        metrics = dict(read_metric(table) for table in file.tables("metric"))
        baseline = test.take("baseline", str)
        study = cls(
            name=file.take("name", str),
            seed=take_seed(file, path),
            features=file.texts("features"),
            own=file.texts("own"),
            data=tuple(_entry(table, path, tuple(metrics)) for table in file.tables("data")),
            tuners=dict(read_looped(table, path, starts.count, baseline) for table in file.tables("tuner")),
            starts=starts,
            metrics=metrics,
            test_metrics={name: load_metric(str(spec)) for name, spec in test.table("metrics").rest().items()},
            replicas=file.take("replicas", int, 1),
        )
        for table in (test, file):
            table.end()
        if min(looped.starts for looped in study.tuners.values()) < 1 or study.replicas < 1:
            raise LuthierError(f"{path}: expected at least one start of every tuner, and one replica")
        require_known("metric", [name for entry in study.data for name in entry.metrics], study.metrics, path)
        require_known("tuner", [looped.baseline for looped in study.tuners.values()], study.tuners, path)
        if not study.test_metrics:
            raise LuthierError(f"{path}: expected metrics to test with in [test.metrics], found none")
        return study

    @property
    def names(self) -> set[str]:
        """The names of data sets, tuners and metrics."""
        return {*super().names, *self.tuners, *self.metrics}

    def units(self, entry: TunerLoopEntry, place: Place) -> TunerLoopUnits | None:
        """Return the loops of a data set; None where its files are not here."""
        system = System.here(entry, place, seed=self.seed, own=self.own)
        return None if system is None else TunerLoopUnits(self, entry, system, place)

    def size_of(self, record: Record) -> Size:
        """Return how large a loop is; what decoding took is by the clock in lines that have no CPU seconds."""
        test = len(self._statistics(record, "test", next(iter(self.test_metrics))))
        spent = record.get("cpu_seconds", record["decode_seconds"] + record["tune_cpu"])
        return Size(record["k"], record["sentences"], test, (record.get("replica", 0),), spent)

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write the tables of the loops that have ended; return their paths."""
        found = [self._tables(entry, records) for entry in self.data]
        parts = [part for tables in found if tables.loops for part in table_parts(tables)]
        together = [t for entry, t in zip(self.data, found, strict=True) if entry.synthetic is not None and t.loops]
        if len(together) >= LEAST_SETS:
            parts.insert(0, f"## All synthetic data sets\n\n{together_table(together)}")
        return [write_tables(place, self.name, [self.size_table(records), *parts])] if parts else []

    def _tables(self, entry: TunerLoopEntry, records: Sequence[Record]) -> TunerLoopTables:
        """Return what is shown of a data set: the loops that the study still names, in its order."""
        lines: dict[tuple[str, str], list[Record]] = {}
        for record in sorted(records, key=lambda record: int(record.get("replica", 0))):
            if record["data"] == entry.name and record.get("replica", 0) < self.replicas:
                lines.setdefault((record["metric"], record["tuner"]), []).append(record)
        found: list[TunerLoops] = []
        sizes: dict[tuple[int, int], None] = {}
        for metric in entry.metrics:
            own = {tuner: lines[metric, tuner] for tuner in self.tuners if (metric, tuner) in lines}
            for tuner, replicas in own.items():
                sizes |= {(record["sentences"], record["k"]): None for record in replicas}
                baseline = self.tuners[tuner].baseline
                against = {} if tuner == baseline else self._differences(own.get(baseline, ()), replicas)
                found.append(self._loops(replicas, baseline, against))
        return TunerLoopTables(entry.name, tuple(sizes), len(self.features) + len(self.own), tuple(found))

    def _loops(self, records: Sequence[Record], baseline: str, against: dict[str, Difference]) -> TunerLoops:
        """Return the replicas of one tuner for one metric."""
        before, after = (
            {
                n: tuple(float(m.score(self._statistics(r, part, n).sum(axis=0))) for r in records)
                for n, m in self.test_metrics.items()
            }
            for part in ("test_before", "test")
        )
        runs = tuple(
            LoopRun(
                tuple(r["decoded"]), tuple(r["tuned"]), r["hypotheses"], float(r["tune_cpu"]),
                self.size_of(r).cpu_seconds or 0.0, r["ended"], r["higher_is_better"],
            )
            for r in records
        )  # fmt: skip
        first = records[0]
        starts = first["loop"]["restarts"] + 1
        return TunerLoops(first["metric"], first["tuner"], starts, runs, before, after, baseline, against)

    def _differences(self, baseline: Sequence[Record], records: Sequence[Record]) -> dict[str, Difference]:
        """Return how loops differ from the baseline's on the test sentences, by metric; nothing without these."""
        if not baseline:
            return {}
        both = [
            Compared(name, {n: np.stack([self._statistics(r, "test", n) for r in lines]) for n in self.test_metrics})
            for name, lines in (("baseline", baseline), ("loops", records))
        ]
        found: dict[str, Difference] = {}
        for compared in compare(both, self.test_metrics, Settings(seed=self.seed)).metrics:
            difference = compared.results[1].against_baseline
            assert difference is not None
            found[compared.metric] = difference
        return found

    def _statistics(self, record: Record, part: str, name: str) -> Float64:
        """Return the test statistics of a line under one metric, (N, S)."""
        try:
            return np.asarray(unpack_statistics(record[part][name], len(self.test_metrics[name].stat_names)))
        except (KeyError, ValueError) as error:
            where = f"the line of {record['tuner']!r} for {record['metric']!r}"
            raise LuthierError(f"{where} has no statistics of {name!r}: {error}") from None


def _entry(table: Table, path: str, metrics: tuple[str, ...]) -> TunerLoopEntry:
    own = table.texts("metrics", metrics)
    return TunerLoopEntry(**vars(read_pair(table, path)), metrics=own)


class TunerLoopUnit(NamedTuple):
    """One loop, by the names of the study."""

    metric: str
    tuner: str
    replica: int


class TunerLoopUnits(LoopUnits):
    """Loops of one data set."""

    def __init__(self, study: Method, entry: TunerLoopEntry, system: System, place: Place) -> None:
        super().__init__(system, place)
        self.study, self.entry = study, entry

    def all(self) -> Iterator[TunerLoopUnit]:
        """Yield every loop, replica after replica, in the order of the study."""
        study, only = self.study, self.place.only
        metrics = [metric for metric in self.entry.metrics if only not in study.metrics or metric == only]
        tuners = [tuner for tuner in study.tuners if only not in study.tuners or tuner == only]
        yield from itertools.starmap(
            lambda replica, metric, tuner: TunerLoopUnit(metric, tuner, replica),
            itertools.product(range(study.replicas), metrics, tuners),
        )

    @functools.cached_property
    def state(self) -> str:
        """A hash of all that loops work on: the system, its features, the sentences."""
        return self.system.steps.key([], [self.system.inputs, self.study.features, self.study.own])

    def options(self, unit: TunerLoopUnit) -> LoopOptions:
        """Return how a loop is run: as the training says, from the study's starts."""
        looped, usual = self.study.tuners[unit.tuner], self.system.config.settings.options
        return dataclasses.replace(
            usual,
            seed=self.study.seed + REPLICA_SEEDS * unit.replica,
            restarts=looped.starts - 1,
            restart_kind=self.study.starts.kind,
            restart_size=self.study.starts.size,
            trust=usual.trust if looped.trust is None else looped.trust,
        )

    def _k(self, unit: TunerLoopUnit) -> int:
        return self.study.tuners[unit.tuner].k or self.system.config.k

    def record(self, unit: TunerLoopUnit) -> Record:
        """Return what identifies a loop, in full."""
        loop = dataclasses.asdict(self.options(unit))
        del loop["threads"]
        return {
            "study": self.study.name,
            "data": self.label,
            "tuner": unit.tuner,
            "metric": unit.metric,
            "replica": unit.replica,
            "method": self.study.tuners[unit.tuner].method,
            "signature": self.study.metrics[unit.metric].signature,
            "inputs": self.state,
            "start": dict(self.system.config.start or {}),
            "loop": loop,
            "tests": {name: metric.signature for name, metric in self.study.test_metrics.items()},
        }

    def folder(self, record: Record) -> Path:
        """Return the folder of a loop, which no other loop has."""
        state = digest_of(record, self.study.line.identity, 6)
        method = record["method"].partition("(")[0]
        return self.system.home / LOOPS / f"{method}.{state}"

    def run(self, unit: TunerLoopUnit) -> Record:
        """Run or resume a loop; translate the test sentences with the start and the end; return its line."""
        identity, metric = self.record(unit), self.study.metrics[unit.metric]
        folder = self.folder(identity)
        looped, k = self.study.tuners[unit.tuner], self._k(unit)
        task = LoopTask(
            self.study.features, None, looped.tuner, metric, self.options(unit), k, looped.forests, looped.halfway
        )
        result, names = self.loop(task, folder)
        last = result.iterations[-1]
        spent = {
            name: round(math.fsum(getattr(took, part) or 0.0 for took in result.seconds), 2)
            for name, part in (("decode_seconds", "decode"), ("tune_seconds", "tune"), ("tune_cpu", "tune_cpu"))
        }
        spent["cpu_seconds"] = round(
            spent["tune_cpu"] + math.fsum(took.decode_cpu or 0.0 for took in result.seconds), 2
        )
        translations = self.translate(self.study.features, None, result.weights)
        write_lines(folder / TRANSLATIONS, translations)
        return {
            **identity,
            **spent,
            "higher_is_better": bool(metric.higher_is_better),
            "sentences": len(self.system.sentences(TUNE)[0]),
            "k": k,
            "hypotheses": last.merged,
            "features": len(names),
            "decoded": [turn.decoded for turn in result.iterations],
            "tuned": [turn.after for turn in result.iterations],
            "ended": result.ended,
            "weights": dict(result.weights),
            "test": self._statistics(translations),
            "test_before": self._before,
            "luthier": __version__,
            "answer": content_hash(folder / ANSWER),
            "folder": str(folder.relative_to(self.place.folder)),
        }

    @functools.cached_property
    def _before(self) -> dict[str, str]:
        """The statistics of what the weights of the start, which all loops share, make of the test sentences."""
        features = self.study.features
        start = self.system.config.start or self.system.decoder(TEST, features).default_weights()
        return self._statistics(self.translate(features, None, start))

    def _statistics(self, texts: Texts) -> dict[str, str]:
        """Return the statistics of all test translations under each metric, packed."""
        batch = Batch.from_lines(texts, self.test_sentences[1])
        return {name: pack_statistics(metric.stats(batch)) for name, metric in self.study.test_metrics.items()}
