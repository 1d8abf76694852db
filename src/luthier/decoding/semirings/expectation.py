"""Means and variances of what edges add up to, when derivations are drawn by their scores [li2009].

A derivation d has the chance exp(score(d)) / Z. Each edge has C numbers; those of a derivation are their sums. Values
are kept as log Z, mean and variance, which stay of moderate size, instead of the sums of exp(score) · number that they
follow from.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, flat
from luthier.decoding.forests.hypergraph import Hypergraph
from luthier.decoding.semirings import _expectation_kernels as kernels
from luthier.decoding.semirings.base import Semiring


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """Logarithm of the sum of exp(score), and mean and variance, (C,), of the numbers of a derivation."""

    log_sum: float
    mean: Float64
    variance: Float64


@dataclasses.dataclass(frozen=True, eq=False)
class Expectation(Semiring[Moments]):
    """⊗ adds all three, because parts are drawn independently; ⊕ mixes by the share that each has of the sum."""

    scores: Float64  # (E,)
    numbers: Float64  # (E, C)

    def edge(self, e: int) -> Moments:
        """Return its own numbers, which do not vary."""
        return Moments(float(self.scores[e]), self.numbers[e], np.zeros(self.numbers.shape[1]))

    def times(self, first: Moments, second: Moments) -> Moments:
        """Return the moments of sums."""
        return Moments(
            first.log_sum + second.log_sum, first.mean + second.mean, first.variance + second.variance
        )  # fmt: skip

    def plus(self, first: Moments, second: Moments) -> Moments:
        """Return the moments of a mixture."""
        log_sum = float(np.logaddexp(first.log_sum, second.log_sum))
        a, b = np.exp(first.log_sum - log_sum), np.exp(second.log_sum - log_sum)
        mean = a * first.mean + b * second.mean
        spread = a * (first.mean - mean) ** 2 + b * (second.mean - mean) ** 2
        return Moments(log_sum, mean, a * first.variance + b * second.variance + spread)

    def inside(self, graph: Hypergraph) -> list[Moments]:
        """Return the moments of each node, by a kernel."""
        shape = (graph.n_nodes, self.numbers.shape[1])
        logs, means, variances = np.empty(graph.n_nodes), np.zeros(shape), np.zeros(shape)
        kernels.moments(
            graph.edge_offsets, graph.tails, flat(np.asarray(self.scores, np.float64)),
            flat(np.asarray(self.numbers, np.float64)), logs, means, variances,
        )  # fmt: skip
        return [Moments(*parts) for parts in zip(logs.tolist(), means, variances, strict=True)]
