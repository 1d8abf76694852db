# mypy: ignore-errors
"""Kernels of cube pruning: the best ways to fill one cell of the chart, popped from a heap.

A cube is the rules of a source side, best first, times the items that may fill its first gap, times those of
the second, each best first. A candidate is a place (r, a, b) in a cube; a popped one becomes an edge, and its item is
new or the one with the same states.

`fill_cell` is lean, and sorting, which makes an array, stands outside of it: else each use of a model's table counts a
reference, and that takes a third of all the time.
"""

import numpy as np

from luthier.core._hash_kernels import mix
from luthier.core.jit import inner_kernel, kernel, lean_kernel
from luthier.lm._query_kernels import append_word, begin_sentence, clear_state, copy_state, join_state, state_key

CELL, DOTS, ITEMS, EDGES, POPS, CANDIDATES, CUBES = range(7)  # counts in `chart.counts`
HEAD, RULE, TAILS = 0, 1, 2  # columns of edges
CUBE, PLACES = 0, 1  # columns of candidates
SCORE, GAINS = 0, 1  # columns of their numbers
SENTENCE_END = 2  # the number of </s>
FREE = -1


@inner_kernel
def stands_before(score, candidate, other_score, other):
    """Return whether a candidate is popped before another: if it is better, or as good and earlier."""
    return (score > other_score) | ((score == other_score) & (candidate < other))


@inner_kernel
def rise(heap, scores, k, score, candidate):
    """Put a candidate into the place k of a heap, which is free, or above it."""
    while k > 0:
        above = (k - 1) >> 1
        if stands_before(scores[above], heap[above], score, candidate):
            break
        heap[k], scores[k] = heap[above], scores[above]
        k = above
    heap[k], scores[k] = candidate, score


@inner_kernel
def pop(heap, scores, size):
    """Take the best candidate off a heap of `size`, and return it.

    The better one below fills each gap, down to the last; there the moved candidate mostly stays. So a step has one
    comparison, and no jump that cannot be foreseen. Where the moved one itself was raised, it finds its own place.
    """
    best, last = heap[0], size - 1
    k, below = 0, 1
    while below < last:
        other = below + 1
        below += stands_before(scores[other], heap[other], scores[below], heap[below])
        heap[k], scores[k] = heap[below], scores[below]
        k, below = below, 2 * below + 1
    rise(heap, scores, k, scores[last], heap[last])
    return best


@inner_kernel
def tail_of(cubes, ranks, cube, gap, place):
    """Return the item at a place of the list that fills a gap of a cube; −1 for no gap."""
    tail = -1
    if cubes[cube, 3 + 2 * gap] > 0:
        tail = ranks[cubes[cube, 2 + 2 * gap] + place]
    return tail


@inner_kernel
def gain_of(tables, states, row, symbols, model, target, item_states, tails):
    """Make a model's state of a target side, ``target[0]:target[1]`` of its symbols, over items; return its gain."""
    clear_state(states, row)
    gain = 0.0
    for i in range(target[0], target[1]):
        symbol = symbols[model, i]
        if symbol >= 0:
            gain += append_word(tables, states, row, symbol)
        else:
            gain += join_state(tables, states, row, item_states, tails[0] if symbol == -1 else tails[1])
    return gain


@inner_kernel
def item_of(states, candidate, item_states, n_items, slots, mask, n_models):
    """Return the item with the candidate's states, `n_items` for a new one, and where in `slots` it belongs."""
    h = np.uint64(0)
    for m in range(n_models):
        h = mix(h, state_key(states, candidate * n_models + m))
    slot = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
    item = np.int64(slots[slot])
    while item != FREE:
        same = True
        for m in range(n_models):
            if state_key(item_states, item * n_models + m) != state_key(states, candidate * n_models + m):
                same = False
        if same:
            break
        slot = (slot + 1) & mask
        item = np.int64(slots[slot])
    return n_items if item == FREE else item, slot


@kernel
def rank_items(scores, ranks, first, last):
    """Write the items ``first:last`` by falling score; ties stay in their order."""
    order = np.argsort(-scores[first:last], kind="mergesort")
    for k in range(last - first):
        ranks[first + k] = first + order[k]


@inner_kernel
def add_successors(cubes, candidates, candidate, made):
    """Write the places behind a candidate's as new candidates; return how many there are now.

    From (r, a, b) one goes to r + 1; to a + 1 only if r is 0; to b + 1 only if r and a are. So only one way leads
    to a place, and no set of visited ones is needed [gesmundo2010].
    """
    cube = candidates[candidate, CUBE]
    for d in range(3):
        place = candidates[candidate, PLACES + d]
        if place + 1 < cubes[cube, 1 + 2 * d]:
            for column in range(4):
                candidates[made, column] = candidates[candidate, column]
            candidates[made, PLACES + d] = place + 1
            made += 1
        if place != 0:
            break
    return made


@inner_kernel
def add_edge(cubes, ranks, order, candidates, candidate, edges, edge, head):
    """Write the edge that a popped candidate is."""
    cube = candidates[candidate, CUBE]
    edges[edge, HEAD] = head
    edges[edge, RULE] = order[cubes[cube, 0] + candidates[candidate, PLACES]]
    for gap in range(2):
        edges[edge, TAILS + gap] = tail_of(cubes, ranks, cube, gap, candidates[candidate, PLACES + 1 + gap])


