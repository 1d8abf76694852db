"""Lists that a study tunes on and tests on: synthetic ones, or files in a folder."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, frozen
from luthier.core.errors import LuthierError
from luthier.core.files.io import regular
from luthier.core.rng import make_rng
from luthier.core.segments import offsets_from_counts
from luthier.core.settings import Table
from luthier.corpus.texts import Tokens
from luthier.kbest.building.lists import read_pool
from luthier.kbest.features import Features, align_features
from luthier.kbest.merge import cap
from luthier.kbest.pool import Pool, References
from luthier.kbest.weights import Weights, read_weights
from luthier.synthetic.lists.noisy_channel import SyntheticLists, texts_of

from .base import Entry

SYNTHETIC, FILES = "synthetic", "files"


@dataclasses.dataclass(frozen=True, eq=False)
class StudyLists:
    """Lists to tune on, lists to test on, and the weights that starts are drawn about.

    Attributes
    ----------
    tune, test : Pool, with the same features
    start : (D,)
    digests : of both pools
    """

    name: str
    tune: Pool
    test: Pool
    start: Float64
    digests: tuple[str, str]

    @property
    def size(self) -> list[int]:
        """The most hypotheses of a list to tune on, and sentences to tune and to test on."""
        return [int(np.diff(self.tune.offsets).max()), self.tune.n_sentences, self.test.n_sentences]


@dataclasses.dataclass(frozen=True)
class SyntheticPart:
    """Lists of a synthetic decoder; references lose words where `shorten` says so (see `shortened`)."""

    lists: SyntheticLists
    seed: int
    shorten: float

    def make(self) -> Pool:
        """Generate them."""
        pool = self.lists.generate(self.seed)
        return shortened(pool, self.shorten, self.seed) if self.shorten else pool


@dataclasses.dataclass(frozen=True)
class FilePart:
    """Lists and references in files.

    Attributes
    ----------
    cap : most hypotheses of a sentence
    sentences : how many, from the first on
    """

    lists: tuple[str, ...]
    refs: tuple[str, ...]
    cap: int | None
    sentences: int | None

    def read(self, folder: Path) -> Pool:
        """Read them."""
        paths = [str(folder / name) for name in self.lists]
        missing = [path for path in paths if not Path(path).exists()]
        if missing:
            raise LuthierError(
                f"{missing[0]}: there is no such list. hint: `data` names the folder that has the study's files"
            )
        refs = [str(regular(folder / name)) for name in self.refs]
        pool = read_pool([str(regular(path)) for path in paths], refs=refs)
        if self.cap is not None:
            pool = cap(pool, self.cap)
        if self.sentences is not None:
            pool = pool.take_sentences(np.arange(min(self.sentences, pool.n_sentences)))
        return pool


@dataclasses.dataclass(frozen=True)
class ListEntry(Entry):
    """Lists as a study names them.

    Attributes
    ----------
    tune, test : both synthetic, or both in files
    start : a file of weights; of synthetic lists, the decoder's are taken
    """

    tune: SyntheticPart | FilePart
    test: SyntheticPart | FilePart
    start: str


def read_lists(table: Table, path: str, name: str, source: str) -> ListEntry:
    """Return what a table says of lists; other keys are left in it."""
    part: Any = _read_synthetic if source == SYNTHETIC else _read_files
    tune, test = (part(table.table(side), path) for side in ("tune", "test"))
    return ListEntry(name, tune, test, table.take("start", str) if source == FILES else "")


def _read_synthetic(table: Table, path: str) -> SyntheticPart:
    seed, share = table.take("seed", int), table.take("shorten", float, 0.0)
    lists = table.fields(SyntheticLists)
    table.end()
    if seed < 0 or not 0 <= share < 1:
        raise LuthierError(f"{path}: expected a seed from 0 on and a share to shorten below 1, found {seed}, {share}")
    return SyntheticPart(lists, seed, share)


def _read_files(table: Table, path: str) -> FilePart:
    part = FilePart(
        table.texts("lists"), table.texts("refs"), table.take("cap", int, None), table.take("sentences", int, None)
    )
    table.end()
    if any(limit is not None and limit < 1 for limit in (part.cap, part.sentences)):
        raise LuthierError(f"{path}: expected 'cap' and 'sentences' of at least 1")
    return part


def load_lists(entry: ListEntry, folder: str | None) -> StudyLists | None:
    """Return the lists of an entry; None where they are in a folder not given."""
    if isinstance(entry.tune, SyntheticPart) and isinstance(entry.test, SyntheticPart):
        tune, test = entry.tune.make(), entry.test.make()
        start = Weights(tune.provenance["decoder_weights"])
    elif isinstance(entry.tune, FilePart) and isinstance(entry.test, FilePart) and folder is not None:
        tune, test = entry.tune.read(Path(folder)), entry.test.read(Path(folder))
        start = read_weights(regular(Path(folder) / entry.start))
    else:
        return None
    if tune.features.names != test.features.names:
        test = test.with_features(_in_order(test.features, tune.features))
    vector = frozen(np.array(start.vector(tune.features.names)))
    return StudyLists(entry.name, tune, test, vector, (tune.digest(), test.digest()))


def shortened(pool: Pool, share: float, seed: int) -> Pool:
    """Return the pool with references of unequal length: all but the first of a sentence lose some words.

    The generator's references are paraphrases word by word, all of one length; where lengths are equal, so
    are the variants of BLEU that differ in the length they take. Each word is left out with the probability
    `share`, but the first of a reference never.
    """
    references = pool.references
    assert references is not None
    tokens = references.tokens
    kept = make_rng(seed).random(len(tokens.ids)) >= share
    kept[tokens.offsets[:-1][np.diff(tokens.offsets) > 0]] = True
    for first in references.offsets[:-1]:
        kept[tokens.offsets[first] : tokens.offsets[first + 1]] = True
    lengths = [int(np.count_nonzero(kept[a:b])) for a, b in itertools.pairwise(tokens.offsets.tolist())]
    shorter = Tokens(offsets_from_counts(lengths), tokens.ids[kept])
    with_texts = References(references.offsets, texts_of(shorter, pool.vocab), shorter)
    return dataclasses.replace(pool, references=with_texts).noting("shorten references", share=share, seed=seed)


def _in_order(features: Features, like: Features) -> Features:
    """Return features in the order and storage of others; one that is not there is 0 everywhere."""
    unknown = set(features.names) - set(like.names)
    if unknown:
        raise LuthierError(f"the test lists have a feature that the tuning lists do not have: {sorted(unknown)[0]!r}")
    return align_features(features, like.names, like.n_dense)
