"""Hidden Markov model: a link depends on where the one before it went (Vogel et al. 1996)."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.alignment import _hmm_kernels as kernels
from luthier.alignment import positions
from luthier.alignment.base import EmAligner, Expectation, OneWay
from luthier.alignment.cells import Direction
from luthier.alignment.table import Parameters
from luthier.core.arrays import Float64, Int64
from luthier.core.params import param

# How far links jump from word to word: the hidden Markov aligner's own parameters, fitted to expected counts.

REACH = 20  # farther jumps count as jumps of 20 words
LEAST_JUMP = 1e-9  # of the likeliest: no place becomes impossible
FIT_STEPS = 20


def first_jumps() -> Float64:
    """Return the start: most likely one word ahead, ever less likely farther away, (2·REACH + 1,)."""
    jumps: Float64 = np.exp(-np.abs(np.arange(-REACH, REACH + 1) - 1) / 3.0)
    jumps /= jumps.sum()
    return jumps


@dataclasses.dataclass(frozen=True, eq=False)
class JumpRows:
    """Places a link can jump from, by the length of the sentence: (R, 2·REACH + 1) tables have a row for each.

    Attributes
    ----------
    rows : (longest + 1,) int64
        Sentences of n given words have the rows ``rows[n]`` (their start) to ``rows[n] + n`` (their last word).
    choices : (R, 2·REACH + 1) float64
        How many places each jump leads to: 0 or 1, more at the clipped ends.
    """

    rows: Int64
    choices: Float64


def jump_rows(lengths: Int64) -> JumpRows:
    """Return the rows for sentences of these numbers of given words."""
    present = np.unique(lengths)
    rows = np.zeros(int(present[-1]) + 1, dtype=np.int64)
    rows[present] = np.cumsum(present + 1) - (present + 1)
    choices = np.zeros((int(np.sum(present + 1)), 2 * REACH + 1))
    for n in present.tolist():
        jumps = np.arange(n)[None, :] - np.arange(-1, n)[:, None]  # (n+1, n): from a to b
        clipped = np.clip(jumps, -REACH, REACH) + REACH
        np.add.at(choices, (rows[n] + np.arange(n + 1)[:, None], clipped), 1.0)
    return JumpRows(rows, choices)


def fit_jumps(jumps: Float64, counts: Float64, choices: Float64) -> Float64:
    """Return jumps under which expected counts are more likely than under `jumps`.

    From place a of a sentence of n words the jump d has probability J_d/Z_a, Z_a = Σ J over the places there
    are; with expected counts c_ad the logarithm of all is Σ c_ad·log J_d − Σ c_a·log Z_a. Replacing −log Z by
    its tangent gives a bound that has its maximum at J_d = Σ_a c_ad / Σ_a (c_a·choices_ad/Z_a); moving there never
    goes down, as with all bounds of this kind [hunter2004]. Dividing counts by their sum, as is usual, can go down:
    it forgets that the end of a sentence forbids some jumps.

    Parameters
    ----------
    jumps : (2·REACH + 1,)
    counts, choices : (R, 2·REACH + 1)
    """
    made, left = counts.sum(axis=0), counts.sum(axis=1)  # by jump; by place
    for _ in range(FIT_STEPS):
        z = (choices * jumps).sum(axis=1)
        offered = (choices * (left / z)[:, None]).sum(axis=0)
        fitted = np.divide(made, offered, out=np.zeros_like(made), where=offered > 0)
        fitted = np.where(offered > 0, np.maximum(fitted, LEAST_JUMP * fitted.max()), jumps)
        jumps = fitted / fitted.sum()
    return jumps


@dataclasses.dataclass(frozen=True)
class Method(EmAligner):
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
        rows = jump_rows(direction.lengths)
        counts, null_counts = np.zeros(len(parameters.probabilities)), np.zeros(direction.n_predicted)
        jump_counts = np.zeros_like(rows.choices)
        likelihood = kernels.expect(
            direction.text,
            parameters.probabilities,
            parameters.null,
            parameters.own,
            self.null,
            _chart(direction),
            counts,
            null_counts,
            rows.rows,
            jump_counts,
        )
        return Expectation(counts, null_counts, jump_counts, likelihood)

    def maximize(self, direction: Direction, parameters: Parameters, found: Expectation, number: int) -> Float64:
        """Return jumps that fit the expected counts better."""
        if number < self.model1_passes:
            return parameters.own
        choices = jump_rows(direction.lengths).choices
        return fit_jumps(parameters.own, found.own, choices)

    def link(self, direction: Direction, parameters: Parameters) -> OneWay:
        """Return the partner of largest posterior probability of each word."""
        links = np.empty(len(direction.text.predicted_ids), dtype=np.int32)
        scores = np.empty(direction.n_pairs)
        kernels.link(
            direction.text,
            parameters.probabilities,
            parameters.null,
            parameters.own,
            self.null,
            _chart(direction),
            links,
            scores,
        )
        return OneWay(links, scores)


def _chart(direction: Direction) -> kernels.Chart:
    n = int(np.diff(direction.text.given_offsets).max())
    m = int(np.diff(direction.text.predicted_offsets).max())
    square = (np.empty((m, n)) for _ in range(4))
    emissions, linked, unlinked, behind = square
    return kernels.Chart(
        emissions, np.empty(m), np.empty((n + 1, n)), linked, unlinked, behind, np.empty(m), np.empty((n + 1, n))
    )
