"""Arrow arrays as the columns a block is made of: texts, lists of texts, numbers with gaps."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luthier.core.arrays import Bool, Float64, Int32, Int64
from luthier.core.files.arrow import numbers
from luthier.core.segments import offsets_from_counts, rows_of_segments
from luthier.corpus.texts import Texts
from luthier.kbest.reading.inline_references import TextLists
from luthier.kbest.reading.names import NameTable
from luthier.kbest.reading.reader import RuleUses


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds texts."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or _is_string_view(kind))


def _is_string_view(kind: pa.DataType) -> bool:
    return str(kind) == "string_view"


def is_text_list(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds lists of texts."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind)) and is_text(kind.value_type)


def is_number(kind: pa.DataType) -> bool:
    """Return whether a column of this type holds numbers (truth values are none)."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def present(array: pa.Array) -> Bool:
    """Return which values are not null."""
    return np.asarray(numbers(array.is_valid()), dtype=np.bool_)


def texts_of(array: pa.Array) -> Texts:
    """Return texts or integers as a column of texts; null becomes an empty text."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    array = pc.fill_null(array.cast(pa.large_string()), "")
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    if not len(bounds):
        return Texts.from_strings([])
    raw = np.frombuffer(data, dtype=np.uint8) if data is not None else np.zeros(0, dtype=np.uint8)
    return Texts(bounds - bounds[0], raw[bounds[0] : bounds[-1]].copy())


def numbers_of(array: pa.Array) -> tuple[Float64, Bool]:
    """Return numbers, 0 where they are null, and which are not null."""
    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    has = present(array)
    values = pc.fill_null(array.cast(pa.float64(), safe=False), 0.0)
    return np.array(numbers(values), dtype=np.float64), has


@dataclasses.dataclass(frozen=True, eq=False)
class Spread:
    """Which children of a list-like array belong to each row: ``children[offsets[r]:offsets[r+1]]``.

    Children are counted in the stretch ``first:stop`` of the array of children that the rows span.
    """

    offsets: Int64
    children: Int64
    first: int = 0
    stop: int = 0

    @classmethod
    def of(cls, array: pa.Array) -> Spread:
        """Return the children of a list, large list or map array; a null row has none."""
        if not len(array):
            return cls(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int64))
        bounds = np.asarray(numbers(array.offsets), dtype=np.int64)
        rows = np.flatnonzero(present(array))
        counts = np.zeros(len(array), dtype=np.int64)
        counts[rows] = np.diff(bounds)[rows]
        children = rows_of_segments(bounds, rows) - bounds[0]
        return cls(offsets_from_counts(counts), children, int(bounds[0]), int(bounds[-1]))

    def stretch(self, children: pa.Array) -> pa.Array:
        """Return the stretch of an array of children in which this counts."""
        return children.slice(self.first, self.stop - self.first)

    def keep(self, good: Bool) -> Spread:
        """Return the spread without the children (by their place in `children`) that are not good."""
        before = offsets_from_counts(good)
        return Spread(before[self.offsets], self.children[good], self.first, self.stop)

    def take(self, rows: Int64) -> Spread:
        """Return the children of the chosen rows."""
        counts = self.offsets[rows + 1] - self.offsets[rows]
        children = self.children[rows_of_segments(self.offsets, rows)]
        return Spread(offsets_from_counts(counts), children, self.first, self.stop)


def text_lists(array: pa.Array | None, n_rows: int) -> TextLists:
    """Return texts, or lists of texts, as lists; null rows and null texts are left out."""
    if array is None:
        texts = Texts.from_strings([])
        spread = Spread(np.zeros(n_rows + 1, dtype=np.int64), np.zeros(0, dtype=np.int64))
    elif is_text(array.type):
        texts, has = texts_of(array), present(array)
        spread = Spread(np.arange(n_rows + 1, dtype=np.int64), np.arange(n_rows, dtype=np.int64)).keep(has)
    else:
        spread = Spread.of(array)
        children = spread.stretch(array.values)
        texts = texts_of(children)
        spread = spread.keep(present(children)[spread.children])
    starts, stops = texts.offsets[:-1][spread.children], texts.offsets[1:][spread.children]
    return TextLists(spread.offsets, texts.data, starts, stops)


@dataclasses.dataclass(frozen=True, eq=False)
class NumberLists:
    """Named numbers of R rows, those of row r from ``offsets[r]`` to ``offsets[r+1]``.

    Entry e is the number ``values[e]`` under the name ``labels[label_of[e]]``.
    """

    offsets: Int64
    labels: list[str]
    label_of: Int64
    values: Float64

    @classmethod
    def from_columns(cls, columns: Mapping[str, pa.Array], n_rows: int) -> NumberLists:
        """Return the numbers of one column for each name; null is left out."""
        values = np.empty((n_rows, len(columns)))
        has = np.empty((n_rows, len(columns)), dtype=np.bool_)
        for d, array in enumerate(columns.values()):
            values[:, d], has[:, d] = numbers_of(array)
        label_of = np.broadcast_to(np.arange(len(columns)), has.shape)
        return cls(offsets_from_counts(has.sum(axis=1)), list(columns), label_of[has], values[has])

    @classmethod
    def from_array(cls, array: pa.Array) -> NumberLists:
        """Return the numbers of structs, or of maps from texts; null is left out."""
        if pa.types.is_struct(array.type):
            names = [array.type.field(i).name for i in range(array.type.num_fields)]
            children = array.flatten()  # null where the struct is null
            return cls.from_columns(dict(zip(names, children, strict=True)), len(array))
        spread = Spread.of(array)
        values, has = numbers_of(spread.stretch(array.items))
        spread = spread.keep(has[spread.children])
        keys = spread.stretch(array.keys)
        if not pa.types.is_dictionary(keys.type):
            keys = keys.dictionary_encode()
        label_of = np.asarray(numbers(keys.indices), dtype=np.int64)
        labels = keys.dictionary.to_pylist()
        return cls(spread.offsets, labels, label_of[spread.children], values[spread.children])

    def take(self, rows: Int64) -> NumberLists:
        """Return the numbers of the chosen rows."""
        entries = rows_of_segments(self.offsets, rows)
        counts = self.offsets[rows + 1] - self.offsets[rows]
        return NumberLists(offsets_from_counts(counts), self.labels, self.label_of[entries], self.values[entries])

    def finite(self) -> Bool:
        """Return for each row whether all its numbers are finite."""
        before = offsets_from_counts(~np.isfinite(self.values))
        return np.asarray(before[self.offsets[1:]] == before[self.offsets[:-1]])

    def numbers(self, table: NameTable) -> Int32:
        """Return the number of each entry's name in `table`, to which only names in use are added."""
        used = np.unique(self.label_of)
        numbers = np.full(len(self.labels), -1, dtype=np.int32)
        numbers[used] = table.from_strings([self.labels[label] for label in used])
        return numbers[self.label_of]


