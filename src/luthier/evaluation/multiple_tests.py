"""Several tests at once: p-values that hold for all of them together, and the effect that a test would have seen."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from luthier.core.arrays import Float64
from luthier.core.errors import LuthierError

POWER = 0.8  # the share of test sets in which a detectable effect is seen


def holm(p_values: Sequence[float] | Float64) -> Float64:
    """Return p-values corrected for their number by Holm's step-down method [holm1979].

    Those at or below a level α are rejected; the chance that a true null hypothesis is among them is at most α.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    found = np.asarray(p_values, dtype=np.float64)
    if found.ndim != 1 or not np.all((found >= 0) & (found <= 1)):
        raise LuthierError(f"expected p-values between 0 and 1, found {p_values!r}")
    order = np.argsort(found, kind="stable")
    steps = found[order] * np.arange(len(found), 0, -1)
    corrected = np.empty_like(found)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if len(found) else steps
    return corrected


def detectable_effect(error: float, *, level: float, tests: int = 1) -> float:
    """Return the effect that one of so many two-sided tests sees with a probability of `POWER`.

    With s the standard error of a difference it is (z(1 − level/(2·tests)) + z(POWER))·s, z being normal quantiles:
    Bonferroni's level, which Holm's is never below.

    >>> round(detectable_effect(1.0, level=0.05), 2)
    2.8
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - level / (2 * tests)) + normal.inv_cdf(POWER)) * error
