"""The patterns of a text: every chunk, and every two or three chunks with gaps between, that the limits allow."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, NamedTuple

import numpy as np

from luthier.core.arrays import Array, Int32, Int64, flat
from luthier.core.segments import offsets_from_counts
from luthier.grammar._trie_kernels import rehash
from luthier.grammar.extraction import _pattern_kernels as kernels
from luthier.grammar.extraction.options import Limits
from luthier.grammar.model import Model, find_chunks


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


# Where patterns occur: found by walking on from the places of their first chunk, and sampled.

BLOCK_PATTERNS = 1 << 13


class Sampling(NamedTuple):
    """The state of a walk: how many occurrences of each node were seen, which are kept, and where."""

    seen: Int64
    total: Int64
    kept: Int64
    next_rank: Int64
    offsets: Int64
    places: Int32
    limit: int


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """The patterns of a text by the chunk they begin with, in blocks that can be worked on apart.

    Attributes
    ----------
    words, chunks : (nodes,) int32
        Words in the last chunk of each node, and the number of that chunk, from 0.
    first_chunks : (C,) int32
        The chunks, ascending.
    offsets : (C+1,) int64
    nodes : int32
        The patterns ``nodes[offsets[c]:offsets[c+1]]`` begin with chunk c.
    blocks : ranges of chunks
    sampling : Sampling
        The state of all walks; those of different blocks touch different nodes.
    """

    words: Int32
    chunks: Int32
    first_chunks: Int32
    offsets: Int64
    nodes: Int32
    blocks: list[tuple[int, int]]
    sampling: Sampling


class Occurrences(NamedTuple):
    """The sampled occurrences of a block of patterns.

    Attributes
    ----------
    nodes : (n,) int32
        The patterns, those without an occurrence left out.
    lengths : (n, 3) int64
        Words of their chunks, 0 for none.
    counts : (n,) int64
        All occurrences in the text.
    offsets : (n+1,) int64
    places : (O, 3) int32
        Where the chunks of occurrence ``offsets[p]:offsets[p+1]`` begin.
    """

    nodes: Int32
    lengths: Int64
    counts: Int64
    offsets: Int64
    places: Int32


def make_plan(patterns: Patterns) -> Plan:
    """Group the patterns by their first chunk, and cut them into blocks of some thousand."""
    size = patterns.size
    owner, words, chunks = (np.empty(size, dtype=np.int32) for _ in range(3))
    kernels.set_owners(patterns.trie, size, owner, words, chunks)
    nodes = np.flatnonzero(words > 0).astype(np.int32)
    nodes = nodes[np.argsort(owner[nodes], kind="stable")]
    first_chunks, counts = np.unique(owner[nodes], return_counts=True)
    offsets = offsets_from_counts(counts)
    block = offsets[:-1] // BLOCK_PATTERNS
    cuts = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(first_chunks)]
    blocks = [(a, b) for a, b in itertools.pairwise(cuts) if a < b]
    seen, total, kept, where = (np.zeros(size, np.int64) for _ in range(4))
    none = np.empty((0, 3), dtype=np.int32)
    sampling = Sampling(seen, total, kept, np.full(size, -1, np.int64), where, none, 1)
    return Plan(words, chunks, first_chunks, offsets, nodes, blocks, sampling)


def find_occurrences(
    model: Model, patterns: Patterns, plan: Plan, block: tuple[int, int], limits: Limits, without: Int64
) -> Occurrences:
    """Return the sampled occurrences of the patterns of a block, in corpus order, but for those in pairs `without`."""
    trie = patterns.trie
    chunks = plan.first_chunks[block[0] : block[1]]
    nodes = plan.nodes[plan.offsets[block[0]] : plan.offsets[block[1]]]
    lows, highs = trie.low[chunks], trie.high[chunks]
    places, offsets = np.empty(int((highs - lows).sum()), np.int32), np.empty(len(chunks) + 1, np.int64)
    kernels.sorted_places(model.places, model.sentence, lows, highs, without, offsets, places)
    sampling = plan.sampling._replace(limit=limits.samples)
    child_by_word = np.full(len(model.source_words), -1, dtype=np.int32)

    def walk(kept_places: Int32) -> None:
        kernels.walk_chunks(
            model.words,
            trie,
            limits.for_kernels(),
            chunks,
            plan.words,
            offsets,
            places,
            child_by_word,
            sampling._replace(places=kept_places),
        )

    walk(np.empty((0, 3), np.int32))
    total = kernels.begin_sample(nodes, sampling)
    sample = np.empty((total, 3), dtype=np.int32)
    walk(sample)
    nodes = nodes[sampling.total[nodes] > 0]
    lengths = np.zeros((len(nodes), 3), dtype=np.int64)
    kernels.chunk_lengths(trie, nodes, plan.words, lengths)
    return Occurrences(nodes, lengths, sampling.total[nodes], offsets_from_counts(sampling.kept[nodes]), sample)
