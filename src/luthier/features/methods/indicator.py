"""A value fires its own bin."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.features.bins import FeatureBins
from luthier.features.induction import Fired, Induction


@dataclasses.dataclass(frozen=True)
class Method(Induction):
    """⟨1, i⌢BIN_i(y)⟩, Eq. 4 of [clark2014]."""

    by_bin = True

    def fire(self, values: Float64, bins: FeatureBins) -> Fired:
        """Return the one bin of each value."""
        return Fired(bins.place(values)[:, None], np.ones((len(values), 1)))
