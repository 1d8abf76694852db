"""Re-ranking from files to files: weights in, selected texts out, an account of what changed."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Int64
from luthier.core.errors import LuthierWarning
from luthier.core.files.io import open_output
from luthier.kbest.pool import Pool
from luthier.kbest.rerank import rerank
from luthier.kbest.weights import read_weights


@dataclasses.dataclass(frozen=True)
class Reranked:
    """What one file of weights selected, and where it was written."""

    weights: str
    output: str
    sentences: int
    not_first: int
    mean_score: float | None
    mean_words: float | None


def rerank_files(
    pool: Pool, weights: Sequence[str], outputs: Sequence[str], *, strict: bool = False, threads: int = 1
) -> list[Reranked]:
    """Select by each file of weights, write a line per sentence; return what there is to say of each.

    Nothing is written unless all weights fit the pool; `strict` as in `Weights.vector`.
    """
    names = pool.features.names
    vectors = np.array([read_weights(path).vector(names, source=path, strict=strict) for path in weights])
    selections = rerank(pool, vectors, threads=threads)
    empty = int(np.count_nonzero(pool.list_lengths == 0))
    if empty:
        warnings.warn(f"{empty} sentences have no hypotheses: empty lines", LuthierWarning, stacklevel=2)
    rows = []
    for path, output, vector, selection in zip(weights, outputs, vectors, selections, strict=True):
        write_selection(pool, selection, output)
        chosen = selection[selection >= 0]
        first = pool.offsets[:-1][pool.list_lengths > 0]
        rows.append(
            Reranked(
                weights=path,
                output=output,
                sentences=pool.n_sentences,
                not_first=int(np.count_nonzero(chosen != first)),
                mean_score=float(pool.features.take(chosen).scores(vector).mean()) if len(chosen) else None,
                mean_words=float(pool.tokens.lengths[chosen].mean()) if len(chosen) else None,
            )
        )
    return rows


def write_selection(pool: Pool, selection: Int64, path: str) -> None:
    """Write the selected text of each sentence, a line each; an empty line where there is none."""
    texts = pool.texts.take(np.maximum(selection, 0)) if pool.n_hypotheses else pool.texts
    with open_output(path) as file:
        for row, text in zip(selection.tolist(), texts, strict=False):
            file.write((text if row >= 0 else "").encode("utf-8") + b"\n")
