"""A synthetic language pair: parallel text that is learnable, hard, and made on the spot.

A sentence is drawn as a meaning (`luthier.synthetic.pair.speaker`) from a synthetic dictionary
(`luthier.synthetic.pair.lexicon`) and spoken by two grammars (`luthier.synthetic.pair.source`,
`luthier.synthetic.pair.target`). What the target grammar leaves free gives several true references.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import luthier
from luthier.core.files.io import make_folder, write_lines
from luthier.core.params import ParameterError, param, validate
from luthier.core.progress import progress
from luthier.core.rng import make_rng
from luthier.synthetic.pair.concepts import Lexicon
from luthier.synthetic.pair.draws import Draws
from luthier.synthetic.pair.lexicon import make_lexicon
from luthier.synthetic.pair.meaning import NO_NODE, Side
from luthier.synthetic.pair.source import speak_source
from luthier.synthetic.pair.speaker import Speaker
from luthier.synthetic.pair.target import speak_target

PARTS = ("train", "tune", "heldout", "test")
# A part has the sentences whose checksum, modulo 8, is in its range: no sentence is in two parts.
N_BUCKETS = 8
BUCKETS = {"train": range(5), "tune": range(5, 6), "heldout": range(6, 7), "test": range(7, 8)}
SIGNATURE_FILE = "pair.json"


@dataclasses.dataclass(frozen=True)
class Pair:
    """A source sentence with its references, all of the same meaning."""

    source: Side
    references: tuple[Side, ...]

    @property
    def gloss(self) -> str:
        """The source sentence word by word: usual target words with grammatical labels."""
        return " ".join(self.source.labels)

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """The true word alignment of the source and the first reference, as places from 0, sorted."""
        places: dict[int, list[int]] = {}
        for j, node in enumerate(self.references[0].nodes):
            places.setdefault(node, []).append(j)
        return tuple(
            (i, j) for i, node in enumerate(self.source.nodes) if node != NO_NODE for j in places.get(node, ())
        )


@dataclasses.dataclass(frozen=True)
class PairGenerator:
    """Parameters of a language pair; `pairs` draws sentences, `write` makes the files of a corpus.

    A sentence depends on these parameters, the seed, the name of the part and its index in the part, and
    on nothing else: the first thousand sentences are the same however many follow. Parts have no source
    sentence in common, whatever their sizes and seeds. The first reference does not depend on how many
    there are.

    >>> pair = PairGenerator(vocabulary=300).pair("test", 0)
    >>> len(pair.references)
    4
    """

    vocabulary: int = param(1000, low=200, high=200_000, help="number of concepts")
    topics: int = param(12, low=1, high=100, help="number of topics a sentence can have")
    ambiguity: float = param(0.2, low=0.0, high=1.0, help="chance that a concept shares its source word")
    synonymy: float = param(0.4, low=0.0, high=1.0, help="chance that a concept has several target words")
    elaboration: float = param(1.0, low=0.0, high=2.0, help="how readily sentences grow; 1 is like real text")
    names: float = param(0.15, low=0.0, high=1.0, help="share of the people and places that have a name")
    new_names: float = param(0.3, low=0.0, high=1.0, help="share of the names that are new")
    references: int = param(4, low=1, high=100, help="references of held-out and test sentences")
    tune_references: int = param(1, low=1, high=100, help="references of tuning sentences")
    language: int = param(0, low=0, help="seed of the two languages")

    def __post_init__(self) -> None:
        validate(self)

    @functools.cached_property
    def lexicon(self) -> Lexicon:
        """The dictionary of the two languages."""
        return make_lexicon(
            make_rng(self.language),
            vocabulary=self.vocabulary,
            topics=self.topics,
            ambiguity=self.ambiguity,
            synonymy=self.synonymy,
        )

    @functools.cached_property
    def _speaker(self) -> Speaker:
        return Speaker(self.lexicon, elaboration=self.elaboration, p_name=self.names, p_new_name=self.new_names)

    def n_references(self, part: str) -> int:
        """Return how many references the sentences of a part have."""
        return {"train": 1, "tune": self.tune_references}.get(part, self.references)

    def pair(self, part: str, index: int, seed: int = 0) -> Pair:
        """Return sentence `index`, from 0, of a part."""
        if part not in PARTS:
            raise ParameterError(f"the 'part' parameter of pair must be one of {', '.join(PARTS)}, got {part!r}")
        key = (PARTS.index(part), _count("index", index))
        draws = Draws(_rng(_count("seed", seed), key))
        while True:
            sentence = self._speaker.speak(draws)
            source = speak_source(sentence, draws)
            if zlib.crc32(str(source).encode("utf-8")) % N_BUCKETS in BUCKETS[part]:
                break
        references = tuple(speak_target(sentence, Draws(_rng(seed, (*key, r)))) for r in range(self.n_references(part)))
        return Pair(source, references)

    def pairs(self, part: str, count: int, seed: int = 0) -> Iterator[Pair]:
        """Yield the first `count` sentences of a part."""
        for index in range(_count(part, count)):
            yield self.pair(part, index, seed)

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        train: int = 10_000,
        tune: int = 1000,
        heldout: int = 1000,
        test: int = 1000,
        seed: int = 0,
    ) -> list[Path]:
        """Write parts of the given sizes as text files, one sentence per line; return the files' paths.

        A part of size 0 is left out.

        ``train.source.txt``, ``train.refs.0.txt`` and ``train.links.txt`` (the true alignment with the
        first reference, as ``0-0 1-2``), the same for the other parts with as many ``refs`` as they have,
        and ``pair.json``, which says how they were made. Several references of a sentence may be the same.
        """
        _count("seed", seed)
        sizes = dict(zip(PARTS, (train, tune, heldout, test), strict=True))
        sizes = {part: _count(part, size) for part, size in sizes.items()}
        target = Path(folder)
        make_folder(target)
        files = [path for part, size in sizes.items() if size for path in self._write_part(target, part, size, seed)]
        signature = {
            "generator": "luthier synthetic pair",
            "version": luthier.__version__,
            "seed": seed,
            "sizes": sizes,
            "parameters": dataclasses.asdict(self),
        }
        write_lines(target / SIGNATURE_FILE, [json.dumps(signature, indent=2)])
        return [*files, target / SIGNATURE_FILE]

    def _write_part(self, folder: Path, part: str, size: int, seed: int) -> list[Path]:
        sources, links = [], []
        references: list[list[str]] = [[] for _ in range(self.n_references(part))]
        with progress(f"writing {part}", size) as advance:
            for pair in self.pairs(part, size, seed):
                sources.append(str(pair.source))
                links.append(" ".join(f"{i}-{j}" for i, j in pair.links))
                for lines, reference in zip(references, pair.references, strict=True):
                    lines.append(str(reference))
                advance(1)
        contents = {"source": sources, "links": links, **{f"refs.{r}": lines for r, lines in enumerate(references)}}
        paths = {name: folder / f"{part}.{name}.txt" for name in contents}
        for name, lines in contents.items():
            write_lines(paths[name], lines)
        return list(paths.values())


def _rng(seed: int, key: tuple[int, ...]) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _count(name: str, value: object) -> int:
    """Return a whole number ≥ 0, or complain about it by name."""
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if number < 0:
        raise ParameterError(f"the {name!r} parameter of pair must be an int in [0, inf), got {value!r}")
    return number
