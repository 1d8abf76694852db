"""Tuning around a decoder: ``luthier.loop`` takes settings to a folder of turns, answer, table and picture."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import LuthierError
from luthier.core.files.io import make_folder, write_lines
from luthier.core.files.written import secondary
from luthier.core.params import DEFAULT_SEED, checked, path_of
from luthier.core.progress import notice
from luthier.corpus.lines import read_lines
from luthier.corpus.texts import Texts
from luthier.decoding.decoder import Decoder
from luthier.decoding.forests.files import ForestWriter, open_forests
from luthier.decoding.forests.hypergraph import Hypergraph
from luthier.decoding.forests.lines import ForestLines
from luthier.decoding.forests.union import union
from luthier.decoding.models import weight_vector
from luthier.jobs.external_decoder import ExternalDecoder
from luthier.jobs.loop_config import LoopConfig, Sentences, read_config
from luthier.jobs.opening import AnyPath, cores
from luthier.jobs.run_file import about_loop, loop_run
from luthier.jobs.score import read_parallel
from luthier.jobs.score_with import BATCH, Answers, items_of
from luthier.jobs.trained_model import TranslationModel, model_identity
from luthier.kbest.pool import Pool
from luthier.kbest.weights import Weights, write_weights
from luthier.report.figures.tuning import draw_loop
from luthier.report.tables.training import loop_markdown
from luthier.tuning.loops.folder import HELDOUT, LISTS, RecordedLists, recorded_decoder
from luthier.tuning.loops.loop import Decode, LoopPlace, NumberedDecoder, PackedDecoder, tune_loop
from luthier.tuning.loops.report import LoopResult

# Our own decoder as the loop sees it: a function from weights to lists of given sentences.


@dataclasses.dataclass(frozen=True, eq=False)
class OwnDecoder:
    """A decoder on one set of sentences.

    Attributes
    ----------
    references : columns of texts, one for each sentence
    k, unique : how many hypotheses of each sentence, and whether no two have the same words
    """

    decoder: Decoder
    sentences: Texts
    references: tuple[Texts, ...]
    k: int
    unique: bool = True
    threads: int = 1

    def __call__(self, weights: Weights) -> Pool:
        """Return the lists that weights lead to."""
        return self.lists(weights)

    def lists(self, weights: Weights, forests: Callable[[Hypergraph], object] | None = None) -> Pool:
        """Return the lists that weights lead to; a function may take the forests they are read from, one by one."""
        return self.decoder.decode(
            self.sentences,
            weights,
            k=self.k,
            unique=self.unique,
            references=self.references,
            derivations=False,
            forests=forests or False,
            threads=self.threads,
        ).pool


class ForestDecoder(PackedDecoder):
    """The same decoder, which keeps the forests of each of its searches in a folder: lattice MERT [macherey2008]."""

    def __init__(self, own: OwnDecoder, folder: str | os.PathLike[str]) -> None:
        self.own, self.folder = own, Path(folder) / FORESTS

    def decode(self, weights: Weights, number: int) -> Pool:
        """Return the lists that weights lead to, once the forests they come from are written."""
        own, table = self.own, self.own.decoder.prepare(self.own.sentences).table
        with ForestWriter(table, weight_vector(weights, table.names, quiet=True), self._place(number)) as writer:
            pool = own.lists(weights, forests=writer.add)
            writer.finish()
        return pool

    def candidates(self, numbers: Sequence[int]) -> tuple[ForestLines, Int64]:
        """Return the forests of these searches as one, and the rows of the sentences that have a translation."""
        forests = union([open_forests(self._place(number)) for number in numbers])
        kept = np.array([i for i, forest in enumerate(forests.forests) if forest.n_nodes], dtype=np.int64)
        return ForestLines([forests.forests[i] for i in kept], forests.rules), kept

    def _place(self, number: int) -> Path:
        return make_folder(self.folder) / f"{number:03d}"


class ScoredDecoder(NumberedDecoder):
    """A decoder whose hypotheses are scored once they are decoded; it gets its own weights, and not the scorers'.

    Parameters
    ----------
    scorers : by the names of the features they make
    model, lines : where the decoder is our own, what its words become for people, and the lines as people wrote them
    """

    def __init__(
        self, decode: Decode, scorers: Mapping[str, Answers], model: TranslationModel | None, lines: Texts
    ) -> None:
        self._decode, self._scorers, self._model, self._lines = decode, scorers, model, lines

    def own_weights(self, weights: Weights) -> Weights:
        """Return the weights that are no scorer's."""
        return Weights({name: value for name, value in weights.items() if name not in self._scorers})

    def decode(self, weights: Weights, number: int) -> Pool:
        """Return the decoder's lists with a feature for each scorer; what was scored before is not scored again."""
        decode, own = self._decode, self.own_weights(weights)
        pool = decode.decode(own, number) if isinstance(decode, NumberedDecoder) else decode(own)
        twice = [name for name in self._scorers if name in pool.features.names]
        if twice:
            raise LuthierError(f"the decoder has a feature {twice[0]!r}. hint: another name for it in [scorers]")
        items = items_of(pool if self._model is None else self._model.ordinary(pool, self._lines))
        return pool.with_features({name: one.of(items, remember=True) for name, one in self._scorers.items()})


TABLE, PICTURE, FORESTS = "table.md", "loop.png", "forests"
DECODER_ANSWER = "weights.decoder.json"