@dataclasses.dataclass(frozen=True, eq=False)
class RuleLists:
    """Derivations of R rows: which rules each uses; the text of every use, if given, and its numbers."""

    uses: Spread
    rules: Texts
    given: Bool
    features: NumberLists

    @classmethod
    def of(cls, array: pa.Array) -> RuleLists:
        """Return the rules of lists of texts, or of structs of ``rule`` and ``features``."""
        uses = Spread.of(array)
        rules = uses.stretch(array.values)
        features = NumberLists.from_columns({}, len(rules))
        if pa.types.is_struct(rules.type):
            parts = dict(zip((field.name for field in rules.type), rules.flatten(), strict=True))
            rules = parts["rule"]
            if "features" in parts:
                features = NumberLists.from_array(parts["features"])
        return cls(uses, texts_of(rules), present(rules), features)

    def all_of(self, per_use: Bool) -> Bool:
        """Return for each row whether `per_use` is set for all its uses."""
        before = offsets_from_counts(~per_use[self.uses.children])
        return np.asarray(before[self.uses.offsets[1:]] == before[self.uses.offsets[:-1]])

    def rule_uses(self, rows: Int64, names: NameTable) -> RuleUses:
        """Return the derivations of the chosen rows."""
        uses = self.uses.take(rows)
        features = self.features.take(uses.children)
        return RuleUses(
            uses.offsets,
            self.rules.take(uses.children),
            features.offsets,
            features.numbers(names),
            features.values,
        )
