"""Averages of weights over many small steps, at the cost of what the steps change."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64


@dataclasses.dataclass
class AveragedWeights:
    """Weights that move, and the mean of all they have been.

    With w_t the weights after step t, the mean of w_1 … w_T is w_T − (1/T) Σ_t (t−1)·(w_t − w_{t−1}): the
    sum, `drift`, grows only where a step changes something, which makes averages of sparse weights
    cheap [daume2006].

    Attributes
    ----------
    weights : (D,) as they are
    drift : (D,), the sum above
    clock : steps taken, T
    """

    weights: Float64
    drift: Float64
    clock: float = 0.0

    @classmethod
    def of(cls, weights: Float64) -> AveragedWeights:
        """Return the average of nothing but `weights`."""
        return cls(np.array(weights), np.zeros(len(weights)))

    def restart(self) -> None:
        """Forget the past of the mean."""
        self.drift[:] = 0.0
        self.clock = 0.0

    def put(self, weights: Float64) -> None:
        """Take one step, to `weights`."""
        self.drift += self.clock * (weights - self.weights)
        self.weights[:] = weights
        self.clock += 1.0

    def mean(self) -> Float64:
        """Return the mean of the weights after each step since the last restart."""
        return self.weights - self.drift / self.clock if self.clock else self.weights.copy()
