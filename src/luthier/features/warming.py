"""Small jobs that reach the kernels of this room, for `luthier.pipelines.warm`."""

from __future__ import annotations

import numpy as np

from luthier.features.binning import cut_values


def _bins() -> None:
    for exact in (False, True):
        cut_values(np.array([1, 2, 3]), 2, exact=exact)


JOBS = (_bins,)