@inner_kernel
def close_cell(counts, cell_items, cell, n_items, n_edges, made):
    """Count what a cell has got."""
    cell_items[cell, 0] = counts[ITEMS]
    cell_items[cell, 1] = n_items
    counts[POPS] += n_edges - counts[EDGES]
    counts[CANDIDATES] += made
    counts[ITEMS] = n_items
    counts[EDGES] = n_edges


@lean_kernel
def fill_cell(rules, chart, n_cubes, cell, limit):
    """Pop up to `limit` candidates of the cubes of a cell: its edges and its items."""
    order, rule_scores, targets, symbols = rules.order, rules.scores, rules.target_offsets, rules.symbols
    weights, models, n_models = rules.weights, rules.models, len(rules.weights)
    item_scores, ranks, item_states = chart.item_scores, chart.item_ranks, chart.item_states
    edges, edge_gains, cubes, heap, slots = chart.edges, chart.edge_gains, chart.cubes, chart.heap, chart.slots
    cube_costs, cost_weight, heap_scores = chart.cube_costs, rules.cost_weight, chart.heap_scores
    candidates, numbers, states = chart.candidates, chart.candidate_numbers, chart.candidate_states
    n_items, n_edges = chart.counts[ITEMS], chart.counts[EDGES]
    first_edge = n_edges
    mask = 1
    while mask < 2 * limit:
        mask = 2 * mask + 1
    for slot in range(mask + 1):
        slots[slot] = FREE
    for cube in range(n_cubes):
        candidates[cube, CUBE] = cube
        for d in range(3):
            candidates[cube, PLACES + d] = 0
    made, scored, size = n_cubes, 0, 0
    while True:
        while scored < made:
            cube = candidates[scored, CUBE]
            rule = order[cubes[cube, 0] + candidates[scored, PLACES]]
            first = np.int64(tail_of(cubes, ranks, cube, 0, candidates[scored, PLACES + 1]))
            second = np.int64(tail_of(cubes, ranks, cube, 1, candidates[scored, PLACES + 2]))
            total = rule_scores[rule] + cost_weight * cube_costs[cube]
            total += item_scores[first] if first >= 0 else 0.0
            total += item_scores[second] if second >= 0 else 0.0
            for m in range(n_models):
                row, tails = scored * n_models + m, (first * n_models + m, second * n_models + m)
                target = (targets[rule], targets[rule + 1])
                gain = gain_of(models[m], states, row, symbols, m, target, item_states, tails)
                numbers[scored, GAINS + m] = gain
                total += weights[m] * gain
            numbers[scored, SCORE] = total
            rise(heap, heap_scores, size, total, scored)
            size += 1
            scored += 1
        if size == 0 or n_edges - first_edge == limit:
            break
        candidate = pop(heap, heap_scores, size)
        size -= 1
        head, slot = item_of(states, candidate, item_states, n_items, slots, mask, n_models)
        if head == n_items:
            slots[slot] = head
            item_scores[head] = numbers[candidate, SCORE]
            for m in range(n_models):
                copy_state(states, candidate * n_models + m, item_states, head * n_models + m)
            n_items += 1
        item_scores[head] = max(item_scores[head], numbers[candidate, SCORE])
        add_edge(cubes, ranks, order, candidates, candidate, edges, n_edges, head)
        for m in range(n_models):
            edge_gains[n_edges, m] = numbers[candidate, GAINS + m]
        edge_gains[n_edges, n_models] = cube_costs[candidates[candidate, CUBE]]
        n_edges += 1
        made = add_successors(cubes, candidates, candidate, made)
    close_cell(chart.counts, chart.cell_items, cell, n_items, n_edges, made)


@lean_kernel
def fill_goal(rules, chart, cell, goal_rule):
    """Put <s> before and </s> behind each item of the cell of the whole sentence: the edges of the goal."""
    weights, models, n_models = rules.weights, rules.models, len(rules.weights)
    goal, edge = chart.counts[ITEMS], chart.counts[EDGES]
    best = -np.inf
    for k in range(chart.cell_items[cell, 0], chart.cell_items[cell, 1]):
        item = np.int64(chart.item_ranks[k])
        total = chart.item_scores[item] + rules.scores[goal_rule]
        for m in range(n_models):
            tables = models[m]
            begin_sentence(tables, chart.candidate_states, m)
            gain = join_state(tables, chart.candidate_states, m, chart.item_states, item * n_models + m)
            gain += append_word(tables, chart.candidate_states, m, SENTENCE_END)
            chart.edge_gains[edge, m] = gain
            total += weights[m] * gain
        chart.edge_gains[edge, n_models] = 0.0
        best = max(best, total)
        chart.edges[edge, HEAD] = goal
        chart.edges[edge, RULE] = goal_rule
        chart.edges[edge, TAILS] = item
        chart.edges[edge, TAILS + 1] = -1
        edge += 1
    chart.item_scores[goal] = best
    chart.counts[ITEMS] = goal + 1
    chart.counts[EDGES] = edge
