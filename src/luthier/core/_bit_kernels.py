# mypy: ignore-errors
"""Kernels on the bits and bytes of a 64-bit word."""

import numpy as np

from luthier.core.jit import inner_kernel, low_zeros

WORD_BITS = 64
ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


@inner_kernel
def count_bits(x):
    """Return how many bits of a 64-bit word are set (LLVM knows this form as one instruction)."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner_kernel
def lowest_bytes(v, n):
    """Return a word with only its lowest n bytes, n from 0 to 7."""
    return v & ((np.uint64(1) << np.uint64(8 * n)) - np.uint64(1))


@inner_kernel
def zero_bytes(v):
    """Return marks, the top bit of a byte, of which the lowest stands at the lowest byte that is 0; 0 without one."""
    return (v - ONES) & ~v & TOPS


@inner_kernel
def bytes_below(marks):
    """Return how many bytes stand below the lowest of the `marks`, 8 if there is none."""
    return low_zeros(marks) >> 3
