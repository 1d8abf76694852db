"""The units of a study of conditions: whole tuning loops, each in a folder of its own, and tests of what they found."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy.typing as npt

from luthier import __version__
from luthier.core.errors import LuthierError
from luthier.core.files.io import content_hash, write_lines
from luthier.core.files.journal import Record
from luthier.core.progress import notice
from luthier.core.tasks import Engine, Given
from luthier.features.bins import Bins
from luthier.features.bins_file import write_bins
from luthier.jobs.loop import OwnDecoder
from luthier.kbest.weights import Weights
from luthier.metrics.batch import Batch
from luthier.tuning.base import Tuner
from luthier.tuning.loop import LoopPlace, tune_loop
from luthier.tuning.loop_folder import ANSWER, LISTS
from luthier.tuning.loop_report import LoopResult
from luthier.tuning.options import LoopOptions

from .choices import Point, make_choices, text_of
from .conditions import Condition, LoopStudy, Values, read_loop_study
from .lines import Kept
from .loop_results import BINS
from .packed_statistics import pack_statistics
from .system import TEST, TUNE, ConditionDecoder, System
from .units import Place

LOOPS, TRANSLATIONS = "loops", "test.txt"
REPLICA_SEEDS = 1000  # between the seeds of replicas: every turn of a loop has one


class LoopUnit(NamedTuple):
    """One loop: a condition, the bits of its bins (0 for none), the tuner's chosen parameters, and the replica."""

    condition: str
    bits: int
    values: Values
    replica: int


def unit_sets(study: LoopStudy, place: Place, kept: Kept, engine: Engine | None) -> Iterator[LoopUnits]:
    """Yield, for each data set that is here, the loops that choices need, and then all others."""
    names = {entry.name for entry in study.data}
    for entry in study.data:
        if place.only in names - {entry.name}:
            continue
        if place.data is None and entry.embedded is None:
            notice(f"{entry.name}: left out, for its files are not here. hint: `data` DIR")
            continue
        system = System(study, entry, place)
        system.prepare()
        first = [LoopUnit(name, 0, (), 0) for name in study.lists_of]
        units = LoopUnits(study, system, place, first)
        units.forget(kept)
        yield units
        weights = {unit.condition: units.weights_of(kept, unit) for unit in first}
        points = make_choices(study, system, weights, place, engine)
        wanted = [unit for unit in all_units(study, points, system.config.replicas) if unit not in first]
        chosen = [u for u in wanted if place.only in names | {""} or u.condition == place.only]
        yield LoopUnits(study, system, place, chosen)


def all_units(study: LoopStudy, points: Mapping[str, Sequence[Point]], replicas: int) -> Iterator[LoopUnit]:
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


def _confirming(study: LoopStudy, points: Mapping[str, Sequence[Point]]) -> Iterator[LoopUnit]:
    """Yield the neighbours of a chosen value: a choice by re-ranking is confirmed by decoding."""
    for name, axis in study.confirm.items():
        bits, values = _chosen(study.condition(name), points)
        known = sorted(study.condition(name).axes[axis])
        at = known.index(dict(values)[axis])
        for other in known[max(0, at - 1) : at] + known[at + 1 : at + 2]:
            yield LoopUnit(name, bits, tuple((n, other if n == axis else v) for n, v in values), 0)


def _shapes(study: LoopStudy, points: Mapping[str, Sequence[Point]]) -> Iterator[LoopUnit]:
    """Yield the loops whose weights are drawn, where the chosen bits are others: with the best values at theirs."""
    for name in study.shapes:
        condition = study.condition(name)
        tried = points.get(name, [_chosen(condition, points)])
        best = next(point for point in tried if point.bits == study.shape_bits)
        if best != _chosen(condition, points):
            yield LoopUnit(name, *best, 0)


