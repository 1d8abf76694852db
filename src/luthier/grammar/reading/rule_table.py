"""Rules as they come, in any order; in the end they are grouped by source side."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Bytes, Float64, GrowingArray, Int32, Int64, flat
from luthier.core.segments import offsets_from_counts, rows_of_segments
from luthier.corpus.vocab import Interner
from luthier.grammar import _trie_kernels as kernels
from luthier.grammar.grammar import NO_SENTENCES, Grammar, make_grammar, no_trie


class _Lists:
    """A growing column of lists."""

    def __init__(self, *types: type) -> None:
        self._counts = GrowingArray(np.int64)
        self._values = [GrowingArray(kind) for kind in types]

    def append(self, offsets: Int64, *values: np.ndarray) -> None:
        self._counts.append(np.diff(offsets))
        for column, more in zip(self._values, values, strict=True):
            column.append(more)

    def finish(self) -> list[np.ndarray]:
        return [offsets_from_counts(self._counts.finish()), *(column.finish() for column in self._values)]


class RuleTable:
    """Rules that are being read."""

    def __init__(self) -> None:
        self.source_words, self.target_words, self.names, self.labels = (Interner() for _ in range(4))
        self.n_lines = self.glue = 0
        self._source, self._target = _Lists(np.int32), _Lists(np.int32)
        self._features, self._links = _Lists(np.int32, np.float64), _Lists(np.uint8, np.uint8)

    def add(
        self,
        source: tuple[Int64, Int32],
        target: tuple[Int64, Int32],
        features: tuple[Int64, Int32, Float64],
        links: tuple[Int64, Bytes],
    ) -> None:
        """Add rules: columns of lists, each with its offsets."""
        self._source.append(*source)
        self._target.append(*target)
        self._features.append(*features)
        self._links.append(links[0], links[1][:, 0], links[1][:, 1])

    def finish(self) -> Grammar:
        """Return the grammar: source sides in the order of their first rule, rules in the order in which they came."""
        offsets, symbols = self._source.finish()
        side, first = _sides(offsets, symbols)
        order = np.argsort(side, kind="stable")
        target_offsets, target_symbols = self._target.finish()
        feature_offsets, ids, values = self._features.finish()
        link_offsets, *links = self._links.finish()
        entries, pairs = rows_of_segments(feature_offsets, order), rows_of_segments(link_offsets, order)
        return make_grammar(
            Grammar(
                self.source_words.texts(), self.target_words.texts(),
                offsets_from_counts(np.diff(offsets)[first]), symbols[rows_of_segments(offsets, first)],
                offsets_from_counts(np.bincount(side, minlength=len(first))),
                offsets_from_counts(np.diff(target_offsets)[order]),
                target_symbols[rows_of_segments(target_offsets, order)],
                tuple(self.names.texts()), offsets_from_counts(np.diff(feature_offsets)[order]), ids[entries],
                values[entries], offsets_from_counts(np.diff(link_offsets)[order]),
                np.column_stack([column[pairs] for column in links]), **NO_SENTENCES, trie=no_trie(),
            )
        )  # fmt: skip


def _sides(offsets: Int64, symbols: Int32) -> tuple[Int64, Int64]:
    """Return the number of each row's symbols among the distinct rows, and the first row of each of these."""
    # rules of one source side stand together in most files, so that a fraction of the rows is looked up
    differs = np.empty(len(offsets) - 1, dtype=np.bool_)
    kernels.differs_from_last(flat(offsets), flat(symbols), differs)
    runs = np.flatnonzero(differs)
    run_offsets = offsets_from_counts(np.diff(offsets)[runs])
    codes = np.maximum(symbols[rows_of_segments(offsets, runs)] + 1, 0).astype(np.int32)
    slots = 1 << (2 * (len(codes) + 1)).bit_length()
    keys, nodes = np.full(slots, -1, np.int64), np.full(slots, -1, np.int32)
    ends = np.empty(len(runs), dtype=np.int32)
    size = kernels.insert_paths(
        flat(run_offsets), flat(codes), flat(np.zeros(len(ends), np.int32)), keys, nodes, ends, 1
    )
    first = np.full(size, len(runs), dtype=np.int64)
    np.minimum.at(first, ends, np.arange(len(runs)))
    used = np.flatnonzero(first < len(runs))
    used = used[np.argsort(first[used], kind="stable")]
    number = np.empty(size, dtype=np.int64)
    number[used] = np.arange(len(used))
    return number[ends][np.cumsum(differs) - 1], runs[first[used]]
