# mypy: ignore-errors
"""Kernels of edit distance and of bags of tokens, over lists of hypotheses that repeat themselves."""

import numpy as np

from luthier.core._bit_kernels import WORD_BITS, count_bits
from luthier.core._hash_kernels import hash_row, same_row
from luthier.core.jit import inner_kernel, kernel

# The step that fills 64 cells of a distance table at once (Myers, 1999; Hyyrö, 2003).


@inner_kernel
def next_differences(mask, vp, vn, rises_in, falls_in):
    """Return (vp, vn, diagonal, rises, falls) of 64 columns of the next row of a distance table.

    Bits of `vp` and `vn` say where the row D goes up and down by 1 from one column to the next, those of
    `mask` where the new word stands in the reference. `rises_in` and `falls_in` (0 or 1) are the step
    from the old row to the new in the column to the left; bits of `rises` and `falls` are those steps in
    the columns themselves, bits of `diagonal` say where ``D[i, j] = D[i-1, j-1]``.
    """
    one = np.uint64(1)
    x = mask | falls_in
    diagonal = (((x & vp) + vp) ^ vp) | x | vn
    rises = vn | ~(diagonal | vp)
    falls = diagonal & vp
    left_rises = (rises << one) | rises_in
    left_falls = (falls << one) | falls_in
    return left_falls | ~(diagonal | left_rises), left_rises & diagonal, diagonal, rises, falls


@kernel
def find_equals(offsets, starts, ids, hashes, table, out):
    """Write for every row the first row of its segment that has the same tokens.

    `hashes` has a slot per row; `table` is scratch space, a power of two at least twice the longest segment.
    """
    for s in range(len(offsets) - 1):
        begin, end = offsets[s], offsets[s + 1]
        size = 2
        while size < 2 * (end - begin):
            size *= 2
        for i in range(size):
            table[i] = -1
        mask = np.uint64(size - 1)
        for row in range(begin, end):
            h = hash_row(starts, ids, row)
            hashes[row] = h
            slot = h & mask
            while table[slot] >= 0 and not (hashes[table[slot]] == h and same_row(starts, ids, table[slot], row)):
                slot = (slot + np.uint64(1)) & mask
            if table[slot] < 0:
                table[slot] = row
            out[row] = table[slot]


@inner_kernel
def short_distance(ids, first, n, slots, masks, used):
    """Return the edit distance to a reference of at most 64 tokens; `used` has a bit for each of them."""
    vp, vn = ~np.uint64(0), np.uint64(0)
    for i in range(first, first + n):
        vp, vn, _, _, _ = next_differences(masks[slots[ids[i]], 0], vp, vn, np.uint64(1), np.uint64(0))
    return n + count_bits(vp & used) - count_bits(vn & used)


@inner_kernel
def long_distance(ids, first, n, slots, masks, n_blocks, used, rows):
    """Return the edit distance to a reference of `n_blocks` blocks; `used` has the bits of the last one."""
    top = np.uint64(WORD_BITS - 1)
    for b in range(n_blocks):
        rows[0, b], rows[1, b] = ~np.uint64(0), np.uint64(0)
    for i in range(first, first + n):
        slot = slots[ids[i]]
        rises, falls = np.uint64(1), np.uint64(0)
        for b in range(n_blocks):
            vp, vn, _, rises, falls = next_differences(masks[slot, b], rows[0, b], rows[1, b], rises, falls)
            rows[0, b], rows[1, b] = vp, vn
            rises, falls = rises >> top, falls >> top
    last = n_blocks - 1
    distance = n + count_bits(rows[0, last] & used) - count_bits(rows[1, last] & used)
    for b in range(last):
        distance += count_bits(rows[0, b]) - count_bits(rows[1, b])
    return distance


@inner_kernel
def keep_better(out, row, edits, length, is_first):
    """Keep edits and reference length if the edits are fewer, or as few with a lower rate."""
    if is_first or edits < out[row, 0] or (edits == out[row, 0] and length > out[row, 1]):
        out[row, 0], out[row, 1] = edits, length


