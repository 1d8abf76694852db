"""The source sides of a grammar as a trie, which a decoder walks word by word and gap by gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from luthier.core.arrays import Int32, Int64, flat, frozen
from luthier.grammar import _trie_kernels as kernels


class Trie(NamedTuple):
    """Nodes from 0 on; a symbol is 0 for a gap, else a source word's number plus 1.

    A kernel walks it with `_trie_kernels.find_child(keys, nodes, node, symbol)`.

    Attributes
    ----------
    keys : (2^k,) int64
        ``parent << 32 | symbol``, −1 where a place is free; never more than half full.
    nodes : (2^k,) int32
        The children.
    sides : (n,) int32
        The source side that ends at a node, −1 for none.
    roots : (N,) or (1,) int32
        Where the walk for a sentence begins; one for all of them if there is only one.
    """

    keys: Int64
    nodes: Int32
    sides: Int32
    roots: Int32

    def child(self, node: int, symbol: int) -> int:
        """Return the child of a node by a symbol, −1 if there is none."""
        return int(kernels.find(self.keys, self.nodes, node, symbol))


def build_trie(offsets: Int64, symbols: Int32, roots: Int32, side_roots: Int32) -> Trie:
    """Return the trie of source sides, of which each has its root; gaps are below 0, words from 0 on."""
    n_roots = int(roots.max(initial=0)) + 1
    most = n_roots + len(symbols)
    slots = 1 << (2 * most).bit_length()
    keys, nodes = np.full(slots, -1, np.int64), np.full(slots, -1, np.int32)
    ends = np.empty(len(offsets) - 1, dtype=np.int32)
    codes = np.maximum(symbols + 1, 0).astype(np.int32)
    size = kernels.insert_paths(flat(offsets), flat(codes), flat(side_roots), keys, nodes, ends, n_roots)
    sides = np.full(size, -1, dtype=np.int32)
    sides[ends] = np.arange(len(ends), dtype=np.int32)
    return Trie(frozen(keys), frozen(nodes), frozen(sides), frozen(roots))
