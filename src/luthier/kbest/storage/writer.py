"""What a writer of lists is: a file in `writers/`, a class `Method`, one pool in, one file out.

Writers work on blocks of rows in columns, with Arrow's string functions; no hypothesis becomes a
Python object. A sentence without hypotheses has no line in any list, so only the pool's own format
(`luthier.kbest.storage.pool_file`) keeps it.
"""

from __future__ import annotations

import abc
import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.arrays import Int64
from luthier.core.errors import LuthierError
from luthier.core.params import validate
from luthier.core.plugins import available, load
from luthier.core.segments import segment_blocks, segment_of_rows
from luthier.corpus.texts import Texts
from luthier.kbest.features import Features
from luthier.kbest.pool import INTEGER_IDS, Pool
from luthier.kbest.storage.pool_file import save_pool

PACKAGE = "luthier.kbest.writers"
FALLBACK = "moses"
PACKED = (".gz", ".zst")
BLOCK_ROWS = 1 << 16
# A block's text stays far below the 2 GiB that 32-bit offsets can address, whatever the rows hold.
BLOCK_BYTES = 1 << 26
BYTES_OF_NUMBER = 32


@dataclasses.dataclass(frozen=True)
class Writer(abc.ABC):
    """Base of all writers; parameters are dataclass fields made by `param`."""

    # Endings of file names, without .gz and .zst, by which this format is chosen.
    endings: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        validate(self)

    @abc.abstractmethod
    def write(self, pool: Pool, path: str | os.PathLike[str]) -> None:
        """Write a pool's lists to `path`; ``-`` is standard output."""


def write_pool(
    pool: Pool,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word of the option
) -> None:
    """Write a pool in `format`, by default the one its name's ending says, else as a Moses list."""
    chosen = format_of(path, format)
    if chosen == "arrow":
        save_pool(pool, path)
    else:
        load(PACKAGE, chosen)().write(pool, path)


def format_of(path: str | os.PathLike[str], format: str | None = None) -> str:  # noqa: A002 - the word of the option
    """Return the format that a pool is written in; raise `LuthierError` where there is none such."""
    name = str(path)
    packed = name.endswith(PACKED)
    plain = name[: name.rindex(".")] if packed else name
    if format == "arrow" or (format is None and plain.endswith(".arrow")):
        if packed:
            raise LuthierError(f"{name}: a pool is memory-mapped and cannot be compressed. hint: call it {plain}")
        return "arrow"
    chosen = format or _format_of(plain)
    load(PACKAGE, chosen)
    return chosen


def _format_of(name: str) -> str:
    for format_name in available(PACKAGE):
        if name.endswith(load(PACKAGE, format_name).endings or ("\n",)):
            return format_name
    return FALLBACK


