"""The units of a study of tuners in loops: decode, merge, tune from many starts, decode again; a test of the end."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from luthier import __version__
from luthier.core.errors import LuthierError
from luthier.core.files.io import content_hash, write_lines
from luthier.core.files.journal import Record
from luthier.core.progress import notice
from luthier.core.settings import read_toml
from luthier.core.tasks import Given
from luthier.corpus.texts import Texts
from luthier.jobs.loop import OwnDecoder
from luthier.metrics.batch import Batch
from luthier.tuning.loop import LoopPlace, tune_loop
from luthier.tuning.loop_folder import ANSWER, LISTS
from luthier.tuning.loop_report import LoopResult
from luthier.tuning.options import LoopOptions

from .conditions import Condition
from .packed_statistics import pack_statistics
from .system import TEST, TUNE, ConditionDecoder, System
from .tuner_loop_settings import TunerLoopEntry, TunerLoopStudy, read_tuner_loop_study
from .units import Place

LOOPS, TRANSLATIONS = "loops", "test.txt"


class TunerLoopUnit(NamedTuple):
    """One loop, by the names of the study."""

    metric: str
    tuner: str


def unit_sets(study: TunerLoopStudy, place: Place) -> Iterator[TunerLoopUnits]:
    """Yield the loops of each data set that is here."""
    names = {entry.name for entry in study.data}
    for entry in study.data:
        if place.only in names - {entry.name}:
            continue
        if place.data is None and entry.pair.embedded is None:
            notice(f"{entry.name}: left out, for its files are not here. hint: `data` DIR")
            continue
        system = System(study, entry.pair, place)
        system.prepare()
        yield TunerLoopUnits(study, entry, system, place)


@dataclasses.dataclass(frozen=True)
class TunerLoopRecipe:
    """How another process gets the loops of a data set: from the study's file and the folder of its system."""

    place: Place
    name: str
    inputs: str

    def open(self) -> TunerLoopUnits:
        """Return the loops; refuse a system that is not that of the process that asks."""
        path = Path(self.place.path)
        study = read_tuner_loop_study(read_toml(path, "a study"), str(path))
        for entry in (entry for entry in study.data if entry.name == self.name):
            units = TunerLoopUnits(study, entry, System(study, entry.pair, self.place), self.place)
            if units.inputs == self.inputs:
                return units
        raise LuthierError(f"{path}: the data {self.name!r} are not the same here")


