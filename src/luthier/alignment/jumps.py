"""How far links jump from word to word: the hidden Markov aligner's own parameters, fitted to expected counts."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.core.arrays import Float64, Int64

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