@inner_kernel
def enter_reference(ids, start, m, n_blocks, slots, masks):
    """Give each distinct token of a reference a row of `masks` that says where it stands; row 0 is empty."""
    known = 0
    for j in range(m):
        word = ids[start + j]
        if slots[word] == 0:
            known += 1
            slots[word] = known
            for b in range(n_blocks):
                masks[known, b] = 0
        masks[slots[word], j // WORD_BITS] |= np.uint64(1) << np.uint64(j % WORD_BITS)


@kernel
def edit_distances(hyps, refs, first_equal, slots, masks, rows, out):
    """Write (edits, reference length) of every hypothesis for the reference with the fewest edits.

    Rows whose tokens stood before in the same sentence (``first_equal[row] != row``) are not computed again.

    Workspaces, for references of up to L tokens in B = ⌈L / 64⌉ blocks: `slots` (V,) all 0, left so;
    `masks` (L + 1, B) with row 0 all 0; `rows` (2, B).
    """
    offsets, hyp_starts, hyp_ids = hyps
    ref_offsets, ref_starts, ref_ids = refs
    for s in range(len(offsets) - 1):
        for r in range(ref_offsets[s], ref_offsets[s + 1]):
            start, m = ref_starts[r], ref_starts[r + 1] - ref_starts[r]
            n_blocks = (m + WORD_BITS - 1) // WORD_BITS
            used = ~np.uint64(0) >> np.uint64(n_blocks * WORD_BITS - m)
            enter_reference(ref_ids, start, m, n_blocks, slots, masks)
            for row in range(offsets[s], offsets[s + 1]):
                if first_equal[row] == row:
                    first, n = hyp_starts[row], hyp_starts[row + 1] - hyp_starts[row]
                    edits = n
                    if n_blocks == 1:
                        edits = short_distance(hyp_ids, first, n, slots, masks, used)
                    elif n_blocks > 1:
                        edits = long_distance(hyp_ids, first, n, slots, masks, n_blocks, used, rows)
                    keep_better(out, row, edits, m, r == ref_offsets[s])
            for j in range(m):
                slots[ref_ids[start + j]] = 0
        for row in range(offsets[s], offsets[s + 1]):
            out[row, 0], out[row, 1] = out[first_equal[row], 0], out[first_equal[row], 1]


@inner_kernel
def bag_edits(ids, first, n, m, counts):
    """Return max(n, m) less the tokens that a hypothesis shares with the reference in `counts`."""
    matches = 0
    for i in range(first, first + n):
        matches += counts[ids[i]] > 0
        counts[ids[i]] -= 1
    for i in range(first, first + n):
        counts[ids[i]] += 1
    return max(n, m) - matches


@kernel
def bag_distances(hyps, refs, first_equal, counts, out):
    """Write (edits, reference length) as `edit_distances` does, with the order of tokens ignored.

    `counts` (V,) is scratch space, all 0 and left so.
    """
    offsets, hyp_starts, hyp_ids = hyps
    ref_offsets, ref_starts, ref_ids = refs
    for s in range(len(offsets) - 1):
        for r in range(ref_offsets[s], ref_offsets[s + 1]):
            start, m = ref_starts[r], ref_starts[r + 1] - ref_starts[r]
            for j in range(m):
                counts[ref_ids[start + j]] += 1
            for row in range(offsets[s], offsets[s + 1]):
                if first_equal[row] == row:
                    first, n = hyp_starts[row], hyp_starts[row + 1] - hyp_starts[row]
                    edits = bag_edits(hyp_ids, first, n, m, counts)
                    keep_better(out, row, edits, m, r == ref_offsets[s])
            for j in range(m):
                counts[ref_ids[start + j]] = 0
        for row in range(offsets[s], offsets[s + 1]):
            out[row, 0], out[row, 1] = out[first_equal[row], 0], out[first_equal[row], 1]
