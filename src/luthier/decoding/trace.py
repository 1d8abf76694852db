"""What a teacher would draw: the cells of one sentence, their best items, and the tree that won."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from luthier.core.arrays import Float64, Int32
from luthier.corpus.lattices import is_lattice, parse_lattice
from luthier.decoding.forests.hypergraph import LABELS, Hypergraph, RuleTable
from luthier.decoding.rule_rows import N_GLUE
from luthier.grammar.grammar import Grammar

# One derivation looked at: which source words are linked with which target words, and its tree as text.


@dataclasses.dataclass(frozen=True, eq=False)
class DerivationTree:
    """A derivation of n uses of rules, the upper before the lower.

    Attributes
    ----------
    rules, parents : (n,) int32
        Rows of the table; the use above, −1 for the first.
    spans : (n, 2) int32
        The source words covered.
    """

    grammar: Grammar
    table: RuleTable
    rules: Int32
    parents: Int32
    spans: Int32

    @functools.cached_property
    def below(self) -> list[list[int]]:
        """The uses in the gaps of each use, in the order of the gaps."""
        found: list[list[int]] = [[] for _ in self.rules]
        for use, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(use)
        return found

    def links(self) -> list[tuple[int, int]]:
        """Return the linked words (source, target), from 0 on: links of rules, and words that stay as they are."""
        targets = [self._target(use) for use in range(len(self.rules))]
        lengths = [0] * len(targets)
        for use in range(len(targets) - 1, -1, -1):
            gaps = sum(lengths[below] for below in self.below[use])
            lengths[use] = int(np.count_nonzero(targets[use] >= 0)) + gaps
        starts, found = [0] * len(targets), []
        for use, target in enumerate(targets):
            at, places = starts[use], []
            for symbol in target.tolist():
                places.append(at)
                if symbol >= 0:
                    at += 1
                else:
                    below = self.below[use][-symbol - 1]
                    starts[below] = at
                    at += lengths[below]
            found += self._links_of_rule(use, places)
        return sorted(found)

    def _target(self, use: int) -> Int32:
        offsets, rule = self.table.target_offsets, self.rules[use]
        return self.table.target_symbols[offsets[rule] : offsets[rule + 1]]

    def _links_of_rule(self, use: int, places: list[int]) -> list[tuple[int, int]]:
        grammar, rule = self.grammar, int(self.rules[use])
        if rule >= grammar.n_rules:
            return [(int(self.spans[use, 0]), places[0])] if rule >= grammar.n_rules + N_GLUE else []
        side = int(np.searchsorted(grammar.rule_offsets, rule, side="right")) - 1
        at, sources = int(self.spans[use, 0]), []
        for symbol in grammar.side_symbols[grammar.side_offsets[side] : grammar.side_offsets[side + 1]].tolist():
            sources.append(at)
            at = at + 1 if symbol >= 0 else int(self.spans[self.below[use][-symbol - 1], 1])
        links = grammar.links[grammar.link_offsets[rule] : grammar.link_offsets[rule + 1]]
        return [(sources[int(f)], places[int(e)]) for f, e in links]

    def text(self) -> str:
        """Return the tree in one line: ``(rule first:last (rule first:last) …)``; nothing for no derivation."""
        parts: list[str] = []
        stack = [(0, False)] if len(self.rules) else []
        while stack:
            use, done = stack.pop()
            if done:
                parts.append(")")
                continue
            first, last = self.spans[use]
            parts.append(f"{' ' if parts else ''}({self.table.texts[int(self.rules[use])]} {first}:{last}")
            stack.append((use, True))
            stack += [(below, False) for below in reversed(self.below[use])]
        return "".join(parts)

    def depths(self) -> list[int]:
        """Return how many uses stand above each."""
        found = [0] * len(self.rules)
        for use, parent in enumerate(self.parents):
            found[use] = found[parent] + 1 if parent >= 0 else 0
        return found


@dataclasses.dataclass(frozen=True)
class CellTrace:
    """One cell of a chart: those of its items that stand in a translation of the whole sentence.

    Attributes
    ----------
    label, first, last
        X, S or goal, over the source words ``first:last``.
    source : str
        Those words.
    items, edges : int
    score : float
        Of the best item, with all below it.
    best : str
        Its words.
    """

    label: str
    first: int
    last: int
    source: str
    items: int
    edges: int
    score: float
    best: str


@dataclasses.dataclass(frozen=True)
class TreeLine:
    """One use of a rule in the tree that won: how deep it stands, the source words it covers, the rule."""

    depth: int
    first: int
    last: int
    rule: str


@dataclasses.dataclass(frozen=True)
class Trace:
    """Cells of one sentence, shortest first, and the winning tree, from the goal down."""

    cells: tuple[CellTrace, ...]
    tree: tuple[TreeLine, ...]


def trace(forest: Hypergraph, edge_scores: Float64, table: RuleTable, sentence: str, tree: DerivationTree) -> Trace:
    """Return what is to be drawn of a sentence: plain Python, for one sentence."""
    source = parse_lattice(sentence).steps() if is_lattice(sentence) else sentence.split()
    scores, words = np.empty(forest.n_nodes), [""] * forest.n_nodes
    for node in range(forest.n_nodes):
        edges = range(int(forest.edge_offsets[node]), int(forest.edge_offsets[node + 1]))
        totals = [edge_scores[e] + sum(scores[t] for t in forest.tails[e] if t >= 0) for e in edges]
        best = int(np.argmax(totals))
        scores[node] = totals[best]
        words[node] = _words(forest, table, edges[best], words)
    cells: dict[tuple[int, int, int], list[int]] = {}
    for node in range(forest.n_nodes):
        key = (int(forest.labels[node]), int(forest.spans[node, 0]), int(forest.spans[node, 1]))
        cells.setdefault(key, []).append(node)
    return Trace(tuple(_cell(key, nodes, forest, source, (scores, words)) for key, nodes in cells.items()), _tree(tree))


def _words(forest: Hypergraph, table: RuleTable, edge: int, words: list[str]) -> str:
    rule = int(forest.rules[edge])
    symbols = table.target_symbols[table.target_offsets[rule] : table.target_offsets[rule + 1]].tolist()
    parts = [table.words[s] if s >= 0 else words[forest.tails[edge, -s - 1]] for s in symbols]
    return " ".join(part for part in parts if part)


def _cell(
    key: tuple[int, int, int],
    nodes: list[int],
    forest: Hypergraph,
    source: list[str],
    found: tuple[Float64, list[str]],
) -> CellTrace:
    label, first, last = key
    scores, words = found
    best = max(nodes, key=lambda node: scores[node])
    edges = sum(int(forest.edge_offsets[node + 1] - forest.edge_offsets[node]) for node in nodes)
    text = " ".join(source[first:last])
    return CellTrace(LABELS[label], first, last, text, len(nodes), edges, float(scores[best]), words[best])


def _tree(tree: DerivationTree) -> tuple[TreeLine, ...]:
    lines = zip(tree.depths(), tree.spans.tolist(), tree.rules.tolist(), strict=True)
    return tuple(TreeLine(depth, first, last, tree.table.texts[rule]) for depth, (first, last), rule in lines)
