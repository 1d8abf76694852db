"""The hypotheses of a pool as the files that a scorer reads, in the order in which scores are joined to it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.errors import LuthierError, warn
from luthier.core.files.io import open_output
from luthier.corpus.texts import Texts
from luthier.kbest.pool import Pool
from luthier.kbest.storage.writer import data_of, joined, row_blocks, sentence_of_rows, text_array
from luthier.kbest.writers.jsonl import quoted

Scorer = Literal["comet", "metricx", "text"]
SCORERS: tuple[Scorer, ...] = ("comet", "metricx", "text")
FILES = {"source": "src.txt", "hypothesis": "hyp.txt", "reference": "ref.txt"}


def write_for_scorer(pool: Pool, scorer: Scorer, folder: Path) -> list[Path]:
    """Write the files of a scorer into a folder, which is made if need be; return them."""
    if scorer not in SCORERS:
        raise LuthierError(f"expected a scorer of {', '.join(SCORERS)}, found {scorer!r}")
    sentences = _sentence_texts(pool, scorer)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LuthierError(f"{folder}: cannot make this folder: {error.strerror or error}") from None
    names = ["input.jsonl"] if scorer == "metricx" else [FILES[name] for name in ("hypothesis", *sentences)]
    owner = sentence_of_rows(pool)
    with ExitStack() as stack:
        files = {name: stack.enter_context(open_output(str(folder / name))) for name in names}
        for first, last in row_blocks(pool):
            rows = pa.array(owner[first:last])
            columns = {"hypothesis": text_array(pool.texts, first, last)}
            columns |= {name: text_array(texts).take(rows) for name, texts in sentences.items()}
            if scorer == "metricx":
                parts: list[Any] = []
                for name, column in columns.items():
                    parts += [f'{", " if parts else "{"}"{name}": ', quoted(column)]
                files["input.jsonl"].write(data_of(joined(*parts, "}\n")))
                continue
            for name, column in columns.items():
                files[FILES[name]].write(data_of(joined(pc.replace_substring_regex(column, "[\r\n]+", " "), "\n")))
    if scorer != "metricx" and np.isin(pool.texts.data, np.array([10, 13], dtype=np.uint8)).any():
        warn("some texts hold line breaks, written as blanks", stacklevel=3)
    return [folder / name for name in names]


def _sentence_texts(pool: Pool, scorer: Scorer) -> dict[str, Texts]:
    """Return what a scorer wants of the sentences, (N,) each."""
    if scorer == "text":
        return {}
    if pool.sources is None:
        told = f"expected sources for {scorer}, found a pool without any. hint: read the list with `source`"
        raise LuthierError(told)
    found = {"source": pool.sources}
    return found if pool.references is None else {**found, "reference": _first_references(pool)}


def _first_references(pool: Pool) -> Texts:
    assert pool.references is not None
    counts = pool.references.offsets[1:] - pool.references.offsets[:-1]
    if (counts == 0).any():
        raise LuthierError("expected a reference for each sentence, found one without")
    if (counts > 1).any():
        warn("some sentences have several references: the first is written", stacklevel=4)
    return pool.references.texts.take(pool.references.offsets[:-1])
