# mypy: ignore-errors
"""The step that fills 64 cells of a distance table at once (Myers, 1999; Hyyrö, 2003)."""

import numpy as np

from luthier.core.jit import inner_kernel


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
