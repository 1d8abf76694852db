# mypy: ignore-errors
"""Kernels over lengths: which length of several references counts for a hypothesis."""

from luthier.core.jit import kernel

CLOSEST = 0
SHORTEST = 1
MEAN = 2


@kernel
def effective_lengths(hyp_offsets, offsets, ref_token_offsets, ref_offsets, how, out):
    """Write the reference length of every hypothesis: closest (a tie: the shorter), shortest or mean."""
    for s in range(len(offsets) - 1):
        first, last = ref_offsets[s], ref_offsets[s + 1]
        for row in range(offsets[s], offsets[s + 1]):
            length = hyp_offsets[row + 1] - hyp_offsets[row]
            best, total = ref_token_offsets[first + 1] - ref_token_offsets[first], 0
            for r in range(first, last):
                other = ref_token_offsets[r + 1] - ref_token_offsets[r]
                total += other
                gap, other_gap = abs(best - length), abs(other - length)
                if how == CLOSEST:
                    nearer = other_gap < gap or (other_gap == gap and other < best)
                else:
                    nearer = other < best
                if nearer:
                    best = other
            out[row] = total / (last - first) if how == MEAN else best
