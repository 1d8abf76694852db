# mypy: ignore-errors
"""Kernels that read texts as code points, with or without their white space."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

DROP_SPACE = 0
KEEP_SPACE = 1
SINGLE_SPACE = 2


@inner_kernel
def is_space(c):
    """Return whether a code point is white space, as str.isspace says."""
    if c <= 32:
        return c == 32 or 9 <= c <= 13 or 28 <= c <= 31
    if c < 0x1680:
        return c == 0x85 or c == 0xA0
    if 0x2000 <= c <= 0x205F:
        return c <= 0x200A or c == 0x2028 or c == 0x2029 or c == 0x202F or c == 0x205F
    return c == 0x1680 or c == 0x3000


@inner_kernel
def decode_at(data, i):
    """Return (code point, width in bytes) of the character at `i` of valid UTF-8."""
    c = np.int32(data[i])
    if c < 0x80:
        return c, 1
    if c < 0xE0:
        return ((c & 0x1F) << 6) | (np.int32(data[i + 1]) & 0x3F), 2
    low = ((np.int32(data[i + 1]) & 0x3F) << 6) | (np.int32(data[i + 2]) & 0x3F)
    if c < 0xF0:
        return ((c & 0x0F) << 12) | low, 3
    return ((c & 0x07) << 18) | (low << 6) | (np.int32(data[i + 3]) & 0x3F), 4


@kernel
def code_points(data, offsets, mode, out_offsets, out):
    """Write the code points of every text; return how many there are.

    White space is left out, kept as it stands, or made one space between words, by `mode`.
    """
    n = 0
    for row in range(len(offsets) - 1):
        out_offsets[row] = n
        first, i, end = n, offsets[row], offsets[row + 1]
        pending = False
        while i < end:
            c, width = decode_at(data, i)
            i += width
            if mode != KEEP_SPACE and is_space(c):
                pending = mode == SINGLE_SPACE and n > first
                continue
            if pending:
                out[n] = 32
                n += 1
                pending = False
            out[n] = c
            n += 1
    out_offsets[len(offsets) - 1] = n
    return n
