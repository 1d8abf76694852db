"""A system that is trained for a study, without weights, and whole tuning loops on it.

Text, held-out pairs, alignment, language model and rules are made once for each data set; decoders differ in features.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from luthier.core.errors import LuthierError, unwarned
from luthier.core.files.io import make_folder, regular, write_lines
from luthier.core.files.journal import Record
from luthier.core.rng import make_rng
from luthier.core.settings import Table
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.features.bins import Bins
from luthier.features.fit_bins import BinOptions, bins_of_grammar, bins_of_pool
from luthier.grammar.grammar import Grammar
from luthier.grammar.storage import open_grammar
from luthier.jobs.loop import FORESTS, ForestDecoder, OwnDecoder
from luthier.jobs.loop_config import Sentences
from luthier.jobs.score import read_parallel
from luthier.jobs.train import Steps, Training
from luthier.jobs.train_config import TrainConfig, read_train_config
from luthier.jobs.trained_model import LM
from luthier.kbest.pool import Pool
from luthier.kbest.storage.pool_file import open_pool
from luthier.kbest.weights import Weights
from luthier.lm.model import LanguageModel
from luthier.lm.storage import open_lm
from luthier.metrics.base import Metric
from luthier.synthetic.pair.pair import PARTS, PairGenerator
from luthier.tuning.base import Tuner
from luthier.tuning.loops.folder import ANSWER, LISTS
from luthier.tuning.loops.loop import Decode, LoopPlace, tune_loop
from luthier.tuning.loops.report import LoopResult
from luthier.tuning.options import LoopOptions

from .base import Entry, Place, Units, take_name
from .two_vectors import TwoVectors

SYSTEMS, CORPUS = "systems", "corpus"
TUNE, HELDOUT, TEST = "tune", "heldout", "test"
DRAWN = {"train": "train", HELDOUT: "heldout", TUNE: "drawn.tune", TEST: "drawn.test"}  # names of files begin so
ALL_FEATURES = ("all",)
LOOPS, TRANSLATIONS = "loops", "test.txt"  # of a system, and of a loop


@dataclasses.dataclass(frozen=True)
class PairData(Entry):
    """A data set: a training's file, and how many pairs leave its parallel text first.

    Attributes
    ----------
    training : a file of `luthier train`, beside the study's
    hold_out : pairs to choose by; they are neither aligned nor in a model
    hold_out_tune : pairs to tune on in place of the training's, whose sentences then join those to test on
    hold_out_test : pairs that join those to test on
    synthetic : sizes and seed of the synthetic language pair whose files the training reads; None for files of others
    sentences, skip : of those to tune on, so many, after so many that are left out; None for all
    """

    training: str
    hold_out: int
    synthetic: Mapping[str, Any] | None = None
    sentences: int | None = None
    hold_out_tune: int = 0
    hold_out_test: int = 0
    skip: int = 0

    @property
    def drawn(self) -> dict[str, int]:
        """How many pairs leave the parallel text, by what for, in the order they are drawn."""
        sizes = {HELDOUT: self.hold_out, TUNE: self.hold_out_tune, TEST: self.hold_out_test}
        return {part: size for part, size in sizes.items() if size}


def read_pair(table: Table, path: str) -> PairData:
    """Return what is left of a table as a data set whose system is trained."""
    name, training = take_name(table, path), table.take("training", str)
    hold_out, tune, test = (table.take(f"hold_out{part}", int, 0) for part in ("", "_tune", "_test"))
    synthetic = table.table("synthetic").rest() if table.has("synthetic") else None
    sentences, skip = table.take("sentences", int, None), table.take("skip", int, 0)
    table.end()
    if min(hold_out, tune, test) < 0:
        raise LuthierError(f"{path}: expected 0 pairs or more to hold out, found {min(hold_out, tune, test)}")
    if sentences is not None and sentences < 1:
        raise LuthierError(f"{path}: expected at least one sentence of {name!r} to tune on, found {sentences}")
    if sentences is not None and tune:
        raise LuthierError(f"{path}: expected sentences of {name!r} to tune on, or pairs held out for that, found both")
    if skip < 0 or (skip and sentences is None):
        raise LuthierError(f"{path}: expected skip = N beside sentences = N of {name!r}, found skip = {skip}")
    return PairData(name, training, hold_out, synthetic, sentences, tune, test, skip)


class System:
    """A trained system without weights, in ``systems/NAME`` of the study's folder.

    Grammars have all kinds of features; a decoder takes its own. `prepare` makes what is missing.

    Parameters
    ----------
    seed : of the pairs held out
    own : features of the decoder that are tuned
    """

    def __init__(self, entry: PairData, place: Place, *, seed: int, own: tuple[str, ...]) -> None:
        self.entry, self.seed, self.own = entry, seed, own
        self.home = place.folder / SYSTEMS / entry.name
        self.data = place.data if entry.synthetic is None else str(self.home)
        self.training = Path(place.path).parent / entry.training

    @classmethod
    def here(cls, entry: PairData, place: Place, *, seed: int, own: tuple[str, ...]) -> Self | None:
        """Return the system of a data set; None where its files are in a folder not given."""
        missing = place.data is None and entry.synthetic is None
        return None if missing else cls(entry, place, seed=seed, own=own)

    @property
    def steps(self) -> Steps:
        """The steps that were done in its folder, as they are now."""
        return Steps(self.home)

    def prepare(self) -> None:
        """Make the text if it is synthetic, hold pairs out, align, estimate, index, extract."""
        make_folder(self.home)
        if self.entry.synthetic is not None:
            self._write_pair()
        plain = self._read()
        if self.entry.drawn:
            key = self.steps.key([plain.source, plain.target], [self.entry.drawn, self.seed])
            made = [file for part in ("train", *self.entry.drawn) for file in _drawn_files(part)]
            self.steps.run("pairs held out", key, made, lambda: self._hold_out(plain))
        if self._joined(plain):
            files = [path for part in self._joined(plain) for path in (part.source, *part.refs)]
            self.steps.run("sentences to test on", self.steps.key(files, []), _TESTED, lambda: self._join(plain))
        if self.entry.sentences:
            files, made = [plain.tune.source, *plain.tune.refs], _some_files(plain.tune)
            key = self.steps.key(files, [self.entry.sentences, self.entry.skip])
            self.steps.run("sentences to tune on", key, made, lambda: self._take_some(files, made))
        training = Training(self.config, self.home, threads=1)
        training.align()
        training.estimate()
        training.index()
        for name, part in self.parts.items():
            training.extract(name, part)

    def _write_pair(self) -> None:
        settings = {**(self.entry.synthetic or {})}
        sizes = {name: settings.pop(name) for name in (*PARTS, "seed") if name in settings}
        sizes = {HELDOUT: 0, **sizes}
        generator, folder = PairGenerator(**settings), self.home / CORPUS
        outputs = [f"{CORPUS}/{part}.{kind}.txt" for part in ("train", TUNE, TEST) for kind in ("source", "refs.0")]
        key = self.steps.key([], [dataclasses.asdict(generator), sizes])
        self.steps.run("synthetic pair", key, outputs, lambda: generator.write(folder, **sizes))

    def _hold_out(self, plain: TrainConfig) -> None:
        """Draw the pairs that leave the parallel text."""
        sides = read_parallel([plain.target], read_lines(plain.source), plain.source)
        sides.insert(0, read_lines(plain.source))
        n, wanted = len(sides[0]), sum(self.entry.drawn.values())
        if wanted >= n:
            raise LuthierError(f"{plain.source}: expected more than {wanted} pairs to hold {wanted} out, found {n}")
        order = make_rng(self.seed).permutation(n)
        sizes = {**self.entry.drawn, "train": n - wanted}
        for part, rows in zip(sizes, np.split(order, np.cumsum([*sizes.values()])[:-1]), strict=True):
            for side, name in zip(sides, _drawn_files(part), strict=True):
                write_lines(self.home / name, side.take(np.sort(rows)))

    def _drawn(self, part: str) -> Sentences:
        source, target = _drawn_files(part)
        return Sentences(str(self.home / source), (str(self.home / target),))

    def _joined(self, plain: TrainConfig) -> list[Sentences]:
        """Return the sets that together are tested on; none where the training's own is all."""
        assert plain.test is not None  # `_read` has seen to it
        more = [plain.tune] if self.entry.hold_out_tune else []
        more += [self._drawn(TEST)] if self.entry.hold_out_test else []
        return [plain.test, *more] if more else []

    def _join(self, plain: TrainConfig) -> None:
        """Write the sentences to test on, set after set."""
        sides: list[list[str]] = [[], []]
        for part in self._joined(plain):
            sentences = read_lines(part.source)
            if len(part.refs) != 1:
                raise LuthierError(f"{part.source}: expected one reference, to be joined with other sets, found more")
            for side, lines in zip(sides, [sentences, *read_parallel(part.refs, sentences, part.source)], strict=True):
                side += lines
        for side, name in zip(sides, _TESTED, strict=True):
            write_lines(self.home / name, side)

    def _take_some(self, files: Sequence[str], made: Sequence[str]) -> None:
        """Write the sentences to tune on that are wanted, and their references."""
        sentences = read_lines(files[0])
        sides = [sentences, *read_parallel(files[1:], sentences, files[0])]
        rows = np.arange(len(sentences))[self.entry.skip :][: self.entry.sentences]
        if not len(rows):
            raise LuthierError(f"{files[0]}: expected more than {self.entry.skip} sentences, found {len(sentences)}")
        for side, name in zip(sides, made, strict=True):
            write_lines(self.home / name, side.take(rows))

    def _read(self) -> TrainConfig:
        config = read_train_config(regular(self.training), data=self.data, seed=self.seed, threads=1)
        if config.test is None:
            raise LuthierError(f"{self.training}: expected a table [test] with sentences to test on, found none")
        return dataclasses.replace(config, features=ALL_FEATURES)

    @functools.cached_property
    def config(self) -> TrainConfig:
        """The training's settings, without the pairs held out (its held-out part) and with the sentences wanted."""
        config = self._read()
        if self.entry.sentences:
            some = [str(self.home / name) for name in _some_files(config.tune)]
            config = dataclasses.replace(config, tune=Sentences(some[0], tuple(some[1:])))
        if not self.entry.drawn:
            return config
        source, target = (str(self.home / name) for name in _drawn_files("train"))
        lm_text = target if config.lm_text == config.target else config.lm_text
        tested = Sentences(str(self.home / _TESTED[0]), (str(self.home / _TESTED[1]),))
        return dataclasses.replace(
            config,
            source=source,
            target=target,
            lm_text=lm_text,
            heldout=self._drawn(HELDOUT) if self.entry.hold_out else config.heldout,
            tune=self._drawn(TUNE) if self.entry.hold_out_tune else config.tune,
            test=tested if self._joined(config) else config.test,
        )

    @functools.cached_property
    def parts(self) -> dict[str, Sentences]:
        """The sentences to tune on, to choose by and to test on, as far as there are."""
        parts = {TUNE: self.config.tune, HELDOUT: self.config.heldout, TEST: self.config.test}
        return {name: part for name, part in parts.items() if part is not None}

    @functools.cached_property
    def inputs(self) -> str:
        """A hash of all that loops work on but their features: rules, language model, sentences, limits."""
        files = [self.home / LM, *(self.home / f"{name}.grammar" for name in (TUNE, TEST))]
        texts = [path for name in (TUNE, TEST) for path in (self.parts[name].source, *self.parts[name].refs)]
        c = self.config
        return self.steps.key([*files, *texts], [dataclasses.asdict(c.search), c.k, c.unique])

    @functools.cached_property
    def models(self) -> tuple[LanguageModel, ...]:
        """The language model."""
        return (open_lm(self.home / LM),)

    def sentences(self, part: str) -> tuple[Texts, tuple[Texts, ...]]:
        """Return the sentences of a part and its references."""
        given = self.parts[part]
        sentences = read_lines(given.source)
        return sentences, tuple(read_parallel(given.refs, sentences, given.source))

    def grammar(self, part: str) -> Grammar:
        """Return the rules for a part, with all features."""
        return open_grammar(self.home / f"{part}.grammar")

    def bins(self, features: tuple[str, ...], induction: str, bits: int, *, by_use: Path | None = None) -> Bins:
        """Return bins of the rules for the tuning sentences; a rule counts once for every sentence that has it.

        `by_use` is a pool: a rule then counts once for every use in its derivations.
        """
        options = BinOptions(bins=1 << bits, induction=induction)
        with unwarned():  # features of few values are as they are
            if by_use is not None:
                return bins_of_pool(open_pool(by_use), features, options, by_use=True)
            return bins_of_grammar(self.grammar(TUNE), features, options)

    def decoder(self, part: str, features: Sequence[str], bins: Bins | None = None) -> Decoder:
        """Return the decoder with features of rules for the sentences of a part."""
        grammar = self.grammar(part).select_features(features)
        decoder = Decoder(grammar, self.models, self.config.search, bins=bins)
        unknown = [name for name in self.own if name not in decoder.feature_names]
        if unknown:
            raise LuthierError(f"the decoder has no feature {unknown[0]!r}. known: {', '.join(decoder.feature_names)}")
        return decoder

    def columns(self, decoder: Decoder) -> tuple[str, ...]:
        """Return the features of a decoder that lists have: those of rules, and of its own the study's."""
        wanted = {*decoder.grammar.feature_names, *self.own}
        return tuple(name for name in decoder.feature_names if name in wanted)


