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
