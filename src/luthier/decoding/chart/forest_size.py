"""How large a forest is: nodes, edges, derivations."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.decoding.chart import _size_kernels as kernels
from luthier.decoding.chart._chart_kernels import Rules, Sentence
from luthier.decoding.chart.workspace import Workspace
from luthier.decoding.forests.hypergraph import Hypergraph


@dataclasses.dataclass(frozen=True)
class ForestSize:
    """Numbers of nodes, edges, and derivations, the last as log10; −inf where there is none."""

    nodes: int
    edges: int
    log10_derivations: float


def forest_size(forest: Hypergraph) -> ForestSize:
    """Return the size of a forest."""
    if not forest.n_nodes:
        return ForestSize(0, 0, -np.inf)
    logs = np.empty(forest.n_nodes)
    kernels.count_derivations(forest.edge_offsets, forest.tails, logs)
    return ForestSize(forest.n_nodes, forest.n_edges, float(logs[-1]))


def parse_size(rules: Rules, sentence: Sentence, workspace: Workspace, n_x: int, n_cells: int) -> ForestSize:
    """Return the size that the forest of the chart filled last had before models split its nodes and pops cut it."""
    logs = np.full(n_cells, -np.inf)
    nodes, edges = kernels.count_parses(rules, workspace.chart, sentence, n_x, logs)
    return ForestSize(int(nodes) + 1, int(edges) + 1, float(logs[-1]))
