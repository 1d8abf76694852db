# mypy: ignore-errors
"""Kernels that hash words and rows of ids, and find a key in an open-addressing table."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

# 2⁶⁴ / golden ratio: multiples of it are spread evenly, so the top bits of a product choose a slot.
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FREE = -1  # the key of a slot that nobody holds


@inner_kernel
def mixed(z):
    """Return a well-mixed function of a 64-bit word (the output step of SplitMix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inner_kernel
def mix(h, word):
    """Return a hash with one more word in it."""
    h = (h ^ word) * GOLDEN
    return h ^ (h >> np.uint64(29))


@inner_kernel
def mix_float(h, bits):
    """Return a hash with the bits of one more number in it; 0.0 and −0.0 count as the same."""
    return mix(h, np.uint64(0) if bits == np.uint64(1 << 63) else bits)


@inner_kernel
def hash_row(starts, ids, row):
    """Return a hash of the ids of a row, ``ids[starts[row]:starts[row+1]]``."""
    h = np.uint64(starts[row + 1] - starts[row])
    for t in range(starts[row], starts[row + 1]):
        h = mix(h, np.uint64(ids[t]))
    return h


@inner_kernel
def same_row(starts, ids, a, b):
    """Return whether two rows have the same ids."""
    n = starts[a + 1] - starts[a]
    if n != starts[b + 1] - starts[b]:
        return False
    for t in range(n):
        if ids[starts[a] + t] != ids[starts[b] + t]:
            return False
    return True


@inner_kernel
def find_slot(key, keys, shift):
    """Return the slot of `key`, or the free slot where it belongs; the table has 2^(64 − shift)."""
    mask = np.int64((np.uint64(1) << (np.uint64(64) - shift)) - np.uint64(1))
    slot = np.int64((np.uint64(key) * GOLDEN) >> shift)
    while keys[slot] != key and keys[slot] != FREE:
        slot = (slot + 1) & mask
    return slot


@kernel
def table_shift(entries):
    """Return 64 − log2 of the size of a table at most half full of `entries`."""
    bits = 4
    while (1 << bits) < 2 * entries:
        bits += 1
    return np.uint64(64 - bits)
