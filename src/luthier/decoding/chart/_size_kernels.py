# mypy: ignore-errors
"""Kernels that count derivations, as log10: there are more than a number can hold."""

import math

from luthier.core.jit import inner_kernel, kernel
from luthier.decoding.chart._chart_kernels import x_cell


@inner_kernel
def log_sum(a, b):
    """Return log10(10^a + 10^b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -math.inf else high + math.log1p(10.0 ** (low - high)) / math.log(10.0)


@kernel
def count_derivations(edge_offsets, tails, logs):
    """Write log10 of the number of derivations of each node."""
    for node in range(len(logs)):
        total = -math.inf
        for e in range(edge_offsets[node], edge_offsets[node + 1]):
            ways = 0.0
            for gap in range(2):
                if tails[e, gap] >= 0:
                    ways += logs[tails[e, gap]]
            total = log_sum(total, ways)
        logs[node] = total


@kernel
def count_parses(rules, chart, sentence, n_x, logs):
    """Write log10 of the number of derivations of each cell, whatever models say; return how many nodes and edges."""
    n, nodes, edges = len(sentence.words), 0, 0
    for cell in range(len(logs)):
        start, stop = chart.cell_spans[cell, 0], chart.cell_spans[cell, 1]
        total = -math.inf
        if cell < n_x:
            if stop - start == 1:
                total = 0.0
                edges += 1
            for d in range(chart.cell_dots[cell, 0], chart.cell_dots[cell, 1]):
                side = rules.trie_sides[chart.dot_nodes[d]]
                n_rules = rules.rule_offsets[side + 1] - rules.rule_offsets[side] if side >= 0 else 0
                if n_rules > 0:
                    edges += n_rules
                    ways = math.log10(n_rules)
                    for gap in range(2):
                        if chart.dot_tails[d, gap] >= 0:
                            ways += logs[chart.dot_tails[d, gap]]
                    total = log_sum(total, ways)
        else:
            for k in range(max(0, stop - sentence.max_span), stop):
                ways = logs[x_cell(n, k, stop)] + (logs[n_x + k - 1] if k > 0 else 0.0)
                if ways > -math.inf:
                    edges += 1
                    total = log_sum(total, ways)
        logs[cell] = total
        nodes += total > -math.inf
    return nodes, edges