@checked
def loop(
    config: AnyPath,
    output: AnyPath | None = None,
    *,
    data: AnyPath | None = None,
    resume: bool = False,
    seed: int = DEFAULT_SEED,
    threads: int | None = None,
) -> LoopResult:
    """Tune in a loop around a decoder, as a settings file says: decode, merge, tune, and again.

    Parameters
    ----------
    config
        The loop's settings, a TOML file (docs/loop.md).
    output
        A folder for the turns, the answer, a table and a picture (default: beside the settings).
    data
        Where relative paths start (default: beside the settings).
    resume
        Go on with the loop that was begun in the folder.
    """
    n_threads = cores(threads)
    settings = read_config(config, data=None if data is None else path_of(data), seed=seed, threads=n_threads)
    return run_loop(settings, loop_folder(config, output), resume=resume, threads=n_threads)


def loop_folder(config: AnyPath, output: AnyPath | None) -> str:
    """Return where a loop's turns go."""
    return path_of(output) if output else f"{Path(config).with_suffix('')}-loop"


def run_loop(config: LoopConfig, folder: str, *, resume: bool, threads: int = 1) -> LoopResult:
    """Run a loop, or resume it; leave its turns, answer, table and picture in the folder."""
    parts = {"tune": config.tune, **({} if config.heldout is None else {"heldout": config.heldout})}
    decoders: dict[str, Decode] = {}
    if config.command is not None:
        found = {name: _outside(config, part, name, folder) for name, part in parts.items()}
        identity = " ".join(decoder.identity() for decoder in found.values())
        decoders.update(found)
        if not config.command.has("weights"):
            notice("the command has no place {weights}: the decoder will not see them")
    elif config.model:
        identity = model_identity(config.model, [path for part in parts.values() for path in (part.source, *part.refs)])
        identity = f"{identity} {config.k} {config.unique}{' forests' if config.forests else ''}"
        own = {name: _own(config, part, name, threads) for name, part in parts.items()}
        decoders.update(own)
        if config.forests:
            decoders["tune"] = ForestDecoder(own["tune"], folder)
    else:
        identity = recorded_decoder(config.recorded)
        decoders = {name: RecordedLists(config.recorded, LISTS if name == "tune" else HELDOUT) for name in parts}
    if config.scorers:
        said = "\n".join(f"{name} {scorer.identity()}" for name, scorer in config.scorers.items())
        identity = f"{identity} {hashlib.blake2b(said.encode(), digest_size=16).hexdigest()}"
        decoders = _scored(config, decoders, parts, folder)
    return _finish(config, decoders, LoopPlace(folder, resume, identity))


def _scored(
    config: LoopConfig, decoders: Mapping[str, Decode], parts: Mapping[str, Sentences], folder: str
) -> dict[str, Decode]:
    """Return the decoders of all parts with scorers behind them; both parts share what these have answered."""
    answers = {
        name: Answers(scorer, "", str(Path(folder, f"scores.{name}.jsonl")), BATCH)
        for name, scorer in config.scorers.items()
    }
    model = TranslationModel.open(config.model) if config.model else None
    return {
        name: ScoredDecoder(decode, answers, model, read_lines(parts[name].source)) for name, decode in decoders.items()
    }


def _own(config: LoopConfig, part: Sentences, name: str, threads: int) -> OwnDecoder:
    model, lines = TranslationModel.open(config.model), read_lines(part.source)
    references = tuple(model.target_lines(refs) for refs in read_parallel(part.refs, lines, part.source))
    sentences = model.source_lines(lines)
    decoder = model.decoder(model.grammar(sentences, threads=threads))
    k = config.k if name == "tune" or config.scorers else 1  # scorers choose from lists
    return OwnDecoder(decoder, sentences, references, k, config.unique, threads)


def _outside(config: LoopConfig, sentences: Sentences, part: str, folder: str) -> ExternalDecoder:
    assert config.command is not None
    work = str(Path(folder).absolute() / "decoder")
    return ExternalDecoder(config.command, sentences.source, sentences.refs, part, config.base, work)


def _finish(config: LoopConfig, decoders: dict[str, Decode], place: LoopPlace) -> LoopResult:
    """Run the loop with its decoders; write table and picture."""
    settings = config.settings
    start = TranslationModel.open(config.model).weights if config.start is None else config.start
    start = Weights({**start, **{name: 0.0 for name in config.scorers if name not in start}})
    with loop_run(place.folder, "loop", settings.metric, settings.tuner.spec, settings.options.seed) as run:
        result = tune_loop(
            decoders["tune"],
            start,
            settings.tuner,
            settings.metric,
            settings.options,
            heldout=decoders.get("heldout"),
            bounds=settings.bounds,
            place=dataclasses.replace(place, begun=run.begin),
        )
        run.finish(**about_loop(result))
    tune = decoders["tune"]
    if isinstance(tune, ScoredDecoder):
        write_weights(tune.own_weights(result.weights), Path(place.folder, DECODER_ANSWER))
    show_loop(result, Path(place.folder))
    return result


def show_loop(result: LoopResult, folder: Path) -> None:
    """Write table and picture of a loop into its folder, beside its answer."""
    with secondary(folder / TABLE):
        write_lines(folder / TABLE, loop_markdown(result).splitlines())
    with secondary(folder / PICTURE):
        draw_loop(result, folder / PICTURE)
