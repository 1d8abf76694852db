# mypy: ignore-errors
"""Kernels of cube pruning: the best ways to fill one cell of the chart, popped from a heap.

A cube is the rules of a source side, best first, times the items that may fill its first gap, times those of
the second, each best first. A candidate is a place (r, a, b) in a cube; a popped one becomes an edge, and its item is
new or the one with the same states.
"""

import numpy as np

from luthier.core._hash_kernels import mix
from luthier.core.jit import inner_kernel, kernel
from luthier.lm._query_kernels import append_word, begin_sentence, clear_state, copy_state, join_state, state_key

CELL, DOTS, ITEMS, EDGES, POPS, CANDIDATES, CUBES = range(7)  # counts in `chart.counts`
SENTENCE_END = 2  # the number of </s>
FREE = -1


@inner_kernel
def stands_before(scores, a, b):
    """Return whether a candidate is popped before another: the better one, of equals the earlier."""
    return scores[a] > scores[b] or (scores[a] == scores[b] and a < b)


@inner_kernel
def push(heap, size, scores, candidate):
    """Put a candidate on a heap of `size`."""
    k = size
    while k > 0:
        above = (k - 1) >> 1
        if stands_before(scores, heap[above], candidate):
            break
        heap[k] = heap[above]
        k = above
    heap[k] = candidate


@inner_kernel
def pop(heap, size, scores):
    """Take the best candidate off a heap of `size`, and return it."""
    best, moved, last = heap[0], heap[size - 1], size - 1
    k = 0
    while True:
        below = 2 * k + 1
        if below >= last:
            break
        if below + 1 < last and stands_before(scores, heap[below + 1], heap[below]):
            below += 1
        if stands_before(scores, moved, heap[below]):
            break
        heap[k] = heap[below]
        k = below
    heap[k] = moved
    return best


@inner_kernel
def score_candidate(rules, chart, candidate, rule, first, second):
    """Write the states, the gains and the score of a rule over the items in its gaps (−1: no gap)."""
    n_models = len(rules.weights)
    total = rules.scores[rule]
    if first >= 0:
        total += chart.item_scores[first]
    if second >= 0:
        total += chart.item_scores[second]
    for m in range(n_models):
        row = candidate * n_models + m
        clear_state(chart.candidate_states, row)
        gain = 0.0
        for i in range(rules.target_offsets[rule], rules.target_offsets[rule + 1]):
            symbol = rules.symbols[m, i]
            if symbol >= 0:
                gain += append_word(rules.models[m], chart.candidate_states, row, symbol)
            else:
                tail = (first if symbol == -1 else second) * n_models + m
                gain += join_state(rules.models[m], chart.candidate_states, row, chart.item_states, tail)
        chart.candidate_gains[candidate, m] = gain
        total += rules.weights[m] * gain
    chart.candidate_scores[candidate] = total


@inner_kernel
def tail_of(chart, cube, gap, place):
    """Return the item at a place of the list that fills a gap of a cube; −1 for no gap."""
    count = chart.cubes[cube, 3 + 2 * gap]
    return chart.item_ranks[chart.cubes[cube, 2 + 2 * gap] + place] if count > 0 else -1


@inner_kernel
def add_candidate(rules, chart, candidate, cube, r, a, b):
    """Make the candidate at a place of a cube."""
    rule = rules.order[chart.cubes[cube, 0] + r]
    chart.candidate_cubes[candidate] = cube
    chart.candidate_places[candidate, 0] = r
    chart.candidate_places[candidate, 1] = a
    chart.candidate_places[candidate, 2] = b
    score_candidate(rules, chart, candidate, rule, tail_of(chart, cube, 0, a), tail_of(chart, cube, 1, b))


@inner_kernel
def same_states(chart, n_models, candidate, item):
    """Return whether a candidate has the states of an item."""
    same = True
    for m in range(n_models):
        if chart.item_keys[item * n_models + m] != state_key(chart.candidate_states, candidate * n_models + m):
            same = False
            break
    return same


@kernel
def item_of(chart, n_models, candidate, n_items, mask):
    """Return the item with the candidate's states; where there is none, the candidate becomes item `n_items`."""
    h = np.uint64(0)
    for m in range(n_models):
        h = mix(h, state_key(chart.candidate_states, candidate * n_models + m))
    slot = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
    while chart.slots[slot] != FREE and not same_states(chart, n_models, candidate, chart.slots[slot]):
        slot = (slot + 1) & mask
    item = np.int64(chart.slots[slot])
    if item == FREE:
        item = n_items
        chart.slots[slot] = item
        chart.item_scores[item] = chart.candidate_scores[candidate]
        for m in range(n_models):
            row = candidate * n_models + m
            copy_state(chart.candidate_states, row, chart.item_states, item * n_models + m)
            chart.item_keys[item * n_models + m] = state_key(chart.candidate_states, row)
    elif chart.candidate_scores[candidate] > chart.item_scores[item]:
        chart.item_scores[item] = chart.candidate_scores[candidate]
    return item


