"""The data of a study: lists that are generated, or files in a folder that the user has."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from luthier.core.arrays import Float64, frozen
from luthier.core.errors import LuthierError
from luthier.core.rng import make_rng
from luthier.core.segments import offsets_from_counts
from luthier.corpus.texts import Tokens
from luthier.invented.lists.synthetic import SyntheticLists, texts_of
from luthier.kbest.features import Features, align_features
from luthier.kbest.pool import Pool, References
from luthier.kbest.reading.lists import read_pool
from luthier.kbest.reshape import cap
from luthier.kbest.weights import Weights, read_weights

GENERATED, FILES = "generated", "files"


@dataclasses.dataclass(frozen=True, eq=False)
class StudyData:
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


def load_data(entry: Mapping[str, Any], folder: str | None) -> StudyData | None:
    """Return the data that an entry of a study file describes; None where they are in a folder not given.

    An entry of ``source = "generated"`` has in `tune` and in `test` a seed and parameters of
    `SyntheticLists`, and if need be ``shorten`` (see `shortened`); its start is what the invented decoder
    believes. One of ``source = "files"`` has
    there ``lists``, ``refs`` and if need be ``cap`` (hypotheses per sentence) and ``sentences`` (how many,
    from the first on), and as ``start`` a file of weights.
    """
    if entry["source"] == GENERATED:
        pools = [_generated(dict(entry[part])) for part in ("tune", "test")]
        start = Weights(pools[0].provenance["decoder_weights"])
    elif folder is None:
        return None
    else:
        pools = [_read(entry[part], Path(folder)) for part in ("tune", "test")]
        start = read_weights(Path(folder) / entry["start"])
    tune, test = pools
    if tune.features.names != test.features.names:
        test = test.with_features(_in_order(test.features, tune.features))
    vector = frozen(np.array(start.vector(tune.features.names)))
    return StudyData(entry["name"], tune, test, vector, (tune.digest(), test.digest()))


def _generated(parameters: dict[str, Any]) -> Pool:
    seed, share = parameters.pop("seed"), parameters.pop("shorten", 0.0)
    pool = SyntheticLists(**parameters).generate(seed)
    return shortened(pool, share, seed) if share else pool


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


def _read(part: Mapping[str, Any], folder: Path) -> Pool:
    paths = [str(folder / name) for name in part["lists"]]
    missing = [path for path in paths if not Path(path).exists()]
    if missing:
        raise LuthierError(
            f"{missing[0]}: there is no such list. hint: `data` names the folder that has the study's files"
        )
    pool = read_pool(paths, refs=[str(folder / name) for name in part["refs"]])
    if "cap" in part:
        pool = cap(pool, part["cap"])
    if "sentences" in part:
        pool = pool.take_sentences(np.arange(min(part["sentences"], pool.n_sentences)))
    return pool


def _in_order(features: Features, like: Features) -> Features:
    """Return features in the order and storage of others; one that is not there is 0 everywhere."""
    unknown = set(features.names) - set(like.names)
    if unknown:
        raise LuthierError(f"the test lists have a feature that the tuning lists do not have: {sorted(unknown)[0]!r}")
    return align_features(features, like.names, like.n_dense)
