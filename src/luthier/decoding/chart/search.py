"""One sentence through the chart: cells filled by cube pruning, and the forest read off them."""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts
from luthier.decoding.chart import _chart_kernels as chart_kernels
from luthier.decoding.chart import _cube_kernels as cube_kernels
from luthier.decoding.chart import _harvest_kernels as harvest_kernels
from luthier.decoding.chart import _harvest_kernels as kernels
from luthier.decoding.chart._chart_kernels import Rules, Sentence
from luthier.decoding.chart.options import SearchOptions
from luthier.decoding.chart.workspace import Workspace, cell_spans
from luthier.decoding.forests.hypergraph import LABELS, Hypergraph

# How large a forest is: nodes, edges, derivations.


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


GOAL = LABELS.index("goal")
MOST_DOTS = 1 << 21  # of a lattice, whose ways may be more than any machine can count


@dataclasses.dataclass(frozen=True)
class SearchReport:
    """What a search did.

    Attributes
    ----------
    words : int
        Of a lattice, its nodes but the last.
    cells : int
    pops_of_cell : int
        The most pops of a cell; fewer than asked for where the sentence's budget did not allow them.
    pops, candidates, cubes, dots : int
        Candidates popped and made, cubes and dotted source sides met.
    longest_span : int
        The longest rules of the grammar that were tried.
    out_of_time : bool
        Whether longer ones would have been tried if there had been time.
    seconds : float
        Time on the clock.
    before_models, after_models : ForestSize or None
        The forest before language models split its nodes, and as it is; where asked for.
    """

    words: int = 0
    cells: int = 0
    pops_of_cell: int = 0
    pops: int = 0
    candidates: int = 0
    cubes: int = 0
    dots: int = 0
    longest_span: int = 0
    out_of_time: bool = False
    seconds: float = 0.0
    before_models: ForestSize | None = None
    after_models: ForestSize | None = None


def search(
    rules: Rules, sentence: Sentence, workspace: Workspace, options: SearchOptions, *, goal_rule: int, least: int = 1
) -> SearchReport:
    """Fill the chart of a sentence of at least one word, up to the goal; spans of `least` nodes have all their time."""
    began = time.monotonic()
    n = sentence.n
    spans, n_x = cell_spans(n, sentence.max_span)
    limit = options.pops_of_cell(len(spans))
    workspace.begin(spans)
    longest = min(n, sentence.max_span)
    if options.seconds is not None:
        for length in range(1, longest + 1):
            _fill(rules, workspace, sentence, n_x, length * n - length * (length - 1) // 2, limit)
            if length >= least and time.monotonic() - began >= options.seconds:
                longest = length
                break
    cut = longest < min(n, sentence.max_span)
    if cut:
        workspace.chart.counts[cube_kernels.CELL] = n_x
    _fill(rules, workspace, sentence, n_x, len(spans), 1 if cut else limit)
    counts = workspace.chart.counts
    last = workspace.chart.cell_items[len(spans) - 1]
    needed = int(max(counts[cube_kernels.EDGES] + last[1] - last[0], counts[cube_kernels.ITEMS] + 1))
    if needed > len(workspace.chart.item_ranks):
        workspace.grow(chart_kernels.LACKS_ITEMS, needed)
    cube_kernels.fill_goal(rules, workspace.chart, len(spans) - 1, goal_rule)
    _, dots, _, _, pops, candidates, cubes = (int(count) for count in workspace.chart.counts)
    return SearchReport(n, len(spans), limit, pops, candidates, cubes, dots, longest, cut, time.monotonic() - began)


def _fill(rules: Rules, workspace: Workspace, sentence: Sentence, n_x: int, until: int, limit: int) -> None:
    while True:
        status, needed = chart_kernels.fill_cells(rules, workspace.chart, sentence, n_x, until, limit)
        if status == chart_kernels.DONE:
            return
        if status == chart_kernels.LACKS_DOTS and needed > MOST_DOTS and len(sentence.distances):
            raise LuthierError(
                f"expected a lattice along whose arcs rules match in at most {MOST_DOTS:,} ways, found more. "
                "hint: prune the lattice, or lower `max_span`"
            )
        workspace.grow(status, needed)


def read_forest(workspace: Workspace, sentence: Sentence, unknown: Float64, n_state: int) -> Hypergraph:
    """Return the forest of the sentence whose chart was filled last.

    `unknown` (R, L) are each rule's unknown words; edges get two features of each model, and the cost of the words
    of a lattice where `n_state` is one more.
    """
    n = sentence.n
    chart = workspace.chart
    n_edges, goal = int(chart.counts[cube_kernels.EDGES]), int(chart.counts[cube_kernels.ITEMS]) - 1
    nodes, counts = np.full(goal + 1, -1, dtype=np.int32), np.zeros(goal + 1, dtype=np.int64)
    size, kept = harvest_kernels.number_nodes(chart.edges, n_edges, goal, nodes, counts)
    offsets = offsets_from_counts(counts[:size])
    tails, rules = np.empty((kept, 2), dtype=np.int32), np.empty(kept, dtype=np.int32)
    features = np.empty((kept, n_state))
    harvest_kernels.write_edges(
        chart.edges, chart.edge_gains, n_edges, unknown, nodes, offsets[:-1].copy(), (tails, rules, features)
    )
    labels, spans = np.full(size, GOAL, dtype=np.uint8), np.empty((size, 2), dtype=np.int32)
    spans[-1] = 0, n
    n_x = sum(n - k for k in range(min(n, sentence.max_span)))
    harvest_kernels.write_nodes(chart.cell_spans, chart.cell_items, n_x, n_x + n, nodes, labels, spans)
    return Hypergraph(offsets, tails, rules, features, labels, spans)