_TESTED = ("test.source.gz", "test.refs.gz")  # where several sets are tested on


def _drawn_files(part: str) -> tuple[str, str]:
    return f"{DRAWN[part]}.source.gz", f"{DRAWN[part]}.target.gz"


def _some_files(tune: Sentences) -> list[str]:
    return ["tune.source.gz", *(f"tune.refs.{number}.gz" for number in range(len(tune.refs)))]


class LoopUnits(Units):
    """Loops on one system that do not wait for each other; each has a folder of its own."""

    writes = True

    def __init__(self, system: System, place: Place) -> None:
        super().__init__(system.entry.name, place)
        self.system = system

    def prepare(self) -> None:
        """Make the system."""
        self.system.prepare()

    def after(self, record: Record) -> None:
        """Remove the lists of a loop that has its line: they are large, and its turns have their digests."""
        for large in (LISTS, FORESTS):
            shutil.rmtree(self.place.folder / record["folder"] / large, ignore_errors=True)

    def loop(self, task: LoopTask, folder: Path) -> tuple[LoopResult, tuple[str, ...]]:
        """Run a loop, or resume it in its folder; return its result and the features of its lists."""
        if (folder / ANSWER).exists() and not (folder / LISTS).exists():  # its line was there, and has been removed
            shutil.rmtree(folder)
        config = self.system.config
        decoder = self.system.decoder(TUNE, task.features, task.bins)
        own = OwnDecoder(decoder, *self.system.sentences(TUNE), task.k or config.k, config.unique)
        columns, bounds = self.system.columns(decoder), dict(config.settings.bounds or {})

        def decode(weights: Weights) -> Pool:
            pool = own(weights)
            return pool.with_features(pool.features.select(columns))

        start = Weights(config.start or decoder.default_weights())
        decodes: Decode = decode
        if task.forests:  # these have all features of the decoder
            bounds |= {name: (0.0, 0.0) for name in decoder.feature_names if name not in columns}
            decodes = ForestDecoder(own, folder)
        elif task.halfway:
            decodes = TwoVectors(decode, task.metric, start, folder)
        result = tune_loop(
            decodes,
            start,
            task.tuner,
            task.metric,
            task.options,
            bounds=bounds,
            place=LoopPlace(str(folder), resume=True, decoder=self.state),
        )
        return result, columns

    def translate(self, features: Sequence[str], bins: Bins | None, weights: Mapping[str, float]) -> Texts:
        """Return translations of the test sentences."""
        sentences, _ = self.test_sentences
        return self.system.decoder(TEST, features, bins).decode(sentences, weights, derivations=False).texts

    @functools.cached_property
    def test_sentences(self) -> tuple[Texts, tuple[Texts, ...]]:
        """The test sentences and their references."""
        return self.system.sentences(TEST)


class LoopTask(NamedTuple):
    """What a loop decodes and tunes with.

    Attributes
    ----------
    features, bins : of rules
    k : how many hypotheses of each sentence; 0: as the training says
    forests : whether it tunes on forests in place of lists
    halfway : whether every turn has the lists of a second weight vector
    """

    features: Sequence[str]
    bins: Bins | None
    tuner: Tuner
    metric: Metric
    options: LoopOptions
    k: int = 0
    forests: bool = False
    halfway: bool = False


def digest_of(record: Record, names: Sequence[str], size: int) -> str:
    """Return a digest of some members of a line, for the name of its folder."""
    identity = json.dumps([record[name] for name in names], sort_keys=True)
    return hashlib.blake2b(identity.encode(), digest_size=size).hexdigest()
