"""A value is shared by the two bins whose means it lies between: the response is piecewise linear, not of steps."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64
from luthier.features.bins import FeatureBins
from luthier.features.induction import NONE, Fired, Induction


@dataclasses.dataclass(frozen=True)
class Method(Induction):
    """Hat functions with their tips at the means of the bins; outside of the outermost means the response is flat.

    A weight is the height of the response at its bin's mean. Unlike steps, hats change with a transform of the feature.
    """

    def fire(self, values: Float64, bins: FeatureBins) -> Fired:
        """Return the two bins between whose means each value lies, with shares that sum to 1; one where it has all."""
        place = np.interp(values, bins.means, np.arange(len(bins)))
        left = np.floor(place).astype(np.int64)
        share = place - left
        columns = np.column_stack([left, np.where(share > 0, left + 1, NONE)])
        return Fired(columns, np.column_stack([1.0 - share, share]))
