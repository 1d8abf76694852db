# mypy: ignore-errors
"""Kernels that read the forest off a filled chart, sort rules, and score them alone."""

import numpy as np

from luthier.core.jit import kernel
from luthier.decoding.chart._cube_kernels import HEAD, RULE, TAILS
from luthier.lm._query_kernels import append_word, clear_state

SHORT = 16


@kernel
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

    `places` (V,) is where the edges of each node begin; `forest` is (tails, rules, state features).
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
        for m in range(features.shape[1] // 2):
            features[at, 2 * m] = gains[e, m]
            features[at, 2 * m + 1] = unknown[rule, m]


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
