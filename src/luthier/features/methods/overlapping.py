"""A value fires its own bin and both neighbours; at the ends there is one."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.features.bins import FeatureBins
from luthier.features.induction import NONE, Fired, Induction


@dataclasses.dataclass(frozen=True)
class Method(Induction):
    """Eq. 8 of [clark2014], a baseline against sparsity."""

    by_bin = True

    def fire(self, values: Float64, bins: FeatureBins) -> Fired:
        """Return up to three bins of each value."""
        near = bins.place(values)[:, None] + np.array([-1, 0, 1])
        return Fired(np.where((near >= 0) & (near < len(bins)), near, NONE), np.ones(near.shape))
