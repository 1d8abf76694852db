"""The K best derivations of a forest, or of the K best strings, found lazily ([huang2005], algorithm 3).

With `unique`, each node keeps only the best derivation of each target string. What comes next after one that was
dropped is still tried, and the best derivation of a string has best derivations of its parts' strings, so that the list
is that of a full enumeration. Strings are compared by their length and two hashes that are joined from those of their
parts: polynomials modulo the prime p = 2⁶¹ − 1. Two unlike strings of n words agree in both for at most a share
(n / p)² of all pairs of bases, that is one of 10³⁴ for n = 20; the bases are fixed, so that results are repeatable.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int32, Int64, all_finite, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.decoding import _kbest_kernels as kernels
from luthier.decoding.forests import _forest_kernels as forest_kernels
from luthier.decoding.forests.hypergraph import Hypergraph, RuleTable

LONGEST_STRING = 1 << 20  # words


@dataclasses.dataclass(frozen=True, eq=False)
class KBest:
    """The n best derivations, the best first; if scores are equal, the one that was made first comes first.

    Attributes
    ----------
    scores : (n,) float64
    offsets : (n+1,) int64
        Derivation i uses the edges ``edges[offsets[i]:offsets[i+1]]``.
    edges : int32
        The upper before the lower, what is in gap 1 before what is in gap 2.
    parents : int32
        The place, within its derivation, of the edge above; −1 for the first.
    word_offsets, words : (n+1,) int64, int32
        The target words, as numbers of the table's words.
    """

    scores: Float64
    offsets: Int64
    edges: Int32
    parents: Int32
    word_offsets: Int64
    words: Int32

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, frozen(getattr(self, field.name)))

    def __len__(self) -> int:
        return len(self.scores)


def k_best(graph: Hypergraph, edge_scores: Float64, rules: RuleTable, k: int, *, unique: bool = False) -> KBest:
    """Return the k best derivations, or as many as there are; with `unique` no two have the same words."""
    if k < 1:
        raise LuthierError(f"expected to find 1 derivation or more, found {k}")
    edge_scores = flat(np.asarray(edge_scores, dtype=np.float64))
    if edge_scores.shape != (graph.n_edges,) or not all_finite(edge_scores):
        raise LuthierError(f"expected a finite score for each of {graph.n_edges} edges, found others")
    graph.check_rules(rules)
    if not graph.n_nodes:
        nothing = np.zeros(1, np.int64)
        return KBest(np.zeros(0), nothing, np.zeros(0, np.int32), np.zeros(0, np.int32), nothing, np.zeros(0, np.int32))
    return _Search(graph, edge_scores, rules, unique=unique).run(k)


class _Search:
    """The items of one search, with room that grows."""

    def __init__(self, graph: Hypergraph, edge_scores: Float64, rules: RuleTable, *, unique: bool) -> None:
        begin, end = rules.target_offsets[graph.rules], rules.target_offsets[graph.rules + 1]
        edges = np.column_stack([graph.tails.astype(np.int64), begin, end])
        self._forest = kernels.Forest(graph.edge_offsets, edges, edge_scores, rules.target_symbols)
        self._unique = unique
        n = graph.n_nodes
        self._used = np.zeros(n, dtype=np.bool_)
        forest_kernels.mark_reachable(graph.edge_offsets, graph.tails, self._used)
        longest = kernels.longest_string(graph.edge_offsets, edges, self._used, np.zeros(n, np.int64), LONGEST_STRING)
        if longest == LONGEST_STRING:
            raise LuthierError(f"expected translations of fewer than {LONGEST_STRING} words, found a longer one")
        self._powers = np.empty((longest + 2 if unique else 1, 2), dtype=np.uint64)
        kernels.fill_powers(self._powers)
        self._nodes = np.full((n, 6), kernels.NONE, dtype=np.int32)
        self._nodes[:, [kernels.STARTED, kernels.DONE]] = 0
        self._most_edges = int(np.diff(graph.edge_offsets).max())
        self._make_room(int(self._used.sum()))

    def _make_room(self, n: int) -> None:
        """Make room for n items; the table of strings will be at most half full."""
        hashes = np.empty((n if self._unique else 0, 2), dtype=np.uint64)
        self._found = kernels.Items(np.empty((n, 9), dtype=np.int32), np.empty(n), hashes, self._powers)
        self._table = np.full(1 << (2 * n).bit_length() if self._unique else 0, kernels.NONE, dtype=np.int32)

    def _grow(self, room: int) -> None:
        before = self._found
        self._make_room(room)
        for new, old in zip(self._found[:3], before[:3], strict=True):
            new[: len(old)] = old
        if self._unique:
            kernels.fill_table(self._found.columns, self._found.hashes, self._nodes, self._table)

    def run(self, k: int) -> KBest:
        n = kernels.find_best(self._forest, self._used, self._found, self._nodes)
        state = np.array([n, 0, 1], dtype=np.int64)
        if k > 1:
            stack = np.empty(len(self._used) + 1, dtype=np.int64)
            self._grow(4 * n + 8 * min(k, 1 << 14) + self._most_edges)
            while not kernels.search(self._forest, self._found, self._nodes, self._table, stack, state, k):
                self._grow(2 * len(self._found.columns) + self._most_edges)
        return self._result(int(state[2]))

    def _result(self, found: int) -> KBest:
        first, items = int(self._nodes[-1, kernels.BEST]), self._found.columns
        chain = np.empty(found, dtype=np.int64)
        kernels.follow(items, first, chain)
        offsets, word_offsets = (
            offsets_from_counts(items[chain, column]) for column in (kernels.N_EDGES, kernels.N_WORDS)
        )
        edges, parents = (np.empty(int(offsets[-1]), dtype=np.int32) for _ in range(2))
        words = np.empty(int(word_offsets[-1]), dtype=np.int32)
        stack = np.empty((int(np.diff(offsets).max()) + 1, 2), dtype=np.int64)
        kernels.write_derivations(items, first, offsets, edges, parents, stack)
        kernels.write_words(self._forest.edges, self._forest.symbols, items, first, word_offsets, words, stack)
        return KBest(self._found.totals[chain], offsets, edges, parents, word_offsets, words)
