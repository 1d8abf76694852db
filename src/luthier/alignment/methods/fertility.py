"""Jumps and fertilities by Gibbs sampling: chains of links, averaged (Östling and Tiedemann 2016)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from luthier.alignment import _fertility_kernels as kernels
from luthier.alignment.base import ChainAligner, OneWay, Step
from luthier.alignment.cells import Direction
from luthier.alignment.table import LEAST, Parameters
from luthier.core.arrays import Float64
from luthier.core.params import param
from luthier.core.segments import segment_blocks

REACH, MOST = 100, 7  # longest jumps, and most words of a place, that are told apart
NULL_ALPHA, JUMP_ALPHA, FERTILITY_ALPHA = 0.001, 0.5, 0.5  # Dirichlet priors, as the paper has them
LEAST_ALPHA = 1e-9
BLOCK = 1 << 20  # cells whose posterior is in memory at a time
WORD_SWEEPS, JUMP_SWEEPS = 4, 4  # at the beginning of a chain: words alone, then jumps too
AVERAGED, BURN_IN, KEPT = 8, 12, 4  # sweeps at a chain's end; under parameters, before the first that counts, and those


@dataclasses.dataclass(frozen=True)
class Method(ChainAligner):
    """p ∝ (1 − p0)·t(e_j|f_i)·J(i − i')·J(i'' − i)·φ(c_i + 1|f_i)/φ(c_i|f_i), all other links given [ostling2016].

    t, J and φ have Dirichlet priors and are integrated out while chains are drawn; the answer is their mean over the
    last sweeps of all chains. The method's own parameters are J from −100 to 100, φ from 0 to 7 of an unknown word,
    and of each given word.
    """

    passes: int = param(16, low=1, high=1000, help="sweeps with fertilities, of each chain")
    alpha: float = param(0.001, low=0.0, high=1000.0, help="Dirichlet prior of a translation")
    null: float = param(0.2, low=0.0, high=0.999, help="probability that a word has no partner, p0")
    seed: int = param(0, low=0, high=2**32 - 1, help="start of all randomness")

    def start(self) -> Float64:
        """Return all jumps and all fertilities alike."""
        return np.concatenate([np.full(2 * REACH + 1, 1.0 / (2 * REACH + 1)), np.full(MOST + 1, 1.0 / (MOST + 1))])

    def own_size(self, n_given: int) -> int:
        """Return how many numbers the method's own parameters are."""
        return len(self.start()) + n_given * (MOST + 1)

    def average(self, direction: Direction, drawn: Iterable[Drawn]) -> Iterator[Step]:
        """Yield the parameters after each chain, averaged over those so far; the last has the links, too."""
        averages: Averages | None = None
        states = []
        for chain, (state, own) in enumerate(drawn):
            averages = own if averages is None else averages.joined(own)
            states.append(state)
            parameters = averages.parameters(direction, self._priors(direction))
            last = chain == self.chains - 1
            yield Step(None, parameters, self._link(direction, parameters, states) if last else None)

    def draw(self, direction: Direction, chain: int) -> Drawn:
        """Return the links at the end of a chain, and its averages."""
        priors, averages = self._priors(direction), Averages(direction)
        state, counts = _state(direction, self.seed, chain), _counts(direction, priors.alpha)
        sweeps = WORD_SWEEPS + JUMP_SWEEPS + self.passes
        with np.errstate(over="ignore"):  # whole numbers that are drawn by wrap around
            kernels.begin(direction.text, state, counts, self.null, REACH, MOST)
            for sweep in range(sweeps):
                stage = (sweep >= WORD_SWEEPS) + (sweep >= WORD_SWEEPS + JUMP_SWEEPS)
                kernels.sweep(direction.text, state, counts, priors, stage)
                if sweep >= sweeps - AVERAGED:
                    averages.add(counts)
        return state, averages

    def link(self, direction: Direction, parameters: Parameters) -> OneWay:
        """Return the partner of largest posterior probability of each word, by chains under the parameters."""
        chances = _chances(direction, parameters)
        states = [_state(direction, self.seed, number) for number in range(self.chains)]
        for state in states:
            kernels.begin_fixed(direction.text, state, chances, self.null)
            with np.errstate(over="ignore"):
                for _ in range(BURN_IN):
                    kernels.sweep_fixed(direction.text, 0, direction.n_pairs, state, chances, self.null, np.zeros(0))
        return self._link(direction, parameters, states)

    def _link(self, direction: Direction, parameters: Parameters, states: list[kernels.Links]) -> OneWay:
        chances, text = _chances(direction, parameters), direction.text
        links, scores = np.empty(len(text.predicted_ids), dtype=np.int32), np.empty(direction.n_pairs)
        for first, last in segment_blocks(text.cell_offsets, BLOCK):
            posterior = np.zeros(int(text.cell_offsets[last] - text.cell_offsets[first]))
            with np.errstate(over="ignore"):
                for state in states:
                    for _ in range(KEPT):
                        kernels.sweep_fixed(text, first, last, state, chances, self.null, posterior)
            posterior /= KEPT * len(states)
            kernels.likeliest(text, first, last, posterior, chances, links, scores)
        return OneWay(links, scores)

    def _priors(self, direction: Direction) -> kernels.Priors:
        seen = float(np.count_nonzero(direction.predicted_seen))
        alpha = max(self.alpha, LEAST_ALPHA)
        return kernels.Priors(alpha, NULL_ALPHA, NULL_ALPHA * seen, JUMP_ALPHA, FERTILITY_ALPHA, self.null)


class Averages:
    """Mean counts over sweeps and chains."""

    def __init__(self, direction: Direction) -> None:
        self.types, self.null = np.zeros(len(direction.given_of_type)), np.zeros(direction.n_predicted)
        self.jumps, self.fertilities = np.zeros(2 * REACH + 1), np.zeros((direction.n_given, MOST + 1))
        self.sweeps = 0

    @property
    def _sums(self) -> tuple[Float64, ...]:
        return self.types, self.null, self.jumps, self.fertilities

    def add(self, counts: kernels.Counts) -> None:
        """Take the counts of one more sweep."""
        for sums, found in zip(self._sums, (counts.types, counts.null, counts.jumps, counts.fertilities), strict=True):
            sums += found
        self.sweeps += 1

    def joined(self, other: Averages) -> Averages:
        """Return these with those of another chain."""
        for sums, found in zip(self._sums, other._sums, strict=True):
            sums += found
        self.sweeps += other.sweeps
        return self

    def parameters(self, direction: Direction, priors: kernels.Priors) -> Parameters:
        """Return the parameters' means, given the counts."""
        types, null = self.types / self.sweeps, self.null / self.sweeps
        size = np.bincount(direction.given_of_type, minlength=direction.n_given)
        sums = np.bincount(direction.given_of_type, types, minlength=direction.n_given)
        whole = np.where(size > 0, sums + priors.alpha * size, 1.0)
        probabilities = np.maximum((types + priors.alpha) / whole[direction.given_of_type], LEAST)
        unseen = np.where(size > 0, np.maximum(priors.alpha / whole, LEAST), 1.0 / direction.n_predicted)
        nothing = (null + priors.null_alpha) / (null.sum() + priors.null_room)
        jumps = self.jumps / self.sweeps + priors.jump
        fertilities = self.fertilities / self.sweeps
        known = (fertilities + priors.fertility) / (fertilities + priors.fertility).sum(axis=1, keepdims=True)
        of_all = fertilities.sum(axis=0) + priors.fertility
        own = np.concatenate([jumps / jumps.sum(), of_all / of_all.sum(), known.reshape(-1)])
        return Parameters(np.minimum(probabilities, 1.0), np.clip(nothing, LEAST, 1.0), np.minimum(unseen, 1.0), own)


Drawn = tuple[kernels.Links, Averages]


def _state(direction: Direction, seed: int, number: int) -> kernels.Links:
    text = direction.text
    n, m = (int(np.diff(offsets).max()) for offsets in (text.given_offsets, text.predicted_offsets))
    given_ids = np.empty(int(text.given_offsets[-1]), dtype=np.int32)
    kernels.words_of_places(text, direction.given_of_type, given_ids)
    random = np.random.SeedSequence([seed, number, text.turned]).generate_state(1, np.uint64)
    links, fertilities = np.empty(len(text.predicted_ids), dtype=np.int32), np.zeros(len(given_ids), dtype=np.int32)
    return kernels.Links(links, fertilities, given_ids, np.empty(m, dtype=np.int32), np.empty(n + 1), random)


def _counts(direction: Direction, alpha: float) -> kernels.Counts:
    room = alpha * np.bincount(direction.given_of_type, minlength=direction.n_given)
    return kernels.Counts(
        np.zeros(len(direction.given_of_type), dtype=np.int32),
        np.zeros(direction.n_given, dtype=np.int32),
        room,
        np.zeros(direction.n_predicted, dtype=np.int32),
        np.zeros(2 * REACH + 1, dtype=np.int64),
        np.zeros((direction.n_given, MOST + 1), dtype=np.int32),
        np.zeros(2, dtype=np.int64),
    )


def _chances(direction: Direction, parameters: Parameters) -> kernels.Chances:
    """Return the parameters as kernels take them; a given word that is new has the fertilities of all."""
    jumps, rest = np.split(parameters.own, [2 * REACH + 1])
    rows = rest.reshape(-1, MOST + 1)
    fertilities = np.tile(rows[0], (direction.n_given, 1))
    fertilities[: len(rows) - 1] = rows[1:]
    return kernels.Chances(parameters.probabilities, parameters.null, jumps.copy(), fertilities)
