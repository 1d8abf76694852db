# mypy: ignore-errors
"""Kernels of the chart: dotted source sides from every start, and the cells that they make, shortest first.

Cells are numbered in the order in which they are filled: X over spans of 1, 2, … words, from left to right, then S
over the first 1, 2, … words. Spans are between nodes, one more than there are words; in a lattice several words may
lead to a node, from any before it. A dot is a node of the trie that some words from a start on have reached, with the
cells that fill its gaps. Nothing is written before there is room for all of a cell: the caller makes room, and goes on.
"""

from typing import NamedTuple

import numpy as np

from luthier.core.jit import inner_kernel, kernel, lean_kernel
from luthier.decoding.chart._cube_kernels import CELL, CUBES, DOTS, EDGES, ITEMS, fill_cell, rank_items
from luthier.grammar._trie_kernels import find_child

GAP = 0
LACKS_DOTS, LACKS_ITEMS, LACKS_CANDIDATES, DONE = 0, 1, 2, 3  # what there is no room for


class Rules(NamedTuple):
    """What a search knows of R rules and L models under one weight vector.

    Attributes
    ----------
    trie_keys, trie_nodes, trie_sides
        The source sides, as `grammar.trie` has them.
    rule_offsets : (S+1,) int64
        ``order[rule_offsets[s]:rule_offsets[s+1]]`` are the rules of side s, best first.
    order : (R,) int32
    scores : (R,) float64
        What a rule adds to a score, but for what models say.
    target_offsets, symbols : (R+1,) int64, (L, T) int32
        Target sides: words by their number in each model; −1 and −2 are gaps.
    weights : (L,) float64
    models : tuple of tables of language models, the first L of which are used
    cost_weight : float
        What a cost of 1 on the arcs of a lattice adds to a score.
    """

    trie_keys: np.ndarray
    trie_nodes: np.ndarray
    trie_sides: np.ndarray
    rule_offsets: np.ndarray
    order: np.ndarray
    scores: np.ndarray
    target_offsets: np.ndarray
    symbols: np.ndarray
    weights: np.ndarray
    models: tuple
    cost_weight: float


class Sentence(NamedTuple):
    """A sentence of n words, or a lattice of n + 1 nodes, to be searched.

    Attributes
    ----------
    n : int
    arc_offsets : (n+1,) int64
        The words ``arc_offsets[k-1]:arc_offsets[k]`` lead to node k; in a sentence that is word k − 1 alone.
    starts, costs : (A,) int32, (A,) float64
        The node that each word leads from, and its cost.
    words : (A,) int32
        Numbers of source words; −1 for one that the grammar does not have.
    pass_through : (A,) int32
        The rule that leaves each word as it is.
    root : int
        Where its grammar begins in the trie.
    max_span : int
        The longest spans, in nodes.
    distances : (n+1, n+1) int32, or (0, 0) for a sentence
        How many words the shortest way between two nodes has.
    max_words : int
        The most words between the ends of a span, by the shortest way.
    glue : int
        The rule S → X; behind it stands S → S X.
    """

    n: int
    arc_offsets: np.ndarray
    starts: np.ndarray
    costs: np.ndarray
    words: np.ndarray
    pass_through: np.ndarray
    root: int
    max_span: int
    distances: np.ndarray
    max_words: int
    glue: int


class Chart(NamedTuple):
    """The arrays a search works in; those of dots, items with edges, and candidates grow together.

    Attributes
    ----------
    counts : (7,) int64
        The next cell; dots, items, edges so far; pops, candidates, cubes in all.
    cell_spans, cell_items, cell_dots : (C, 2) int32
        The words of each cell, its items, its dots.
    dot_nodes, dot_gaps : (·,) int32; dot_tails : (·, 2) int32; dot_costs : (·,) float64
        Node of the trie, its child by a gap (−1: none), cells in the gaps (−1: no gap), the cost of the words passed.
    item_scores, item_ranks, item_states
        The best score of an item; the items of a cell by score; L states each.
    edges, edge_gains : (·, 4) int32, (·, L+1) float64
        Head, rule and tails, in the order in which they were popped; what each model says, log10, and the cost.
    cubes, cube_costs : (·, 6) int32, (·,) float64
        First rule in `order` and their number; first rank and number of items, for both gaps; the cost.
    candidates, candidate_numbers, candidate_states : (·, 4) int32, (·, 1+L) float64
        Cube and place; score and gains; L states each.
    heap, heap_scores, slots : (·,) int32, float64, int32
        Candidates that wait, their scores; the items of a cell by their states.
    """

    counts: np.ndarray
    cell_spans: np.ndarray
    cell_items: np.ndarray
    cell_dots: np.ndarray
    dot_nodes: np.ndarray
    dot_gaps: np.ndarray
    dot_tails: np.ndarray
    dot_costs: np.ndarray
    item_scores: np.ndarray
    item_ranks: np.ndarray
    item_states: np.ndarray
    edges: np.ndarray
    edge_gains: np.ndarray
    cubes: np.ndarray
    cube_costs: np.ndarray
    candidates: np.ndarray
    candidate_numbers: np.ndarray
    candidate_states: np.ndarray
    heap: np.ndarray
    heap_scores: np.ndarray
    slots: np.ndarray


