"""Moses lists: id ||| hypothesis ||| name=value … ||| total."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.errors import LuthierError
from luthier.core.files.io import open_output
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.kbest.writer import (
    Writer,
    data_of,
    joined,
    joined_lists,
    numbers_as_text,
    row_blocks,
    sentence_of_rows,
    text_array,
)

TOTAL = "score"


@dataclasses.dataclass(frozen=True)
class Method(Writer):
    """One line per hypothesis; dense features all, sparse ones where they are present.

    The total is the column ``score``, 0 where a hypothesis has none. Sources, references, derivations
    and other columns have no place in this format.
    """

    endings: ClassVar[tuple[str, ...]] = (".moses", ".nbest")

    def write(self, pool: Pool, path: str | os.PathLike[str]) -> None:
        """Write a pool's lists to `path`; raise `LuthierError` for what would not read back."""
        _check_names(pool.features.names)
        sentence_ids = text_array(pool.sentence_ids)
        _check_texts(sentence_ids, "sentence id")
        sentences = sentence_of_rows(pool)
        with open_output(path) as out:
            for first, last in row_blocks(pool):
                texts = text_array(pool.texts, first, last)
                _check_texts(texts, "hypothesis")
                ids = sentence_ids.take(pa.array(sentences[first:last]))
                features = _feature_parts(pool.features, first, last)
                total = _totals(pool, first, last)
                lines = joined(ids, " ||| ", texts, " ||| ", *features, " ||| ", total, "\n")
                out.write(data_of(lines))


def _feature_parts(features: Features, first: int, last: int) -> list[pa.Array | str]:
    """Return the strings that, row by row one behind another, are the features."""
    parts: list[pa.Array | str] = []
    for d, name in enumerate(features.names[: features.n_dense]):
        parts += [f" {name}=" if d else f"{name}=", numbers_as_text(features.dense[first:last, d])]
    if features.n_dense < features.n_features:
        bounds = features.indptr[first : last + 1]
        entries = slice(bounds[0], bounds[-1])
        names = pa.array(features.names[features.n_dense :], pa.string())
        pairs = joined(names.take(pa.array(features.indices[entries])), "=", numbers_as_text(features.values[entries]))
        if features.n_dense:
            parts.append(pc.if_else(pa.array(np.diff(bounds) > 0), " ", ""))
        parts.append(joined_lists(pairs, bounds - bounds[0], " "))
    return parts


def _totals(pool: Pool, first: int, last: int) -> pa.Array | str:
    if TOTAL not in pool.columns:
        return "0"
    total = pool.columns[TOTAL][first:last]
    return numbers_as_text(np.where(np.isfinite(total), total, 0.0))


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if not name or "|||" in name or name.endswith("=") or name.split() != [name]:
            raise LuthierError(
                f"feature {name!r} cannot be written to a Moses list so that it reads back: a name may not "
                "be empty, hold white space or '|||', or end in '='. hint: rename it, or write JSON Lines"
            )


def _check_texts(texts: pa.Array, what: str) -> None:
    """Raise `LuthierError` for the first text that would be taken for two fields or two lines."""
    wrong = pc.match_substring(texts, "\n")
    if pc.any(pc.match_substring(texts, "|||")).as_py():
        wrong = pc.or_(wrong, pc.match_substring(joined(" ", texts, " "), " ||| "))
    if pc.any(wrong).as_py():
        text = texts[pc.index(wrong, True).as_py()].as_py()
        raise LuthierError(
            f"{what} {text[:60]!r} cannot be written to a Moses list: it holds a line feed or the "
            "separator ' ||| '. hint: write JSON Lines instead"
        )