def row_blocks(pool: Pool) -> Iterator[tuple[int, int]]:
    """Yield consecutive blocks (first, last + 1) of rows, bounded in rows and in bytes."""
    rows = np.arange(pool.n_hypotheses + 1, dtype=np.int64)
    sizes = pool.texts.offsets - pool.texts.offsets[0]
    sizes = sizes + rows * (BLOCK_BYTES // BLOCK_ROWS + BYTES_OF_NUMBER * pool.features.n_dense)
    sizes += BYTES_OF_NUMBER * pool.features.indptr
    if pool.derivations is not None:
        sizes += 4 * BYTES_OF_NUMBER * pool.derivations.offsets
    shared = np.zeros(pool.n_sentences, dtype=np.int64)
    if pool.sources is not None:
        shared += pool.sources.lengths
    if pool.references is not None:
        references = pool.references
        bounds = references.texts.offsets[references.offsets]
        shared += np.diff(bounds)
    sizes[1:] += np.cumsum(np.repeat(shared, pool.list_lengths))
    yield from segment_blocks(sizes, BLOCK_BYTES)


def sentence_of_rows(pool: Pool) -> Int64:
    """Return the sentence of every row, (M,)."""
    return segment_of_rows(pool.offsets)


def integer_ids(pool: Pool) -> pa.Array:
    """Return which sentence ids came as numbers, (N,)."""
    said, ids = pool.provenance.get(INTEGER_IDS), text_array(pool.sentence_ids)
    written = pc.match_substring_regex(ids, "^-?(0|[1-9][0-9]{0,17})$")
    if isinstance(said, list):
        known = pa.array([name for name in said if isinstance(name, str)], pa.string())
        return pc.and_(written, pc.is_in(ids, value_set=known))
    return pc.and_(written, said is True)


def ids_as_they_came(pool: Pool) -> list[int | str]:
    """Return the sentence ids, N of them: those that came as numbers are numbers again."""
    whole = integer_ids(pool).to_pylist()
    return [int(name) if number else name for name, number in zip(pool.sentence_ids, whole, strict=True)]


def id_array(pool: Pool) -> pa.Array:
    """Return the sentence ids as they came, (N,): integers where all are, else texts."""
    ids = text_array(pool.sentence_ids)
    return ids.cast(pa.int64()) if len(ids) and pc.all(integer_ids(pool)).as_py() else ids


def text_array(texts: Texts, first: int = 0, last: int | None = None) -> pa.Array:
    """Return the texts ``first:last`` as an Arrow array over the same bytes."""
    last = len(texts) if last is None else last
    bounds = texts.offsets[first : last + 1]
    return string_array(bounds - bounds[0], texts.data[bounds[0] : bounds[-1]])


def string_array(offsets: Int64, data: Any) -> pa.Array:
    """Return an Arrow array of the strings ``data[offsets[i]:offsets[i+1]]``."""
    narrow = np.ascontiguousarray(offsets, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(narrow) - 1, [None, pa.py_buffer(narrow), pa.py_buffer(data)])


def data_of(strings: pa.Array) -> memoryview:
    """Return the bytes of an array of strings, one behind another."""
    offsets = offsets_of(strings)
    data = strings.buffers()[2]
    return memoryview(b"") if data is None else memoryview(data)[int(offsets[0]) : int(offsets[-1])]


def offsets_of(strings: pa.Array) -> Int64:
    """Return where each string of an array begins in its bytes, and where the last one ends."""
    if not len(strings):
        return np.zeros(1, dtype=np.int64)
    raw = np.frombuffer(strings.buffers()[1], dtype=np.int32)
    return raw[strings.offset : strings.offset + len(strings) + 1].astype(np.int64)


def joined(*parts: pa.Array | str) -> pa.Array:
    """Return the parts put together row by row, nothing between them; a null makes the row null."""
    return pc.binary_join_element_wise(*parts, "")


def joined_lists(items: pa.Array, offsets: Int64, separator: str) -> pa.Array:
    """Return, for each list ``items[offsets[i]:offsets[i+1]]``, its strings with separators between.

    The bytes of the items already stand in the right order; only the offsets of whole lists are cut
    out of them.
    """
    leads = np.ones(len(items) + 1, dtype=np.bool_)
    leads[offsets] = False
    strings = joined(pc.if_else(pa.array(leads[:-1]), separator, ""), items)
    bounds = offsets_of(strings)
    return string_array(bounds[offsets] - bounds[0], data_of(strings))


def numbers_as_text(values: npt.NDArray[np.float64]) -> pa.Array:
    """Return each number as the shortest decimal that reads back to the last bit."""
    return pc.cast(pa.array(np.ascontiguousarray(values)), pa.string())


def check_columns(pool: Pool, taken: tuple[str, ...]) -> None:
    """Raise `LuthierError` for a column whose name the format uses for something else."""
    for name in pool.columns:
        if name in taken:
            raise LuthierError(f"column {name!r} has a name that the format keeps for itself. hint: rename it")


# Lists with ``|||`` between their fields, as Moses and its relatives write them, as the bytes of lines.

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
