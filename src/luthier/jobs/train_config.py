"""What a training's TOML file says, read and checked before anything runs."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from luthier.alignment.base import DEFAULT, Aligner, aligner
from luthier.alignment.bitext import MAX_WORDS
from luthier.alignment.symmetrize import DEFAULT_WAY, WAYS
from luthier.core.errors import LuthierError
from luthier.core.files.io import regular
from luthier.core.settings import Table
from luthier.corpus.raw_text import TextSettings
from luthier.decoding.chart.options import SearchOptions
from luthier.grammar.extraction.options import Limits, feature_names
from luthier.jobs.loop_config import Sentences, TunerSettings, check_k, take_sentences, take_start, tuner_settings
from luthier.kbest.weights import Weights
from luthier.lm.estimate import EstimateOptions

MOST_REPLICAS = 10_000
AS_IS = "as-is"


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """A training's file.

    Attributes
    ----------
    source, target : the parallel text
    lm_text : text of the language model
    text : what becomes of ordinary text; None where it is taken as it is
    tune, heldout, test : sentences with references; the last two may be None
    start : weights of the loop's first turn; None for the decoder's own
    k, unique : what lists the loop decodes
    forests : whether the loop tunes on all that its searches have seen, not on the lists
    replicas : loops with seeds of their own
    """

    source: str
    target: str
    lm_text: str
    text: TextSettings | None
    aligner: Aligner
    symmetrize: str
    max_words: int
    lm: EstimateOptions
    limits: Limits
    features: tuple[str, ...]
    search: SearchOptions
    tune: Sentences
    heldout: Sentences | None
    test: Sentences | None
    settings: TunerSettings
    start: Weights | None
    k: int
    unique: bool
    forests: bool
    replicas: int

    @property
    def parts(self) -> dict[str, Sentences]:
        """The sentences to translate, by name."""
        parts = {"tune": self.tune, "heldout": self.heldout, "test": self.test}
        return {name: part for name, part in parts.items() if part is not None}


def read_train_config(path: str | os.PathLike[str], *, data: str | None = None, seed: int, threads: int) -> TrainConfig:
    """Return what a file says; relative paths start from `data`, or from the file's own folder."""
    file = Table.read(path, "a training's settings")
    base = Path(data) if data is not None else Path(path).parent
    corpus = file.table("corpus")
    source, target = (str(regular(base / corpus.take(side, str))) for side in ("source", "target"))
    max_words = corpus.take("max_words", int, MAX_WORDS)
    corpus.end()
    method, how = _alignment(file.table("alignment"), str(path))
    lm = file.table("lm")
    lm_text = str(regular(base / lm.take("text", str))) if lm.has("text") else target
    estimate = EstimateOptions(order=lm.take("order", int, 5), prune=tuple(lm.numbers("prune", (0,))))
    lm.end()
    rules = file.table("grammar")
    features = rules.texts("features", ("log",))
    feature_names(features)
    limits = rules.fields(Limits)
    rules.end()
    decoder = file.table("decoder")
    k, unique = decoder.take("k", int, 200), decoder.take("unique", bool, True)
    forests = decoder.take("forests", bool, False)
    search = decoder.fields(SearchOptions)
    decoder.end()
    found = TrainConfig(
        source=source,
        target=target,
        lm_text=lm_text,
        text=_text(file, str(path)),
        aligner=method,
        symmetrize=how,
        max_words=max_words,
        lm=estimate,
        limits=limits,
        features=tuple(features),
        search=search,
        tune=take_sentences(file.table("tune"), base),
        heldout=_maybe(file, "heldout", base),
        test=_maybe(file, "test", base),
        settings=tuner_settings(file, seed=seed, threads=threads, ours=True),
        start=take_start(file.table("start"), base) if file.has("start") else None,
        k=k,
        unique=unique,
        forests=forests,
        replicas=file.take("replicas", int, 1),
    )
    file.end()
    check_k(found.k, str(path))
    if not 1 <= found.replicas <= MOST_REPLICAS:
        raise LuthierError(f"{path}: expected replicas from 1 to {MOST_REPLICAS:,}, found {found.replicas:,}")
    if found.settings.options.choose == "heldout" and found.heldout is None:
        raise LuthierError(f"{path}: choose = \"heldout\" needs a table [heldout] with its 'source' and 'refs'")
    return found


def _text(file: Table, path: str) -> TextSettings | None:
    """Take [text], or text = "as-is", which is how it is without either."""
    if file.has_text("text"):
        found = file.take("text", str)
        if found != AS_IS:
            raise LuthierError(
                f'{path}: expected text = "{AS_IS}" or a table [text] with two languages, found {found!r}'
            )
        return None
    if not file.has("text"):
        return None
    table = file.table("text")
    settings = table.fields(TextSettings)
    table.end()
    return settings


def _maybe(file: Table, key: str, base: Path) -> Sentences | None:
    return take_sentences(file.table(key), base) if file.has(key) else None


def _alignment(table: Table, path: str) -> tuple[Aligner, str]:
    name, how = table.take("method", str, DEFAULT), table.take("symmetrize", str, DEFAULT_WAY)
    if how not in WAYS:
        raise LuthierError(f"{path}: expected symmetrize = one of {', '.join(WAYS)}, found {how!r}")
    try:
        return aligner(name, **table.rest()), how
    except TypeError:
        known = ", ".join(["method", "symmetrize", *(f.name for f in dataclasses.fields(aligner(name)))])
        raise LuthierError(f"{path}: a setting of [alignment] is none that {name} has. known: {known}") from None
