"""A forest: all translations of one sentence that a search has seen, packed; and the rules that forests share.

A node is a stretch of the source translated in one of the ways that no later choice can tell apart; an edge is a rule
with the nodes that fill its gaps. A derivation takes one edge at the last node, the goal, and one at each node that
fills a gap. Both classes are checked when they are made, because kernels index by them unchecked.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from luthier.core.arrays import Bytes, Float64, Int32, Int64, all_finite, flat, frozen
from luthier.core.errors import LuthierError
from luthier.core.segments import check_offsets, offsets_from_counts, rows_of_segments
from luthier.corpus.texts import Texts
from luthier.decoding.forests import _forest_kernels as kernels
from luthier.kbest.features import Features

LABELS = ("X", "S", "goal")


@dataclasses.dataclass(frozen=True, eq=False)
class RuleTable:
    """R rules, shared by the forests of all sentences.

    Attributes
    ----------
    target_offsets, target_symbols : (R+1,) int64, int32
        Target sides: numbers of `words`, −1 for gap 1 and −2 for gap 2, as the source side numbers them.
    words : Texts
    features : Features of R rows
        What a rule is worth wherever it is used.
    texts : R texts
        What each rule is.
    state_names : tuple of L str
        Names of the features that only an edge knows, as what a language model says.
    arities : (R,) int8
        How many gaps each rule has; found when the table is made.
    """

    target_offsets: Int64
    target_symbols: Int32
    words: Texts
    features: Features
    texts: Texts
    state_names: tuple[str, ...]
    arities: np.ndarray = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        for name, dtype in (("target_offsets", np.int64), ("target_symbols", np.int32)):
            object.__setattr__(self, name, flat(np.asarray(getattr(self, name), dtype=dtype)))
        if self.target_symbols.ndim != 1:
            raise LuthierError(f"expected target sides one behind another, found shape {self.target_symbols.shape}")
        check_offsets(self.target_offsets, len(self.target_symbols), "target sides of rules")
        sizes = {len(self.target_offsets) - 1, len(self.features), len(self.texts)}
        if len(sizes) > 1:
            raise LuthierError(f"expected a target side, features and a text for each rule, found {sorted(sizes)}")
        if len(set(self.names)) != len(self.names):
            raise LuthierError("expected features of edges that are none of rules, found a name that stands twice")
        arities = np.zeros(len(self), dtype=np.int8)
        bad = kernels.rule_arities(self.target_offsets, self.target_symbols, len(self.words), arities)
        if bad >= 0:
            raise LuthierError(f"expected words and up to two gaps in the target side of a rule, found others in {bad}")
        object.__setattr__(self, "arities", frozen(arities))

    def __len__(self) -> int:
        return len(self.target_offsets) - 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all D features: those of rules, then those of edges."""
        return self.features.names + self.state_names

    def take(self, rows: Int64) -> RuleTable:
        """Return the table of the chosen rules; words stay."""
        return RuleTable(
            offsets_from_counts(np.diff(self.target_offsets)[rows]),
            self.target_symbols[rows_of_segments(self.target_offsets, rows)],
            self.words,
            self.features.take(rows),
            self.texts.take(rows),
            self.state_names,
        )

    def rule_scores(self, weights: Float64) -> Float64:
        """Return what each rule adds to a score under weights (D,) or (W, D): (R,) or (W, R)."""
        return self.features.scores(np.asarray(weights)[..., : self.features.n_features])