class TunerLoopUnits:
    """Loops of one data set; they do not wait for each other."""

    def __init__(self, study: TunerLoopStudy, entry: TunerLoopEntry, system: System, place: Place) -> None:
        self.study, self.entry, self.system, self.place = study, entry, system, place
        self.features = Condition(study.name, study.features)

    @property
    def label(self) -> str:
        """What they are, for people."""
        return self.entry.name

    def given(self) -> Given:
        """Return these units, and how another process gets them."""
        return Given(self, TunerLoopRecipe(self.place, self.label, self.inputs))

    def all(self) -> Iterator[TunerLoopUnit]:
        """Yield every loop, in the order of the study."""
        study, only = self.study, self.place.only
        for metric in (m for m in self.entry.metrics if only not in study.metrics or m == only):
            yield from (TunerLoopUnit(metric, t) for t in study.tuners if only not in study.tuners or t == only)

    @functools.cached_property
    def inputs(self) -> str:
        """A hash of all that loops work on: the system, its features, the sentences."""
        return self.system.steps.key([], [self.system.inputs, self.study.features, self.study.own])

    def options(self, unit: TunerLoopUnit) -> LoopOptions:
        """Return how a loop is run: as the training says, from the study's starts."""
        return dataclasses.replace(
            self.system.config.settings.options, seed=self.study.seed, restarts=self.study.counts[unit.tuner] - 1,
            restart_kind=self.study.kind, restart_size=self.study.size,
        )  # fmt: skip

    def record(self, unit: TunerLoopUnit) -> Record:
        """Return what identifies a loop, in full."""
        loop = dataclasses.asdict(self.options(unit))
        del loop["threads"]
        return {
            "study": self.study.name, "data": self.label, "tuner": unit.tuner, "metric": unit.metric,
            "method": self.study.tuners[unit.tuner].spec, "signature": self.study.metrics[unit.metric].signature,
            "inputs": self.inputs, "start": dict(self.system.config.start or {}), "loop": loop,
            "tests": {name: metric.signature for name, metric in self.study.test_metrics.items()},
        }  # fmt: skip

    def folder(self, record: Record) -> Path:
        """Return the folder of a loop, which no other loop has."""
        identity = json.dumps([record[part] for part in self.study.line.identity], sort_keys=True)
        state = hashlib.blake2b(identity.encode(), digest_size=6).hexdigest()
        method = record["method"].partition("(")[0]
        return self.system.home / LOOPS / f"{method}.{state}"

    def run(self, unit: TunerLoopUnit) -> Record:
        """Run a loop, or go on with it; translate the test sentences with the start and the end; return its line."""
        identity, metric = self.record(unit), self.study.metrics[unit.metric]
        folder = self.folder(identity)
        if (folder / ANSWER).exists() and not (folder / LISTS).exists():  # its line was there, and has been removed
            shutil.rmtree(folder)
        result = self._loop(unit, folder)
        last = result.iterations[-1]
        spent = {
            name: round(math.fsum(getattr(took, part) or 0.0 for took in result.seconds), 2)
            for name, part in (("decode_seconds", "decode"), ("tune_seconds", "tune"), ("tune_cpu", "tune_cpu"))
        }
        translations = self._test(result.weights)
        write_lines(folder / TRANSLATIONS, translations)
        return {
            **identity, **spent, "higher_is_better": bool(metric.higher_is_better),
            "sentences": len(self.system.sentences(TUNE)[0]), "k": self.system.config.k, "hypotheses": last.merged,
            "features": len(last.weights), "decoded": [turn.decoded for turn in result.iterations],
            "tuned": [turn.after for turn in result.iterations], "ended": result.ended,
            "weights": dict(result.weights), "test": self._statistics(translations),
            "test_before": self._before, "luthier": __version__,
            "answer": content_hash(folder / ANSWER), "folder": str(folder.relative_to(self.place.folder)),
        }  # fmt: skip

    def after(self, record: Record) -> None:
        """Remove the lists of a loop that has its line: they are large, and its turns have their digests."""
        shutil.rmtree(self.place.folder / record["folder"] / LISTS, ignore_errors=True)

    def _loop(self, unit: TunerLoopUnit, folder: Path) -> LoopResult:
        system, config = self.system, self.system.config
        decoder = system.decoder(TUNE, self.features, None)
        own = OwnDecoder(decoder, *system.sentences(TUNE), config.k, config.unique)
        return tune_loop(
            ConditionDecoder(own, system.columns(decoder)), config.start or decoder.default_weights(),
            self.study.tuners[unit.tuner], self.study.metrics[unit.metric], self.options(unit),
            bounds=config.settings.bounds, place=LoopPlace(str(folder), resume=True, decoder=self.inputs),
        )  # fmt: skip

    @functools.cached_property
    def _before(self) -> dict[str, str]:
        """The statistics of what the weights of the start, which all loops share, make of the test sentences."""
        start = self.system.config.start
        return self._statistics(self._test(start or self.system.decoder(TEST, self.features, None).default_weights()))

    def _test(self, weights: Mapping[str, float]) -> Texts:
        sentences, _ = self._test_sentences
        return self.system.decoder(TEST, self.features, None).decode(sentences, weights, derivations=False).texts

    def _statistics(self, texts: Texts) -> dict[str, str]:
        """Return the statistics of all test translations under each metric, packed."""
        batch = Batch.from_lines(texts, self._test_sentences[1])
        return {name: pack_statistics(metric.stats(batch)) for name, metric in self.study.test_metrics.items()}

    @functools.cached_property
    def _test_sentences(self) -> Any:
        return self.system.sentences(TEST)
