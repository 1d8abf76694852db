"""The patterns of a text: every chunk, and every two or three chunks with gaps between, that the limits allow."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from luthier.core.arrays import Array, Int32, Int64, flat
from luthier.core.segments import offsets_from_counts
from luthier.grammar._trie_kernels import rehash
from luthier.grammar.extraction import _pattern_kernels as kernels
from luthier.grammar.extraction.limits import Limits
from luthier.grammar.indexing.index import find_chunks
from luthier.grammar.indexing.model import Model

MOST_NODES = 2**31 - 1


class PatternTrie(NamedTuple):
    """A trie of patterns in flat arrays; node 0 is the root, symbol 0 a gap.

    Attributes
    ----------
    keys, nodes
        Table of all children (`_trie_kernels`).
    parent, symbol
        Of each node.
    low, high
        The range of places of a node that is a chunk.
    child, sibling
        The children of a node as a list: its first one, and of each the next; −1 ends it.
    gap
        The child by a gap, −1 if there is none.
    stamp
        The last sentence that had the pattern.
    """

    keys: Int64
    nodes: Int32
    parent: Int32
    symbol: Int32
    low: Int64
    high: Int64
    child: Int32
    sibling: Int32
    gap: Int32
    stamp: Int32


@dataclasses.dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns of N sentences.

    Attributes
    ----------
    trie : PatternTrie
    size : int
        Number of its nodes.
    offsets : (N+1,) int64
    found : int32
        ``found[offsets[i]:offsets[i+1]]`` are the nodes of the patterns of sentence i, each once.
    """

    trie: PatternTrie
    size: int
    offsets: Int64
    found: Int32

    def symbols_of(self, nodes: Int32 | Int64) -> tuple[Int64, Int32]:
        """Return the symbols of the given patterns, as offsets and word numbers; 0 is a gap."""
        wide = flat(nodes.astype(np.int64))
        depths = np.empty(len(wide), dtype=np.int64)
        kernels.pattern_depths(self.trie.parent, wide, depths)
        offsets = offsets_from_counts(depths)
        symbols = np.empty(int(offsets[-1]), dtype=np.int32)
        kernels.pattern_symbols(self.trie.parent, self.trie.symbol, wide, offsets, symbols)
        return offsets, symbols


def collect_patterns(model: Model, text: Int32, offsets: Int64, limits: Limits) -> Patterns:
    """Return the patterns of a text, those with a chunk that the model's source does not have left out.

    Parameters
    ----------
    text : word numbers, 0 for a word the model does not know and behind every sentence
    offsets : (N+1,) where the sentences begin
    """
    lows, highs = find_chunks(model.words, model.places, text, limits.max_symbols)
    room = limits.patterns_of_a_word()
    longest = int(np.diff(offsets).max(initial=1)) * room
    trie, found = _empty_trie(4 * longest + 1), np.empty(2 * longest, dtype=np.int32)
    found_offsets = np.zeros(len(offsets), dtype=np.int64)
    done, size = 0, 1
    plain = limits.for_kernels()
    while True:
        done, size = kernels.add_texts(
            flat(text), flat(offsets), done, (flat(lows), flat(highs)), plain, trie, size, room, found, found_offsets
        )
        if done == len(offsets) - 1:
            return Patterns(trie, size, found_offsets, found[: found_offsets[-1]].copy())
        most = int(offsets[done + 1] - offsets[done]) * room  # of the sentence that did not fit
        if size + 2 * most > len(trie.parent):
            trie = _grown(trie, size, longest)
        if found_offsets[done] + most > len(found):
            found = _enlarged(found, 2 * len(found))


def _empty_trie(nodes: int) -> PatternTrie:
    slots = 1 << (2 * nodes).bit_length()
    types: list[type] = [np.int32, np.int32, np.int64, np.int64, *(np.int32,) * 4]
    columns: list[Any] = [np.empty(nodes, kind) for kind in types]
    for column in columns:
        column[0] = -1
    root = PatternTrie(np.full(slots, -1, np.int64), np.full(slots, -1, np.int32), *columns)
    root.low[0] = root.high[0] = 0
    return root


def _grown(trie: PatternTrie, size: int, longest: int) -> PatternTrie:
    """Return the trie with room for twice as many nodes, and at least for one more sentence."""
    larger = _empty_trie(max(2 * len(trie.parent), size + 4 * longest))
    rehash(trie.keys, trie.nodes, larger.keys, larger.nodes)
    columns: list[tuple[Any, Any]] = list(zip(larger[2:], trie[2:], strict=True))
    for new, old in columns:
        new[:size] = old[:size]
    return larger


def _enlarged(array: Array, length: int) -> Array:
    larger = np.empty(length, dtype=array.dtype)
    larger[: len(array)] = array
    return larger  # type: ignore[return-value]
