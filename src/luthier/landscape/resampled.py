"""How much of a difference in gain is chance: sentences drawn anew, the same for all that is compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from luthier.core.arrays import Float64
from luthier.core.rng import make_rng
from luthier.metrics.base import Metric

DRAWS = 400


def errors_of_differences(metric: Metric, selected: Iterable[npt.NDArray[Any]], to: int) -> Float64:
    """Return the standard error of each system's gain less that of system `to`, by the paired bootstrap.

    Parameters
    ----------
    selected : W arrays (N, S)
        Statistics of what each of W systems selects for each of N sentences.

    Returns
    -------
    (W,) float64; the same for the same input.
    """
    gains: list[Float64] = []
    counts: Float64 | None = None
    for own in selected:
        if counts is None:
            n = len(own)
            counts = make_rng(0).multinomial(n, np.full(n, 1.0 / n), size=DRAWS).astype(np.float64)  # (B, N)
        gains.append(metric.gain(metric.score(counts @ own)))
    errors: Float64 = (np.array(gains) - gains[to]).std(axis=1, ddof=1)
    return errors
