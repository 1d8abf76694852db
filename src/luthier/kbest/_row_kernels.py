# mypy: ignore-errors
"""Kernels over rows of features while a pool is built: repeated names, dense storage, duplicates."""

import numpy as np

from luthier.core._hash_kernels import hash_row, mix, mix_float, same_row
from luthier.core.jit import inner_kernel, kernel, lean_kernel

# Kernels over derivations: a rule as one key of bytes, so that equal rules get one number; trees.


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


@kernel
def repeated_name(row_starts, names, last_row, out):
    """Write, for each row, the first entry whose name stands a second time in it, −1 if none does.

    `last_row` has one slot per name, all −1 at the start.
    """
    for row in range(len(row_starts) - 1):
        out[row] = -1
        for e in range(row_starts[row], row_starts[row + 1]):
            if last_row[names[e]] == row and out[row] < 0:
                out[row] = e
            last_row[names[e]] = row


@kernel
def scatter(row_starts, names, values, rows, place, dense, n_sparse):
    """Put entries where they belong: dense features into `dense`, and count the others per row.

    ``place[name]`` is the dense column of a name, or −1 − its sparse column. Row r of the input is row
    ``rows[r]`` of the result.
    """
    for r in range(len(row_starts) - 1):
        row = rows[r]
        sparse = 0
        for e in range(row_starts[r], row_starts[r + 1]):
            column = place[names[e]]
            if column >= 0:
                dense[row, column] = values[e]
            else:
                sparse += values[e] != 0.0
        n_sparse[row] = sparse


@kernel
def gather_sparse(row_starts, names, values, rows, place, indptr, indices, out):
    """Write the sparse entries of each row to their CSR place, columns ascending."""
    for r in range(len(row_starts) - 1):
        start = indptr[rows[r]]
        n = 0
        for e in range(row_starts[r], row_starts[r + 1]):
            column = -1 - place[names[e]]
            if column < 0 or values[e] == 0.0:
                continue
            at = start + n
            while at > start and indices[at - 1] > column:  # rows are short and nearly in order
                indices[at] = indices[at - 1]
                out[at] = out[at - 1]
                at -= 1
            indices[at] = column
            out[at] = values[e]
            n += 1


@kernel
def hash_rows(token_offsets, tokens, features, columns, with_features, out):
    """Write a hash of the words (and features and columns, given as their bits) of every row."""
    dense, indptr, indices, values = features
    for row in range(len(out)):
        h = hash_row(token_offsets, tokens, row)
        if with_features:
            for d in range(dense.shape[1]):
                h = mix_float(h, dense[row, d])
            for c in range(columns.shape[1]):
                h = mix_float(h, columns[row, c])
            for e in range(indptr[row], indptr[row + 1]):
                h = mix_float(mix(h, np.uint64(indices[e])), values[e])
        out[row] = h


@inner_kernel
def same_numbers(dense, columns, indptr, indices, values, a, b):
    """Return whether two rows have the same features and columns; NaN, a number not given, is like itself."""
    for d in range(dense.shape[1]):
        if dense[a, d] != dense[b, d]:
            return False
    for c in range(columns.shape[1]):
        if columns[a, c] != columns[b, c] and not (np.isnan(columns[a, c]) and np.isnan(columns[b, c])):
            return False
    n = indptr[a + 1] - indptr[a]
    if n != indptr[b + 1] - indptr[b]:
        return False
    for e in range(n):
        i, j = indptr[a] + e, indptr[b] + e
        if indices[i] != indices[j] or values[i] != values[j]:
            return False
    return True


@kernel
def first_of_equals(offsets, hashes, token_offsets, tokens, features, columns, with_features, table, counts, keep):
    """Mark in `keep` the first of each group of equal rows of a segment; add the `counts` of the others to its own.

    `table` is scratch space, a power of two at least twice the longest segment; `counts` may be empty.
    """
    dense, indptr, indices, values = features
    for s in range(len(offsets) - 1):
        start, stop = offsets[s], offsets[s + 1]
        size = 2
        while size < 2 * (stop - start):
            size *= 2
        for i in range(size):
            table[i] = -1
        mask = np.uint64(size - 1)
        for row in range(start, stop):
            slot = hashes[row] & mask
            keep[row] = True
            while table[slot] >= 0:
                other = table[slot]
                if (
                    hashes[other] == hashes[row]
                    and same_row(token_offsets, tokens, row, other)
                    and (not with_features or same_numbers(dense, columns, indptr, indices, values, row, other))
                ):
                    keep[row] = False
                    if len(counts):
                        counts[other] += counts[row]
                    break
                slot = (slot + np.uint64(1)) & mask
            if keep[row]:
                table[slot] = row


@inner_kernel
def move_down(data, start, stop, at):
    """Move ``data[start:stop]`` to `at` < `start`, by pieces that do not overlap their new place: those vectorise."""
    gap = start - at
    while start < stop:
        n = min(gap, stop - start)
        for i in range(n):
            data[at + i] = data[start + i]
        start += n
        at += n


@inner_kernel
def run_end(keep, row):
    """Return where the rows from `row` on that are all kept, or all left out, end."""
    kind = keep[row]
    while row < len(keep) and keep[row] == kind:
        row += 1
    return row


@lean_kernel
def compact_rows(table, width, keep):
    """Move the rows of `width` items that are kept to the front of a table, in order; return how many they are."""
    n = row = 0
    while row < len(keep):
        end = run_end(keep, row)
        if keep[row]:
            if n < row:
                move_down(table, row * width, end * width, n * width)
            n += end - row
        row = end
    return n


@lean_kernel
def compact_spans(data, offsets, keep):
    """Move the spans that are kept to the front of `data`, and their offsets; return how many they are."""
    n, at, row = 0, offsets[0], 0
    while row < len(keep):
        end = run_end(keep, row)
        if keep[row]:
            start, stop = offsets[row], offsets[end]
            if at < start:
                move_down(data, start, stop, at)
            if n < row:
                for r in range(row + 1, end + 1):
                    offsets[n + r - row] = offsets[r] - (start - at)
            n += end - row
            at += stop - start
        row = end
    return n