@dataclasses.dataclass(frozen=True, eq=False)
class Hypergraph:
    """One sentence's forest of V nodes and E edges; without nodes where there is no translation.

    Attributes
    ----------
    edge_offsets : (V+1,) int64
        Edges of node v are rows ``edge_offsets[v]:edge_offsets[v+1]``, at least one. Tails stand before heads; the
        goal is node V − 1.
    tails : (E, 2) int32
        The nodes in gap 1 and gap 2, −1 where there is no gap.
    rules : (E,) int32
        Rows of a `RuleTable`.
    state_features : (E, L) float64
        Features that are not the rule's own.
    labels : (V,) uint8
        Rows of `LABELS`.
    spans : (V, 2) int32
        The source words covered, ``first:last``, at least one; those in two gaps are apart and in order.
    """

    edge_offsets: Int64
    tails: Int32
    rules: Int32
    state_features: Float64
    labels: Bytes
    spans: Int32

    def __post_init__(self) -> None:
        types = {
            "edge_offsets": np.int64,
            "tails": np.int32,
            "rules": np.int32,
            "state_features": np.float64,
            "labels": np.uint8,
            "spans": np.int32,
        }
        for name, dtype in types.items():
            object.__setattr__(self, name, flat(np.asarray(getattr(self, name), dtype=dtype)))
        self._check()

    def _check(self) -> None:
        """Raise `LuthierError` unless the arrays are a forest."""
        shapes = self.rules.ndim == 1 and self.tails.shape == (len(self.rules), 2) and self.state_features.ndim == 2
        if not shapes or len(self.state_features) != len(self.rules):
            raise LuthierError("expected tails, a rule and features for each edge of a forest, found other shapes")
        check_offsets(self.edge_offsets, len(self.rules), "edges of a forest")
        if self.labels.shape != (self.n_nodes,) or self.spans.shape != (self.n_nodes, 2):
            raise LuthierError("expected a label and a span for each node of a forest, found other shapes")
        if np.any(self.edge_offsets[1:] == self.edge_offsets[:-1]):
            raise LuthierError("expected an edge or more at each node of a forest, found a node without")
        if self.n_nodes and (self.labels.max() >= len(LABELS) or np.any(self.spans[:, 0] >= self.spans[:, 1])):
            raise LuthierError("expected a known label and a span of words at each node of a forest, found others")
        bad = kernels.bad_edge(self.edge_offsets, self.tails, self.rules, self.spans)
        if bad >= 0:
            raise LuthierError(f"edge {bad} of a forest is none: gaps hold earlier nodes, which cover words in order")
        if not all_finite(self.state_features):
            raise LuthierError("expected finite features of edges, found others")

    @property
    def n_nodes(self) -> int:
        """How many nodes there are, V."""
        return len(self.edge_offsets) - 1

    @property
    def n_edges(self) -> int:
        """How many edges there are, E."""
        return len(self.rules)

    def check_rules(self, table: RuleTable) -> None:
        """Raise `LuthierError` unless every edge has a rule of the table, with as many gaps as it has tails."""
        bad = kernels.bad_use(self.tails, self.rules, table.arities)
        if bad >= 0:
            raise LuthierError(f"edge {bad} of a forest has a rule that is not in its table, or has other gaps")
        if self.state_features.shape[1] != len(table.state_names):
            found = self.state_features.shape[1]
            raise LuthierError(f"expected {len(table.state_names)} features of each edge of a forest, found {found}")

    def edge_scores(self, rule_scores: Float64, state_weights: Float64) -> Float64:
        """Return w·h of each edge: (R,) and (L,) → (E,); `RuleTable.rule_scores` has the first."""
        scores: Float64 = rule_scores[self.rules]
        for column, weight in zip(self.state_features.T, state_weights, strict=True):  # in a fixed order
            scores += weight * column
        return scores

    @functools.cached_property
    def reachable(self) -> tuple[Int64, Int64]:
        """Nodes and edges that stand in some derivation, ascending."""
        used = np.zeros(self.n_nodes, dtype=np.bool_)
        if self.n_nodes:
            kernels.mark_reachable(self.edge_offsets, self.tails, used)
        nodes = np.flatnonzero(used)
        return nodes, rows_of_segments(self.edge_offsets, nodes)

    def pruned(self) -> Hypergraph:
        """Return the forest without nodes that stand in no derivation; what is left keeps its order."""
        nodes, edges = self.reachable
        number = np.full(self.n_nodes + 1, -1, dtype=np.int32)  # the last one is for −1
        number[nodes] = np.arange(len(nodes), dtype=np.int32)
        return Hypergraph(
            offsets_from_counts(np.diff(self.edge_offsets)[nodes]),
            number[self.tails[edges]],
            self.rules[edges],
            self.state_features[edges],
            self.labels[nodes],
            self.spans[nodes],
        )


def with_used_rules(forests: Sequence[Hypergraph], rules: RuleTable) -> tuple[list[Hypergraph], RuleTable]:
    """Return forests without what stands in no derivation, and a table of just the rules they use.

    Raises
    ------
    LuthierError
        An edge whose rule is not in the table, or has other gaps.
    """
    used = np.zeros(len(rules), dtype=np.bool_)
    for forest in forests:
        forest.check_rules(rules)
    pruned = [forest.pruned() for forest in forests]
    for forest in pruned:
        used[forest.rules] = True
    rows = np.flatnonzero(used)
    number = np.zeros(len(rules), dtype=np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    return [dataclasses.replace(forest, rules=number[forest.rules]) for forest in pruned], rules.take(rows)
