"""The hypotheses of a pool as the files that a scorer reads, in the order in which scores are joined to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.errors import LuthierError, warn
from luthier.core.files.io import open_output
from luthier.corpus.texts import Texts
from luthier.kbest.pool import Pool
from luthier.kbest.storage.writer import data_of, joined, sentence_of_rows, text_array
from luthier.kbest.writers.jsonl import quoted

Scorer = Literal["comet", "metricx", "text"]
SCORERS: tuple[Scorer, ...] = ("comet", "metricx", "text")
FILES = {"source": "src.txt", "hypothesis": "hyp.txt", "reference": "ref.txt"}


def write_for_scorer(pool: Pool, scorer: Scorer, folder: Path) -> list[Path]:
    """Write the files of a scorer into a folder, which is made if need be; return them."""
    if scorer not in SCORERS:
        raise LuthierError(f"expected a scorer of {', '.join(SCORERS)}, found {scorer!r}")
    columns = _columns(pool, scorer)
    if scorer == "metricx":
        parts: list[Any] = []
        for name, column in columns.items():
            parts += [f'{", " if parts else "{"}"{name}": ', quoted(column)]
        files = {"input.jsonl": joined(*parts, "}\n")}
    else:
        files = {FILES[name]: joined(_lines(column), "\n") for name, column in columns.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LuthierError(f"{folder}: cannot make this folder: {error.strerror or error}") from None
    for name, lines in files.items():
        with open_output(str(folder / name)) as file:
            file.write(data_of(lines))
    return [folder / name for name in files]


def _columns(pool: Pool, scorer: Scorer) -> dict[str, pa.Array]:
    """Return the texts that a scorer wants, (M,) each."""
    if scorer == "text":
        return {"hypothesis": text_array(pool.texts)}
    if pool.sources is None:
        raise LuthierError(
            f"expected sources for {scorer}, found a pool without any. hint: read the list with `source`"
        )
    sentences = pa.array(sentence_of_rows(pool))
    found = {"source": text_array(pool.sources).take(sentences), "hypothesis": text_array(pool.texts)}
    if pool.references is not None:
        found["reference"] = text_array(_first_references(pool)).take(sentences)
    return found


def _first_references(pool: Pool) -> Texts:
    assert pool.references is not None
    counts = pool.references.offsets[1:] - pool.references.offsets[:-1]
    if (counts == 0).any():
        raise LuthierError("expected a reference for each sentence, found one without")
    if (counts > 1).any():
        warn("some sentences have several references: the first is written", stacklevel=4)
    return pool.references.texts.take(pool.references.offsets[:-1])


def _lines(texts: pa.Array) -> pa.Array:
    """Return texts without line breaks, so that each has its line."""
    if pc.any(pc.match_substring_regex(texts, "[\r\n]")).as_py():
        warn("some texts hold line breaks, written as blanks", stacklevel=4)
        return pc.replace_substring_regex(texts, "[\r\n]+", " ")
    return texts
