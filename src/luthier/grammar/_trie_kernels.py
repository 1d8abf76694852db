# mypy: ignore-errors
"""Kernels of tries: the children of all nodes stand in one open-addressing table.

A key is ``parent << 32 | symbol``, −1 where a place is free; the table's length is a power of two and it is
never more than half full, so that every search ends.
"""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

FREE = -1


@inner_kernel
def slot_of(keys, key):
    """Return the place of `key` in the table, or the free place where it belongs."""
    mask = len(keys) - 1
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & mask
    return slot


@inner_kernel
def find_child(keys, nodes, parent, symbol):
    """Return the child of a node by a symbol, −1 if there is none."""
    slot = slot_of(keys, (np.int64(parent) << 32) | np.int64(symbol))
    return nodes[slot] if keys[slot] != FREE else -1


@kernel
def rehash(old_keys, old_nodes, keys, nodes):
    """Fill an empty (all −1) table with the children of a smaller one."""
    for i in range(len(old_keys)):
        if old_keys[i] != FREE:
            slot = slot_of(keys, old_keys[i])
            keys[slot] = old_keys[i]
            nodes[slot] = old_nodes[i]


@kernel
def insert_paths(offsets, symbols, roots, keys, nodes, ends, size):
    """Add the path of each row of symbols from its root on, and write its last node; return the number of nodes."""
    for row in range(len(offsets) - 1):
        node = roots[row]
        for i in range(offsets[row], offsets[row + 1]):
            key = (np.int64(node) << 32) | np.int64(symbols[i])
            slot = slot_of(keys, key)
            if keys[slot] == FREE:
                keys[slot] = key
                nodes[slot] = size
                size += 1
            node = nodes[slot]
        ends[row] = node
    return size


@kernel
def find(keys, nodes, parent, symbol):
    """Return the child of a node by a symbol, −1 if there is none: `find_child` for callers from Python."""
    return find_child(keys, nodes, parent, symbol)


@kernel
def differs_from_last(offsets, symbols, differs):
    """Write of each row of symbols whether it differs from the row before it."""
    for row in range(len(offsets) - 1):
        n = offsets[row + 1] - offsets[row]
        differs[row] = row == 0 or offsets[row] - offsets[row - 1] != n
        for i in range(n):
            if differs[row]:
                break
            differs[row] = symbols[offsets[row] + i] != symbols[offsets[row - 1] + i]


# Kernels that check a grammar from a file, before any other kernel relies on it.


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
