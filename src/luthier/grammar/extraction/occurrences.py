"""Where patterns occur: found by walking on from the places of their first chunk, and sampled."""

from __future__ import annotations

import dataclasses
import itertools
from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Int32, Int64
from luthier.core.segments import offsets_from_counts
from luthier.grammar.extraction import _pattern_kernels as kernels
from luthier.grammar.extraction.limits import Limits
from luthier.grammar.extraction.patterns import Patterns
from luthier.grammar.indexing.model import Model

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
            model.words, trie, limits.for_kernels(), chunks, plan.words, offsets, places, child_by_word,
            sampling._replace(places=kept_places),
        )  # fmt: skip

    walk(np.empty((0, 3), np.int32))
    total = kernels.begin_sample(nodes, sampling)
    sample = np.empty((total, 3), dtype=np.int32)
    walk(sample)
    nodes = nodes[sampling.total[nodes] > 0]
    lengths = np.zeros((len(nodes), 3), dtype=np.int64)
    kernels.chunk_lengths(trie, nodes, plan.words, lengths)
    return Occurrences(nodes, lengths, sampling.total[nodes], offsets_from_counts(sampling.kept[nodes]), sample)
