"""The N best hypotheses of each list by given weights."""

from __future__ import annotations

import numpy as np

from luthier.core.arrays import Float64, Int64
from luthier.core.errors import LuthierError
from luthier.core.segments import offsets_from_counts, segment_of_rows
from luthier.kbest.pool import Pool


def n_best(pool: Pool, scores: Float64, n: int) -> tuple[Int64, Int64]:
    """Return the rows of the `n` best of each list, best first, and where those of each sentence begin, (N+1,).

    Ties go to the lower row. `scores` are those of all rows, (M,).
    """
    if n < 1:
        raise LuthierError(f"expected at least 1 hypothesis for each sentence, found {n}")
    segments = segment_of_rows(pool.offsets)
    order = np.lexsort((-scores, segments))  # stable
    place = np.arange(len(order)) - pool.offsets[segments]
    return order[place < n], offsets_from_counts(np.minimum(pool.list_lengths, n))
