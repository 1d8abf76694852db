"""Columns of text and of token ids: flat arrays with offsets, as Arrow keeps them."""

from __future__ import annotations

import codecs
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Bool, Bytes, Int32, Int64, flat, frozen
from luthier.core.errors import LuthierError, excerpt
from luthier.core.segments import check_offsets, check_rows, offsets_from_counts
from luthier.corpus import _text_kernels as kernels


@dataclasses.dataclass(frozen=True, eq=False)
class Texts:
    """A column of n UTF-8 texts.

    Attributes
    ----------
    offsets : (n+1,) int64
    data : (B,) uint8
        Text i is the bytes ``data[offsets[i]:offsets[i+1]]``.

    Offsets never descend and stay within the data; the first need not be 0.
    """

    offsets: Int64
    data: Bytes

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.ascontiguousarray(self.offsets, dtype=np.int64)))
        object.__setattr__(self, "data", frozen(np.ascontiguousarray(self.data, dtype=np.uint8)))
        check_offsets(self.offsets, _length(self.data), "texts", whole=False)

    @classmethod
    def from_strings(cls, strings: Iterable[str]) -> Texts:
        """Build a column from Python strings."""
        encoded = [string.encode("utf-8") for string in strings]
        return cls(
            offsets_from_counts([len(item) for item in encoded]),
            np.frombuffer(b"".join(encoded), dtype=np.uint8),
        )

    @classmethod
    def from_spans(cls, data: Bytes, starts: Int64, stops: Int64) -> Texts:
        """Copy the spans ``data[starts[i]:stops[i]]`` into a column of their own."""
        check_spans(starts, stops, len(data))
        offsets = offsets_from_counts(stops - starts)
        out = np.empty(int(offsets[-1]), dtype=np.uint8)
        kernels.gather_spans(flat(data), flat(starts), flat(stops), flat(offsets), out)
        return cls(offsets, out)

    @classmethod
    def concatenate(cls, parts: Sequence[Texts]) -> Texts:
        """Put columns one behind another."""
        if not parts:
            return cls.from_strings([])
        counts = np.concatenate([part.lengths for part in parts])
        data = np.concatenate([part.data[part.offsets[0] : part.offsets[-1]] for part in parts])
        return cls(offsets_from_counts(counts), data)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        row = range(len(self))[row]
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes().decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        data, offsets = memoryview(self.data.data), self.offsets.tolist()
        for start, stop in itertools.pairwise(offsets):
            yield str(data[start:stop], "utf-8")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return NotImplemented
        return len(self) == len(other) and bool(
            np.array_equal(self.lengths, other.lengths)
            and np.array_equal(
                self.data[self.offsets[0] : self.offsets[-1]],
                other.data[other.offsets[0] : other.offsets[-1]],
            )
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def lengths(self) -> Int64:
        """Length of each text in bytes, (n,)."""
        return np.diff(self.offsets)

    def strings(self, rows: npt.ArrayLike) -> list[str]:
        """Return the chosen texts as Python strings."""
        rows = np.asarray(rows, dtype=np.int64)
        check_rows(rows, len(self))
        data, starts, stops = memoryview(self.data.data), self.offsets[rows].tolist(), self.offsets[rows + 1].tolist()
        return [str(data[start:stop], "utf-8") for start, stop in zip(starts, stops, strict=True)]

    def differ(self, rows: Int64, others: Int64) -> Bool:
        """Return of each pair of texts, (n,) and (n,), whether they are not the same."""
        check_rows(rows, len(self))
        check_rows(others, len(self))
        out = np.empty(len(rows), np.bool_)
        kernels.differing_spans(self.data, self.offsets, flat(rows), flat(others), out)
        return out

    def take(self, rows: npt.ArrayLike) -> Texts:
        """Return the chosen texts as a new column."""
        rows = np.asarray(rows, dtype=np.int64)
        check_rows(rows, len(self))
        return Texts.from_spans(self.data, self.offsets[rows], self.offsets[rows + 1])


@dataclasses.dataclass(frozen=True, eq=False)
class Tokens:
    """A column of n token sequences, as numbers in a vocabulary.

    Attributes
    ----------
    offsets : (n+1,) int64
    ids : (T,) int32
    """

    offsets: Int64
    ids: Int32

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", frozen(np.ascontiguousarray(self.offsets, dtype=np.int64)))
        object.__setattr__(self, "ids", frozen(np.ascontiguousarray(self.ids, dtype=np.int32)))
        check_offsets(self.offsets, _length(self.ids), "tokens", whole=False)
        if self.ids.size and self.ids.min() < 0:
            raise LuthierError(f"tokens: expected numbers of tokens, found {self.ids.min()}")

    @classmethod
    def concatenate(cls, parts: Sequence[Tokens]) -> Tokens:
        """Put columns of one vocabulary one behind another."""
        if not parts:
            return cls(np.zeros(1, np.int64), np.zeros(0, np.int32))
        ids = np.concatenate([part.ids[part.offsets[0] : part.offsets[-1]] for part in parts])
        return cls(offsets_from_counts(np.concatenate([part.lengths for part in parts])), ids)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Int32:
        row = range(len(self))[row]
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    @property
    def lengths(self) -> Int64:
        """Number of tokens of each sequence, (n,)."""
        return np.diff(self.offsets)

    @functools.cached_property
    def n_types(self) -> int:
        """The least size of a vocabulary that has all these tokens."""
        return int(self.ids.max(initial=-1)) + 1

    def take(self, rows: npt.ArrayLike) -> Tokens:
        """Return the chosen sequences as a new column."""
        rows = np.asarray(rows, dtype=np.int64)
        check_rows(rows, len(self))
        starts, stops = self.offsets[rows], self.offsets[rows + 1]
        offsets = offsets_from_counts(stops - starts)
        ids = np.empty(int(offsets[-1]), dtype=np.int32)
        kernels.gather_spans(self.ids, flat(starts), flat(stops), flat(offsets), ids)
        return Tokens(offsets, ids)

    def renumbered(self, mapping: Int32) -> Tokens:
        """Return the same sequences in another vocabulary: id k becomes ``mapping[k]``."""
        return Tokens(self.offsets, mapping[self.ids])


def _length(array: npt.NDArray[np.generic]) -> int:
    if array.ndim != 1:
        raise LuthierError(f"expected an array of one dimension, found shape {array.shape}")
    return len(array)


def check_spans(starts: Int64, stops: Int64, size: int) -> None:
    """Raise `LuthierError` unless all spans ``starts[i]:stops[i]`` lie within `size` bytes."""
    if len(starts) != len(stops):
        raise LuthierError(f"expected as many ends of spans as starts, {len(starts)}, found {len(stops)}")
    if len(starts) and (starts.min() < 0 or stops.max() > size or np.any(stops < starts)):
        raise LuthierError(f"expected spans within {size} bytes, found one outside, or one that ends before it starts")


# Whether a column of texts from a file is what it says: the whole of its bytes, and UTF-8.

CHUNK = 1 << 20
ASCII_END = 0x80


def check_texts(texts: Texts) -> None:
    """Raise `LuthierError` unless the texts are all of their data and each is UTF-8."""
    offsets, data = texts.offsets, texts.data
    if offsets[0] != 0 or offsets[-1] != len(data):
        raise LuthierError(f"expected offsets from 0 to {len(data)}, found {offsets[0]} to {offsets[-1]}")
    if not len(data) or data.max() < ASCII_END:
        return
    _check_utf8(data)
    first = data[offsets[offsets < len(data)]]
    if np.any((first & 0xC0) == ASCII_END):
        raise LuthierError("a text begins in the middle of a character")


def _check_utf8(data: Bytes) -> None:
    """Decode in stretches, so that no second copy of everything is made."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), CHUNK):
        try:
            decoder.decode(data[start : start + CHUNK].tobytes(), start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            found = bytes(error.object[error.start : error.start + 4])
            raise LuthierError(f"expected UTF-8, found the bytes {excerpt(found)}") from None


@dataclasses.dataclass(frozen=True, eq=False)
class RepeatedTexts:
    """M texts: row r has ``texts[ids[r]]``."""

    texts: Texts
    ids: Int32

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", frozen(np.ascontiguousarray(self.ids, dtype=np.int32)))
        if len(self.ids) and not 0 <= int(self.ids.min()) <= int(self.ids.max()) < len(self.texts):
            raise LuthierError(f"expected numbers of texts from 0 to {len(self.texts) - 1}, found others")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: npt.ArrayLike) -> RepeatedTexts:
        """Return the texts of the chosen rows, and no others."""
        used, ids = np.unique(self.ids[np.asarray(rows, dtype=np.int64)], return_inverse=True)
        return RepeatedTexts(
            self.texts if len(used) == len(self.texts) else self.texts.take(used), ids.astype(np.int32).reshape(-1)
        )


def concatenate_repeated(parts: Sequence[RepeatedTexts | None], counts: Sequence[int]) -> RepeatedTexts | None:
    """Return several columns, of `counts` rows each, as one; a column of None is empty texts, and so many make None."""
    if all(part is None for part in parts):
        return None
    nothing = Texts.from_strings([""])
    known = [
        RepeatedTexts(nothing, np.zeros(n, np.int32)) if part is None else part
        for part, n in zip(parts, counts, strict=True)
    ]
    starts: Int64 = np.cumsum([0, *(len(part.texts) for part in known)])
    ids = np.concatenate([part.ids + start for part, start in zip(known, starts[:-1], strict=True)])
    return RepeatedTexts(Texts.concatenate([part.texts for part in known]), ids)
