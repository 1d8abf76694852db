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
from luthier.core.jit import Stopwatch
from luthier.core.tasks import Engine
from luthier.features.bins_file import bins_text
from luthier.kbest.weights import Weights
from luthier.metrics.batch import Batch
from luthier.tuning.base import Tuner
from luthier.tuning.loops.folder import ANSWER
from luthier.tuning.options import LoopOptions

from ..base import Place
from ..choices import CHOICES, Point, make_choices, text_of
from ..condition_results import write_results
from ..condition_settings import Condition, ConditionEntry, ConditionStudy, Values
from ..lines import (
    Kept,
    LineKind,
    is_number,
    pack_statistics,
    pack_text,
    pack_weights,
    require,
    require_counts,
    require_numbers,
    require_texts,
    unpack_weights,
)
from ..system import LOOPS, TEST, TRANSLATIONS, TUNE, LoopTask, LoopUnits, System, digest_of

TURNS = "turns"  # of a loop that has its own number of them, among its values
REPLICA_SEEDS = 1000  # between the seeds of replicas: every turn of a loop has one


def _check_line(record: Record) -> None:
    require_texts(record, "study", "data", "condition", "values", "tuner", "metric", "inputs", "made_of", "folder")
    require_texts(record, "ended", "weights", "translations", "statistics", "answer", "bins")
    require_numbers(record, "test", "decode_seconds", "tune_seconds", "cpu_seconds")
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

    def units(self, entry: ConditionEntry, place: Place) -> ConditionUnits | None:
        """Return the loops that choices need; None where the files of a data set are not here."""
        system = System.here(entry, place, seed=self.seed, own=self.own)
        first = [LoopUnit(name, 0, (), 0) for name in self.lists_of]
        return None if system is None else ConditionUnits(self, system, place, first)

    def rounds(self, units: ConditionUnits, kept: Kept, engine: Engine | None) -> Iterator[ConditionUnits]:
        """Yield the loops that choices need, and then all others."""
        yield units
        system, place, data = units.system, units.place, {entry.name for entry in self.data}
        weights = {unit.condition: units.weights_of(kept, unit) for unit in units.all()}
        points = make_choices(self, system, weights, place, engine)
        every = all_units(self, system.entry.name, points, system.config.replicas)
        wanted = [unit for unit in every if unit not in units.loops]
        chosen = [u for u in wanted if place.only in data | {""} or u.condition == place.only]
        yield ConditionUnits(self, system, place, chosen)

    def write_results(self, records: Sequence[Record], place: Place) -> list[str]:
        """Write tables and figures of the loops that have ended; return their paths."""
        return write_results(self, records, place)


def all_units(
    study: ConditionStudy, data: str, points: Mapping[str, Sequence[Point]], replicas: int
) -> Iterator[LoopUnit]:
    """Yield every loop of a data set, replica after replica.

    `points` are those that were tried for each condition with a choice, the best first. Longer loops come last.
    """
    conditions = {condition.name: condition for condition in study.conditions_of(data)}
    for replica in range(replicas):
        yield from (LoopUnit(name, *_chosen(c, points), replica) for name, c in conditions.items())
    for name in (name for name in study.longer if name in conditions and data == study.data[0].name):
        bits_of, values = _chosen(conditions[name], points)
        yield LoopUnit(name, bits_of, (*values, (TURNS, study.longer_turns)), 0)


def _chosen(condition: Condition, points: Mapping[str, Sequence[Point]]) -> Point:
    if condition.has_choice:
        return points[condition.name][0]
    return Point(condition.bits[0] if condition.bits else 0, ())


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
        own.pop(TURNS, None)
        try:
            return dataclasses.replace(self.system.config.settings.tuner, **own)
        except TypeError as error:
            raise LuthierError(f"{unit.condition!r}: a parameter is not one that the tuner has: {error}") from None

    def options(self, unit: LoopUnit) -> LoopOptions:
        """Return how a loop is run: with a seed and, where it is a longer one, turns of its own."""
        options = self.system.config.settings.options
        turns = dict(unit.values).get(TURNS, options.iterations)
        return dataclasses.replace(options, seed=options.seed + REPLICA_SEEDS * unit.replica, iterations=turns)

    def record(self, unit: LoopUnit) -> Record:
        """Return what identifies a loop, in full."""
        condition, settings = self.study.condition(unit.condition), self.system.config.settings
        made_of = [condition.features, condition.cut, condition.induction, unit.bits, self.study.own]
        made_of += ["by use"] if condition.by_use else []
        loop = dataclasses.asdict(self.options(unit))
        return {
            "study": self.study.name,
            "data": self.label,
            "condition": unit.condition,
            "bits": unit.bits,
            "values": text_of(unit.values),
            "replica": unit.replica,
            "seed": loop["seed"],
            "tuner": self.tuner(unit).spec,
            "metric": settings.metric.signature,
            "inputs": self.system.inputs,
            "made_of": json.dumps(made_of),
            "start": dict(self.system.config.start or {}),
            "loop": {name: loop[name] for name in ("iterations", "patience", "least_gain", "choose", "restarts")},
        }

    def folder(self, record: Record) -> Path:
        """Return the folder of a loop: its name says what it is, and no other loop has it."""
        state = digest_of(record, self.study.line.identity, 4)
        words = [record["condition"], str(record["bits"]), record["values"], str(record["replica"] + 1), state]
        return self.system.home / LOOPS / ".".join(word.replace(" ", "-") for word in words if word)

    def weights_of(self, kept: Kept, unit: LoopUnit) -> Weights:
        """Return the weights that a finished loop found."""
        return Weights(unpack_weights(kept[self.study.line.key_of(self.record(unit))]["answer"]))

    def run(self, unit: LoopUnit) -> Record:
        """Run or resume a loop; translate the test sentences; return its line."""
        identity = self.record(unit)
        folder, condition = self.folder(identity), self.study.condition(unit.condition)
        lists = self.system.home / CHOICES / f"{TUNE}.arrow" if condition.by_use else None
        bins = self.system.bins(condition.cut, condition.induction, unit.bits, by_use=lists) if unit.bits else None
        settings, stopwatch = self.system.config.settings, Stopwatch()
        task = LoopTask(condition.features, bins, self.tuner(unit), settings.metric, self.options(unit))
        result, names = self.loop(task, folder)
        texts = self.translate(condition.features, bins, result.weights)
        write_lines(folder / TRANSLATIONS, texts)
        stats = settings.metric.stats(Batch.from_lines(texts, self.test_sentences[1]))
        test = float(settings.metric.score(stats.sum(axis=0)))
        decode, tune = (
            math.fsum(getattr(took, part) or 0.0 for took in result.seconds) for part in ("decode_cpu", "tune_cpu")
        )
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
            "cpu_seconds": round(max(stopwatch.seconds()[0], decode + tune), 1),
            "size": [self.system.config.k, *(len(self.system.sentences(part)[0]) for part in (TUNE, TEST))],
            "folder": str(folder.relative_to(self.place.folder)),
            "weights": content_hash(folder / ANSWER),
            "answer": pack_weights(result.weights),
            "bins": pack_text(bins_text(bins)) if bins is not None and unit.condition in self.study.shapes else "",
            "translations": content_hash(folder / TRANSLATIONS),
            "luthier": __version__,
            "statistics": pack_statistics(stats),
        }
