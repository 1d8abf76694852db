"""Conditions: features, bins and tuners by whole tuning loops, each in its own folder, and tests of what they found."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from luthier import __version__
from luthier.core.errors import LuthierError
from luthier.core.files.io import content_hash, write_lines
from luthier.core.files.journal import Record
from luthier.core.tasks import Engine
from luthier.features.bins_file import write_bins
from luthier.metrics.batch import Batch
from luthier.tuning.base import Tuner
from luthier.tuning.loops.folder import ANSWER

from ..base import Place
from ..choices import Point, make_choices, text_of
from ..condition_results import BINS, write_results
from ..condition_settings import Condition, ConditionStudy, Values
from ..lines import Kept, LineKind, is_number, require, require_counts, require_numbers, require_texts
from ..system import LOOPS, TRANSLATIONS, LoopTask, LoopUnits, PairData, System, digest_of, pack_statistics

REPLICA_SEEDS = 1000  # between the seeds of replicas: every turn of a loop has one


def _check_line(record: Record) -> None:
    require_texts(record, "study", "data", "condition", "values", "tuner", "metric", "inputs", "made_of", "folder")
    require_texts(record, "ended", "weights", "translations", "statistics")
    require_numbers(record, "test", "decode_seconds", "tune_seconds")
    require_counts(record, "bits", "replica", "replicas", "seed", "features")
    require(isinstance(record["decoded"], list) and bool(record["decoded"]), "decoded")
    require(all(map(is_number, record["decoded"])), "decoded")


LINES = LineKind(
    ("data", "condition", "bits", "values", "replica"),
    ("tuner", "metric", "inputs", "made_of", "start", "loop", "seed"),
    _check_line,
)


class LoopUnit(NamedTuple):
    """One loop: a condition, the bits of its bins (0 for none), the tuner's chosen parameters, and the replica."""

    condition: str
    bits: int
    values: Values
    replica: int