@inner_kernel
def x_cell(n, start, stop):
    """Return the number of the cell X over ``start:stop`` of n + 1 nodes."""
    shorter = stop - start - 1
    return shorter * n - shorter * (shorter - 1) // 2 + start


@inner_kernel
def add_dot(rules, chart, dot, node, first, second, cost):
    """Write a dot."""
    chart.dot_nodes[dot] = node
    chart.dot_costs[dot] = cost
    chart.dot_tails[dot, 0] = first
    chart.dot_tails[dot, 1] = second
    chart.dot_gaps[dot] = find_child(rules.trie_keys, rules.trie_nodes, node, GAP) if second < 0 else -1


@lean_kernel
def room_for_dots(chart, sentence, start, stop):
    """Return how many dots a cell can have at most, and one more for its own use as a gap."""
    n, most = sentence.n, np.int64(1)
    for arc in range(sentence.arc_offsets[stop - 1], sentence.arc_offsets[stop]):
        if sentence.starts[arc] == start:
            most += 1
        elif sentence.starts[arc] > start:
            before = x_cell(n, start, sentence.starts[arc])
            most += chart.cell_dots[before, 1] - chart.cell_dots[before, 0]
    for k in range(start + 1, stop):
        cell = x_cell(n, start, k)
        most += chart.cell_dots[cell, 1] - chart.cell_dots[cell, 0]
    return most


@lean_kernel
def extend_dots(rules, chart, sentence, start, stop):
    """Write the dots over ``start:stop`` behind all others; return the place behind them."""
    n, dot = sentence.n, chart.counts[DOTS]
    for arc in range(sentence.arc_offsets[stop - 1], sentence.arc_offsets[stop]):
        word, middle, cost = sentence.words[arc] + 1, sentence.starts[arc], sentence.costs[arc]
        if word > 0 and middle == start:
            node = find_child(rules.trie_keys, rules.trie_nodes, sentence.root, word)
            if node >= 0:
                add_dot(rules, chart, dot, node, -1, -1, cost)
                dot += 1
        elif word > 0 and middle > start:
            before = x_cell(n, start, middle)
            for d in range(chart.cell_dots[before, 0], chart.cell_dots[before, 1]):
                node = find_child(rules.trie_keys, rules.trie_nodes, chart.dot_nodes[d], word)
                if node >= 0:
                    total = chart.dot_costs[d] + cost
                    add_dot(rules, chart, dot, node, chart.dot_tails[d, 0], chart.dot_tails[d, 1], total)
                    dot += 1
    for k in range(start + 1, stop):
        cell, gap = x_cell(n, start, k), x_cell(n, k, stop)
        if chart.cell_items[gap, 0] == chart.cell_items[gap, 1]:
            continue
        for d in range(chart.cell_dots[cell, 0], chart.cell_dots[cell, 1]):
            if chart.dot_gaps[d] >= 0:
                first, second = chart.dot_tails[d, 0], gap
                if first < 0:
                    first, second = gap, -1
                add_dot(rules, chart, dot, chart.dot_gaps[d], first, second, chart.dot_costs[d])
                dot += 1
    return dot


@inner_kernel
def put_cube(chart, cube, first_rule, n_rules, first_cell, second_cell, cost):
    """Write a cube; −1 for a cell means no gap."""
    chart.cube_costs[cube] = cost
    chart.cubes[cube, 0] = first_rule
    chart.cubes[cube, 1] = n_rules
    for gap in range(2):
        cell = first_cell if gap == 0 else second_cell
        chart.cubes[cube, 2 + 2 * gap] = chart.cell_items[cell, 0] if cell >= 0 else 0
        chart.cubes[cube, 3 + 2 * gap] = chart.cell_items[cell, 1] - chart.cell_items[cell, 0] if cell >= 0 else 0


