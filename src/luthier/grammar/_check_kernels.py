# mypy: ignore-errors
"""Kernels that check a grammar from a file, before any other kernel relies on it."""

import numpy as np

from luthier.core.jit import kernel
from luthier.grammar._trie_kernels import FREE, slot_of


@kernel
def bad_rule(side_offsets, side_symbols, rule_offsets, target_offsets, target_symbols, link_offsets, links):
    """Return the first rule with gaps that differ between its sides or a link to no symbol, −1 if there is none."""
    for side in range(len(side_offsets) - 1):
        gaps, length = 0, side_offsets[side + 1] - side_offsets[side]
        fine = length > 0
        for i in range(side_offsets[side], side_offsets[side + 1]):
            if side_symbols[i] < 0:
                gaps += 1
                fine = fine and side_symbols[i] == -gaps  # numbered from left to right
        fine = fine and gaps < max(length, 2)
        for rule in range(rule_offsets[side], rule_offsets[side + 1]):
            ones, twos = 0, 0
            for i in range(target_offsets[rule], target_offsets[rule + 1]):
                ones += target_symbols[i] == -1
                twos += target_symbols[i] == -2
            if not fine or ones != (gaps >= 1) or twos != (gaps == 2):
                return rule
            target_length = target_offsets[rule + 1] - target_offsets[rule]
            for k in range(link_offsets[rule], link_offsets[rule + 1]):
                if links[k, 0] >= length or links[k, 1] >= target_length:
                    return rule
    return -1


@kernel
def trie_is_whole(keys, nodes, sides, roots, side_offsets, side_symbols):
    """Return whether every search ends, every node exists, and each source side is found where the trie has it.

    Each node but the roots is the child of one with a smaller number, so there is no circle.
    """
    n, n_roots, used = len(sides), 0, 0
    for r in range(len(roots)):
        if roots[r] < 0 or roots[r] >= n:
            return False
        n_roots = max(n_roots, roots[r] + 1)
    for i in range(len(keys)):
        if keys[i] == FREE:
            continue
        used += 1
        parent = keys[i] >> 32
        if keys[i] < 0 or parent >= nodes[i] or nodes[i] >= n or slot_of(keys, keys[i]) != i:
            return False
    if 2 * used > len(keys) or used + n_roots != n:
        return False
    seen = 0
    for node in range(n):
        if sides[node] < -1 or sides[node] >= len(side_offsets) - 1:
            return False
        seen += sides[node] >= 0
    return seen == len(side_offsets) - 1 and paths_fit(keys, nodes, sides, side_offsets, side_symbols, n)


@kernel
def paths_fit(keys, nodes, sides, side_offsets, side_symbols, n):
    """Return whether the way from a root to the node of each source side spells that side."""
    parent, symbol = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    for i in range(len(keys)):
        if keys[i] != FREE:
            parent[nodes[i]] = keys[i] >> 32
            symbol[nodes[i]] = keys[i] & 0xFFFFFFFF
    for node in range(n):
        side = sides[node]
        if side < 0:
            continue
        at, here = side_offsets[side + 1] - 1, node
        while parent[here] >= 0 and at >= side_offsets[side]:
            if symbol[here] != max(side_symbols[at] + 1, 0):
                return False
            here = parent[here]
            at -= 1
        if parent[here] >= 0 or at >= side_offsets[side]:
            return False
    return True