@dataclasses.dataclass(frozen=True)
class LoopRecipe:
    """How another process gets the loops of a data set: from the study's file and the folder of its system."""

    place: Place
    name: str
    units: tuple[LoopUnit, ...]
    inputs: str

    def open(self) -> LoopUnits:
        """Return the loops; refuse a system that is not that of the process that asks."""
        path = Path(self.place.path)
        study = read_loop_study(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
        entry = next((entry for entry in study.data if entry.name == self.name), None)
        system = None if entry is None else System(study, entry, self.place)
        if system is None or system.inputs != self.inputs:
            raise LuthierError(f"{path}: the data {self.name!r} are not the same here")
        return LoopUnits(study, system, self.place, self.units)


class LoopUnits:
    """Loops of one data set that do not wait for each other."""

    def __init__(self, study: LoopStudy, system: System, place: Place, units: Sequence[LoopUnit]) -> None:
        self.study, self.system, self.place, self.units = study, system, place, tuple(dict.fromkeys(units))

    @property
    def label(self) -> str:
        """What they are, for people."""
        return self.system.entry.name

    def given(self) -> Given:
        """Return these units, and how another process gets them."""
        recipe = LoopRecipe(self.place.absolute(), self.label, self.units, self.system.inputs)
        return Given(self, recipe, twice=False)  # a loop writes into its folder

    def all(self) -> Iterator[LoopUnit]:
        """Yield every loop, in the order of the study."""
        yield from self.units

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
            "study": self.study.name, "data": self.label, "condition": unit.condition, "bits": unit.bits,
            "values": text_of(unit.values), "replica": unit.replica, "seed": seed,
            "tuner": self.tuner(unit).spec, "metric": settings.metric.signature, "inputs": self.system.inputs,
            "made_of": json.dumps(made_of), "start": dict(self.system.config.start or {}),
            "loop": {name: loop[name] for name in ("iterations", "least_change", "least_gain", "choose", "restarts")},
        }  # fmt: skip

    def folder(self, record: Record) -> Path:
        """Return the folder of a loop: its name says what it is, and no other loop has it."""
        identity = json.dumps([record[part] for part in self.study.line.identity], sort_keys=True)
        state = hashlib.blake2b(identity.encode(), digest_size=4).hexdigest()
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
        for unit in self.units:
            record = self.record(unit)
            if not (self.folder(record) / ANSWER).is_file():
                kept.pop(self.study.line.key_of(record), None)

    def run(self, unit: LoopUnit) -> Record:
        """Run a loop, or go on with it; translate the test sentences; return its line."""
        identity = self.record(unit)
        folder, condition = self.folder(identity), self.study.condition(unit.condition)
        bins = self.system.bins(condition.cut, condition.induction, unit.bits) if unit.bits else None
        result, n_features = self._loop(unit, bins, folder)
        if bins is not None:
            write_bins(bins, folder / BINS)
        stats = self._test(condition, bins, result.weights, folder)
        test = float(self.system.config.settings.metric.score(stats.sum(axis=0)))
        spent = [[getattr(took, part) for took in result.seconds] for part in ("decode", "tune")]
        decode, tune = (math.fsum(s for s in seconds if s is not None) for seconds in spent)
        return {
            **identity, "replicas": self.system.config.replicas, "features": n_features, "test": test,
            "decoded": [turn.decoded for turn in result.iterations],
            "tuned": result.iterations[-1].after, "hypotheses": result.iterations[-1].merged, "ended": result.ended,
            "decode_seconds": round(decode, 1), "tune_seconds": round(tune, 1),
            "folder": str(folder.relative_to(self.place.folder)), "weights": content_hash(folder / ANSWER),
            "translations": content_hash(folder / TRANSLATIONS), "more_features": self._more_features(unit, n_features),
            "luthier": __version__, "statistics": pack_statistics(stats),
        }  # fmt: skip

    def _loop(self, unit: LoopUnit, bins: Bins | None, folder: Path) -> tuple[LoopResult, int]:
        system, config = self.system, self.system.config
        decoder = system.decoder(TUNE, self.study.condition(unit.condition), bins)
        own = OwnDecoder(decoder, *system.sentences(TUNE), config.k, config.unique)
        decode = ConditionDecoder(own, system.columns(decoder))
        result = tune_loop(
            decode, config.start or decoder.default_weights(), self.tuner(unit), config.settings.metric,
            self._options(unit), bounds=config.settings.bounds,
            place=LoopPlace(str(folder), resume=True, decoder=system.inputs),
        )  # fmt: skip
        return result, len(decode.columns)

    def _options(self, unit: LoopUnit) -> LoopOptions:
        return dataclasses.replace(self.system.config.settings.options, seed=self.record(unit)["seed"])

    def _test(self, condition: Condition, bins: Bins | None, weights: Weights, folder: Path) -> npt.NDArray[Any]:
        """Translate the test sentences; return the statistics of each translation, (N, S)."""
        sentences, references = self._test_sentences
        decoder = self.system.decoder(TEST, condition, bins)
        texts = decoder.decode(sentences, weights, derivations=False).texts
        write_lines(folder / TRANSLATIONS, texts)
        return self.system.config.settings.metric.stats(Batch.from_lines(texts, references))

    def _more_features(self, unit: LoopUnit, n_features: int) -> int | None:
        """Return how many features there were if those that the study names beside the sweep were cut too."""
        if unit.condition != self.study.sweep or not self.study.extra or unit.replica:
            return None
        more = self.system.bins(self.study.extra, self.study.condition(unit.condition).induction, unit.bits)
        return n_features + len(more.names)

    @functools.cached_property
    def _test_sentences(self) -> Any:
        return self.system.sentences(TEST)

    def after(self, record: Record) -> None:
        """Remove the lists of a loop that has its line: they are large, and its turns have their digests."""
        shutil.rmtree(self.place.folder / record["folder"] / LISTS, ignore_errors=True)