@lean_kernel
def x_cubes(rules, chart, sentence, start, stop, last_dot):
    """Write the cubes of a cell X; return their number."""
    n_cubes = 0
    for arc in range(sentence.arc_offsets[stop - 1], sentence.arc_offsets[stop]):
        if sentence.starts[arc] == start:
            put_cube(chart, n_cubes, sentence.pass_through[arc], 1, -1, -1, sentence.costs[arc])
            n_cubes += 1
    for d in range(chart.counts[DOTS], last_dot):
        side = rules.trie_sides[chart.dot_nodes[d]]
        if side >= 0 and rules.rule_offsets[side + 1] > rules.rule_offsets[side]:
            first, n_rules = rules.rule_offsets[side], rules.rule_offsets[side + 1] - rules.rule_offsets[side]
            put_cube(chart, n_cubes, first, n_rules, chart.dot_tails[d, 0], chart.dot_tails[d, 1], chart.dot_costs[d])
            n_cubes += 1
    return n_cubes


@lean_kernel
def s_cubes(chart, sentence, n_x, stop):
    """Write the cubes of the cell S over the first `stop` words; return their number."""
    n, n_cubes = sentence.n, 0
    if stop <= sentence.max_span:
        cell = x_cell(n, 0, stop)
        if chart.cell_items[cell, 1] > chart.cell_items[cell, 0]:
            put_cube(chart, 0, sentence.glue, 1, cell, -1, 0.0)
            n_cubes = 1
    for k in range(max(1, stop - sentence.max_span), stop):
        cell, before = x_cell(n, k, stop), n_x + k - 1
        if (
            chart.cell_items[cell, 1] > chart.cell_items[cell, 0]
            and chart.cell_items[before, 1] > chart.cell_items[before, 0]
        ):
            put_cube(chart, n_cubes, sentence.glue + 1, 1, before, cell, 0.0)
            n_cubes += 1
    return n_cubes


@lean_kernel
def most_pops(chart, n_cubes, limit):
    """Return how many candidates the cubes have, at most `limit`."""
    places = 0.0
    for cube in range(n_cubes):
        size = np.float64(chart.cubes[cube, 1])
        for gap in range(2):
            size *= max(1, chart.cubes[cube, 3 + 2 * gap])
        places += size
    return np.int64(min(places, np.float64(limit)))


@kernel
def fill_cells(rules, chart, sentence, n_x, until, limit):
    """Fill the cells up to `until`; return `DONE`, or what there is no room for, and how much of it is needed."""
    while chart.counts[CELL] < until:
        cell = chart.counts[CELL]
        start, stop = chart.cell_spans[cell, 0], chart.cell_spans[cell, 1]
        last_dot = chart.counts[DOTS]
        if cell < n_x and len(sentence.distances) and sentence.distances[start, stop] > sentence.max_words:
            chart.counts[CELL] = cell + 1  # nothing leads so far, or only ways that are too long
            continue
        if cell < n_x:
            needed = last_dot + room_for_dots(chart, sentence, start, stop)
            if needed > len(chart.dot_nodes):
                return LACKS_DOTS, needed
            last_dot = extend_dots(rules, chart, sentence, start, stop)
            needed = last_dot - chart.counts[DOTS] + sentence.arc_offsets[stop] - sentence.arc_offsets[stop - 1]
        else:
            needed = stop - max(0, stop - sentence.max_span)
        if needed > len(chart.cubes):
            return LACKS_CANDIDATES, needed
        if cell < n_x:
            n_cubes = x_cubes(rules, chart, sentence, start, stop, last_dot)
        else:
            n_cubes = s_cubes(chart, sentence, n_x, stop)
        pops = most_pops(chart, n_cubes, limit)
        if chart.counts[ITEMS] + pops > len(chart.item_ranks) or chart.counts[EDGES] + pops > len(chart.edges):
            return LACKS_ITEMS, max(chart.counts[ITEMS], chart.counts[EDGES]) + pops
        if n_cubes + 3 * pops > len(chart.heap):
            return LACKS_CANDIDATES, n_cubes + 3 * pops
        fill_cell(rules, chart, n_cubes, cell, pops)
        rank_items(chart.item_scores, chart.item_ranks, chart.cell_items[cell, 0], chart.cell_items[cell, 1])
        chart.counts[CUBES] += n_cubes
        if cell < n_x:
            chart.cell_dots[cell, 0] = chart.counts[DOTS]
            if chart.cell_items[cell, 1] > chart.cell_items[cell, 0]:
                node = find_child(rules.trie_keys, rules.trie_nodes, sentence.root, GAP)
                if node >= 0:
                    add_dot(rules, chart, last_dot, node, cell, -1, 0.0)
                    last_dot += 1
            chart.cell_dots[cell, 1] = last_dot
            chart.counts[DOTS] = last_dot
        chart.counts[CELL] = cell + 1
    return DONE, 0
