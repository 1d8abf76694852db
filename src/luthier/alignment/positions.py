"""Passes of the aligners whose links do not depend on each other: Model 1 and the diagonal share them."""

from __future__ import annotations

import numpy as np

from luthier.alignment import _cell_kernels as kernels
from luthier.alignment.base import Expectation, OneWay
from luthier.alignment.cells import Direction
from luthier.alignment.table import Parameters
from luthier.core.arrays import Float64, Int64

# Within these lies every tension that was ever useful; beyond, one word or all words are alike.
LEAST_TENSION, MOST_TENSION = 0.1, 14.0
NEWTON_STEPS, CLOSE_ENOUGH = 30, 1e-9


def expect(direction: Direction, parameters: Parameters, *, tension: float, null: float) -> Expectation:
    """Return expected counts where p(a_j = i) = (1 − p0)·exp(−λ|i/n − j/m|)/Z_j; at λ = 0, Model 1's."""
    counts, null_counts = np.zeros(len(parameters.probabilities)), np.zeros(direction.n_predicted)
    likelihood = kernels.expect(
        direction.text, parameters.probabilities, parameters.null, tension, null, _row(direction), counts, null_counts
    )
    return Expectation(counts, null_counts, np.zeros(0), likelihood)


def link(direction: Direction, parameters: Parameters, *, tension: float, null: float) -> OneWay:
    """Return the likeliest given place of each predicted word, and the score of each sentence."""
    links = np.empty(len(direction.text.predicted_ids), dtype=np.int32)
    scores = np.empty(direction.n_pairs)
    kernels.link(
        direction.text, parameters.probabilities, parameters.null, tension, null, _row(direction), links, scores
    )
    return OneWay(links, scores)


def _row(direction: Direction) -> Float64:
    return np.empty(int(np.diff(direction.text.given_offsets).max()))


class Slants:
    """How far links lie from the diagonal, under the posterior of a pass, as a tension is judged by it.

    The expected log-likelihood of a tension λ, up to a constant, is Σ q·(λ·h − log Z_λ), q the posterior without
    NULL, h = −|i/n − j/m|; it is concave, and its derivative is Σ q·(h − E_λ[h]).
    """

    def __init__(self, direction: Direction, parameters: Parameters, *, tension: float, null: float) -> None:
        text = direction.text
        given, predicted = np.diff(text.given_offsets), np.diff(text.predicted_offsets)
        shapes, shape_of_pair = np.unique(np.stack([given, predicted], axis=1), axis=0, return_inverse=True)
        self._given: Int64 = np.ascontiguousarray(shapes[:, 0])
        self._predicted: Int64 = np.ascontiguousarray(shapes[:, 1])
        self._starts: Int64 = np.cumsum(self._predicted) - self._predicted
        self._weights = np.zeros(int(self._predicted.sum()))
        self._row = _row(direction)
        starts_of_pairs = self._starts[shape_of_pair.reshape(-1)]
        self._slant: float = kernels.weigh_slants(
            text, parameters.probabilities, parameters.null, tension, null, self._row, starts_of_pairs, self._weights
        )

    def derivative(self, tension: float) -> tuple[float, float]:
        """Return the first and second derivative of the expected log-likelihood by the tension."""
        mean, variance = kernels.expected_slant(
            self._given, self._predicted, self._starts, self._weights, tension, self._row
        )
        return self._slant - mean, -variance

    def best_tension(self, start: float) -> float:
        """Return the best tension in [0.1, 14]: Newton's steps, halving where they would leave the bracket."""
        low, high, here = LEAST_TENSION, MOST_TENSION, min(max(start, LEAST_TENSION), MOST_TENSION)
        for _ in range(NEWTON_STEPS):
            slope, curvature = self.derivative(here)
            low, high = (here, high) if slope > 0 else (low, here)
            step = here - slope / curvature if curvature < 0 else low
            there = step if low < step < high else 0.5 * (low + high)
            if abs(there - here) < CLOSE_ENOUGH:
                break
            here = there
        return here
