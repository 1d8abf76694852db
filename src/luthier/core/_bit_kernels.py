# mypy: ignore-errors
"""Kernels on the bits of a 64-bit word."""

import numpy as np

from luthier.core.jit import inner_kernel

WORD_BITS = 64


@inner_kernel
def count_bits(x):
    """Return how many bits of a 64-bit word are set (LLVM knows this form as one instruction)."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))
