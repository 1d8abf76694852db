"""What a teacher would draw: the cells of one sentence, their best items, and the tree that won."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.decoding.derivation_trees import DerivationTree
from luthier.decoding.forests.hypergraph import LABELS, Hypergraph, RuleTable


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
    source = sentence.split()
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
    key: tuple[int, int, int], nodes: list[int], forest: Hypergraph, source: list[str],
    found: tuple[Float64, list[str]],
) -> CellTrace:  # fmt: skip
    label, first, last = key
    scores, words = found
    best = max(nodes, key=lambda node: scores[node])
    edges = sum(int(forest.edge_offsets[node + 1] - forest.edge_offsets[node]) for node in nodes)
    text = " ".join(source[first:last])
    return CellTrace(LABELS[label], first, last, text, len(nodes), edges, float(scores[best]), words[best])


def _tree(tree: DerivationTree) -> tuple[TreeLine, ...]:
    lines = zip(tree.depths(), tree.spans.tolist(), tree.rules.tolist(), strict=True)
    return tuple(TreeLine(depth, first, last, tree.table.texts[rule]) for depth, (first, last), rule in lines)
