"""Which words stand together: every cell of a parallel text with the number of its pair of words."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.alignment import _cell_kernels as kernels
from luthier.alignment._cell_kernels import Text
from luthier.alignment.bitext import Bitext
from luthier.core.arrays import Int32, Int64, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.corpus.texts import Tokens

MOST_TYPES = np.iinfo(np.int32).max


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """The cells of P sentence pairs, and the types they belong to.

    Attributes
    ----------
    source, target : Tokens
        The words of the pairs.
    offsets : (P+1,) int64
        Pair k has the cells ``numbers[offsets[k]:offsets[k+1]]``: cell (i, j) of n × m stands at j·n + i.
    numbers : (C,) int32
        The type of each cell.
    type_offsets : (V+1,) int64
        Types ``type_offsets[f]:type_offsets[f+1]`` have source word f.
    type_targets : (K,) int32
        The target word of each type.
    n_targets : int
        Number of target words, seen or not.
    """

    source: Tokens
    target: Tokens
    offsets: Int64
    numbers: Int32
    type_offsets: Int64
    type_targets: Int32
    n_targets: int

    @property
    def n_types(self) -> int:
        """Number of types, K."""
        return len(self.type_targets)

    @property
    def n_sources(self) -> int:
        """Number of source words, V."""
        return len(self.type_offsets) - 1

    def find_in(self, kept_offsets: Int64, kept_targets: Int32) -> Int64:
        """Return the number of each type in another table, −1 where it is not there, (K,)."""
        found = np.empty(self.n_types, dtype=np.int64)
        stamps = np.full(self.n_targets, -1, dtype=np.int64)
        kernels.find_types(
            self.type_offsets,
            self.type_targets,
            flat(kept_offsets),
            flat(kept_targets),
            stamps,
            np.zeros(self.n_targets, dtype=np.int64),
            found,
        )
        return found


@dataclasses.dataclass(frozen=True, eq=False)
class Direction:
    """Cells read one way: the words of one side are *given*, those of the other are *predicted* from them.

    Attributes
    ----------
    text : Text
        What kernels read.
    given_of_type : (K,) int32
        The given word of each type.
    predicted_seen : (W,) bool
        Which predicted words occur.
    n_given : int
        Number of given words.
    lengths : (·,) int64
        How many given words sentences have, each number once.
    """

    text: Text
    given_of_type: Int32
    predicted_seen: np.ndarray[tuple[int], np.dtype[np.bool_]]
    n_given: int
    lengths: Int64

    @property
    def n_predicted(self) -> int:
        """Number of predicted words, W."""
        return len(self.predicted_seen)

    @property
    def n_pairs(self) -> int:
        """Number of sentence pairs, P."""
        return len(self.text.cell_offsets) - 1

    def part(self, first: int, last: int) -> Direction:
        """Return the pairs ``first:last`` by themselves, with the types of all."""
        text, rows = self.text, slice(first, last + 1)
        part = text._replace(
            given_offsets=text.given_offsets[rows],
            predicted_offsets=text.predicted_offsets[rows],
            cell_offsets=text.cell_offsets[rows],
        )
        return dataclasses.replace(self, text=part)


def number_cells(bitext: Bitext) -> Cells:
    """Return the cells of the pairs that are kept, in linear time."""
    sides = bitext.source.take(bitext.kept), bitext.target.take(bitext.kept)
    return number_tokens(*sides, len(bitext.source_words), len(bitext.target_words))


def number_tokens(source: Tokens, target: Tokens, n_sources: int, n_targets: int) -> Cells:
    """Return the cells of pairs of words of two vocabularies."""
    offsets = offsets_from_counts(source.lengths * target.lengths)
    if offsets[-1] > MOST_TYPES:
        raise LuthierError(
            f"expected at most {MOST_TYPES:,} pairs of words in sentences, found {offsets[-1]:,}. "
            "hint: align the text in parts, or lower `max_words`"
        )
    word_starts = offsets_from_counts(np.bincount(source.ids, minlength=n_sources))
    order = np.empty(len(source.ids), dtype=np.int64)
    kernels.order_by_word(source.ids, word_starts.copy(), order)
    types = kernels.Types(
        cells=np.empty(int(offsets[-1]), dtype=np.int32),
        offsets=np.zeros(n_sources + 1, dtype=np.int64),
        targets=np.empty(int(offsets[-1]), dtype=np.int32),  # pages that are never written cost nothing
    )
    n_types = kernels.number_cells(
        kernels.Places(flat(order), flat(word_starts), flat(segment_of_rows(source.offsets))),
        source.offsets,
        target.offsets,
        target.ids,
        flat(offsets),
        np.full(n_targets, -1, dtype=np.int64),
        np.zeros(n_targets, dtype=np.int32),
        types,
    )
    return Cells(
        source,
        target,
        frozen(offsets),
        frozen(types.cells),
        frozen(types.offsets),
        frozen(types.targets[:n_types].copy()),
        n_targets,
    )


def directions(cells: Cells) -> tuple[Direction, Direction]:
    """Return the two ways to read cells: target from source (forward), source from target (backward)."""
    sources = np.repeat(np.arange(cells.n_sources, dtype=np.int32), np.diff(cells.type_offsets))
    ways: list[Direction] = []
    for given, predicted, given_of_type, size, seen in (
        (cells.source, cells.target, sources, cells.n_sources, cells.n_targets),
        (cells.target, cells.source, cells.type_targets, cells.n_targets, cells.n_sources),
    ):
        text = Text(given.offsets, predicted.offsets, predicted.ids, cells.offsets, cells.numbers, len(ways))
        occurs = np.bincount(predicted.ids, minlength=seen) > 0
        ways.append(Direction(text, frozen(given_of_type), frozen(occurs), size, np.unique(given.lengths)))
    return ways[0], ways[1]
