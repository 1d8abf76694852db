"""What all conditions of a data set share: text, held-out pairs, alignment, language model, rules; decoders of them."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from luthier.core.errors import LuthierError, LuthierWarning
from luthier.core.files.io import make_folder, regular, write_lines
from luthier.core.rng import make_rng
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.features.bins import Bins
from luthier.features.making import BinOptions, bins_of_grammar
from luthier.grammar.grammar import Grammar
from luthier.grammar.storage import open_grammar
from luthier.invented.pair.pair import PARTS, PairGenerator
from luthier.kbest.pool import Pool
from luthier.kbest.weights import Weights
from luthier.lm.model import LanguageModel
from luthier.lm.storage import open_lm
from luthier.pipelines.loop.config import Sentences
from luthier.pipelines.loop.ours import OwnDecoder
from luthier.pipelines.scoring import read_parallel
from luthier.pipelines.study.conditions import Condition, PairData
from luthier.pipelines.study.units import Place
from luthier.pipelines.train.config import TrainConfig, read_train_config
from luthier.pipelines.train.model import LM
from luthier.pipelines.train.steps import Steps
from luthier.pipelines.train.train import Training

SYSTEMS, CORPUS = "systems", "corpus"
TUNE, HELDOUT, TEST = "tune", "heldout", "test"
KEPT = ("train.source.gz", "train.target.gz", "heldout.source.gz", "heldout.target.gz")
ALL_FEATURES = ("all",)


class Named(Protocol):
    """What a system asks of a study."""

    @property
    def seed(self) -> int:
        """Of the pairs held out."""

    @property
    def own(self) -> tuple[str, ...]:
        """Features of the decoder that are tuned."""


class System:
    """A trained system without weights, in ``work/NAME`` of the study's folder.

    Grammars have all kinds of features; a condition takes its own. `prepare` makes what is missing.
    """

    def __init__(self, study: Named, entry: PairData, place: Place) -> None:
        self.seed, self.own, self.entry = study.seed, study.own, entry
        self.home = place.folder / SYSTEMS / entry.name
        self.data = place.data if entry.embedded is None else str(self.home)
        self.training = Path(place.path).parent / entry.training

    @property
    def steps(self) -> Steps:
        """The steps that were done in its folder, as they are now."""
        return Steps(self.home)

    def prepare(self) -> None:
        """Make the text if it is the embedded one, hold pairs out, align, estimate, index, extract."""
        make_folder(self.home)
        if self.entry.embedded is not None:
            self._write_pair()
        plain = self._read()
        if self.entry.hold_out:
            key = self.steps.key([plain.source, plain.target], [self.entry.hold_out, self.seed])
            self.steps.run("pairs held out", key, KEPT, lambda: self._hold_out(plain))
        if self.entry.sentences:
            files, made = [plain.tune.source, *plain.tune.refs], _first_files(plain.tune)
            key = self.steps.key(files, [self.entry.sentences])
            self.steps.run("first sentences", key, made, lambda: self._take_first(files, made))
        training = Training(self.config, self.home, threads=1)
        training.align()
        training.estimate()
        training.index()
        for name, part in self.parts.items():
            training.extract(name, part)

    def _write_pair(self) -> None:
        settings = {**(self.entry.embedded or {})}
        sizes = {name: settings.pop(name) for name in (*PARTS, "seed") if name in settings}
        sizes = {HELDOUT: 0, **sizes}
        generator, folder = PairGenerator(**settings), self.home / CORPUS
        outputs = [f"{CORPUS}/{part}.{kind}.txt" for part in ("train", TUNE, TEST) for kind in ("source", "refs.0")]
        key = self.steps.key([], [dataclasses.asdict(generator), sizes])
        self.steps.run("embedded pair", key, outputs, lambda: generator.write(folder, **sizes))

    def _hold_out(self, plain: TrainConfig) -> None:
        """Draw the pairs that leave the parallel text."""
        sides = read_parallel([plain.target], read_lines(plain.source), plain.source)
        sides.insert(0, read_lines(plain.source))
        n, wanted = len(sides[0]), self.entry.hold_out
        if wanted >= n:
            raise LuthierError(f"{plain.source}: expected more than {wanted} pairs to hold {wanted} out, found {n}")
        out = np.zeros(n, dtype=bool)
        out[make_rng(self.seed).permutation(n)[:wanted]] = True
        names = iter(KEPT)
        for rows in (np.flatnonzero(~out), np.flatnonzero(out)):
            for side in sides:
                write_lines(self.home / next(names), side.take(rows))

    def _take_first(self, files: Sequence[str], made: Sequence[str]) -> None:
        """Write the sentences to tune on that are wanted, and their references."""
        sentences = read_lines(files[0])
        sides = [sentences, *read_parallel(files[1:], sentences, files[0])]
        rows = np.arange(min(self.entry.sentences or 0, len(sentences)))
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
            first = [str(self.home / name) for name in _first_files(config.tune)]
            config = dataclasses.replace(config, tune=Sentences(first[0], tuple(first[1:])))
        if not self.entry.hold_out:
            return config
        source, target, held_source, held_target = (str(self.home / name) for name in KEPT)
        lm_text = target if config.lm_text == config.target else config.lm_text
        heldout = Sentences(held_source, (held_target,))
        return dataclasses.replace(config, source=source, target=target, lm_text=lm_text, heldout=heldout)

    @functools.cached_property
    def parts(self) -> dict[str, Sentences]:
        """The sentences to tune on, to choose by and to test on, as far as there are."""
        parts = {TUNE: self.config.tune, HELDOUT: self.config.heldout, TEST: self.config.test}
        return {name: part for name, part in parts.items() if part is not None}

    @functools.cached_property
    def inputs(self) -> str:
        """A hash of all that loops work on but the condition: rules, language model, sentences, limits."""
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

    def bins(self, features: tuple[str, ...], induction: str, bits: int) -> Bins:
        """Return bins of the rules for the tuning sentences; a rule counts once for every sentence that has it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LuthierWarning)  # features of few values are as they are
            return bins_of_grammar(self.grammar(TUNE), features, BinOptions(bins=1 << bits, induction=induction))

    def decoder(self, part: str, condition: Condition, bins: Bins | None) -> Decoder:
        """Return the decoder of a condition for the sentences of a part."""
        grammar = self.grammar(part).select_features(condition.features)
        decoder = Decoder(grammar, self.models, self.config.search, bins=bins)
        unknown = [name for name in self.own if name not in decoder.feature_names]
        if unknown:
            raise LuthierError(f"the decoder has no feature {unknown[0]!r}. known: {', '.join(decoder.feature_names)}")
        return decoder

    def columns(self, decoder: Decoder) -> tuple[str, ...]:
        """Return the features of a decoder that conditions have: those of rules, and of its own the study's."""
        wanted = {*decoder.grammar.feature_names, *self.own}
        return tuple(name for name in decoder.feature_names if name in wanted)


def _first_files(tune: Sentences) -> list[str]:
    return ["tune.source.gz", *(f"tune.refs.{number}.gz" for number in range(len(tune.refs)))]


@dataclasses.dataclass(frozen=True, eq=False)
class ConditionDecoder:
    """The decoder of a condition as a loop sees it: lists have the condition's features and no others."""

    own: OwnDecoder
    columns: tuple[str, ...]

    def __call__(self, weights: Weights) -> Pool:
        """Return the lists that weights lead to."""
        pool = self.own(weights)
        return pool.with_features(pool.features.select(self.columns))
