"""Lists with ``|||`` between their fields, as Moses and its relatives write them, as the bytes of lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.errors import LuthierError
from luthier.kbest.features import Features
from luthier.kbest.pool import Pool
from luthier.kbest.writer import (
    data_of,
    joined,
    joined_lists,
    numbers_as_text,
    row_blocks,
    sentence_of_rows,
    text_array,
)

TOTAL = "score"


def moses_lines(pool: Pool) -> Iterator[memoryview]:
    """Yield a pool's lists as the bytes of lines; raise `LuthierError` for what would not read back."""
    _check_names(pool.features.names)
    sentence_ids = text_array(pool.sentence_ids)
    _check_texts(sentence_ids, "sentence id")
    sentences = sentence_of_rows(pool)
    for first, last in row_blocks(pool):
        texts = text_array(pool.texts, first, last)
        _check_texts(texts, "hypothesis")
        ids = sentence_ids.take(pa.array(sentences[first:last]))
        features = _feature_parts(pool.features, first, last)
        total = _totals(pool, first, last)
        yield data_of(joined(ids, " ||| ", texts, " ||| ", *features, " ||| ", total, "\n"))


def _feature_parts(features: Features, first: int, last: int) -> list[pa.Array | str]:
    """Return the strings that, row by row one behind another, are the features."""
    parts: list[pa.Array | str] = []
    for label, columns in dense_labels(features):
        parts.append(f" {label}=" if parts else f"{label}=")
        for d in columns:
            parts += [" ", numbers_as_text(features.dense[first:last, d])]
    if features.n_dense < features.n_features:
        bounds = features.indptr[first : last + 1]
        entries = slice(bounds[0], bounds[-1])
        names = pa.array(features.names[features.n_dense :], pa.string())
        pairs = joined(names.take(pa.array(features.indices[entries])), "=", numbers_as_text(features.values[entries]))
        if features.n_dense:
            parts.append(pc.if_else(pa.array(np.diff(bounds) > 0), " ", ""))
        parts.append(joined_lists(pairs, bounds - bounds[0], " "))
    return parts


def dense_labels(features: Features) -> list[tuple[str, list[int]]]:
    """Return the labels of dense features with the columns of each: ``tm_0``, ``tm_1``, … side by side are one label.

    >>> dense_labels(Features.from_dense(["lm", "tm_0", "tm_1", "x_1"], [[1, 2, 3, 4]]))
    [('lm', [0]), ('tm', [1, 2]), ('x_1', [3])]
    """
    names, known, labels = features.names[: features.n_dense], set(features.names), []
    d = 0
    while d < len(names):
        label, _, number = names[d].rpartition("_")
        n = 1
        if number == "0" and label and label not in known:
            while d + n < len(names) and names[d + n] == f"{label}_{n}":
                n += 1
        # another position elsewhere would not be under this label
        whole = n > 1 and f"{label}_{n}" not in known
        labels.append((label if whole else names[d], list(range(d, d + n)) if whole else [d]))
        d += n if whole else 1
    return labels


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
