# mypy: ignore-errors
"""Kernels of edit distances of all pairs of texts of a list: WER and CER, which are symmetric, and TER, which is not.

TER's search for block moves is skipped where it cannot change anything. A move costs an edit and leaves the bag of
words as it is. So with any move there are at least b + 1 edits, b being the distance of the bags, and the search never
ends with more than the edit distance d. Where d ≤ b + 1 the result is d.
"""

import numpy as np

from luthier.core._bit_kernels import WORD_BITS
from luthier.core.jit import inner_kernel, lean_kernel
from luthier.features.consensus._score_kernels import error_gain
from luthier.metrics._edit_kernels import bag_edits, enter_reference, long_distance, short_distance
from luthier.metrics._ter_kernels import beam_is_idle, fewest_edits
from luthier.metrics._ter_kernels import enter_reference as enter_ter_reference


@inner_kernel
def distance(ids, first, n, slots, masks, n_blocks, used, rows):
    """Return the edit distance of ``ids[first:first+n]`` to the reference in `slots` and `masks`."""
    if n_blocks == 0:
        return n
    if n_blocks == 1:
        return short_distance(ids, first, n, slots, masks, used)
    return long_distance(ids, first, n, slots, masks, n_blocks, used, rows)


@lean_kernel
def edit_sums(lists, starts, ids, slots, masks, rows, sums):
    """Add to `sums` (C, T) −100 · edit distance / length of every candidate with the evidence other than itself.

    Workspaces as of `luthier.metrics._edit_kernels.edit_distances`.
    """
    offsets, cand_offsets, cand, evid_offsets, evid, same, symmetric, weights = lists
    for s in range(len(offsets) - 1):
        begin, ebegin = cand_offsets[s], evid_offsets[s]
        n_cand = cand_offsets[s + 1] - begin
        if n_cand == 0:
            continue
        for e in range(evid_offsets[s + 1] - ebegin):
            r = evid[ebegin + e]
            start, m = starts[r], starts[r + 1] - starts[r]
            n_blocks = (m + WORD_BITS - 1) // WORD_BITS
            used = ~np.uint64(0) >> np.uint64(n_blocks * WORD_BITS - m)
            enter_reference(ids, start, m, n_blocks, slots, masks)
            for c in range(e + 1 if symmetric[s] else 0, n_cand):
                if same[begin + c] == e:
                    continue
                h = cand[begin + c]
                n = starts[h + 1] - starts[h]
                edits = distance(ids, starts[h], n, slots, masks, n_blocks, used, rows)
                forth = error_gain(edits, m)
                for t in range(weights.shape[1]):
                    sums[begin + c, t] += weights[ebegin + e, t] * forth
                if symmetric[s]:
                    back = error_gain(edits, n)
                    for t in range(weights.shape[1]):
                        sums[begin + e, t] += weights[ebegin + c, t] * back
            for j in range(m):
                slots[ids[start + j]] = 0


@lean_kernel
def ter_sums(lists, starts, ids, slots, counts, rows, workspace, sums):
    """Add to `sums` (C, T) −100 · TER's edits / length of every candidate with the evidence other than itself.

    `workspace` is that of `luthier.metrics._ter_kernels.ter_edits`; `slots` and `counts` (V,) are 0 and left so.
    """
    offsets, cand_offsets, cand, evid_offsets, evid, same, _, weights = lists
    heads, masks, bits, table, work, moves = workspace
    for s in range(len(offsets) - 1):
        begin, ebegin = cand_offsets[s], evid_offsets[s]
        n_cand = cand_offsets[s + 1] - begin
        if n_cand == 0:
            continue
        for e in range(evid_offsets[s + 1] - ebegin):
            r = evid[ebegin + e]
            start, m = starts[r], starts[r + 1] - starts[r]
            n_blocks = (m + WORD_BITS - 1) // WORD_BITS
            used = ~np.uint64(0) >> np.uint64(n_blocks * WORD_BITS - m)
            enter_ter_reference(ids, start, m, heads, masks, work)
            for j in range(m):
                slots[ids[start + j]] = heads[ids[start + j]] + 1
                counts[ids[start + j]] += 1
            for c in range(n_cand):
                if same[begin + c] == e:
                    continue
                h = cand[begin + c]
                first, n = starts[h], starts[h + 1] - starts[h]
                edits = distance(ids, first, n, slots, masks, n_blocks, used, rows)
                if edits > 1 and not (beam_is_idle(n, m, edits) and edits <= bag_edits(ids, first, n, m, counts) + 1):
                    edits = fewest_edits(ids, first, n, ids, start, m, heads, masks, bits, table, work, moves)
                gain = error_gain(edits, m)
                for t in range(weights.shape[1]):
                    sums[begin + c, t] += weights[ebegin + e, t] * gain
            for j in range(m):
                heads[ids[start + j]], slots[ids[start + j]], counts[ids[start + j]] = -1, 0, 0
