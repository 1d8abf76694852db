# mypy: ignore-errors
"""Kernels over derivations: a rule as one key of bytes, so that equal rules get one number; trees."""

import numpy as np

from luthier.core.jit import inner_kernel, kernel

MARK = 0xFF  # stands in no UTF-8 text, so a text ends where it stands
ENTRY_BYTES = 12  # 4 of a feature's number, 8 of its value


@kernel
def key_lengths(text_offsets, dense_bits, indptr, out):
    """Write how many bytes the key of each rule has; a dense 0 is left out, a sparse one was written by somebody."""
    for rule in range(len(out)):
        entries = indptr[rule + 1] - indptr[rule]
        for d in range(dense_bits.shape[1]):
            entries += dense_bits[rule, d] != 0
        out[rule] = text_offsets[rule + 1] - text_offsets[rule] + 1 + ENTRY_BYTES * entries


@inner_kernel
def put_entry(out, at, feature, bits):
    """Write a feature's number and the bits of its value."""
    for i in range(4):
        out[at + i] = (feature >> (8 * i)) & 0xFF
    for i in range(8):
        out[at + 4 + i] = (bits >> np.uint64(8 * i)) & np.uint64(0xFF)


@kernel
def write_keys(text_offsets, text_data, dense_bits, indptr, indices, value_bits, key_offsets, out):
    """Write each rule's text, the mark, and its features but dense ones of 0; columns ascend within a row."""
    n_dense = dense_bits.shape[1]
    for rule in range(len(key_offsets) - 1):
        at = key_offsets[rule]
        for i in range(text_offsets[rule], text_offsets[rule + 1]):
            out[at] = text_data[i]
            at += 1
        out[at] = MARK
        at += 1
        for d in range(n_dense):
            if dense_bits[rule, d] != 0:
                put_entry(out, at, d, dense_bits[rule, d])
                at += ENTRY_BYTES
        for e in range(indptr[rule], indptr[rule + 1]):
            put_entry(out, at, n_dense + indices[e], value_bits[e])
            at += ENTRY_BYTES


@kernel
def text_ends(offsets, data, out):
    """Write where the text of each key ends."""
    for rule in range(len(out)):
        at = offsets[rule]
        while data[at] != MARK:
            at += 1
        out[rule] = at


@kernel
def read_entries(starts, stops, data, names, value_bits):
    """Write the features' numbers and the bits of their values of the stretches of entries, in order."""
    n = 0
    for rule in range(len(starts)):
        for at in range(starts[rule], stops[rule], ENTRY_BYTES):
            name = 0
            bits = np.uint64(0)
            for i in range(4):
                name |= np.int64(data[at + i]) << (8 * i)
            for i in range(8):
                bits |= np.uint64(data[at + 4 + i]) << np.uint64(8 * i)
            names[n] = name
            value_bits[n] = bits
            n += 1


@kernel
def first_bad_tree(offsets, parents, spans):
    """Return the first derivation that is no tree, −1 if all are.

    The first use is the root (parent −1); the parent of any other stands before it and covers its span.
    """
    for row in range(len(offsets) - 1):
        start = offsets[row]
        for k in range(offsets[row + 1] - start):
            first, last, parent = spans[start + k, 0], spans[start + k, 1], parents[start + k]
            if first < 0 or last < first or (parent < 0) != (k == 0) or parent < -1 or parent >= k:
                return row
            if k > 0 and (first < spans[start + parent, 0] or last > spans[start + parent, 1]):
                return row
    return -1
