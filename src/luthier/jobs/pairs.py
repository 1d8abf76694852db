"""Preference data by tuned weights: ``luthier.pairs(pool, weights, output="dpo.jsonl")``."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.files.io import display_name, open_output
from luthier.core.html import Shown
from luthier.core.params import checked, path_of
from luthier.jobs.opening import AnyPath, AnyPool, AnyWeights, weighted
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import in_order_of
from luthier.kbest.storage.writer import ids_as_they_came
from luthier.kbest.weights import read_weights


@dataclasses.dataclass(frozen=True)
class PairsReport(Shown):
    """What was written, and why sentences have no pair."""

    output: str
    sentences: int
    pairs: int
    too_close: int
    one_text: int
    mean_margin: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class _Pair:
    sentence: int
    chosen: int
    rejected: int
    margin: float


@checked
def pairs(pool: AnyPool, weights: AnyWeights, *, output: AnyPath, margin: float = 0.0) -> PairsReport:
    """Write the best and the worst output of each list as a preference, for DPO and its relatives.

    A line has the names of TRL: ``prompt`` (the source), ``chosen``, ``rejected``, ``score_chosen`` and
    ``score_rejected``; and the sentence's ``id``. The first of equal scores is taken.

    Parameters
    ----------
    pool : with sources
    weights : by name, or a file of them
    output : JSON Lines, gz or zst by its ending
    margin : pairs whose scores differ by less, or not at all, are left out
    """
    if not math.isfinite(margin) or margin < 0:
        raise LuthierError(f"expected a `margin` of at least 0, found {margin!r}")
    weights = read_weights(weights) if isinstance(weights, str | os.PathLike) else weights
    found, vector = weighted(pool, weights)
    assert vector is not None
    scores = found.scores(vector)
    if isinstance(weights, Mapping):  # summed in their order, as `rerank` does
        by_name = dict(zip(found.features.names, vector.tolist(), strict=True))
        features = in_order_of(found, weights).features
        scores = features.scores(np.array([by_name[name] for name in features.names]))
    if found.sources is None:
        raise LuthierError("expected lists with sources, which become prompts, found none. hint: give `source`")
    told, path, margins = {"close": 0, "one": 0}, path_of(output, "a file of pairs"), []
    with open_output(path) as file:
        ids = ids_as_they_came(found)
        for pair in _pairs(found, scores, margin, told):
            margins.append(pair.margin)
            file.write(_line(found, ids[pair.sentence], scores, pair))
    n = len(margins)
    mean = float(np.mean(margins)) if n else None
    return PairsReport(display_name(path), found.n_sentences, n, told["close"], told["one"], mean)


def _pairs(pool: Pool, scores: Float64, margin: float, told: dict[str, int]) -> Iterator[_Pair]:
    """Yield the best and the worst text of each list that has two, and count those without."""
    for sentence in range(pool.n_sentences):
        first, stop = int(pool.offsets[sentence]), int(pool.offsets[sentence + 1])
        own = scores[first:stop]
        if not len(own):
            told["one"] += 1
            continue
        best = int(np.argmax(own))
        text = pool.texts[first + best]
        others = (k for k in np.argsort(own, kind="stable").tolist() if pool.texts[first + k] != text)
        worst = next(others, None)
        if worst is None:
            told["one"] += 1
        elif own[best] - own[worst] < margin or own[best] == own[worst]:
            told["close"] += 1
        else:
            yield _Pair(sentence, first + best, first + worst, float(own[best] - own[worst]))


def _line(pool: Pool, name: int | str, scores: Float64, pair: _Pair) -> bytes:
    assert pool.sources is not None
    found = {
        "id": name,
        "prompt": pool.sources[pair.sentence],
        "chosen": pool.texts[pair.chosen],
        "rejected": pool.texts[pair.rejected],
        "score_chosen": float(scores[pair.chosen]),
        "score_rejected": float(scores[pair.rejected]),
    }
    return (json.dumps(found, ensure_ascii=False) + "\n").encode()
