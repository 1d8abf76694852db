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
        tips = bins.means
        left = np.clip(np.searchsorted(tips, values, side="right") - 1, 0, len(tips) - 1)
        right = np.minimum(left + 1, len(tips) - 1)
        width = np.where(right > left, tips[right] - tips[left], 1.0)
        share = np.clip((values - tips[left]) / width, 0.0, 1.0)
        columns = np.column_stack([left, right])
        shares = np.column_stack([1.0 - share, share])
        columns[(shares == 0) | ((columns == left[:, None]) & (np.arange(2) == 1))] = NONE
        return Fired(columns, shares)
