"""What an aligner has learned in one direction: t(predicted word | given word), and numbers of its own."""

from __future__ import annotations

import dataclasses

import numpy as np

from luthier.alignment import _cell_kernels as kernels
from luthier.alignment.cells import Direction
from luthier.core.arrays import Float64, Int32, Int64, flat

# No probability is smaller: a product of a few stays above zero, so every sentence has a likelihood.
LEAST = 1e-100


@dataclasses.dataclass(frozen=True, eq=False)
class Parameters:
    """What is learned in one direction, with K types, V given and W predicted words.

    Attributes
    ----------
    probabilities : (K,) float64
        t(e|f) of each type.
    null : (W,) float64
        t(e|NULL) of each predicted word.
    unseen : (V,) float64
        t(e|f) of a word e that never stood beside f.
    own : float64 array
        What the method learns besides: a tension, jumps; see there.
    """

    probabilities: Float64
    null: Float64
    unseen: Float64
    own: Float64

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, flat(np.asarray(getattr(self, field.name), dtype=np.float64)))


def uniform(direction: Direction, own: Float64) -> Parameters:
    """Return the start: every predicted word alike."""
    each = 1.0 / direction.n_predicted
    return Parameters(
        np.full(len(direction.given_of_type), each),
        np.full(direction.n_predicted, each),
        np.full(direction.n_given, each),
        own,
    )


def reestimate(direction: Direction, counts: Float64, null_counts: Float64, alpha: float, own: Float64) -> Parameters:
    """Return the parameters that expected counts give.

    t(e|f) = c(e,f)/Σ c(·,f) for α = 0; else, with a Dirichlet prior of α for each type, the geometric
    mean of its posterior: exp(ψ(c + α) − ψ(Σ(c + α))), the sum over the types seen with f. NULL is a given
    word like others, seen with every predicted word that occurs.
    """
    unseen = np.full(direction.n_given, 1.0 / direction.n_predicted)
    probabilities = _estimate(counts, direction.given_of_type, alpha, unseen)
    seen = np.flatnonzero(direction.predicted_seen)
    unseen_null = np.full(1, LEAST)
    seen_null = _estimate(null_counts[seen], np.zeros(len(seen), dtype=np.int32), alpha, unseen_null)
    null = np.full(direction.n_predicted, unseen_null[0])
    null[seen] = seen_null
    return Parameters(probabilities, null, unseen, own)


def _estimate(counts: Float64, given_of_type: Int32, alpha: float, unseen: Float64) -> Float64:
    """Return the probability of each type; write that of a type never seen, for every given word that has types."""
    out = np.empty(len(counts))
    kernels.estimate(flat(counts), flat(given_of_type), alpha, LEAST, np.zeros(len(unseen)), unseen, out)
    return out


def transfer(parameters: Parameters, found: Int64, direction: Direction) -> Parameters:
    """Return the parameters for another text, whose types are those of number `found` or new (−1)."""
    each = 1.0 / len(parameters.null)
    unseen = np.full(direction.n_given, each)
    unseen[: len(parameters.unseen)] = parameters.unseen
    null = np.full(direction.n_predicted, parameters.null.min())  # a new word: as one NULL never made
    null[: len(parameters.null)] = parameters.null
    probabilities = np.where(found >= 0, parameters.probabilities[found], unseen[direction.given_of_type])
    return Parameters(probabilities, null, unseen, parameters.own)
