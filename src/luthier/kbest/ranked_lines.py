"""Hypotheses in the order of their scores as lines of a file: plain text, JSON Lines or a Moses list."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.files.io import PACKED
from luthier.kbest.pool import Pool

Form = Literal["text", "jsonl", "moses"]
FORMS: tuple[Form, ...] = ("text", "jsonl", "moses")
BREAKS = re.compile(r"[\r\n]+")


def form_of(path: str, given: str | None = None) -> Form:
    """Return the form that was asked for, or the one a name's ending says: .jsonl, .moses or .nbest, else text."""
    if given is not None:
        if given not in FORMS:
            raise LuthierError(f"expected the form {', '.join(FORMS)}, found {given!r}")
        return given
    plain = Path(path).with_suffix("") if path.endswith(PACKED) else Path(path)
    if plain.suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    return "moses" if plain.suffix in (".moses", ".nbest") else "text"


@dataclasses.dataclass(frozen=True, eq=False)
class Ranked:
    """The best hypotheses of each sentence: rows of a pool, best first, with the weights, (D,), and their scores.

    ``rows[offsets[i]:offsets[i+1]]`` are those of sentence i.
    """

    pool: Pool
    rows: Int64
    offsets: Int64
    weights: Float64
    scores: Float64

    def lines(self, form: Form) -> Iterator[bytes | memoryview]:
        """Yield the bytes of lines in one of the forms."""
        if form == "jsonl":
            yield from _json_lines(self)
        elif form == "moses":
            from luthier.kbest.pipe_lines import TOTAL, moses_lines

            best = self.pool.arranged(self.rows, self.offsets)
            yield from moses_lines(dataclasses.replace(best, columns={**best.columns, TOTAL: self.scores}))
        else:
            yield "".join(f"{BREAKS.sub(' ', text)}\n" for text in self.first_texts()).encode("utf-8")

    def first_texts(self) -> Iterator[str]:
        """Yield the best text of each sentence, '' where there is none."""
        rows, texts = self.rows.tolist(), self.pool.texts
        for first, stop in itertools.pairwise(self.offsets.tolist()):
            yield texts[rows[first]] if stop > first else ""


def n_broken(ranked: Ranked) -> int:
    """Return how many of the best texts hold a line break."""
    if not np.isin(ranked.pool.texts.data, np.array([10, 13], dtype=np.uint8)).any():
        return 0
    return sum(BREAKS.search(text) is not None for text in ranked.first_texts())


def _json_lines(ranked: Ranked) -> Iterator[memoryview]:
    """Yield objects with id, hyp, score, and the contribution of each feature: weight times value."""
    import pyarrow as pa

    from luthier.kbest.writer import data_of, joined, row_blocks, sentence_of_rows, text_array
    from luthier.kbest.writers.jsonl import feature_objects, json_numbers, quoted

    pool, weights = ranked.pool.arranged(ranked.rows, ranked.offsets), ranked.weights
    features = pool.features
    parts = dataclasses.replace(
        features,
        dense=features.dense * weights[: features.n_dense],
        values=features.values * weights[features.n_dense :][features.indices],
    )
    heads = joined('{"id": ', quoted(text_array(pool.sentence_ids)), ', "hyp": ')
    sentences = sentence_of_rows(pool)
    for first, last in row_blocks(pool):
        hypotheses = quoted(text_array(pool.texts, first, last))
        yield data_of(
            joined(
                heads.take(pa.array(sentences[first:last])), hypotheses, ', "score": ',
                json_numbers(ranked.scores[first:last]), ', "contributions": ', feature_objects(parts, first, last),
                "}\n",
            )
        )  # fmt: skip