@inner_kernel
def add_edge(rules, chart, edge, head, candidate):
    """Write the edge that a popped candidate is."""
    cube = chart.candidate_cubes[candidate]
    chart.edge_heads[edge] = head
    chart.edge_rules[edge] = rules.order[chart.cubes[cube, 0] + chart.candidate_places[candidate, 0]]
    chart.edge_tails[edge, 0] = tail_of(chart, cube, 0, chart.candidate_places[candidate, 1])
    chart.edge_tails[edge, 1] = tail_of(chart, cube, 1, chart.candidate_places[candidate, 2])
    for m in range(len(rules.weights)):
        chart.edge_gains[edge, m] = chart.candidate_gains[candidate, m]


@kernel
def rank_items(scores, ranks, first, last):
    """Write the items ``first:last`` by falling score, of equals the earlier first."""
    order = np.argsort(-scores[first:last], kind="mergesort")
    for k in range(last - first):
        ranks[first + k] = first + order[k]


@kernel
def fill_cell(rules, chart, n_cubes, cell, limit):
    """Pop up to `limit` candidates of the cubes of a cell: its edges and its items, ranked.

    From (r, a, b) one goes to r + 1; to a + 1 only if r is 0; to b + 1 only if r and a are. So only one way leads
    to a place, and no set of visited ones is needed [gesmundo2010].
    """
    n_models = len(rules.weights)
    n_items, n_edges = chart.counts[ITEMS], chart.counts[EDGES]
    first_item = n_items
    mask = 1
    while mask < 2 * limit:
        mask = 2 * mask + 1
    chart.slots[: mask + 1] = FREE
    n_candidates, size, pops = 0, 0, 0
    for cube in range(n_cubes):
        add_candidate(rules, chart, n_candidates, cube, 0, 0, 0)
        push(chart.heap, size, chart.candidate_scores, n_candidates)
        size += 1
        n_candidates += 1
    while size > 0 and pops < limit:
        candidate = pop(chart.heap, size, chart.candidate_scores)
        size -= 1
        pops += 1
        head = item_of(chart, n_models, candidate, n_items, mask)
        n_items = max(n_items, head + 1)
        add_edge(rules, chart, n_edges, head, candidate)
        n_edges += 1
        cube = chart.candidate_cubes[candidate]
        for d in range(3):
            place = chart.candidate_places[candidate, d]
            if place + 1 < chart.cubes[cube, 1 + 2 * d]:
                r = chart.candidate_places[candidate, 0] + (d == 0)
                a = chart.candidate_places[candidate, 1] + (d == 1)
                b = chart.candidate_places[candidate, 2] + (d == 2)
                add_candidate(rules, chart, n_candidates, cube, r, a, b)
                push(chart.heap, size, chart.candidate_scores, n_candidates)
                size += 1
                n_candidates += 1
            if place != 0:
                break
    rank_items(chart.item_scores, chart.item_ranks, first_item, n_items)
    chart.cell_items[cell, 0] = first_item
    chart.cell_items[cell, 1] = n_items
    chart.counts[ITEMS] = n_items
    chart.counts[EDGES] = n_edges
    chart.counts[POPS] += pops
    chart.counts[CANDIDATES] += n_candidates


@kernel
def fill_goal(rules, chart, cell, goal_rule):
    """Put <s> before and </s> behind each item of the cell of the whole sentence: the edges of the goal."""
    n_models = len(rules.weights)
    goal, edge = chart.counts[ITEMS], chart.counts[EDGES]
    best = -np.inf
    for k in range(chart.cell_items[cell, 0], chart.cell_items[cell, 1]):
        item = chart.item_ranks[k]
        total = chart.item_scores[item] + rules.scores[goal_rule]
        for m in range(n_models):
            begin_sentence(rules.models[m], chart.candidate_states, m)
            gain = join_state(
                rules.models[m], chart.candidate_states, m, chart.item_states, np.int64(item) * n_models + m
            )
            gain += append_word(rules.models[m], chart.candidate_states, m, SENTENCE_END)
            chart.edge_gains[edge, m] = gain
            total += rules.weights[m] * gain
        best = max(best, total)
        chart.edge_heads[edge] = goal
        chart.edge_rules[edge] = goal_rule
        chart.edge_tails[edge, 0] = item
        chart.edge_tails[edge, 1] = -1
        edge += 1
    chart.item_scores[goal] = best
    chart.counts[ITEMS] = goal + 1
    chart.counts[EDGES] = edge
