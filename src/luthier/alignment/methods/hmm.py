"""Hidden Markov model: a link depends on where the one before it went (Vogel et al. 1996)."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.alignment import _hmm_kernels as kernels
from luthier.alignment import positions
from luthier.alignment.base import Aligner, Expectation, OneWay
from luthier.alignment.cells import Direction
from luthier.alignment.jumps import first_jumps, fit_jumps, jump_rows
from luthier.alignment.table import Parameters
from luthier.core.arrays import Float64
from luthier.core.params import param


@dataclasses.dataclass(frozen=True)
class Method(Aligner):
    """p(a_j = i | a_{j−1} = i') ∝ jump(i − i') [vogel1996]; a word without partner keeps the place [och2003a].

    Passes of Model 1 come first. The method's own parameters are the jumps from −20 to 20, (41,).
    """

    passes: int = param(6, low=1, high=1000, help="passes over the text, after those of Model 1; the last only aligns")
    null: float = param(0.2, low=0.0, high=0.999, help="probability that a word has no partner, p0")
    model1_passes: int = param(5, low=0, high=1000, help="passes of Model 1 before")

    @property
    def training_passes(self) -> int:
        """Number of passes that change the parameters."""
        return self.model1_passes + self.passes - 1

    def start(self) -> Float64:
        """Return jumps that favour the next word."""
        return first_jumps()

    def expect(self, direction: Direction, parameters: Parameters, number: int) -> Expectation:
        """Return expected counts of words and, once Model 1 is done, of jumps: (R, 41), see `jump_rows`."""
        if number < self.model1_passes:
            return positions.expect(direction, parameters, tension=0.0, null=self.null)
        rows = jump_rows(np.diff(direction.text.given_offsets))
        counts, null_counts = np.zeros(len(parameters.probabilities)), np.zeros(direction.n_predicted)
        jump_counts = np.zeros_like(rows.choices)
        likelihood = kernels.expect(
            direction.text, parameters.probabilities, parameters.null, parameters.own, self.null, _chart(direction),
            counts, null_counts, rows.rows, jump_counts,
        )  # fmt: skip
        return Expectation(counts, null_counts, jump_counts, likelihood)

    def maximize(self, direction: Direction, parameters: Parameters, found: Expectation, number: int) -> Float64:
        """Return jumps that fit the expected counts better."""
        if number < self.model1_passes:
            return parameters.own
        choices = jump_rows(np.diff(direction.text.given_offsets)).choices
        return fit_jumps(parameters.own, found.own, choices)

    def link(self, direction: Direction, parameters: Parameters) -> OneWay:
        """Return the partner of largest posterior probability of each word."""
        links = np.empty(len(direction.text.predicted_ids), dtype=np.int32)
        scores = np.empty(direction.n_pairs)
        kernels.link(
            direction.text, parameters.probabilities, parameters.null, parameters.own, self.null, _chart(direction),
            links, scores,
        )  # fmt: skip
        return OneWay(links, scores)


def _chart(direction: Direction) -> kernels.Chart:
    n = int(np.diff(direction.text.given_offsets).max())
    m = int(np.diff(direction.text.predicted_offsets).max())
    square = (np.empty((m, n)) for _ in range(4))
    emissions, linked, unlinked, behind = square
    return kernels.Chart(
        emissions, np.empty(m), np.empty((n + 1, n)), linked, unlinked, behind, np.empty(m), np.empty((n + 1, n))
    )