@dataclasses.dataclass(frozen=True)
class Method(ConditionStudy):
    """A study of conditions."""

    line = LINES

    def units(self, entry: PairData, place: Place) -> ConditionUnits | None:
        """Return the loops that choices need; None where the files of a data set are not here."""
        system = System.here(entry, place, seed=self.seed, own=self.own)
        first = [LoopUnit(name, 0, (), 0) for name in self.lists_of]
        return None if system is None else ConditionUnits(self, system, place, first)

    def rounds(self, units: ConditionUnits, kept: Kept, engine: Engine | None) -> Iterator[ConditionUnits]:
        """Yield the loops that choices need, and then all others."""
        units.forget(kept)
        yield units
        system, place, data = units.system, units.place, {entry.name for entry in self.data}
        weights = {unit.condition: units.weights_of(kept, unit) for unit in units.all()}
        points = make_choices(self, system, weights, place, engine)
        wanted = [unit for unit in all_units(self, points, system.config.replicas) if unit not in units.loops]
        chosen = [u for u in wanted if place.only in data | {""} or u.condition == place.only]
        yield ConditionUnits(self, system, place, chosen)

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write tables and figures of the loops that have ended; return their paths."""
        return write_results(self, records, place)


def all_units(study: ConditionStudy, points: Mapping[str, Sequence[Point]], replicas: int) -> Iterator[LoopUnit]:
    """Yield every loop, replica after replica; of each what the main table has comes first.

    `points` are those that were tried for each condition with a choice, the best first.
    """
    for replica in range(replicas):
        yield from (LoopUnit(c.name, *_chosen(c, points), replica) for c in study.conditions)
        if study.sweep:
            condition = study.condition(study.sweep)
            bits, values = _chosen(condition, points)
            yield from (LoopUnit(condition.name, b, values, replica) for b in condition.bits if b != bits)
        if replica == 0:
            yield from _confirming(study, points)
            yield from _shapes(study, points)


def _chosen(condition: Condition, points: Mapping[str, Sequence[Point]]) -> Point:
    if condition.has_choice:
        return points[condition.name][0]
    return Point(condition.bits[0] if condition.bits else 0, ())


def _confirming(study: ConditionStudy, points: Mapping[str, Sequence[Point]]) -> Iterator[LoopUnit]:
    """Yield the neighbours of a chosen value: a choice by re-ranking is confirmed by decoding."""
    for name, axis in study.confirm.items():
        bits, values = _chosen(study.condition(name), points)
        known = sorted(study.condition(name).axes[axis])
        at = known.index(dict(values)[axis])
        for other in known[max(0, at - 1) : at] + known[at + 1 : at + 2]:
            yield LoopUnit(name, bits, tuple((n, other if n == axis else v) for n, v in values), 0)


def _shapes(study: ConditionStudy, points: Mapping[str, Sequence[Point]]) -> Iterator[LoopUnit]:
    """Yield the loops whose weights are drawn, where the chosen bits are others: with the best values at theirs."""
    for name in study.shapes:
        condition = study.condition(name)
        tried = points.get(name, [_chosen(condition, points)])
        best = next(point for point in tried if point.bits == study.shape_bits)
        if best != _chosen(condition, points):
            yield LoopUnit(name, *best, 0)


class ConditionUnits(LoopUnits):
    """Loops of one data set."""

    def __init__(self, study: Method, system: System, place: Place, loops: Sequence[LoopUnit]) -> None:
        super().__init__(system, place)
        self.study, self.loops = study, tuple(dict.fromkeys(loops))

    @property
    def state(self) -> str:
        """A hash of the system."""
        return self.system.inputs

    def all(self) -> Iterator[LoopUnit]:
        """Yield every loop, in the order of the study."""
        yield from self.loops

    def tuner(self, unit: LoopUnit) -> Tuner:
        """Return the tuner of a loop: the training's, with the condition's parameters."""
        own = self.study.condition(unit.condition).parameters(unit.values)
        try:
            return dataclasses.replace(self.system.config.settings.tuner, **own)
        except TypeError as error:
            raise LuthierError(f"{unit.condition!r}: a parameter is not one that the tuner has: {error}") from None

    def record(self, unit: LoopUnit) -> Record:
        """Return what identifies a loop, in full."""
        condition, settings = self.study.condition(unit.condition), self.system.config.settings
        made_of = [condition.features, condition.cut, condition.induction, unit.bits, self.study.own]
        loop = dataclasses.asdict(settings.options)
        seed = settings.options.seed + REPLICA_SEEDS * unit.replica
        return {
            "study": self.study.name,
            "data": self.label,
            "condition": unit.condition,
            "bits": unit.bits,
            "values": text_of(unit.values),
            "replica": unit.replica,
            "seed": seed,
            "tuner": self.tuner(unit).spec,
            "metric": settings.metric.signature,
            "inputs": self.system.inputs,
            "made_of": json.dumps(made_of),
            "start": dict(self.system.config.start or {}),
            "loop": {name: loop[name] for name in ("iterations", "least_change", "least_gain", "choose", "restarts")},
        }

    def folder(self, record: Record) -> Path:
        """Return the folder of a loop: its name says what it is, and no other loop has it."""
        state = digest_of(record, self.study.line.identity, 4)
        words = [record["condition"], str(record["bits"]), record["values"], str(record["replica"] + 1), state]
        return self.system.home / LOOPS / ".".join(word.replace(" ", "-") for word in words if word)

    def weights_of(self, kept: Kept, unit: LoopUnit) -> Path:
        """Return the file of the weights that a finished loop found."""
        path = self.folder(self.record(unit)) / ANSWER
        line = kept[self.study.line.key_of(self.record(unit))]
        if not path.is_file() or content_hash(path) != line["weights"]:
            raise LuthierError(
                f"{path}: not the weights that {self.place.folder} has a line of. hint: remove that line"
            )
        return path

    def forget(self, kept: Kept) -> None:
        """Take lines out whose weights are not here, as in results of others: these loops are run again."""
        for unit in self.loops:
            record = self.record(unit)
            if not (self.folder(record) / ANSWER).is_file():
                kept.pop(self.study.line.key_of(record), None)

    def run(self, unit: LoopUnit) -> Record:
        """Run or resume a loop; translate the test sentences; return its line."""
        identity = self.record(unit)
        folder, condition = self.folder(identity), self.study.condition(unit.condition)
        bins = self.system.bins(condition.cut, condition.induction, unit.bits) if unit.bits else None
        settings = self.system.config.settings
        options = dataclasses.replace(settings.options, seed=identity["seed"])
        task = LoopTask(condition.features, bins, self.tuner(unit), settings.metric, options)
        result, names = self.loop(task, folder)
        if bins is not None:
            write_bins(bins, folder / BINS)
        texts = self.translate(condition.features, bins, result.weights)
        write_lines(folder / TRANSLATIONS, texts)
        stats = settings.metric.stats(Batch.from_lines(texts, self.test_sentences[1]))
        test = float(settings.metric.score(stats.sum(axis=0)))
        spent = [[getattr(took, part) for took in result.seconds] for part in ("decode", "tune")]
        decode, tune = (math.fsum(s for s in seconds if s is not None) for seconds in spent)
        return {
            **identity,
            "replicas": self.system.config.replicas,
            "features": len(names),
            "test": test,
            "decoded": [turn.decoded for turn in result.iterations],
            "tuned": result.iterations[-1].after,
            "hypotheses": result.iterations[-1].merged,
            "ended": result.ended,
            "decode_seconds": round(decode, 1),
            "tune_seconds": round(tune, 1),
            "folder": str(folder.relative_to(self.place.folder)),
            "weights": content_hash(folder / ANSWER),
            "translations": content_hash(folder / TRANSLATIONS),
            "more_features": self._more_features(unit, len(names)),
            "luthier": __version__,
            "statistics": pack_statistics(stats),
        }

    def _more_features(self, unit: LoopUnit, n_features: int) -> int | None:
        """Return how many features there were if those that the study names beside the sweep were cut too."""
        if unit.condition != self.study.sweep or not self.study.extra or unit.replica:
            return None
        more = self.system.bins(self.study.extra, self.study.condition(unit.condition).induction, unit.bits)
        return n_features + len(more.names)
