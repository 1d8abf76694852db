# mypy: ignore-errors
"""Kernels that read the forest off a filled chart, sort rules, and score them alone."""

import math

import numpy as np

from luthier.core.jit import inner_kernel, kernel, lean_kernel
from luthier.decoding.chart._chart_kernels import x_cell
from luthier.decoding.chart._cube_kernels import HEAD, RULE, TAILS
from luthier.lm._query_kernels import append_word, clear_state

# Kernels that count derivations, as log10: there are more than a number can hold.


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
    n, nodes, edges = sentence.n, 0, 0
    for cell in range(len(logs)):
        start, stop = chart.cell_spans[cell, 0], chart.cell_spans[cell, 1]
        total = -math.inf
        if cell < n_x:
            for arc in range(sentence.arc_offsets[stop - 1], sentence.arc_offsets[stop]):
                if sentence.starts[arc] == start:
                    total = log_sum(total, 0.0)
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


SHORT = 16


@lean_kernel
def score_alone(models, target_offsets, symbols, states, first, gains):
    """Write what each model says of each rule from `first` on, what stands in gaps unknown, log10, (R, L)."""
    for m in range(len(symbols)):
        for rule in range(first, len(gains)):
            clear_state(states, 0)
            total = 0.0
            for i in range(target_offsets[rule], target_offsets[rule + 1]):
                if symbols[m, i] < 0:
                    clear_state(states, 0)
                else:
                    total += append_word(models[m], states, 0, symbols[m, i])
            gains[rule, m] = total


@kernel
def count_unknown(target_offsets, symbols, counts):
    """Write how many words of each rule each model does not know, (R, L)."""
    for m in range(len(symbols)):
        for rule in range(len(counts)):
            for i in range(target_offsets[rule], target_offsets[rule + 1]):
                counts[rule, m] += symbols[m, i] == 0


@kernel
def sort_sides(rule_offsets, estimates, order):
    """Write the rules of each source side by falling estimate; ties stay in their order."""
    for side in range(len(rule_offsets) - 1):
        first, last = rule_offsets[side], rule_offsets[side + 1]
        if last - first > SHORT:
            best_first = np.argsort(-estimates[first:last], kind="mergesort")
            for k in range(last - first):
                order[first + k] = first + best_first[k]
            continue
        for rule in range(first, last):
            k = rule
            while k > first and estimates[order[k - 1]] < estimates[rule]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = rule


@kernel
def number_nodes(edges, n_edges, goal, nodes, counts):
    """Number the items that stand in a derivation of the goal, and count the edges of each; return both numbers.

    `nodes` (goal + 1) is all −1 and `counts` all 0 before.
    """
    nodes[goal] = 0
    for e in range(n_edges - 1, -1, -1):
        if nodes[edges[e, HEAD]] >= 0:
            for gap in range(2):
                if edges[e, TAILS + gap] >= 0:
                    nodes[edges[e, TAILS + gap]] = 0
    n_nodes, n_kept = 0, 0
    for item in range(goal + 1):
        if nodes[item] >= 0:
            nodes[item] = n_nodes
            n_nodes += 1
    for e in range(n_edges):
        if nodes[edges[e, HEAD]] >= 0:
            counts[nodes[edges[e, HEAD]]] += 1
            n_kept += 1
    return n_nodes, n_kept


@kernel
def write_edges(edges, gains, n_edges, unknown, nodes, places, forest):
    """Write the edges of numbered items, node by node, in the order in which they were popped.

    `places` (V,) is where the edges of each node begin; `forest` is (tails, rules, state features): two of each model,
    and the cost where there is one more.
    """
    tails, rules, features = forest
    for e in range(n_edges):
        node = nodes[edges[e, HEAD]]
        if node < 0:
            continue
        at = places[node]
        places[node] = at + 1
        for gap in range(2):
            tail = edges[e, TAILS + gap]
            tails[at, gap] = nodes[tail] if tail >= 0 else -1
        rule = edges[e, RULE]
        rules[at] = rule
        for m in range(unknown.shape[1]):
            features[at, 2 * m] = gains[e, m]
            features[at, 2 * m + 1] = unknown[rule, m]
        if features.shape[1] > 2 * unknown.shape[1]:
            features[at, features.shape[1] - 1] = gains[e, gains.shape[1] - 1]


@kernel
def write_nodes(cell_spans, cell_items, n_x, n_cells, nodes, labels, spans):
    """Write the label and the span of each numbered item but the goal."""
    for cell in range(n_cells):
        for item in range(cell_items[cell, 0], cell_items[cell, 1]):
            node = nodes[item]
            if node >= 0:
                labels[node] = cell >= n_x
                spans[node, 0] = cell_spans[cell, 0]
                spans[node, 1] = cell_spans[cell, 1]
